//! What a trial has left in the database.

use std::path::Path;

use rusqlite::Connection;

use super::{
    connection::open_reader,
    error::{DatabaseContext as _, EmbeddedError},
    meta::Meta,
};
use crate::audit::{OrderAudit, StockCheck};

/// Count what is in `database` beyond the loaded rows.
///
/// The server need not run. After it was killed, opening the database replays its log first:
/// committed orders count, others never do. Reads only the rows that were added and the inventory,
/// so that a large database is audited as fast as a small one.
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
    let transaction = connection
        .unchecked_transaction()
        .at(database, "reading the database")?;
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
    let mut audit = OrderAudit {
        loaded_orders: orders,
        orders: beyond("SELECT count(*) FROM ORDERS WHERE ORDERID > ?1", orders)?,
        order_lines: beyond("SELECT count(*) FROM ORDERLINES WHERE ORDERID > ?1", orders)?,
        history_rows: beyond(
            "SELECT count(*) FROM CUST_HIST WHERE rowid > ?1",
            meta.order_lines,
        )?,
        customers: beyond(
            "SELECT count(*) FROM CUSTOMERS WHERE CUSTOMERID > ?1",
            rows.customers,
        )?,
        orders_without_lines: beyond(
            "SELECT count(*) FROM ORDERS o WHERE ORDERID > ?1 AND NOT EXISTS (SELECT 1 FROM \
             ORDERLINES l WHERE l.ORDERID = o.ORDERID)",
            orders,
        )?,
        lines_without_order: beyond(
            "SELECT count(*) FROM ORDERLINES l WHERE ORDERID > ?1 AND NOT EXISTS (SELECT 1 FROM \
             ORDERS o WHERE o.ORDERID = l.ORDERID)",
            orders,
        )?,
        orphan_history: beyond(
            "SELECT count(*) FROM CUST_HIST h WHERE rowid > ?1 AND NOT EXISTS (SELECT 1 FROM \
             ORDERS o WHERE o.ORDERID = h.ORDERID)",
            meta.order_lines,
        )?,
        orders_with_other_history: beyond(
            "SELECT count(*) FROM ORDERS o WHERE ORDERID > ?1 AND
               (SELECT count(*) FROM ORDERLINES l WHERE l.ORDERID = o.ORDERID) <>
               (SELECT count(*) FROM CUST_HIST h WHERE h.CUSTOMERID = o.CUSTOMERID AND h.ORDERID = \
             o.ORDERID)",
            orders,
        )?,
        orders_with_other_amounts: beyond(
            "SELECT count(*) FROM ORDERS o WHERE ORDERID > ?1 AND
               (TAX <> (NETAMOUNT * 825 + 5000) / 10000 OR TOTALAMOUNT <> NETAMOUNT + TAX OR \
             NETAMOUNT <>
                 (SELECT coalesce(sum(l.QUANTITY * p.PRICE), 0) FROM ORDERLINES l JOIN PRODUCTS p \
             ON p.PROD_ID = l.PROD_ID
                  WHERE l.ORDERID = o.ORDERID))",
            orders,
        )?,
        ..OrderAudit::default()
    };
    check_stock(connection, meta)?.note(&mut audit);
    Ok(audit)
}

/// Compare the inventory with the loaded one and what the new lines took.
fn check_stock(connection: &Connection, meta: &Meta) -> Result<StockCheck, rusqlite::Error> {
    let rows = meta.rows();
    let mut check = StockCheck::new(rows);
    let mut taken = connection.prepare(
        "SELECT PROD_ID, sum(QUANTITY) FROM ORDERLINES WHERE ORDERID > ?1 GROUP BY PROD_ID",
    )?;
    let mut taken = taken.query([rows.orders().cast_signed()])?;
    while let Some(row) = taken.next()? {
        check.take(row.get(0)?, row.get(1)?);
    }
    let mut found = connection.prepare("SELECT PROD_ID, QUAN_IN_STOCK, SALES FROM INVENTORY")?;
    let mut found = found.query([])?;
    while let Some(row) = found.next()? {
        check.compare(row.get(0)?, row.get(1)?, row.get(2)?);
    }
    Ok(check)
}
