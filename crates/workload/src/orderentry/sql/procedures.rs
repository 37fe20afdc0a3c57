//! The transactions as procedures in the server. All random input comes from the client.
//!
//! A procedure begins, commits and rolls back by itself; the client keeps autocommit on. The lines
//! of an order travel as one text of
//! [`LINE_WIDTH`] digits per line: number, supplying warehouse, item, quantity.

use super::Verb;
use crate::orderentry::dialect::Dialect;

/// Digits of the fields of a line: number, supplying warehouse, item, quantity.
pub(crate) const LINE_FIELDS: [usize; 4] = [2, 8, 6, 2];

/// Digits of a line.
pub(crate) const LINE_WIDTH: usize = 18;

const MYSQL: &str = include_str!("procedures/mysql.sql");
const POSTGRESQL: &str = include_str!("procedures/postgresql.sql");

/// The statements that make the procedures, each to be sent as a whole; none where the dialect has
/// none.
#[must_use]
pub fn create_procedures(dialect: Dialect) -> Vec<String> {
    let text = match dialect {
        Dialect::Mariadb | Dialect::Mysql => MYSQL,
        Dialect::Postgresql => POSTGRESQL,
        Dialect::Sqlite | Dialect::Db2 | Dialect::Generic => return Vec::new(),
    };
    let texts: Vec<String> = (1..=10)
        .map(|district| format!("WHEN {district} THEN s_dist_{district:02}"))
        .collect();
    let text = text.replace(
        "{district_text}",
        &format!("CASE p_d {} END", texts.join(" ")),
    );
    // Each begins on a line of its own.
    let mut statements = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with("--")) {
        if line.starts_with("CREATE ") {
            statements.push(String::new());
        }
        if let Some(statement) = statements.last_mut() {
            statement.push_str(line);
            statement.push('\n');
        }
    }
    statements
        .into_iter()
        .map(|statement| statement.trim_end().to_owned())
        .collect()
}

/// The statements that remove the procedures where they exist.
#[must_use]
pub fn drop_procedures(dialect: Dialect) -> Vec<String> {
    let names = [
        "oe_new_order",
        "oe_payment",
        "oe_order_status",
        "oe_delivery",
        "oe_stock_level",
    ];
    match dialect {
        Dialect::Mariadb | Dialect::Mysql => names
            .iter()
            .map(|name| format!("DROP PROCEDURE IF EXISTS {name}"))
            .collect(),
        Dialect::Postgresql => names
            .iter()
            .map(|name| format!("DROP ROUTINE IF EXISTS {name}"))
            .collect(),
        Dialect::Sqlite | Dialect::Db2 | Dialect::Generic => Vec::new(),
    }
}

/// The text that calls a procedure. Each answers with rows whose first columns are those of the
/// plain statements' results: a new order with (order, total, rolled back), a payment with the
/// customer, an order status with (order, item, amount) per line, a delivery with (delivered,
/// skipped), a stock level with the count.
pub(super) fn call(verb: Verb, dialect: Dialect) -> String {
    let (name, parameters) = match verb {
        Verb::CallNewOrder => ("oe_new_order", 6),
        Verb::CallPayment => ("oe_payment", 7),
        Verb::CallOrderStatus => ("oe_order_status", 4),
        Verb::CallDelivery => ("oe_delivery", 3),
        _ => ("oe_stock_level", 3),
    };
    let markers = vec!["?"; parameters].join(", ");
    if dialect != Dialect::Postgresql {
        format!("CALL {name}({markers})")
    } else if verb == Verb::CallNewOrder {
        // A procedure, because it must be able to roll back what it has done and answer all the
        // same.
        format!("CALL {name}({markers}, NULL, NULL, NULL)")
    } else {
        format!("SELECT * FROM {name}({markers})")
    }
}
