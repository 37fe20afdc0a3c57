//! What a trial of order entry counts beside the times of its transactions: the figures nopm and tpm, retries, ledgers, the database's own readings.
//!
//! nopm and tpm are figures of this workload. They are not results of any standard benchmark.

use serde::{Deserialize, Serialize};

use crate::{GuestMeasurement, Measurement, ORDER, Window};

/// Operation of a committed or rolled-back New-Order.
pub const NEW_ORDER: &str = "new-order";

/// The operations of order entry, in the order of mixes: the names under which their times are recorded.
pub const TRANSACTIONS: [&str; 5] = [
    NEW_ORDER,
    "payment",
    "order-status",
    "delivery",
    "stock-level",
];

/// Counters of one guest. Those of the window count transactions by the moment at which they ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OrderEntryCounters {
    /// Committed New-Orders per minute of the window; those that roll back on purpose are not in it.
    pub nopm: f64,
    /// Completed transactions of all types per minute of the window, rolled-back New-Orders included.
    pub tpm: f64,
    /// One entry per type, in the order of [`TRANSACTIONS`].
    pub transactions: Vec<TransactionCounters>,
    /// New-Orders that asked for an unused item and rolled back in the window, as one in a hundred must.
    pub rolled_back: u64,
    /// Deliveries in the window that found a district without an undelivered order.
    pub short_deliveries: u64,
    /// Deliveries that were queued and executed later; `None` where they are executed inline.
    #[serde(default)]
    pub deferred: Option<DeferredDeliveries>,
    /// Retries of the whole trial by cause; causes that never came are left out.
    pub retries: Vec<RetryTally>,
    /// Connections that were made again in the whole trial.
    pub reconnections: u64,
    /// What terminals were told was committed, over the whole trial.
    pub told: LedgerCounts,
    /// What may have been committed besides: the connection was lost during the COMMIT. Over the whole trial.
    pub unknown: LedgerCounts,
    /// What the database itself said; `None` where nobody asked it.
    #[serde(default)]
    pub database: Option<DatabaseReadings>,
}

/// One type of transaction in the window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionCounters {
    /// Its operation's name, see [`TRANSACTIONS`].
    pub name: String,
    /// Committed, or read to the end. Rolled-back New-Orders are not in it.
    pub completed: u64,
    /// Times that one was executed again with the same input.
    pub retries: u64,
    /// Given up after the last retry.
    pub failed: u64,
    /// Ended by a connection that was lost during the COMMIT.
    pub unknown: u64,
}

/// Why transactions were tried again, and how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryTally {
    /// The cause in words: `deadlock`, `lock timeout`, ...
    pub cause: String,
    /// How often.
    pub count: u64,
}

/// Deliveries that terminals queued for another to execute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeferredDeliveries {
    /// Queued in the window.
    pub queued: u64,
    /// Of these, executed before the trial ended.
    pub executed: u64,
    /// Of these, executed within 80 s of being queued.
    pub in_time: u64,
}

/// Rows that transactions left in the database, by what was told or found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerCounts {
    /// Orders.
    pub new_orders: u64,
    /// Payments.
    pub payments: u64,
    /// Orders that were delivered.
    pub delivered: u64,
}

/// The database's own counters, read near both ends of the window; all but the sizes are differences of the two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DatabaseReadings {
    /// Time between the two readings, s.
    pub seconds: f64,
    /// Pages that were asked for.
    pub logical_reads: u64,
    /// Pages of these that were not in the buffer pool.
    pub misses: u64,
    /// Pages that were read ahead, unasked.
    pub read_ahead: Option<u64>,
    /// Bytes that the server read from files.
    pub read_bytes: Option<u64>,
    /// Orders by the districts' next order numbers.
    pub new_orders: Option<u64>,
    /// From the end of the first look at these numbers to the end of the second, in seconds since the common start; `None` in runs of old.
    #[serde(default)]
    pub looks: Option<Window>,
    /// How long the longer of the two looks took, s: orders of that time may or may not be counted.
    #[serde(default)]
    pub look_s: f64,
    /// Size of the buffer pool, bytes.
    pub pool_bytes: Option<u64>,
    /// Size of the database at the first reading, bytes.
    pub bytes_before: Option<u64>,
    /// Size of the database at the second, bytes.
    pub bytes_after: Option<u64>,
    /// Hit ratio that the study asked for, 0 to 1.
    pub hit_target: Option<f64>,
}

impl DatabaseReadings {
    /// Share of the pages asked for that were in the buffer pool, 0 to 1; `None` when none was asked for.
    #[must_use]
    pub fn hit_ratio(&self) -> Option<f64> {
        (self.logical_reads > 0)
            .then(|| 1.0 - self.misses.min(self.logical_reads) as f64 / self.logical_reads as f64)
    }

    /// Orders per minute by the database's own numbers; `None` where they were not read.
    #[must_use]
    pub fn nopm(&self) -> Option<f64> {
        let orders = self.new_orders?;
        (self.seconds > 0.0).then(|| 60.0 * orders as f64 / self.seconds)
    }
}

impl OrderEntryCounters {
    /// Transactions that completed in the window, rolled-back New-Orders included.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.sum(|transaction| transaction.completed)
            .saturating_add(self.rolled_back)
    }

    /// Transactions that ended in the window, whatever their end.
    #[must_use]
    pub fn attempts(&self) -> u64 {
        self.completed().saturating_add(self.lost())
    }

    /// Transactions of the window that failed, or whose outcome nobody knows.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.sum(|transaction| transaction.failed.saturating_add(transaction.unknown))
    }

    /// The counters of one type.
    #[must_use]
    pub fn transaction(&self, name: &str) -> Option<&TransactionCounters> {
        self.transactions
            .iter()
            .find(|transaction| transaction.name == name)
    }

    fn sum(&self, of: impl Fn(&TransactionCounters) -> u64) -> u64 {
        self.transactions
            .iter()
            .map(of)
            .fold(0, u64::saturating_add)
    }
}

/// The operation that a workload is known by, of those that a trial has: the whole order of a shop, else the New-Order of order entry.
///
/// Without either (scripts of pages) it is the whole order, of which there is none.
#[must_use]
pub fn main_operation<'a>(names: impl IntoIterator<Item = &'a str>) -> &'static str {
    let mut found = ORDER;
    for name in names {
        match name {
            ORDER => return ORDER,
            NEW_ORDER => found = NEW_ORDER,
            _ => {}
        }
    }
    found
}

impl GuestMeasurement {
    /// See [`main_operation`].
    #[must_use]
    pub fn main_operation(&self) -> &'static str {
        main_operation(
            self.operations
                .iter()
                .map(|operation| operation.name.as_str()),
        )
    }
}

impl Measurement {
    /// See [`main_operation`].
    #[must_use]
    pub fn main_operation(&self) -> &'static str {
        let operations = self.guests.iter().flat_map(|guest| &guest.operations);
        main_operation(operations.map(|operation| operation.name.as_str()))
    }

    /// Transactions of all types for each committed New-Order, over all guests; `None` of other workloads, and where none was committed.
    #[must_use]
    pub fn transactions_per_order(&self) -> Option<f64> {
        let sum = |of: fn(&OrderEntryCounters) -> f64| self.order_entry().map(of).sum::<f64>();
        let (nopm, tpm) = (sum(|counters| counters.nopm), sum(|counters| counters.tpm));
        (nopm > 0.0 && tpm.is_finite()).then(|| tpm / nopm)
    }

    /// Mean time of what the workload's users wait for, s: the whole order, or of order entry all transactions that go with one committed New-Order.
    /// `None` without any.
    #[must_use]
    pub fn mean_order_s(&self) -> Option<f64> {
        let Some(per_order) = self.transactions_per_order() else {
            return self
                .latencies(self.main_operation())
                .mean_us()
                .map(|us| us / 1e6);
        };
        let mut all = crate::Latencies::new();
        for operation in self.guests.iter().flat_map(GuestMeasurement::requests) {
            all.merge(operation.headline(self.pacing));
        }
        Some(per_order * all.mean_us()? / 1e6)
    }

    /// Mean time that terminals of order entry were meant to pause for each committed New-Order, s: 0 without pauses; `None` of other workloads.
    #[must_use]
    pub fn pause_per_order_s(&self) -> Option<f64> {
        let per_order = self.transactions_per_order()?;
        let (mut weight, mut sum) = (0.0, 0.0);
        for guest in &self.guests {
            let completed = guest
                .orderentry
                .as_ref()
                .map_or(0, OrderEntryCounters::completed) as f64;
            weight += completed;
            sum += completed * guest.drawn_delay_mean_s.unwrap_or(0.0);
        }
        (weight > 0.0).then(|| per_order * sum / weight)
    }

    /// Whether any guest ran order entry.
    #[must_use]
    pub fn is_order_entry(&self) -> bool {
        self.guests.iter().any(|guest| guest.orderentry.is_some())
    }

    /// The order-entry counters of the guests that have them.
    pub fn order_entry(&self) -> impl Iterator<Item = &OrderEntryCounters> {
        self.guests
            .iter()
            .filter_map(|guest| guest.orderentry.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_is_completed_or_lost() {
        let of = |name: &str, completed, failed, unknown| TransactionCounters {
            name: name.to_owned(),
            completed,
            retries: 4,
            failed,
            unknown,
        };
        let counters = OrderEntryCounters {
            transactions: vec![of(NEW_ORDER, 99, 1, 0), of("payment", 100, 0, 2)],
            rolled_back: 1,
            ..OrderEntryCounters::default()
        };
        assert_eq!(
            (counters.completed(), counters.lost(), counters.attempts()),
            (200, 3, 203)
        );
        assert_eq!(
            counters
                .transaction("payment")
                .map(|payment| payment.unknown),
            Some(2)
        );
        assert_eq!(counters.transaction("delivery"), None);
    }

    #[test]
    fn old_counters_are_read_without_what_came_later() {
        let mut value = serde_json::to_value(OrderEntryCounters::default()).expect("plain numbers");
        let object = value.as_object_mut().expect("a struct");
        object.remove("deferred");
        object.remove("database");
        assert_eq!(
            serde_json::from_value::<OrderEntryCounters>(value).expect("nothing else is needed"),
            OrderEntryCounters::default()
        );
    }

    #[test]
    fn ratios_of_nothing_are_none() {
        let mut readings = DatabaseReadings::default();
        assert_eq!((readings.hit_ratio(), readings.nopm()), (None, None));
        (readings.logical_reads, readings.misses) = (1_000, 200);
        (readings.seconds, readings.new_orders) = (30.0, Some(600));
        assert_eq!(
            (readings.hit_ratio(), readings.nopm()),
            (Some(0.8), Some(1_200.0))
        );
    }

    #[test]
    fn an_order_comes_before_a_new_order() {
        assert_eq!(main_operation(["payment", NEW_ORDER]), NEW_ORDER);
        assert_eq!(main_operation([NEW_ORDER, "login", ORDER]), ORDER);
        assert_eq!(main_operation(["page"]), ORDER);
    }
}
