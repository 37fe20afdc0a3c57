//! Delivery: the oldest waiting order of each district of a warehouse, in one transaction.

use rookery_cast::count_u32;

use super::{Bug, Desk, Failure, Outcome, Session};
use crate::orderentry::{
    scale::DISTRICTS,
    sql::{Statement, Style, Verb},
    terminal::DeliveryInput,
};

pub(super) async fn run<S: Session>(
    session: &mut S,
    desk: &mut Desk,
    style: Style,
    input: &DeliveryInput,
) -> Result<Outcome, Failure<S::Error>> {
    match style {
        Style::Plain => plain(session, desk, input).await,
        Style::Batched => batched(session, desk, input).await,
        Style::Pipelined => pipelined(session, desk, input).await,
        Style::Procs => procedure(session, desk, input).await,
    }
}

/// An order under delivery.
#[derive(Clone, Copy, Debug, Default)]
struct Due {
    district: u32,
    order: u32,
    customer: u32,
    cents: i64,
}

fn call_oldest(desk: &mut Desk, input: &DeliveryInput, district: u32) {
    desk.call(Statement::one(Verb::OldestNewOrder))
        .int(input.warehouse)
        .int(district);
}

fn call_key(desk: &mut Desk, verb: Verb, input: &DeliveryInput, due: &Due) {
    let call = desk.call(Statement::one(verb));
    call.int(input.warehouse).int(due.district).int(due.order);
}

fn call_deliver_order(desk: &mut Desk, input: &DeliveryInput, due: &Due) {
    let call = desk
        .call(Statement::one(Verb::OrderDeliver))
        .int(input.carrier);
    call.int(input.warehouse).int(due.district).int(due.order);
}

fn call_deliver_lines(desk: &mut Desk, input: &DeliveryInput, due: &Due) {
    let call = desk.call(Statement::one(Verb::LinesDeliver)).time(input.at);
    call.int(input.warehouse).int(due.district).int(due.order);
}

fn call_credit(desk: &mut Desk, input: &DeliveryInput, due: &Due) {
    let call = desk
        .call(Statement::one(Verb::CustomerDeliver))
        .cents(due.cents);
    call.int(input.warehouse)
        .int(due.district)
        .int(due.customer);
}

/// A row that was locked is gone only when another delivery took it.
fn taken<E>(desk: &Desk, call: usize, expected: u64) -> Result<(), Failure<E>> {
    let gone = desk.answer(call)?.affected();
    if gone < expected {
        return Err(Failure::LostRace);
    }
    Ok(desk.changed(call, expected)?)
}

fn some_lines(desk: &Desk, call: usize) -> Result<(), Bug> {
    match desk.answer(call)?.affected() {
        0 => desk.changed(call, 1),
        _ => Ok(()),
    }
}

fn outcome(delivered: usize) -> Outcome {
    let delivered = count_u32(delivered);
    Outcome::Delivery {
        delivered,
        skipped: DISTRICTS - delivered,
    }
}

async fn plain<S: Session>(
    session: &mut S,
    desk: &mut Desk,
    input: &DeliveryInput,
) -> Result<Outcome, Failure<S::Error>> {
    desk.control(session, Statement::BEGIN_WRITE).await?;
    let mut delivered = 0;
    for district in 1..=DISTRICTS {
        call_oldest(desk, input, district);
        desk.fly(session).await?;
        let Some(row) = desk.first(0)? else {
            continue;
        };
        let mut due = Due {
            district,
            order: row.id(0)?,
            ..Due::default()
        };
        call_key(desk, Verb::DeleteNewOrder, input, &due);
        desk.fly(session).await?;
        taken(desk, 0, 1)?;
        call_key(desk, Verb::OrderForUpdate, input, &due);
        desk.fly(session).await?;
        due.customer = desk.row(0)?.id(0)?;
        call_deliver_order(desk, input, &due);
        desk.fly(session).await?;
        desk.changed(0, 1)?;
        call_deliver_lines(desk, input, &due);
        desk.fly(session).await?;
        some_lines(desk, 0)?;
        call_key(desk, Verb::LinesSum, input, &due);
        desk.fly(session).await?;
        due.cents = desk.row(0)?.cents(0)?;
        call_credit(desk, input, &due);
        desk.fly(session).await?;
        desk.changed(0, 1)?;
        delivered += 1;
    }
    desk.control(session, Statement::COMMIT).await?;
    Ok(outcome(delivered))
}

/// Ten locking reads, then one statement per table for all orders.
async fn batched<S: Session>(
    session: &mut S,
    desk: &mut Desk,
    input: &DeliveryInput,
) -> Result<Outcome, Failure<S::Error>> {
    desk.control(session, Statement::BEGIN_WRITE).await?;
    let mut due = Vec::with_capacity(DISTRICTS as usize);
    for district in 1..=DISTRICTS {
        call_oldest(desk, input, district);
        desk.fly(session).await?;
        if let Some(row) = desk.first(0)? {
            due.push(Due {
                district,
                order: row.id(0)?,
                ..Due::default()
            });
        }
    }
    let count = due.len();
    if count > 0 {
        call_keys(desk, Verb::DeleteNewOrders, input, &due, |_| {});
        desk.fly(session).await?;
        taken(desk, 0, count as u64)?;
        call_keys(desk, Verb::OrdersDeliver, input, &due, |call| {
            call.int(input.carrier);
        });
        desk.fly(session).await?;
        desk.changed(0, count as u64)?;
        call_keys(desk, Verb::OrdersLinesDeliver, input, &due, |call| {
            call.time(input.at);
        });
        desk.fly(session).await?;
        call_keys(desk, Verb::OrdersTotal, input, &due, |_| {});
        desk.fly(session).await?;
        let answer = desk.answer(0)?;
        for due in &mut due {
            read_total(due, answer.rows())?;
        }
        let call = desk.call(Statement::with_variant(Verb::CustomersDeliver, count));
        for due in &due {
            call.int(input.warehouse)
                .int(due.district)
                .int(due.customer)
                .cents(due.cents);
        }
        desk.fly(session).await?;
        desk.changed(0, count as u64)?;
    }
    desk.control(session, Statement::COMMIT).await?;
    Ok(outcome(count))
}

fn call_keys(
    desk: &mut Desk,
    verb: Verb,
    input: &DeliveryInput,
    due: &[Due],
    before: impl FnOnce(&mut super::Flight),
) {
    let call = desk.call(Statement::with_variant(verb, due.len()));
    before(call);
    for due in due {
        call.int(input.warehouse).int(due.district).int(due.order);
    }
}

/// Finds customer and sum of an order among rows of (district, customer, sum).
fn read_total<'a>(due: &mut Due, rows: impl Iterator<Item = super::Row<'a>>) -> Result<(), Bug> {
    for row in rows {
        if row.id(0)? == due.district {
            due.customer = row.id(1)?;
            due.cents = row.cents(2)?;
            return Ok(());
        }
    }
    Err(Bug::MissingRow(Statement::one(Verb::OrderTotal)))
}

/// Three flights: ten locking reads, four statements for each order, ten customers.
async fn pipelined<S: Session>(
    session: &mut S,
    desk: &mut Desk,
    input: &DeliveryInput,
) -> Result<Outcome, Failure<S::Error>> {
    desk.call(Statement::BEGIN_WRITE);
    for district in 1..=DISTRICTS {
        call_oldest(desk, input, district);
    }
    desk.fly(session).await?;
    let mut due = Vec::with_capacity(DISTRICTS as usize);
    for district in 1..=DISTRICTS {
        if let Some(row) = desk.first(district as usize)? {
            due.push(Due {
                district,
                order: row.id(0)?,
                ..Due::default()
            });
        }
    }
    if due.is_empty() {
        desk.control(session, Statement::COMMIT).await?;
        return Ok(outcome(0));
    }
    for due in &due {
        call_key(desk, Verb::DeleteNewOrder, input, due);
        call_deliver_order(desk, input, due);
        call_deliver_lines(desk, input, due);
        call_key(desk, Verb::OrderTotal, input, due);
    }
    desk.fly(session).await?;
    for (index, due) in due.iter_mut().enumerate() {
        taken(desk, 4 * index, 1)?;
        desk.changed(4 * index + 1, 1)?;
        some_lines(desk, 4 * index + 2)?;
        read_total(due, desk.answer(4 * index + 3)?.rows())?;
    }
    for due in &due {
        call_credit(desk, input, due);
    }
    let count = due.len();
    desk.fly_and_commit(session, |desk| {
        Ok((0..count).try_for_each(|call| desk.changed(call, 1))?)
    })
    .await?;
    Ok(outcome(count))
}

async fn procedure<S: Session>(
    session: &mut S,
    desk: &mut Desk,
    input: &DeliveryInput,
) -> Result<Outcome, Failure<S::Error>> {
    let call = desk.call(Statement::one(Verb::CallDelivery));
    call.int(input.warehouse).int(input.carrier).time(input.at);
    desk.fly_committing(session).await?;
    let row = desk.row(0)?;
    Ok(Outcome::Delivery {
        delivered: row.id(0)?,
        skipped: row.id(1)?,
    })
}
