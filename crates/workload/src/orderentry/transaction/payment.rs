//! Payment: light, and on the hottest rows.

use super::{Bug, Desk, Failure, Outcome, Row, Session};
use crate::orderentry::{
    decimal::Decimal,
    random::Text,
    sql::{Statement, Style, Verb},
    terminal::{CustomerChoice, PaymentInput},
};

/// Most characters of a customer's data.
const DATA: usize = 500;

pub(super) async fn run<S: Session>(
    session: &mut S,
    desk: &mut Desk,
    style: Style,
    input: &PaymentInput,
) -> Result<Outcome, Failure<S::Error>> {
    match style {
        Style::Plain => in_steps(session, desk, input, false).await,
        Style::Batched => {
            let returning = session.dialect().update_returns();
            in_steps(session, desk, input, returning).await
        }
        Style::Pipelined => pipelined(session, desk, input).await,
        Style::Procs => procedure(session, desk, input).await,
    }
}

fn call_warehouse(desk: &mut Desk, verb: Verb, input: &PaymentInput) {
    desk.call(Statement::one(verb))
        .cents(input.amount_cents)
        .int(input.warehouse);
}

fn call_district(desk: &mut Desk, verb: Verb, input: &PaymentInput) {
    let call = desk.call(Statement::one(verb)).cents(input.amount_cents);
    call.int(input.warehouse).int(input.district);
}

fn call_names(desk: &mut Desk, input: &PaymentInput, name: &Text<16>) {
    let call = desk.call(Statement::one(Verb::CustomersByName));
    call.int(input.customer_warehouse)
        .int(input.customer_district)
        .text(name.as_bytes());
}

fn call_customer(desk: &mut Desk, verb: Verb, input: &PaymentInput, customer: u32) {
    let call = desk.call(Statement::one(verb));
    call.int(input.customer_warehouse)
        .int(input.customer_district)
        .int(customer);
}

/// Changes the customer; `data` is his new data, or what goes before it.
fn call_pay(desk: &mut Desk, verb: Verb, input: &PaymentInput, customer: u32, data: Option<&[u8]>) {
    let call = desk
        .call(Statement::one(verb))
        .cents(input.amount_cents)
        .cents(input.amount_cents);
    if let Some(data) = data {
        call.text(data);
    }
    call.int(input.customer_warehouse)
        .int(input.customer_district)
        .int(customer);
}

fn call_history(desk: &mut Desk, input: &PaymentInput, customer: u32, data: &Text<24>) {
    let call = desk.call(Statement::one(Verb::InsertHistory));
    call.int(customer)
        .int(input.customer_district)
        .int(input.customer_warehouse);
    call.int(input.district).int(input.warehouse);
    call.cents(input.amount_cents).text(data.as_bytes());
}

/// The names of warehouse and district with four spaces between them.
fn history_data(warehouse: &[u8], district: &[u8]) -> Text<24> {
    Text::concat(&[warehouse, b"    ", district])
}

/// The middle of all customers of a name, rounded up: number n/2 of n, counted from 1.
pub(super) fn middle(desk: &Desk, call: usize) -> Result<Row<'_>, Bug> {
    let answer = desk.answer(call)?;
    let middle = answer.len().div_ceil(2).saturating_sub(1);
    answer
        .row(middle)
        .ok_or(Bug::MissingRow(Statement::one(Verb::CustomersByName)))
}

/// What a payment writes before the data of a customer of bad credit.
fn note(input: &PaymentInput, customer: u32) -> String {
    format!(
        "{customer} {} {} {} {} {} ",
        input.customer_district,
        input.customer_warehouse,
        input.district,
        input.warehouse,
        Decimal::cents(input.amount_cents)
    )
}

/// Statement by statement; with `returning`, updates hand back what would be read.
async fn in_steps<S: Session>(
    session: &mut S,
    desk: &mut Desk,
    input: &PaymentInput,
    returning: bool,
) -> Result<Outcome, Failure<S::Error>> {
    desk.control(session, Statement::BEGIN_WRITE).await?;
    let (warehouse_name, district_name) = pay_places(session, desk, input, returning).await?;
    let customer = match &input.customer {
        CustomerChoice::Id(id) => *id,
        CustomerChoice::Name(name) => {
            call_names(desk, input, name);
            desk.fly(session).await?;
            middle(desk, 0)?.id(0)?
        }
    };
    call_customer(desk, Verb::CustomerForUpdate, input, customer);
    desk.fly(session).await?;
    let row = desk.row(0)?;
    let (bad_credit, balance_cents) = (row.text(0)? == b"BC", row.cents(1)?);
    if bad_credit {
        call_customer(desk, Verb::CustomerData, input, customer);
        desk.fly(session).await?;
        let data: Text<DATA> =
            Text::concat(&[note(input, customer).as_bytes(), desk.row(0)?.text(0)?]);
        call_pay(
            desk,
            Verb::CustomerPayData,
            input,
            customer,
            Some(data.as_bytes()),
        );
    } else {
        call_pay(desk, Verb::CustomerPay, input, customer, None);
    }
    desk.fly(session).await?;
    desk.changed(0, 1)?;
    call_history(
        desk,
        input,
        customer,
        &history_data(warehouse_name.as_bytes(), district_name.as_bytes()),
    );
    desk.fly(session).await?;
    desk.control(session, Statement::COMMIT).await?;
    Ok(outcome(input, customer, balance_cents))
}

/// Pays warehouse and district; gives their names.
async fn pay_places<S: Session>(
    session: &mut S,
    desk: &mut Desk,
    input: &PaymentInput,
    returning: bool,
) -> Result<(Text<10>, Text<10>), Failure<S::Error>> {
    if returning {
        call_warehouse(desk, Verb::WarehousePayRead, input);
        desk.fly(session).await?;
        let warehouse = Text::concat(&[desk.row(0)?.text(0)?]);
        call_district(desk, Verb::DistrictPayRead, input);
        desk.fly(session).await?;
        return Ok((warehouse, Text::concat(&[desk.row(0)?.text(0)?])));
    }
    call_warehouse(desk, Verb::WarehousePay, input);
    desk.fly(session).await?;
    desk.changed(0, 1)?;
    desk.call(Statement::one(Verb::WarehouseRead))
        .int(input.warehouse);
    desk.fly(session).await?;
    let warehouse = Text::concat(&[desk.row(0)?.text(0)?]);
    call_district(desk, Verb::DistrictPay, input);
    desk.fly(session).await?;
    desk.changed(0, 1)?;
    desk.call(Statement::one(Verb::DistrictRead))
        .int(input.warehouse)
        .int(input.district);
    desk.fly(session).await?;
    Ok((warehouse, Text::concat(&[desk.row(0)?.text(0)?])))
}

/// Two flights, three for a customer by name: what leads to the customer, his row, the rest.
async fn pipelined<S: Session>(
    session: &mut S,
    desk: &mut Desk,
    input: &PaymentInput,
) -> Result<Outcome, Failure<S::Error>> {
    desk.call(Statement::BEGIN_WRITE);
    call_warehouse(desk, Verb::WarehousePay, input);
    call_district(desk, Verb::DistrictPay, input);
    desk.call(Statement::one(Verb::WarehouseRead))
        .int(input.warehouse);
    desk.call(Statement::one(Verb::DistrictRead))
        .int(input.warehouse)
        .int(input.district);
    match &input.customer {
        CustomerChoice::Id(id) => call_customer(desk, Verb::CustomerForUpdate, input, *id),
        CustomerChoice::Name(name) => call_names(desk, input, name),
    }
    desk.fly(session).await?;
    desk.changed(1, 1)?;
    desk.changed(2, 1)?;
    let data = history_data(desk.row(3)?.text(0)?, desk.row(4)?.text(0)?);
    let (customer, call) = match &input.customer {
        CustomerChoice::Id(id) => (*id, 5),
        CustomerChoice::Name(_) => {
            let customer = middle(desk, 5)?.id(0)?;
            call_customer(desk, Verb::CustomerForUpdate, input, customer);
            desk.fly(session).await?;
            (customer, 0)
        }
    };
    let row = desk.row(call)?;
    let (bad_credit, balance_cents) = (row.text(0)? == b"BC", row.cents(1)?);
    if bad_credit {
        let note = note(input, customer);
        call_pay(
            desk,
            Verb::CustomerPayPrepend,
            input,
            customer,
            Some(note.as_bytes()),
        );
    } else {
        call_pay(desk, Verb::CustomerPay, input, customer, None);
    }
    call_history(desk, input, customer, &data);
    desk.fly_and_commit(session, |desk| Ok(desk.changed(0, 1)?))
        .await?;
    Ok(outcome(input, customer, balance_cents))
}

fn outcome(input: &PaymentInput, customer: u32, old_balance_cents: i64) -> Outcome {
    Outcome::Payment {
        warehouse: input.customer_warehouse,
        district: input.customer_district,
        customer,
        amount_cents: input.amount_cents,
        balance_cents: old_balance_cents - input.amount_cents,
    }
}

async fn procedure<S: Session>(
    session: &mut S,
    desk: &mut Desk,
    input: &PaymentInput,
) -> Result<Outcome, Failure<S::Error>> {
    let (id, name) = id_and_name(&input.customer);
    let call = desk
        .call(Statement::one(Verb::CallPayment))
        .int(input.warehouse)
        .int(input.district);
    call.int(input.customer_warehouse)
        .int(input.customer_district);
    call.int(id).text(name).cents(input.amount_cents);
    desk.fly_committing(session).await?;
    let row = desk.row(0)?;
    let (customer, balance_cents) = (row.id(0)?, row.cents(1)?);
    Ok(outcome(input, customer, balance_cents + input.amount_cents))
}

/// How procedures are told of a customer: by number, or by number 0 and a name.
pub(super) fn id_and_name(choice: &CustomerChoice) -> (u32, &[u8]) {
    match choice {
        CustomerChoice::Id(id) => (*id, b""),
        CustomerChoice::Name(name) => (0, name.as_bytes()),
    }
}
