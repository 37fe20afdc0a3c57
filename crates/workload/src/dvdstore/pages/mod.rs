//! The client's side of the page contract: request targets out, answers in.
//!
//! [`PageSite`] writes the target of each page, fields in the order of the original driver; the
//! `read_*` functions judge a page by its body. Both are pure and work on buffers of the caller.
//! Tags are matched in capital letters, as the contract wants; values are accepted with and without
//! quotes.

mod answer;
mod new_customer;
mod request;

pub use answer::{
    NewCustomerAnswer, PageFault, PurchaseAnswer, read_browse, read_login, read_new_customer,
    read_products, read_purchase,
};
pub use new_customer::NewCustomer;
pub use request::PageSite;

/// What a shopper looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search<'w> {
    /// The special offers of a category, `1..=16`.
    Category(u8),
    /// An actor by first and last name; either name matches.
    Actor {
        /// First name.
        first: &'w str,
        /// Last name.
        last: &'w str,
    },
    /// A title by two words; either word matches.
    Title {
        /// First word.
        first: &'w str,
        /// Second word.
        second: &'w str,
    },
}

/// One item of a purchase. The same product may occur in several items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineItem {
    /// Product id, from 1.
    pub product: u64,
    /// Units, from 1.
    pub quantity: u32,
}
