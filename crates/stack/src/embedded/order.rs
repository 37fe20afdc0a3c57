//! Placing one order within the writer's transaction.

use rusqlite::{Connection, params};

use super::{Pages, money::Amounts, reader::StockLevel};

/// Largest quantity of one line, the range of the original's SMALLINT column.
pub(crate) const MAX_QUANTITY: i64 = 32_767;

/// One line of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) product: i64,
    /// `1..=MAX_QUANTITY`.
    pub(crate) quantity: i64,
}

/// An order on its way to the writer.
#[derive(Debug)]
pub(crate) struct NewOrder {
    pub(crate) customer: i64,
    pub(crate) amounts: Amounts,
    /// At least one.
    pub(crate) lines: Vec<Line>,
    /// How the stock of each line changes.
    pub(crate) stock: StockChange,
}

/// How an order takes its lines out of stock.
#[derive(Debug)]
pub(crate) enum StockChange {
    /// Relative, refused by the database where the stock does not suffice.
    Relative,
    /// To a level that was computed from an earlier read, one per line; `None` = the stock did not
    /// suffice then. Orders that ran in between are overwritten: the lost update of the original.
    Absolute(Vec<Option<StockLevel>>),
}

impl StockChange {
    /// The levels after an order that finds the stock as it was `read`. Repeated products see what
    /// the order itself took before, as the statements of one transaction do.
    pub(crate) fn from_read(lines: &[Line], read: &[Option<StockLevel>]) -> Self {
        let mut after: Vec<Option<StockLevel>> = Vec::with_capacity(lines.len());
        for (index, line) in lines.iter().enumerate() {
            let earlier = (0..index)
                .rev()
                .find(|&at| lines[at].product == line.product && after[at].is_some());
            let before = earlier.map_or(read[index], |at| after[at]);
            let level = before.filter(|level| level.in_stock >= line.quantity);
            after.push(level.map(|level| StockLevel {
                in_stock: level.in_stock - line.quantity,
                sales: level.sales + line.quantity,
            }));
        }
        Self::Absolute(after)
    }
}

/// What became of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OrderOutcome {
    /// Stored under this id.
    Ordered(i64),
    /// Rolled back; the products of which there was too little.
    Short(Vec<i64>),
    /// Rolled back: the customer does not exist.
    UnknownCustomer,
    /// Not tried: it has no line.
    Empty,
}

/// Store `order` under `id` or roll it back, within the transaction that is open on `connection`.
///
/// Cost: 3 statements per line and 3 more, all prepared.
///
/// # Errors
/// Only what is no fault of the order: disk full, I/O, corruption. The savepoint may then still be
/// open.
pub(crate) fn place(
    connection: &Connection,
    behaviour: Pages,
    id: i64,
    date: i64,
    order: &NewOrder,
) -> Result<OrderOutcome, rusqlite::Error> {
    run(connection, "SAVEPOINT one_order")?;
    let outcome = match store(connection, id, date, order) {
        Ok(short) if short.is_empty() => {
            if behaviour == Pages::Corrected {
                remember(connection, id, order)?;
            }
            OrderOutcome::Ordered(id)
        }
        Ok(short) => OrderOutcome::Short(short),
        Err(error) if is_missing_reference(&error) => OrderOutcome::UnknownCustomer,
        Err(error) => return Err(error),
    };
    if !matches!(outcome, OrderOutcome::Ordered(_)) {
        run(connection, "ROLLBACK TO one_order")?;
    }
    run(connection, "RELEASE one_order")?;
    // The original writes the history after the transaction, whatever became of it, and does not
    // look at the result.
    if behaviour == Pages::Faithful && outcome != OrderOutcome::UnknownCustomer {
        remember(connection, id, order)?;
    }
    Ok(outcome)
}

/// The order, its stock and its lines. Returns the products of which there is too little; then the
/// caller rolls back.
fn store(
    connection: &Connection,
    id: i64,
    date: i64,
    order: &NewOrder,
) -> Result<Vec<i64>, rusqlite::Error> {
    let Amounts { net, tax, total } = order.amounts;
    connection
        .prepare_cached(
            "INSERT INTO ORDERS (ORDERID, ORDERDATE, CUSTOMERID, NETAMOUNT, TAX, \
                         TOTALAMOUNT) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![id, date, order.customer, net.0, tax.0, total.0])?;
    let short = take_stock(connection, order)?;
    if short.is_empty() {
        let mut insert = connection.prepare_cached(
            "INSERT INTO ORDERLINES (ORDERLINEID, ORDERID, PROD_ID, QUANTITY, \
                             ORDERDATE) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        for (number, line) in (1_i64..).zip(&order.lines) {
            insert.execute(params![number, id, line.product, line.quantity, date])?;
        }
    }
    Ok(short)
}

/// Take every line out of stock, going on after one that fails, as the original does. Returns the
/// failed products.
fn take_stock(connection: &Connection, order: &NewOrder) -> Result<Vec<i64>, rusqlite::Error> {
    let mut short = Vec::new();
    match &order.stock {
        StockChange::Relative => {
            let mut update = connection.prepare_cached(
                "UPDATE INVENTORY SET QUAN_IN_STOCK = QUAN_IN_STOCK - ?1, SALES = SALES + ?1 WHERE \
                 PROD_ID = ?2 AND QUAN_IN_STOCK >= ?1",
            )?;
            for line in &order.lines {
                if update.execute([line.quantity, line.product])? == 0 {
                    short.push(line.product);
                }
            }
        }
        StockChange::Absolute(levels) => {
            let mut update = connection.prepare_cached(
                "UPDATE INVENTORY SET QUAN_IN_STOCK = ?1, SALES = ?2 WHERE PROD_ID = ?3",
            )?;
            for (line, level) in order.lines.iter().zip(levels) {
                match level {
                    Some(level) => {
                        update.execute([level.in_stock, level.sales, line.product])?;
                    }
                    None => short.push(line.product),
                }
            }
        }
    }
    Ok(short)
}

/// The customer's history: one row per line.
fn remember(connection: &Connection, id: i64, order: &NewOrder) -> Result<(), rusqlite::Error> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO CUST_HIST (CUSTOMERID, ORDERID, PROD_ID) VALUES (?1, ?2, ?3)",
    )?;
    for line in &order.lines {
        insert.execute([order.customer, id, line.product])?;
    }
    Ok(())
}

/// Run a statement without parameters, prepared once.
pub(crate) fn run(connection: &Connection, sql: &str) -> Result<(), rusqlite::Error> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

/// Whether a foreign key refers to nothing. The only one that input can violate is the customer's:
/// ids of orders are ours, and products are checked by the stock.
fn is_missing_reference(error: &rusqlite::Error) -> bool {
    error
        .sqlite_error()
        .is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_products_see_what_the_order_took_before() {
        let line = |product, quantity| Line { product, quantity };
        let level = |in_stock, sales| Some(StockLevel { in_stock, sales });
        let lines = [line(1, 2), line(1, 3), line(1, 1), line(2, 1), line(3, 1)];
        let read = [level(4, 10), level(4, 10), level(4, 10), None, level(1, 0)];
        let StockChange::Absolute(after) = StockChange::from_read(&lines, &read) else {
            unreachable!("absolute by construction")
        };
        assert_eq!(after, [level(2, 12), None, level(1, 13), None, level(0, 1)]);
    }
}
