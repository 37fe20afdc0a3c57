//! One statement for several rows: the texts of the batched style.

use super::Verb;
use crate::orderentry::dialect::Dialect;

pub(super) fn text(verb: Verb, rows: usize, dialect: Dialect) -> String {
    let any_key = |columns: [&str; 3]| keys(&columns, rows);
    match verb {
        Verb::ItemsRead => format!(
            "SELECT i_id, i_price, i_name, i_data FROM item WHERE i_id IN ({})",
            list("?", rows)
        ),
        Verb::StocksForUpdate => format!(
            "SELECT s_w_id, s_i_id, s_quantity, s_data, {} FROM stock WHERE {} ORDER BY s_w_id, \
             s_i_id{}",
            district_text(dialect),
            keys(&["s_w_id", "s_i_id"], rows),
            dialect.lock()
        ),
        Verb::StocksUpdate => update_rows(
            dialect,
            "stock",
            &[("w", "s_w_id"), ("i", "s_i_id")],
            &["q", "y", "c", "r"],
            "s_quantity = v.q, s_ytd = s_ytd + v.y, s_order_cnt = s_order_cnt + v.c, s_remote_cnt \
             = s_remote_cnt + v.r",
            rows,
        ),
        Verb::InsertLines => insert_lines(rows),
        Verb::DeleteNewOrders => format!(
            "DELETE FROM new_orders WHERE {}",
            any_key(["no_w_id", "no_d_id", "no_o_id"])
        ),
        Verb::OrdersDeliver => format!(
            "UPDATE orders SET o_carrier_id = ? WHERE {}",
            any_key(["o_w_id", "o_d_id", "o_id"])
        ),
        Verb::OrdersLinesDeliver => format!(
            "UPDATE order_line SET ol_delivery_d = ? WHERE {}",
            any_key(["ol_w_id", "ol_d_id", "ol_o_id"])
        ),
        Verb::OrdersTotal => orders_total(rows),
        _ => update_rows(
            dialect,
            "customer",
            &[("w", "c_w_id"), ("d", "c_d_id"), ("i", "c_id")],
            &["a"],
            "c_balance = c_balance + v.a, c_delivery_cnt = c_delivery_cnt + 1",
            rows,
        ),
    }
}

fn list(element: &str, count: usize) -> String {
    vec![element; count].join(", ")
}

/// Any of so many keys. Written out, because not every optimiser makes a range of a list of rows,
/// and a locking scan would lock them all.
fn keys(columns: &[&str], count: usize) -> String {
    let one: Vec<String> = columns
        .iter()
        .map(|column| format!("{column} = ?"))
        .collect();
    vec![format!("({})", one.join(" AND ")); count].join(" OR ")
}

/// The text of the district that is the first parameter.
fn district_text(dialect: Dialect) -> String {
    let cases: Vec<String> = (1..=10)
        .map(|district| format!("WHEN {district} THEN s_dist_{district:02}"))
        .collect();
    format!("CASE {} {} END", integer(dialect), cases.join(" "))
}

/// A parameter where nothing else says that it is a whole number.
fn integer(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgresql => "?::integer",
        Dialect::Db2 => "CAST(? AS INTEGER)",
        _ => "?",
    }
}

/// A parameter where nothing else says that it is an amount.
fn amount(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgresql => "?::numeric",
        Dialect::Db2 => "CAST(? AS DECIMAL(14,2))",
        // In a derived table the type of a parameter could be that of the first row's value alone.
        Dialect::Mariadb | Dialect::Mysql => "CAST(? AS DECIMAL(14,2))",
        _ => "?",
    }
}

pub(super) fn insert_lines(rows: usize) -> String {
    format!(
        "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, \
         ol_delivery_d, ol_quantity, ol_amount, \
         ol_dist_info) VALUES {}",
        list("(?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)", rows)
    )
}

pub(super) fn orders_total(rows: usize) -> String {
    format!(
        "SELECT o_d_id, o_c_id, SUM(ol_amount) FROM orders JOIN order_line ON ol_w_id = o_w_id AND \
         ol_d_id = o_d_id AND ol_o_id = o_id \
         WHERE {} GROUP BY o_d_id, o_c_id",
        keys(&["o_w_id", "o_d_id", "o_id"], rows)
    )
}

/// Changes several rows, each by values of its own: parameters are keys and values, row after row.
/// `key` pairs the name of a value with its column; values that are called `a` are amounts.
fn update_rows(
    dialect: Dialect,
    table: &str,
    key: &[(&str, &str)],
    values: &[&str],
    set: &str,
    rows: usize,
) -> String {
    let names: Vec<&str> = key
        .iter()
        .map(|(name, _)| *name)
        .chain(values.iter().copied())
        .collect();
    let parameter = |name: &str| {
        if name == "a" {
            amount(dialect)
        } else {
            integer(dialect)
        }
    };
    let row: Vec<&str> = names.iter().map(|name| parameter(name)).collect();
    let matches: Vec<String> = key
        .iter()
        .map(|(name, column)| format!("{column} = v.{name}"))
        .collect();
    let matches = matches.join(" AND ");
    let values = list(&format!("({})", row.join(", ")), rows);
    let columns = names.join(", ");
    match dialect {
        Dialect::Mariadb | Dialect::Mysql => {
            let first: Vec<String> = names
                .iter()
                .map(|name| format!("{} AS {name}", parameter(name)))
                .collect();
            let rest = format!(" UNION ALL SELECT {}", row.join(", ")).repeat(rows - 1);
            format!(
                "UPDATE {table} JOIN (SELECT {}{rest}) AS v ON {matches} SET {set}",
                first.join(", ")
            )
        }
        Dialect::Sqlite => {
            format!(
                "WITH v ({columns}) AS (VALUES {values}) UPDATE {table} SET {set} FROM v WHERE \
                 {matches}"
            )
        }
        Dialect::Db2 => {
            format!(
                "MERGE INTO {table} USING (VALUES {values}) AS v ({columns}) ON {matches} WHEN \
                 MATCHED THEN UPDATE SET {set}"
            )
        }
        Dialect::Postgresql | Dialect::Generic => {
            format!(
                "UPDATE {table} SET {set} FROM (VALUES {values}) AS v ({columns}) WHERE {matches}"
            )
        }
    }
}
