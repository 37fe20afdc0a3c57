//! The five transactions, written once over any database client.
//!
//! A client implements [`Session`]: it sends a [`Flight`] of prepared statements and fills
//! [`Answers`]. [`perform`] executes one transaction with retries; [`execute`] is one attempt. The
//! code is `async` without a runtime: a blocking client's futures are ready at once, and
//! [`block_on`] drives them. Dispatch is static, and a [`Desk`] keeps its buffers from transaction
//! to transaction.

mod delivery;
mod desk;
mod exchange;
mod failure;
mod new_order;
mod order_status;
mod payment;
mod perform;
mod retry;
mod stock_level;

#[cfg(test)]
mod tests;

pub use desk::Desk;
pub use exchange::{Answer, Answers, Arguments, Flight, Row, Session, Value};
pub use failure::{Bug, Failure};
pub use perform::{Ended, Performed, block_on, perform};
pub use retry::{Cause, ErrorClass, Retries, Verdict, classify};

use super::{sql::Style, terminal::Input};

/// What a completed transaction did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A new order was committed.
    NewOrder {
        /// The warehouse.
        warehouse: u32,
        /// The district.
        district: u32,
        /// The number that the order got.
        order: u32,
        /// What it costs with discount and taxes, in cents.
        total_cents: i64,
        /// Lines of brand `B`, whose item and stock are both marked; procedures do not say.
        branded: Option<u32>,
    },
    /// A new order asked for the unused item and was rolled back, as it must be: neither an error
    /// nor a commit.
    RolledBack,
    /// A payment was committed.
    Payment {
        /// The customer's warehouse.
        warehouse: u32,
        /// The customer's district.
        district: u32,
        /// The customer.
        customer: u32,
        /// What was paid, in cents.
        amount_cents: i64,
        /// What the customer still has to pay, in cents.
        balance_cents: i64,
    },
    /// The last order of a customer.
    OrderStatus {
        /// The order.
        order: u32,
        /// Its lines.
        lines: u32,
    },
    /// Orders were delivered.
    Delivery {
        /// How many.
        delivered: u32,
        /// Districts without a waiting order.
        skipped: u32,
    },
    /// So many items of the last orders are running out.
    StockLevel {
        /// How many.
        low: u32,
    },
}

/// Executes `input` once. After an error the transaction may still be open: [`perform`] rolls back.
///
/// # Errors
/// The client's error, a rival that was faster, or an answer that no correct database gives.
pub async fn execute<S: Session>(
    session: &mut S,
    desk: &mut Desk,
    style: Style,
    input: &Input,
) -> Result<Outcome, Failure<S::Error>> {
    desk.reset(session);
    match input {
        Input::NewOrder(input) => new_order::run(session, desk, style, input).await,
        Input::Payment(input) => payment::run(session, desk, style, input).await,
        Input::OrderStatus(input) => order_status::run(session, desk, style, input).await,
        Input::Delivery(input) => delivery::run(session, desk, style, input).await,
        Input::StockLevel(input) => stock_level::run(session, desk, style, input).await,
    }
}
