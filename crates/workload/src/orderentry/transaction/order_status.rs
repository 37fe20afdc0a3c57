//! Order status: a customer, his last order, its lines.

use rookery_cast::count_u32;

use super::{
    Desk, Failure, Outcome, Session,
    payment::{id_and_name, middle},
};
use crate::orderentry::{
    sql::{Statement, Style, Verb},
    terminal::{CustomerChoice, OrderStatusInput},
};

pub(super) async fn run<S: Session>(
    session: &mut S,
    desk: &mut Desk,
    style: Style,
    input: &OrderStatusInput,
) -> Result<Outcome, Failure<S::Error>> {
    match style {
        Style::Plain | Style::Batched => in_steps(session, desk, input, false).await,
        Style::Pipelined => in_steps(session, desk, input, true).await,
        Style::Procs => procedure(session, desk, input).await,
    }
}

fn call_customer(desk: &mut Desk, input: &OrderStatusInput) {
    let verb = match input.customer {
        CustomerChoice::Id(_) => Verb::StatusById,
        CustomerChoice::Name(_) => Verb::StatusByName,
    };
    let call = desk
        .call(Statement::one(verb))
        .int(input.warehouse)
        .int(input.district);
    match &input.customer {
        CustomerChoice::Id(id) => call.int(*id),
        CustomerChoice::Name(name) => call.text(name.as_bytes()),
    };
}

/// Five round trips; three when begin and commit travel with others.
async fn in_steps<S: Session>(
    session: &mut S,
    desk: &mut Desk,
    input: &OrderStatusInput,
    together: bool,
) -> Result<Outcome, Failure<S::Error>> {
    desk.call(Statement::BEGIN_READ);
    if !together {
        desk.fly(session).await?;
    }
    call_customer(desk, input);
    desk.fly(session).await?;
    let row = middle(desk, usize::from(together))?;
    let customer = row.id(0)?;
    row.cents(1)?;
    let call = desk.call(Statement::one(Verb::LastOrder));
    call.int(input.warehouse).int(input.district).int(customer);
    desk.fly(session).await?;
    let order = desk.row(0)?.id(0)?;
    let call = desk.call(Statement::one(Verb::OrderLines));
    call.int(input.warehouse).int(input.district).int(order);
    // What only read may commit with its last read everywhere.
    if together {
        desk.call(Statement::COMMIT);
    }
    desk.fly(session).await?;
    let answer = desk.answer(0)?;
    for row in answer.rows() {
        row.cents(3)?;
    }
    let lines = count_u32(answer.len());
    if !together {
        desk.control(session, Statement::COMMIT).await?;
    }
    Ok(Outcome::OrderStatus { order, lines })
}

async fn procedure<S: Session>(
    session: &mut S,
    desk: &mut Desk,
    input: &OrderStatusInput,
) -> Result<Outcome, Failure<S::Error>> {
    let (id, name) = id_and_name(&input.customer);
    let call = desk.call(Statement::one(Verb::CallOrderStatus));
    call.int(input.warehouse)
        .int(input.district)
        .int(id)
        .text(name);
    desk.fly_committing(session).await?;
    let order = desk.row(0)?.id(0)?;
    Ok(Outcome::OrderStatus {
        order,
        lines: count_u32(desk.answer(0)?.len()),
    })
}
