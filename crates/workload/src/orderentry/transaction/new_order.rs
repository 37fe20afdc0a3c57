//! New order: the heart of the workload.

use rookery_cast::count_u32;

use super::{Bug, Desk, Failure, Flight, Outcome, Row, Session};
use crate::orderentry::{
    random::{ORIGINAL, Text},
    sql::{LINE_FIELDS, LINE_WIDTH, Statement, Style, Verb},
    terminal::{MAX_LINES, NewOrderInput, NewOrderLine},
};

pub(super) async fn run<S: Session>(
    session: &mut S,
    desk: &mut Desk,
    style: Style,
    input: &NewOrderInput,
) -> Result<Outcome, Failure<S::Error>> {
    match style {
        Style::Plain => plain(session, desk, input).await,
        Style::Batched => batched(session, desk, input).await,
        Style::Pipelined => pipelined(session, desk, input).await,
        Style::Procs => procedure(session, desk, input).await,
    }
}

/// What the head of an order needs to know.
#[derive(Clone, Copy, Debug, Default)]
struct Head {
    order: u32,
    /// The taxes of warehouse and district, ten-thousandths.
    taxes: i64,
    /// Ten-thousandths.
    discount: i64,
}

impl Head {
    /// The sum of the lines with discount and taxes, in whole cents, halves rounded up.
    fn total(self, sum_cents: i64) -> i64 {
        (sum_cents * (10_000 - self.discount) * (10_000 + self.taxes) + 50_000_000) / 100_000_000
    }

    fn outcome(self, input: &NewOrderInput, sum: Sum) -> Outcome {
        Outcome::NewOrder {
            warehouse: input.warehouse,
            district: input.district,
            order: self.order,
            total_cents: self.total(sum.cents),
            branded: Some(sum.branded),
        }
    }
}

/// The quantity that is left in stock: never below 10, filled up by 91.
fn left_in_stock(stock: i64, quantity: u32) -> i64 {
    let left = stock - i64::from(quantity);
    if left >= 10 { left } else { left + 91 }
}

/// Whether the data of an item or of stock is marked. Where both are, the line's brand is `B` on
/// the terminal, else `G`.
fn marked(data: &[u8]) -> bool {
    memchr::memmem::find(data, ORIGINAL).is_some()
}

/// What is known of a line's item.
#[derive(Clone, Copy, Debug, Default)]
struct ItemFacts {
    id: u32,
    price_cents: i64,
    marked: bool,
}

/// One row of stock that an order changes, and the lines that change it: repeats of an item see
/// each other's effect.
#[derive(Clone, Copy, Debug)]
struct StockChange {
    supply: u32,
    item: u32,
    /// What is left after all of its lines.
    left: i64,
    /// Units sold.
    units: u32,
    /// Lines.
    orders: u32,
    marked: bool,
    text: Text<24>,
}

/// The changes of an order, in the order of locking.
#[derive(Debug, Default)]
struct StockChanges(Vec<StockChange>);

impl StockChanges {
    /// The rows of stock that the valid lines touch; lines come sorted, so repeats are neighbours.
    fn from_input(input: &NewOrderInput) -> Self {
        let mut changes: Vec<StockChange> = Vec::with_capacity(MAX_LINES);
        for line in input.valid_lines() {
            match changes.last_mut() {
                Some(last) if (last.supply, last.item) == (line.supply, line.item) => {
                    last.units += line.quantity;
                    last.orders += 1;
                }
                _ => changes.push(StockChange {
                    supply: line.supply,
                    item: line.item,
                    left: 0,
                    units: line.quantity,
                    orders: 1,
                    marked: false,
                    text: Text::concat(&[]),
                }),
            }
        }
        Self(changes)
    }

    /// Takes over what was read of change `index`; the columns from `column` on are quantity, data
    /// and the district's text.
    fn read(
        &mut self,
        index: usize,
        row: &Row<'_>,
        column: usize,
        input: &NewOrderInput,
    ) -> Result<(), Bug> {
        let change = &mut self.0[index];
        let (supply, item) = (change.supply, change.item);
        let lines = input
            .valid_lines()
            .iter()
            .filter(|line| (line.supply, line.item) == (supply, item));
        change.left = lines.fold(row.int(column)?, |stock, line| {
            left_in_stock(stock, line.quantity)
        });
        change.marked = marked(row.text(column + 1)?);
        change.text = Text::concat(&[row.text(column + 2)?]);
        Ok(())
    }

    fn find(&self, line: &NewOrderLine) -> Option<&StockChange> {
        self.0
            .iter()
            .find(|change| (change.supply, change.item) == (line.supply, line.item))
    }
}

fn call_warehouse(desk: &mut Desk, input: &NewOrderInput) {
    desk.call(Statement::one(Verb::WarehouseTax))
        .int(input.warehouse);
}

fn call_district(desk: &mut Desk, verb: Verb, input: &NewOrderInput) {
    desk.call(Statement::one(verb))
        .int(input.warehouse)
        .int(input.district);
}

fn call_customer(desk: &mut Desk, input: &NewOrderInput) {
    let call = desk.call(Statement::one(Verb::CustomerDiscount));
    call.int(input.warehouse)
        .int(input.district)
        .int(input.customer);
}

fn call_insert_order(desk: &mut Desk, input: &NewOrderInput, order: u32) {
    let call = desk.call(Statement::one(Verb::InsertOrder));
    call.int(input.warehouse)
        .int(input.district)
        .int(order)
        .int(input.customer);
    call.int(count_u32(input.lines().len()))
        .int(u32::from(input.all_local()));
}

fn call_insert_new_order(desk: &mut Desk, input: &NewOrderInput, order: u32) {
    let call = desk.call(Statement::one(Verb::InsertNewOrder));
    call.int(input.warehouse).int(input.district).int(order);
}

fn call_stock_read(desk: &mut Desk, input: &NewOrderInput, supply: u32, item: u32) {
    let call = desk.call(Statement::with_variant(
        Verb::StockForUpdate,
        input.district as usize,
    ));
    call.int(supply).int(item);
}

fn call_stock_update(desk: &mut Desk, input: &NewOrderInput, change: &StockChange) {
    let remote = if change.supply == input.warehouse {
        0
    } else {
        change.orders
    };
    let call = desk.call(Statement::one(Verb::StockUpdate));
    call.int(change.left)
        .int(change.units)
        .int(change.orders)
        .int(remote);
    call.int(change.supply).int(change.item);
}

/// The parameters of an inserted line.
fn line_arguments(
    call: &mut Flight,
    input: &NewOrderInput,
    order: u32,
    line: &NewOrderLine,
    amount_cents: i64,
    text: &[u8],
) {
    call.int(input.warehouse)
        .int(input.district)
        .int(order)
        .int(line.number);
    call.int(line.item).int(line.supply).int(line.quantity);
    call.cents(amount_cents).text(text);
}

/// What the lines of an order come to.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    cents: i64,
    branded: u32,
}

impl Sum {
    /// Adds a line and gives its amount in cents, without tax and discount.
    fn add(&mut self, line: &NewOrderLine, item: ItemFacts, stock_marked: bool) -> i64 {
        let amount_cents = item.price_cents * i64::from(line.quantity);
        self.cents += amount_cents;
        self.branded += u32::from(item.marked && stock_marked);
        amount_cents
    }
}

/// What the row of an item says; its columns from `column` on are price, name and data.
fn item_facts(id: u32, row: &Row<'_>, column: usize) -> Result<ItemFacts, Bug> {
    Ok(ItemFacts {
        id,
        price_cents: row.cents(column)?,
        marked: marked(row.text(column + 2)?),
    })
}

/// The three reads and three writes that begin an order, one after another.
async fn begin<S: Session>(
    session: &mut S,
    desk: &mut Desk,
    input: &NewOrderInput,
    take: bool,
) -> Result<Head, Failure<S::Error>> {
    desk.control(session, Statement::BEGIN_WRITE).await?;
    call_warehouse(desk, input);
    desk.fly(session).await?;
    let warehouse_tax = desk.row(0)?.rate(0)?;
    call_district(
        desk,
        if take {
            Verb::DistrictTake
        } else {
            Verb::DistrictForUpdate
        },
        input,
    );
    desk.fly(session).await?;
    let (district_tax, order) = (desk.row(0)?.rate(0)?, desk.row(0)?.id(1)?);
    if !take {
        call_district(desk, Verb::DistrictAdvance, input);
        desk.fly(session).await?;
        desk.changed(0, 1)?;
    }
    call_customer(desk, input);
    desk.fly(session).await?;
    let discount = desk.row(0)?.rate(0)?;
    call_insert_order(desk, input, order);
    desk.fly(session).await?;
    call_insert_new_order(desk, input, order);
    desk.fly(session).await?;
    Ok(Head {
        order,
        taxes: warehouse_tax + district_tax,
        discount,
    })
}

/// Commits, or rolls back what asked for the unused item: after all of its valid work was done.
async fn end<S: Session>(
    session: &mut S,
    desk: &mut Desk,
    input: &NewOrderInput,
    head: Head,
    sum: Sum,
) -> Result<Outcome, Failure<S::Error>> {
    if input.unused_item {
        desk.control(session, Statement::ROLLBACK).await?;
        return Ok(Outcome::RolledBack);
    }
    desk.control(session, Statement::COMMIT).await?;
    Ok(head.outcome(input, sum))
}

async fn plain<S: Session>(
    session: &mut S,
    desk: &mut Desk,
    input: &NewOrderInput,
) -> Result<Outcome, Failure<S::Error>> {
    let head = begin(session, desk, input, false).await?;
    let mut sum = Sum::default();
    for line in input.valid_lines() {
        desk.call(Statement::one(Verb::ItemRead)).int(line.item);
        desk.fly(session).await?;
        let item = item_facts(line.item, &desk.row(0)?, 0)?;
        call_stock_read(desk, input, line.supply, line.item);
        desk.fly(session).await?;
        let stock = desk.row(0)?;
        let change = StockChange {
            supply: line.supply,
            item: line.item,
            left: left_in_stock(stock.int(0)?, line.quantity),
            units: line.quantity,
            orders: 1,
            marked: marked(stock.text(1)?),
            text: Text::concat(&[stock.text(2)?]),
        };
        call_stock_update(desk, input, &change);
        desk.fly(session).await?;
        desk.changed(0, 1)?;
        let amount_cents = sum.add(line, item, change.marked);
        let call = desk.call(Statement::one(Verb::InsertLine));
        line_arguments(
            call,
            input,
            head.order,
            line,
            amount_cents,
            change.text.as_bytes(),
        );
        desk.fly(session).await?;
    }
    if let Some(unused) = input.unused_line() {
        desk.call(Statement::one(Verb::ItemRead)).int(unused.item);
        desk.fly(session).await?;
        no_item(desk, 0)?;
    }
    end(session, desk, input, head, sum).await
}

/// The unused item must not exist.
fn no_item(desk: &Desk, call: usize) -> Result<(), Bug> {
    if desk.answer(call)?.is_empty() {
        return Ok(());
    }
    Err(Bug::Items {
        found: 1,
        expected: 0,
    })
}

async fn batched<S: Session>(
    session: &mut S,
    desk: &mut Desk,
    input: &NewOrderInput,
) -> Result<Outcome, Failure<S::Error>> {
    let take = session.dialect().update_returns();
    let head = begin(session, desk, input, take).await?;
    let items = read_items(session, desk, input).await?;
    let mut changes = StockChanges::from_input(input);
    let rows = changes.0.len();
    let mut sum = Sum::default();
    if rows > 0 {
        let call = desk
            .call(Statement::with_variant(Verb::StocksForUpdate, rows))
            .int(input.district);
        for change in &changes.0 {
            call.int(change.supply).int(change.item);
        }
        desk.fly(session).await?;
        let answer = desk.answer(0)?;
        for index in 0..rows {
            let row = answer
                .row(index)
                .ok_or(Bug::MissingRow(Statement::with_variant(
                    Verb::StocksForUpdate,
                    rows,
                )))?;
            changes.read(index, &row, 2, input)?;
        }
        let call = desk.call(Statement::with_variant(Verb::StocksUpdate, rows));
        for change in &changes.0 {
            let remote = if change.supply == input.warehouse {
                0
            } else {
                change.orders
            };
            call.int(change.supply).int(change.item).int(change.left);
            call.int(change.units).int(change.orders).int(remote);
        }
        desk.fly(session).await?;
        desk.changed(0, rows as u64)?;
        let call = desk.call(Statement::with_variant(
            Verb::InsertLines,
            input.valid_lines().len(),
        ));
        insert_lines(call, input, head.order, &items, &changes, &mut sum)?;
        desk.fly(session).await?;
    }
    end(session, desk, input, head, sum).await
}

/// Reads all items of an order at once; the unused one must be the only one that is missing.
async fn read_items<S: Session>(
    session: &mut S,
    desk: &mut Desk,
    input: &NewOrderInput,
) -> Result<[ItemFacts; MAX_LINES], Failure<S::Error>> {
    let mut wanted = [0; MAX_LINES];
    let mut count = 0;
    for line in input.lines() {
        if !wanted[..count].contains(&line.item) {
            wanted[count] = line.item;
            count += 1;
        }
    }
    let call = desk.call(Statement::with_variant(Verb::ItemsRead, count));
    for &item in &wanted[..count] {
        call.int(item);
    }
    desk.fly(session).await?;
    let answer = desk.answer(0)?;
    let expected = count - usize::from(input.unused_item);
    let mut items = [ItemFacts::default(); MAX_LINES];
    if answer.len() != expected {
        return Err(Failure::Bug(Bug::Items {
            found: answer.len(),
            expected,
        }));
    }
    for (facts, row) in items.iter_mut().zip(answer.rows()) {
        *facts = item_facts(row.id(0)?, &row, 1)?;
    }
    Ok(items)
}

/// Appends the parameters of all valid lines to `call`.
fn insert_lines(
    call: &mut Flight,
    input: &NewOrderInput,
    order: u32,
    items: &[ItemFacts],
    changes: &StockChanges,
    sum: &mut Sum,
) -> Result<(), Bug> {
    for line in input.valid_lines() {
        let item = items.iter().find(|item| item.id == line.item);
        let (Some(item), Some(change)) = (item, changes.find(line)) else {
            return Err(Bug::MissingRow(Statement::one(Verb::ItemsRead)));
        };
        let amount_cents = sum.add(line, *item, change.marked);
        line_arguments(
            call,
            input,
            order,
            line,
            amount_cents,
            change.text.as_bytes(),
        );
    }
    Ok(())
}

/// Two flights: everything that is read or locked, then everything that is written.
async fn pipelined<S: Session>(
    session: &mut S,
    desk: &mut Desk,
    input: &NewOrderInput,
) -> Result<Outcome, Failure<S::Error>> {
    desk.call(Statement::BEGIN_WRITE);
    call_warehouse(desk, input);
    call_district(desk, Verb::DistrictForUpdate, input);
    call_customer(desk, input);
    let first_item = desk.calls();
    for line in input.lines() {
        desk.call(Statement::one(Verb::ItemRead)).int(line.item);
    }
    let first_stock = desk.calls();
    let mut changes = StockChanges::from_input(input);
    for change in &changes.0 {
        call_stock_read(desk, input, change.supply, change.item);
    }
    desk.fly(session).await?;

    let district = desk.row(2)?;
    let head = Head {
        order: district.id(1)?,
        taxes: desk.row(1)?.rate(0)? + district.rate(0)?,
        discount: desk.row(3)?.rate(0)?,
    };
    let mut items = [ItemFacts::default(); MAX_LINES];
    for (index, line) in input.valid_lines().iter().enumerate() {
        items[index] = item_facts(line.item, &desk.row(first_item + index)?, 0)?;
    }
    if input.unused_item {
        no_item(desk, first_stock - 1)?;
    }
    for index in 0..changes.0.len() {
        changes.read(index, &desk.row(first_stock + index)?, 0, input)?;
    }

    call_district(desk, Verb::DistrictAdvance, input);
    call_insert_order(desk, input, head.order);
    call_insert_new_order(desk, input, head.order);
    for change in &changes.0 {
        call_stock_update(desk, input, change);
    }
    let mut sum = Sum::default();
    for (line, item) in input.valid_lines().iter().zip(items) {
        let change = changes
            .find(line)
            .ok_or(Bug::MissingRow(Statement::one(Verb::StockForUpdate)))?;
        let amount_cents = sum.add(line, item, change.marked);
        let call = desk.call(Statement::one(Verb::InsertLine));
        line_arguments(
            call,
            input,
            head.order,
            line,
            amount_cents,
            change.text.as_bytes(),
        );
    }
    let check = |desk: &Desk| -> Result<(), Failure<S::Error>> {
        desk.changed(0, 1)?;
        Ok((0..changes.0.len()).try_for_each(|index| desk.changed(3 + index, 1))?)
    };
    if input.unused_item {
        // A ROLLBACK harms nothing wherever it is executed.
        desk.call(Statement::ROLLBACK);
        desk.fly(session).await?;
        check(desk)?;
        return Ok(Outcome::RolledBack);
    }
    desk.fly_and_commit(session, check).await?;
    Ok(head.outcome(input, sum))
}

async fn procedure<S: Session>(
    session: &mut S,
    desk: &mut Desk,
    input: &NewOrderInput,
) -> Result<Outcome, Failure<S::Error>> {
    let mut lines = [b'0'; MAX_LINES * LINE_WIDTH];
    let mut start = 0;
    for line in input.lines() {
        for (width, mut number) in
            LINE_FIELDS
                .into_iter()
                .zip([line.number, line.supply, line.item, line.quantity])
        {
            for digit in lines[start..start + width].iter_mut().rev() {
                *digit = b'0' + (number % 10) as u8;
                number /= 10;
            }
            start += width;
        }
    }
    let call = desk.call(Statement::one(Verb::CallNewOrder));
    call.int(input.warehouse)
        .int(input.district)
        .int(input.customer);
    call.int(count_u32(input.lines().len()))
        .int(u32::from(input.unused_item))
        .text(&lines[..start]);
    desk.fly_committing(session).await?;
    let row = desk.row(0)?;
    if row.int(2)? != 0 {
        return Ok(Outcome::RolledBack);
    }
    Ok(Outcome::NewOrder {
        warehouse: input.warehouse,
        district: input.district,
        order: row.id(0)?,
        total_cents: row.cents(1)?,
        branded: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_rounded_to_the_cent() {
        let head = Head {
            order: 1,
            taxes: 1500,
            discount: 1000,
        };
        // 100.00 * 0.9 * 1.15 = 103.50
        assert_eq!(head.total(10_000), 10_350);
        // 0.05 * 0.9 * 1.15 = 0.05175
        assert_eq!(head.total(5), 5);
        // 0.01 * 0.5 * 1.0 = 0.005, a half goes up
        let half = Head {
            order: 1,
            taxes: 0,
            discount: 5000,
        };
        assert_eq!(half.total(1), 1);
    }

    #[test]
    fn stock_is_filled_up_before_it_falls_below_ten() {
        assert_eq!(left_in_stock(20, 10), 10);
        assert_eq!(left_in_stock(19, 10), 100);
        assert_eq!(left_in_stock(10, 1), 100);
        assert_eq!(left_in_stock(100, 1), 99);
    }

    #[test]
    fn repeats_of_an_item_are_folded() {
        let line = |number, item, supply, quantity| NewOrderLine {
            number,
            item,
            supply,
            quantity,
        };
        let input = NewOrderInput::new(
            1,
            1,
            1,
            &[
                line(1, 7, 1, 10),
                line(2, 7, 2, 1),
                line(3, 7, 1, 5),
                line(4, 3, 1, 2),
            ],
            false,
        );
        let changes = StockChanges::from_input(&input);
        let found: Vec<_> = changes
            .0
            .iter()
            .map(|change| (change.supply, change.item, change.units, change.orders))
            .collect();
        assert_eq!(found, [(1, 3, 2, 1), (1, 7, 15, 2), (2, 7, 1, 1)]);
    }
}
