//! One statement per step: the texts of the plain and pipelined styles.

use super::Verb;
use crate::orderentry::dialect::Dialect;

const WAREHOUSE_COLUMNS: &str = "w_name, w_street_1, w_street_2, w_city, w_state, w_zip";
const DISTRICT_COLUMNS: &str = "d_name, d_street_1, d_street_2, d_city, d_state, d_zip";
const CUSTOMER_KEY: &str = "c_w_id = ? AND c_d_id = ? AND c_id = ?";
const STATUS_COLUMNS: &str = "c_id, c_balance, c_first, c_middle, c_last";
const NEW_ORDER_KEY: &str = "no_w_id = ? AND no_d_id = ? AND no_o_id = ?";
const ORDER_KEY: &str = "o_w_id = ? AND o_d_id = ? AND o_id = ?";
const LINE_KEY: &str = "ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?";

pub(super) fn text(verb: Verb, variant: u8, dialect: Dialect) -> String {
    match verb {
        Verb::BeginWrite | Verb::BeginRead | Verb::Commit | Verb::Rollback => {
            control(verb, dialect).to_owned()
        }
        Verb::WarehouseTax
        | Verb::DistrictForUpdate
        | Verb::DistrictAdvance
        | Verb::DistrictTake
        | Verb::CustomerDiscount
        | Verb::InsertOrder
        | Verb::InsertNewOrder
        | Verb::ItemRead
        | Verb::StockForUpdate
        | Verb::StockUpdate
        | Verb::InsertLine => new_order(verb, variant, dialect),
        Verb::WarehousePay
        | Verb::WarehouseRead
        | Verb::WarehousePayRead
        | Verb::DistrictPay
        | Verb::DistrictRead
        | Verb::DistrictPayRead
        | Verb::CustomersByName
        | Verb::CustomerForUpdate
        | Verb::CustomerPay
        | Verb::CustomerData
        | Verb::CustomerPayData
        | Verb::CustomerPayPrepend
        | Verb::InsertHistory => payment(verb, dialect),
        _ => others(verb, dialect),
    }
}

fn control(verb: Verb, dialect: Dialect) -> &'static str {
    match (verb, dialect) {
        (Verb::Commit, _) => "COMMIT",
        (Verb::Rollback, _) => "ROLLBACK",
        // A write lock from the start: a read that must become a write could only fail.
        (Verb::BeginWrite, Dialect::Sqlite) => "BEGIN IMMEDIATE",
        _ => "BEGIN",
    }
}

fn new_order(verb: Verb, district: u8, dialect: Dialect) -> String {
    let (lock, now) = (dialect.lock(), dialect.now());
    match verb {
        Verb::WarehouseTax => "SELECT w_tax FROM warehouse WHERE w_id = ?".to_owned(),
        Verb::DistrictForUpdate => {
            format!("SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?{lock}")
        }
        Verb::DistrictAdvance => {
            "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?"
                .to_owned()
        }
        Verb::DistrictTake if dialect == Dialect::Db2 => {
            "SELECT d_tax, d_next_o_id FROM OLD TABLE \
            (UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?)"
                .to_owned()
        }
        Verb::DistrictTake => {
            "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ? \
            RETURNING d_tax, d_next_o_id - 1"
                .to_owned()
        }
        Verb::CustomerDiscount => {
            format!("SELECT c_discount, c_last, c_credit FROM customer WHERE {CUSTOMER_KEY}")
        }
        Verb::InsertOrder => format!(
            "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, \
             o_all_local) \
             VALUES (?, ?, ?, ?, {now}, NULL, ?, ?)"
        ),
        Verb::InsertNewOrder => {
            "INSERT INTO new_orders (no_w_id, no_d_id, no_o_id) VALUES (?, ?, ?)".to_owned()
        }
        Verb::ItemRead => "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?".to_owned(),
        Verb::StockForUpdate => {
            format!(
                "SELECT s_quantity, s_data, s_dist_{district:02} FROM stock WHERE s_w_id = ? AND \
                 s_i_id = ?{lock}"
            )
        }
        Verb::StockUpdate => {
            "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + ?, \
            s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?"
                .to_owned()
        }
        _ => super::batched::insert_lines(1),
    }
}

/// An UPDATE that hands back columns of the changed row.
fn update_and_read(dialect: Dialect, update: &str, columns: &str) -> String {
    if dialect == Dialect::Db2 {
        format!("SELECT {columns} FROM FINAL TABLE ({update})")
    } else {
        format!("{update} RETURNING {columns}")
    }
}

fn payment(verb: Verb, dialect: Dialect) -> String {
    let (lock, now) = (dialect.lock(), dialect.now());
    let pay_warehouse = "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?";
    let pay_district = "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?";
    let pay_customer = "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = \
                        c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1";
    match verb {
        Verb::WarehousePay => pay_warehouse.to_owned(),
        Verb::WarehouseRead => format!("SELECT {WAREHOUSE_COLUMNS} FROM warehouse WHERE w_id = ?"),
        Verb::WarehousePayRead => update_and_read(dialect, pay_warehouse, WAREHOUSE_COLUMNS),
        Verb::DistrictPay => pay_district.to_owned(),
        Verb::DistrictRead => format!(
            "SELECT {DISTRICT_COLUMNS} FROM district WHERE d_w_id = ? \
                                       AND d_id = ?"
        ),
        Verb::DistrictPayRead => update_and_read(dialect, pay_district, DISTRICT_COLUMNS),
        Verb::CustomersByName => {
            "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY \
             c_first, c_id"
                .to_owned()
        }
        Verb::CustomerForUpdate => format!(
            "SELECT c_credit, c_balance, c_first, c_middle, c_last, c_street_1, c_street_2, \
             c_city, c_state, c_zip, c_phone, c_since, \
             c_credit_lim, c_discount FROM customer WHERE {CUSTOMER_KEY}{lock}"
        ),
        Verb::CustomerPay => format!("{pay_customer} WHERE {CUSTOMER_KEY}"),
        Verb::CustomerData => format!("SELECT c_data FROM customer WHERE {CUSTOMER_KEY}"),
        Verb::CustomerPayData => format!("{pay_customer}, c_data = ? WHERE {CUSTOMER_KEY}"),
        Verb::CustomerPayPrepend => {
            let joined = match dialect {
                Dialect::Mariadb | Dialect::Mysql => "SUBSTR(CONCAT(?, c_data), 1, 500)",
                // SUBSTR would fail on a shorter text, and parameters have no type of their own.
                Dialect::Db2 => "LEFT(CAST(? AS VARCHAR(100)) || c_data, 500)",
                _ => "SUBSTR(? || c_data, 1, 500)",
            };
            format!("{pay_customer}, c_data = {joined} WHERE {CUSTOMER_KEY}")
        }
        _ => format!(
            "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, \
             h_data) \
             VALUES (?, ?, ?, ?, ?, {now}, ?, ?)"
        ),
    }
}

fn others(verb: Verb, dialect: Dialect) -> String {
    let (lock, first) = (dialect.lock(), dialect.limit(1));
    let dirty = if dialect == Dialect::Db2 {
        " WITH UR"
    } else {
        ""
    };
    match verb {
        Verb::StatusById => format!("SELECT {STATUS_COLUMNS} FROM customer WHERE {CUSTOMER_KEY}"),
        Verb::StatusByName => {
            format!(
                "SELECT {STATUS_COLUMNS} FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last \
                 = ? ORDER BY c_first, c_id"
            )
        }
        Verb::LastOrder => format!(
            "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND \
             o_c_id = ? ORDER BY o_id DESC{first}"
        ),
        Verb::OrderLines => {
            format!(
                "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM \
                 order_line WHERE {LINE_KEY}"
            )
        }
        Verb::OldestNewOrder => {
            format!(
                "SELECT no_o_id FROM new_orders WHERE no_w_id = ? AND no_d_id = ? ORDER BY \
                 no_o_id{first}{lock}"
            )
        }
        Verb::DeleteNewOrder => format!("DELETE FROM new_orders WHERE {NEW_ORDER_KEY}"),
        // A locking read sees what was committed after the transaction's snapshot too, such as the
        // order just found.
        Verb::OrderForUpdate => format!("SELECT o_c_id FROM orders WHERE {ORDER_KEY}{lock}"),
        Verb::OrderDeliver => format!("UPDATE orders SET o_carrier_id = ? WHERE {ORDER_KEY}"),
        Verb::LinesDeliver => format!("UPDATE order_line SET ol_delivery_d = ? WHERE {LINE_KEY}"),
        Verb::LinesSum => format!("SELECT SUM(ol_amount) FROM order_line WHERE {LINE_KEY}"),
        Verb::OrderTotal => super::batched::orders_total(1),
        Verb::CustomerDeliver => {
            format!(
                "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + \
                 1 WHERE {CUSTOMER_KEY}"
            )
        }
        Verb::NextOrder => {
            format!("SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?{dirty}")
        }
        _ => format!(
            "SELECT COUNT(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND \
             s_i_id = ol_i_id \
             WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id < ? AND s_quantity < \
             ?{dirty}"
        ),
    }
}
