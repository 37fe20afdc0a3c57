//! The consistency conditions as SQL: each query answers with the keys of what breaks its
//! condition, and with nothing on a sound database.

use super::{dialect::Dialect, scale::Scale};

/// Offending keys that a query answers with at most.
pub const MOST_OFFENDERS: u32 = 10;

/// When a database is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Right after load: nothing was delivered since.
    AfterLoad,
    /// At any quiet moment, or in one snapshot.
    AnyTime,
}

/// A consistency condition. 1 to 12 are those of the benchmark that the workload follows, 13 to 15
/// are ours; the sixteenth is the
/// [`ledger_query`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Condition(u8);

impl Condition {
    /// All fifteen.
    pub fn all() -> impl Iterator<Item = Self> {
        (1..=15).map(Self)
    }

    /// Condition `number`, `1..=15`.
    #[must_use]
    pub fn new(number: u8) -> Option<Self> {
        (1..=15).contains(&number).then_some(Self(number))
    }

    /// Its number.
    #[must_use]
    pub fn number(self) -> u8 {
        self.0
    }

    /// What it says.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self.0 {
            1 => "payments of a warehouse are those of its districts",
            2 => {
                "the next order number of a district follows its last order, and its last waiting \
                 order if it has any"
            }
            3 => "waiting orders of a district have no gaps",
            4 => "a district has as many lines as its orders say",
            5 => "an order without a carrier waits, and only such an order does",
            6 => "an order has as many lines as it says",
            7 => "a line is delivered when its order is",
            8 => "payments of a warehouse are those in the history",
            9 => "payments of a district are those in the history",
            10 => "a customer's balance is what was delivered less what he paid",
            11 => "orders that no longer wait are those that were delivered",
            12 => "balance and payments of a customer are what was delivered",
            13 => "a customer's payments are those in the history",
            14 => "stock is 10 to 100",
            _ => "the counters of stock are those of the lines since load",
        }
    }

    /// The columns that name an offender.
    #[must_use]
    pub fn key(self) -> &'static [&'static str] {
        match self.0 {
            1 | 8 => &["w_id"],
            2 | 4 | 9 | 11 => &["d_w_id", "d_id"],
            3 => &["no_w_id", "no_d_id"],
            5 | 6 => &["o_w_id", "o_d_id", "o_id"],
            7 => &["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"],
            10 | 12 | 13 => &["c_w_id", "c_d_id", "c_id"],
            _ => &["s_w_id", "s_i_id"],
        }
    }

    /// Whether it joins the large tables.
    #[must_use]
    pub fn is_expensive(self) -> bool {
        matches!(self.0, 10 | 12 | 13 | 15)
    }

    /// The queries that look for offenders, most have one.
    #[must_use]
    pub fn queries(self, dialect: Dialect, scale: Scale, moment: Moment) -> Vec<String> {
        let limit = dialect.limit(MOST_OFFENDERS);
        let bodies = match self.0 {
            5 => vec![WAITING_ORDERS.to_owned(), ORPHANS.to_owned()],
            11 => vec![delivered_orders(scale, moment)],
            15 => vec![stock_counters(scale)],
            _ => vec![self.body()],
        };
        bodies
            .into_iter()
            .map(|body| format!("{body}{limit}"))
            .collect()
    }

    fn body(self) -> String {
        match self.0 {
            1 => "SELECT w_id, w_ytd, v_sum FROM warehouse \
                  LEFT JOIN (SELECT d_w_id, SUM(d_ytd) AS v_sum FROM district GROUP BY d_w_id) v \
                  ON d_w_id = w_id \
                  WHERE w_ytd <> COALESCE(v_sum, 0)"
                .to_owned(),
            2 => "SELECT d_w_id, d_id, d_next_o_id, v_last, v_new FROM district \
                  LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS v_last FROM orders GROUP BY \
                  o_w_id, o_d_id) v \
                  ON o_w_id = d_w_id AND o_d_id = d_id \
                  LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS v_new FROM new_orders GROUP \
                  BY no_w_id, no_d_id) u \
                  ON no_w_id = d_w_id AND no_d_id = d_id \
                  WHERE d_next_o_id - 1 <> COALESCE(v_last, 0) OR d_next_o_id - 1 <> \
                  COALESCE(v_new, d_next_o_id - 1)"
                .to_owned(),
            3 => "SELECT no_w_id, no_d_id, MIN(no_o_id), MAX(no_o_id), COUNT(*) FROM new_orders \
                  GROUP BY no_w_id, no_d_id \
                  HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)"
                .to_owned(),
            4 => "SELECT d_w_id, d_id, v_said, v_lines FROM district \
                  LEFT JOIN (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS v_said FROM orders GROUP BY \
                  o_w_id, o_d_id) v \
                  ON o_w_id = d_w_id AND o_d_id = d_id \
                  LEFT JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) AS v_lines FROM order_line GROUP BY \
                  ol_w_id, ol_d_id) u \
                  ON ol_w_id = d_w_id AND ol_d_id = d_id \
                  WHERE COALESCE(v_said, 0) <> COALESCE(v_lines, 0)"
                .to_owned(),
            6 => "SELECT o_w_id, o_d_id, o_id, o_ol_cnt, v_lines FROM orders \
                  LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS v_lines FROM order_line \
                  GROUP BY ol_w_id, ol_d_id, ol_o_id) v \
                  ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
                  WHERE o_ol_cnt <> COALESCE(v_lines, 0)"
                .to_owned(),
            7 => "SELECT ol_w_id, ol_d_id, ol_o_id, ol_number FROM order_line \
                  LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
                  WHERE (ol_delivery_d IS NULL AND o_carrier_id IS NOT NULL) OR (ol_delivery_d IS \
                  NOT NULL AND o_carrier_id IS NULL)"
                .to_owned(),
            8 => "SELECT w_id, w_ytd, v_sum FROM warehouse \
                  LEFT JOIN (SELECT h_w_id, SUM(h_amount) AS v_sum FROM history GROUP BY h_w_id) v \
                  ON h_w_id = w_id \
                  WHERE w_ytd <> COALESCE(v_sum, 0)"
                .to_owned(),
            9 => "SELECT d_w_id, d_id, d_ytd, v_sum FROM district \
                  LEFT JOIN (SELECT h_w_id, h_d_id, SUM(h_amount) AS v_sum FROM history GROUP BY \
                  h_w_id, h_d_id) v \
                  ON h_w_id = d_w_id AND h_d_id = d_id \
                  WHERE d_ytd <> COALESCE(v_sum, 0)"
                .to_owned(),
            10 => customers(
                &[DELIVERED, PAID],
                "c_balance <> COALESCE(v_delivered, 0) - \
                COALESCE(v_paid, 0)",
            ),
            12 => customers(
                &[DELIVERED],
                "c_balance + c_ytd_payment <> COALESCE(v_delivered, 0)",
            ),
            13 => customers(
                &[PAID],
                "c_payment_cnt <> COALESCE(v_payments, 0) OR c_ytd_payment <> COALESCE(v_paid, 0)",
            ),
            _ => {
                "SELECT s_w_id, s_i_id, s_quantity FROM stock WHERE s_quantity < 10 OR s_quantity \
                  > 100"
                    .to_owned()
            }
        }
    }
}

const WAITING_ORDERS: &str = "SELECT o_w_id, o_d_id, o_id FROM orders \
    LEFT JOIN new_orders ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
    WHERE (o_carrier_id IS NULL AND no_o_id IS NULL) OR (o_carrier_id IS NOT NULL AND no_o_id IS \
                              NOT NULL)";

const ORPHANS: &str = "SELECT no_w_id, no_d_id, no_o_id FROM new_orders \
    LEFT JOIN orders ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id WHERE o_id IS \
                       NULL";

/// What was delivered to each customer: order lines are grouped once, not once per customer.
const DELIVERED: &str = "LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS v_delivered \
                         FROM orders \
    JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE \
                         ol_delivery_d IS NOT NULL \
    GROUP BY o_w_id, o_d_id, o_c_id) v ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id";

/// What each customer paid.
const PAID: &str = "LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS v_paid, \
                    COUNT(*) AS v_payments FROM history \
    GROUP BY h_c_w_id, h_c_d_id, h_c_id) u ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = \
                    c_id";

fn customers(joins: &[&str], broken: &str) -> String {
    format!(
        "SELECT c_w_id, c_d_id, c_id FROM customer {} WHERE {broken}",
        joins.join(" ")
    )
}

fn delivered_orders(scale: Scale, moment: Moment) -> String {
    let loaded = scale.delivered();
    let expected = match moment {
        Moment::AfterLoad => loaded.to_string(),
        Moment::AnyTime => format!("{loaded} + COALESCE(v_since, 0)"),
    };
    format!(
        "SELECT d_w_id, d_id, v_orders, v_new, v_since FROM district \
         LEFT JOIN (SELECT o_w_id, o_d_id, COUNT(*) AS v_orders FROM orders GROUP BY o_w_id, \
         o_d_id) v \
         ON o_w_id = d_w_id AND o_d_id = d_id \
         LEFT JOIN (SELECT no_w_id, no_d_id, COUNT(*) AS v_new FROM new_orders GROUP BY no_w_id, \
         no_d_id) u \
         ON no_w_id = d_w_id AND no_d_id = d_id \
         LEFT JOIN (SELECT c_w_id, c_d_id, SUM(c_delivery_cnt) AS v_since FROM customer GROUP BY \
         c_w_id, c_d_id) t \
         ON c_w_id = d_w_id AND c_d_id = d_id \
         WHERE COALESCE(v_orders, 0) - COALESCE(v_new, 0) <> {expected}"
    )
}

fn stock_counters(scale: Scale) -> String {
    let loaded = scale.customers();
    format!(
        "SELECT s_w_id, s_i_id, s_order_cnt, v_lines, s_ytd, v_units, s_remote_cnt, v_remote FROM \
         stock \
         LEFT JOIN (SELECT ol_supply_w_id, ol_i_id, COUNT(*) AS v_lines, SUM(ol_quantity) AS \
         v_units, \
         SUM(CASE WHEN ol_w_id <> ol_supply_w_id THEN 1 ELSE 0 END) AS v_remote FROM order_line \
         WHERE ol_o_id > {loaded} \
         GROUP BY ol_supply_w_id, ol_i_id) v ON ol_supply_w_id = s_w_id AND ol_i_id = s_i_id \
         WHERE s_order_cnt <> COALESCE(v_lines, 0) OR s_ytd <> COALESCE(v_units, 0) OR \
         s_remote_cnt <> COALESCE(v_remote, 0)"
    )
}

/// What a database says of everything that was committed since load; for condition 16 it is
/// compared with what clients were told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// New orders.
    pub new_orders: i64,
    /// Payments.
    pub payments: i64,
    /// Delivered orders.
    pub delivered: i64,
}

/// The query whose only row is a [`Ledger`], in the order of its fields.
#[must_use]
pub fn ledger_query(scale: Scale) -> String {
    let payments =
        u64::from(scale.warehouses()) * scale.rows_per_warehouse(super::schema::Table::History);
    format!(
        "SELECT (SELECT SUM(d_next_o_id - {}) FROM district) AS v_orders, (SELECT COUNT(*) - \
         {payments} FROM history) AS v_payments, \
         (SELECT SUM(c_delivery_cnt) FROM customer) AS v_delivered FROM warehouse WHERE w_id = 1",
        scale.customers() + 1
    )
}

impl Ledger {
    /// Condition 16: whether a database that says `self` holds what clients were told, `told`,
    /// where `unknown` transactions may or may not have been committed.
    #[must_use]
    pub fn holds(self, told: Self, unknown: Self) -> bool {
        let within = |found: i64, told: i64, unknown: i64| (told..=told + unknown).contains(&found);
        within(self.new_orders, told.new_orders, unknown.new_orders)
            && within(self.payments, told.payments, unknown.payments)
            && within(self.delivered, told.delivered, unknown.delivered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_is_limited_and_names_its_key() {
        let scale = Scale::new(2, 1).expect("valid");
        for dialect in Dialect::ALL {
            for condition in Condition::all() {
                let key = condition.key().join(", ");
                let queries = condition.queries(dialect, scale, Moment::AnyTime);
                assert!(
                    queries[0].starts_with(&format!("SELECT {key}")),
                    "{}",
                    queries[0]
                );
                assert!(queries.iter().all(|query| query.contains(" LIMIT 10")
                    || query.contains(" FETCH FIRST 10 ROWS ONLY")));
                assert!(!condition.text().is_empty());
            }
        }
        assert_eq!(Condition::new(16), None);
    }

    #[test]
    fn the_eleventh_condition_is_looser_while_running() {
        let condition = Condition::new(11).expect("exists");
        let scale = Scale::new(1, 100).expect("valid");
        let at = |moment| condition.queries(Dialect::Sqlite, scale, moment).join(";");
        assert!(at(Moment::AfterLoad).ends_with("<> 21 LIMIT 10"));
        assert!(at(Moment::AnyTime).ends_with("<> 21 + COALESCE(v_since, 0) LIMIT 10"));
    }

    #[test]
    fn a_ledger_has_room_for_unknown_outcomes_alone() {
        let ledger = |new_orders, payments, delivered| Ledger {
            new_orders,
            payments,
            delivered,
        };
        let told = ledger(100, 90, 50);
        let none = Ledger::default();
        assert!(told.holds(told, none));
        assert!(!ledger(101, 90, 50).holds(told, none));
        assert!(ledger(101, 90, 50).holds(told, ledger(1, 0, 0)));
        assert!(
            !ledger(99, 90, 50).holds(told, ledger(1, 0, 0)),
            "what clients were told must be there"
        );
        assert!(!ledger(100, 89, 50).holds(told, none));
    }
}
