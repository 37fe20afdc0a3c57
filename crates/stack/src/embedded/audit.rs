//! What a trial has left in the database.

use std::path::Path;

use rookery_workload::dvdstore::data::Inventory;
use rusqlite::Connection;
use serde::Serialize;

use super::{
    behaviour::Behaviour,
    connection::open_reader,
    error::{DatabaseContext as _, EmbeddedError},
    meta::Meta,
};

/// Counts of what is in the database beyond the loaded rows, and of what does not fit together there.
///
/// The loaded rows are those with the ids of the size; every order of a trial has a greater id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OrderAudit {
    /// Rows of `ORDERS` that were loaded.
    pub loaded_orders: u64,
    /// Rows of `ORDERS` beyond those: what the driver must have counted as ordered.
    pub orders: u64,
    /// Rows of `ORDERLINES` beyond the loaded orders.
    pub order_lines: u64,
    /// Rows of `CUST_HIST` beyond the loaded ones.
    pub history_rows: u64,
    /// Rows of `CUSTOMERS` beyond the loaded ones.
    pub customers: u64,
    /// New orders that have no line.
    pub orders_without_lines: u64,
    /// New lines whose order does not exist.
    pub lines_without_order: u64,
    /// New history rows whose order does not exist; the original leaves them behind when it rolls an order back.
    pub orphan_history: u64,
    /// New orders whose number of history rows is not their number of lines.
    pub orders_with_other_history: u64,
    /// Products whose stock is not the loaded stock minus what the new lines took.
    pub products_with_other_stock: u64,
    /// Units by which the stock of those products is off, without sign: lost updates.
    pub units_off: u64,
}

impl OrderAudit {
    /// What does not hold of pages of this behaviour, one sentence each; empty when all is well. The known defects of
    /// [`Behaviour::Faithful`] are no faults of it.
    #[must_use]
    pub fn faults(&self, behaviour: Behaviour) -> Vec<String> {
        let corrected = behaviour == Behaviour::Corrected;
        [
            (true, self.orders_without_lines, "orders have no line"),
            (true, self.lines_without_order, "order lines belong to no order"),
            (
                true,
                self.orders_with_other_history,
                "orders have more or fewer history rows than lines",
            ),
            (corrected, self.orphan_history, "history rows belong to no order"),
            (
                corrected,
                self.products_with_other_stock,
                "products have another stock than the orders left",
            ),
        ]
        .into_iter()
        .filter(|&(applies, count, _)| applies && count > 0)
        .map(|(_, count, what)| format!("{count} {what}"))
        .collect()
    }

    /// Whether there are no [`faults`](Self::faults).
    #[must_use]
    pub fn consistent(&self, behaviour: Behaviour) -> bool {
        self.faults(behaviour).is_empty()
    }
}

/// Count what is in `database` beyond the loaded rows.
///
/// The server need not run. After it was killed, opening the database replays its log first: committed orders count, others never do.
/// Reads only the rows that were added and the inventory, so that a large database is audited as fast as a small one.
///
/// # Errors
/// When there is no database, or it is not one of ours.
pub fn audit(database: &Path) -> Result<OrderAudit, EmbeddedError> {
    if !database.exists() {
        return Err(EmbeddedError::Missing(database.to_owned()));
    }
    let connection = open_reader(database).at(database, "opening the database")?;
    let meta = Meta::read(&connection, database)?;
    meta.check_tables(&connection, database)?;
    // One state of the database for all counts.
    let transaction = connection.unchecked_transaction().at(database, "reading the database")?;
    count(&transaction, &meta).at(database, "counting the orders")
}

fn count(connection: &Connection, meta: &Meta) -> Result<OrderAudit, rusqlite::Error> {
    let rows = meta.rows();
    let beyond = |sql: &str, last: u64| {
        connection
            .query_row(sql, [last.cast_signed()], |row| row.get::<_, i64>(0))
            .map(i64::unsigned_abs)
    };
    let orders = rows.orders();
    let (products_with_other_stock, units_off) = stock_differences(connection, meta)?;
    Ok(OrderAudit {
        loaded_orders: orders,
        orders: beyond("SELECT count(*) FROM ORDERS WHERE ORDERID > ?1", orders)?,
        order_lines: beyond("SELECT count(*) FROM ORDERLINES WHERE ORDERID > ?1", orders)?,
        history_rows: beyond("SELECT count(*) FROM CUST_HIST WHERE rowid > ?1", meta.order_lines)?,
        customers: beyond("SELECT count(*) FROM CUSTOMERS WHERE CUSTOMERID > ?1", rows.customers)?,
        orders_without_lines: beyond(
            "SELECT count(*) FROM ORDERS o WHERE ORDERID > ?1 AND NOT EXISTS (SELECT 1 FROM ORDERLINES l WHERE l.ORDERID = o.ORDERID)",
            orders,
        )?,
        lines_without_order: beyond(
            "SELECT count(*) FROM ORDERLINES l WHERE ORDERID > ?1 AND NOT EXISTS (SELECT 1 FROM ORDERS o WHERE o.ORDERID = l.ORDERID)",
            orders,
        )?,
        orphan_history: beyond(
            "SELECT count(*) FROM CUST_HIST h WHERE rowid > ?1 AND NOT EXISTS (SELECT 1 FROM ORDERS o WHERE o.ORDERID = h.ORDERID)",
            meta.order_lines,
        )?,
        orders_with_other_history: beyond(
            "SELECT count(*) FROM ORDERS o WHERE ORDERID > ?1 AND
               (SELECT count(*) FROM ORDERLINES l WHERE l.ORDERID = o.ORDERID) <>
               (SELECT count(*) FROM CUST_HIST h WHERE h.CUSTOMERID = o.CUSTOMERID AND h.ORDERID = o.ORDERID)",
            orders,
        )?,
        products_with_other_stock,
        units_off,
    })
}

/// Products, and units, whose stock is not what was loaded minus what the new lines took.
///
/// The loaded stock is not stored: the generator draws it again.
fn stock_differences(connection: &Connection, meta: &Meta) -> Result<(u64, u64), rusqlite::Error> {
    let rows = meta.rows();
    let unsold = vec![0; usize::try_from(rows.products).expect("a catalogue has at most 10 230 000 products")];
    let mut expected: Vec<i64> = Inventory::new(&unsold).map(|stock| i64::from(stock.in_stock)).collect();
    let at = |product: i64| usize::try_from(product - 1).ok();
    let mut taken = connection.prepare("SELECT PROD_ID, sum(QUANTITY) FROM ORDERLINES WHERE ORDERID > ?1 GROUP BY PROD_ID")?;
    let mut taken = taken.query([rows.orders().cast_signed()])?;
    while let Some(row) = taken.next()? {
        if let Some(level) = at(row.get(0)?).and_then(|index| expected.get_mut(index)) {
            *level -= row.get::<_, i64>(1)?;
        }
    }
    let (mut products, mut units) = (0, 0);
    let mut found = connection.prepare("SELECT PROD_ID, QUAN_IN_STOCK FROM INVENTORY")?;
    let mut found = found.query([])?;
    while let Some(row) = found.next()? {
        let in_stock: i64 = row.get(1)?;
        let off = at(row.get(0)?)
            .and_then(|index| expected.get(index))
            .map_or(0, |level| in_stock.abs_diff(*level));
        products += u64::from(off > 0);
        units += off;
    }
    Ok((products, units))
}
