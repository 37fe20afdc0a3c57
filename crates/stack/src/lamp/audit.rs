//! What a trial has left in MariaDB.

use rookery_diagnosis::Diagnosis;
use std::collections::BTreeMap;

use rookery_workload::dvdstore::{Rows, Size};

use super::sql::{Database, SqlError};
use crate::audit::{OrderAudit, StockCheck};

/// Why a database could not be audited.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The server refused a query.
    #[error(transparent)]
    Sql(#[from] SqlError),
    /// The tables do not hold what a database of the size was loaded with.
    #[error("db_size does not match the loaded row counts: {0}")]
    SizeMismatch(String),
}

impl Diagnosis for AuditError {
    fn code(&self) -> &'static str {
        match self {
            Self::Sql(_) => "lamp::sql",
            Self::SizeMismatch(_) => "lamp::size-mismatch",
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Sql(error) => return error.help(),
            Self::SizeMismatch(_) => {
                "load the database anew, or state the size that it was loaded \
                                      with"
                    .to_owned()
            }
        };
        Some(help)
    }
}

/// Count what is in the database beyond the rows that one of `size` was loaded with, and what does
/// not fit together there.
///
/// Nobody should write meanwhile. Reads the added rows, the inventory, and all of `CUST_HIST`,
/// which has no index on orders.
///
/// # Errors
/// When the server refuses a query, or the loaded rows are not those of `size`.
pub fn audit(database: &mut Database, size: Size) -> Result<OrderAudit, AuditError> {
    let rows = size.rows();
    // One state of the database for all queries.
    database.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")?;
    let audited = check_size(database, size, rows).and_then(|()| Ok(count(database, rows)?));
    database.execute("COMMIT")?;
    audited
}

/// Refuse a database of another size in a few index look-ups.
fn check_size(database: &mut Database, size: Size, rows: Rows) -> Result<(), AuditError> {
    for (table, key, last, more) in [
        ("CUSTOMERS", "CUSTOMERID", rows.customers, true),
        ("ORDERS", "ORDERID", rows.orders(), true),
        ("ORDERLINES", "ORDERID", rows.orders(), true),
        ("PRODUCTS", "PROD_ID", rows.products, false),
        ("INVENTORY", "PROD_ID", rows.products, false),
    ] {
        let there = database.number(&format!(
            "SELECT COUNT(DISTINCT {key}) FROM DS2.{table} WHERE {key} IN (1, {last})"
        ))?;
        let greatest = database
            .number(&format!("SELECT MAX({key}) FROM DS2.{table}"))?
            .cast_unsigned();
        if there.cast_unsigned() != last.min(2) || (!more && greatest != last) {
            let what =
                format!("{size} has {key} 1 to {last} in {table}, which ends with {greatest}");
            return Err(AuditError::SizeMismatch(what));
        }
    }
    Ok(())
}

/// One new order: its customer, and its amounts in cents.
#[derive(Clone, Copy, Debug)]
struct Order {
    customer: i64,
    net: i64,
    tax: i64,
    total: i64,
}

/// What trials added, by order.
#[derive(Debug, Default)]
struct Added {
    orders: BTreeMap<i64, Order>,
    /// Number of lines and their sum in cents.
    lines: BTreeMap<i64, (u64, i64)>,
    /// Order, customer and number of rows.
    history: Vec<(i64, i64, u64)>,
}

fn count(database: &mut Database, rows: Rows) -> Result<OrderAudit, SqlError> {
    let last = rows.orders();
    let added = Added::read(database, last)?;
    let mut audit = added.judge();
    audit.loaded_orders = database
        .number(&format!(
            "SELECT COUNT(*) FROM DS2.ORDERS WHERE ORDERID <= {last}"
        ))?
        .cast_unsigned();
    audit.customers = database
        .number(&format!(
            "SELECT COUNT(*) FROM DS2.CUSTOMERS WHERE CUSTOMERID > {}",
            rows.customers
        ))?
        .cast_unsigned();
    let mut stock = StockCheck::new(rows);
    let taken = format!(
        "SELECT PROD_ID, CAST(SUM(QUANTITY) AS SIGNED) FROM DS2.ORDERLINES WHERE ORDERID > {last} \
         GROUP BY PROD_ID"
    );
    for (product, quantity) in database.query(&taken)? {
        stock.take(product, quantity);
    }
    for (product, in_stock, sales) in
        database.query("SELECT PROD_ID, QUAN_IN_STOCK, SALES FROM DS2.INVENTORY")?
    {
        stock.compare(product, in_stock, sales);
    }
    stock.note(&mut audit);
    Ok(audit)
}

impl Added {
    /// What there is beyond the order `last`.
    fn read(database: &mut Database, last: u64) -> Result<Self, SqlError> {
        let cents = |column: &str| format!("CAST(100 * {column} AS SIGNED)");
        let orders = format!(
            "SELECT ORDERID, IFNULL(CUSTOMERID, 0), {}, {}, {} FROM DS2.ORDERS WHERE ORDERID > \
             {last}",
            cents("NETAMOUNT"),
            cents("TAX"),
            cents("TOTALAMOUNT")
        );
        let lines = format!(
            "SELECT ORDERID, COUNT(*), {} FROM DS2.ORDERLINES LEFT JOIN DS2.PRODUCTS USING \
             (PROD_ID) WHERE ORDERID > {last} GROUP BY ORDERID",
            cents("SUM(QUANTITY * IFNULL(PRICE, 0))")
        );
        let history = format!(
            "SELECT ORDERID, CUSTOMERID, COUNT(*) FROM DS2.CUST_HIST WHERE ORDERID > {last} GROUP \
             BY ORDERID, CUSTOMERID"
        );
        let order = |(id, customer, net, tax, total)| {
            let order = Order {
                customer,
                net,
                tax,
                total,
            };
            (id, order)
        };
        Ok(Self {
            orders: database.query(&orders)?.into_iter().map(order).collect(),
            lines: database
                .query(&lines)?
                .into_iter()
                .map(|(order, count, sum): (i64, u64, i64)| (order, (count, sum)))
                .collect(),
            history: database.query(&history)?,
        })
    }

    /// Count what there is and what does not fit together.
    fn judge(&self) -> OrderAudit {
        let mut audit = OrderAudit {
            orders: self.orders.len() as u64,
            order_lines: self.lines.values().map(|(count, _)| count).sum(),
            history_rows: self.history.iter().map(|(_, _, count)| count).sum(),
            ..OrderAudit::default()
        };
        let without_order = self
            .lines
            .iter()
            .filter(|(order, _)| !self.orders.contains_key(order));
        audit.lines_without_order = without_order.map(|(_, (count, _))| count).sum();
        // Rows of the order's own customer only: what another one has of it is a fault of the order
        // too.
        let mut remembered = BTreeMap::new();
        for (order, customer, count) in &self.history {
            match self.orders.get(order) {
                Some(found) if found.customer == *customer => {
                    *remembered.entry(*order).or_insert(0) += count
                }
                Some(_) => {}
                None => audit.orphan_history += count,
            }
        }
        for (id, order) in &self.orders {
            let (lines, sum) = self.lines.get(id).copied().unwrap_or_default();
            let tax = (i128::from(order.net) * 825 + 5_000).div_euclid(10_000);
            let amounts = order.net == sum
                && i128::from(order.tax) == tax
                && order.total == order.net + order.tax;
            audit.orders_without_lines += u64::from(lines == 0);
            audit.orders_with_other_amounts += u64::from(!amounts);
            audit.orders_with_other_history +=
                u64::from(remembered.get(id).copied().unwrap_or(0) != lines);
        }
        audit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(customer: i64, net: i64) -> Order {
        let tax = (net * 825 + 5_000) / 10_000;
        Order {
            customer,
            net,
            tax,
            total: net + tax,
        }
    }

    #[test]
    fn whole_orders_have_no_fault() {
        let added = Added {
            orders: [(13, order(5, 1_998)), (14, order(6, 999))].into(),
            lines: [(13, (2, 1_998)), (14, (1, 999))].into(),
            history: vec![(13, 5, 2), (14, 6, 1)],
        };
        let expected = OrderAudit {
            orders: 2,
            order_lines: 3,
            history_rows: 3,
            ..OrderAudit::default()
        };
        assert_eq!(added.judge(), expected);
    }

    #[test]
    fn each_fault_is_counted_as_itself() {
        let wrong_tax = Order {
            tax: 1,
            total: 1_000,
            ..order(5, 999)
        };
        let added = Added {
            // 1: no line and no history. 2: wrong tax. 3: history of another customer. 4: sum of
            // lines. 5: right.
            orders: [
                (1, order(5, 0)),
                (2, wrong_tax),
                (3, order(6, 999)),
                (4, order(6, 1_000)),
                (5, order(7, 0)),
            ]
            .into(),
            lines: [
                (2, (1, 999)),
                (3, (1, 999)),
                (4, (1, 999)),
                (5, (1, 0)),
                (9, (4, 1)),
            ]
            .into(),
            history: vec![(2, 5, 1), (3, 5, 1), (4, 6, 1), (5, 7, 1), (8, 5, 3)],
        };
        let found = added.judge();
        assert_eq!(
            (
                found.orders_without_lines,
                found.lines_without_order,
                found.orphan_history
            ),
            (1, 4, 3)
        );
        assert_eq!(
            (
                found.orders_with_other_amounts,
                found.orders_with_other_history
            ),
            (2, 1)
        );
    }
}
