//! What a trial of order entry counts beside the times of its transactions: the figures nopm and
//! tpm, retries, ledgers, the database's own readings.
//!
//! nopm and tpm are figures of this workload. They are not results of any standard benchmark.

use serde::{Deserialize, Serialize};

use super::info::{METRICS, NEW_ORDER};
use crate::{MetricValue, Proof, ProofRow, UnitRates, Window, metric::with_values};

/// Counters of one guest. Those of the window count transactions by the moment at which they ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OrderEntryCounters {
    /// Committed New-Orders per minute of the window; those that roll back on purpose are not in
    /// it.
    #[serde(deserialize_with = "crate::number::or_nan")]
    pub nopm: f64,
    /// Completed transactions of all types per minute of the window, rolled-back New-Orders
    /// included.
    #[serde(deserialize_with = "crate::number::or_nan")]
    pub tpm: f64,
    /// One entry per type, in the order of [`TRANSACTIONS`](super::TRANSACTIONS).
    pub transactions: Vec<TransactionCounters>,
    /// New-Orders that asked for an unused item and rolled back in the window, as one in a hundred
    /// must.
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
    /// What may have been committed besides: the connection was lost during the COMMIT. Over the
    /// whole trial.
    pub unknown: LedgerCounts,
    /// What the database itself said; `None` where nobody asked it.
    #[serde(default)]
    pub database: Option<DatabaseReadings>,
}

/// One type of transaction in the window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionCounters {
    /// Its operation's name, see [`TRANSACTIONS`](super::TRANSACTIONS).
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

/// The database's own counters, read near both ends of the window; all but the sizes are
/// differences of the two readings.
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
    /// From the end of the first look at these numbers to the end of the second, in seconds since
    /// the common start; `None` in runs of old.
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
    /// Share of the pages asked for that were in the buffer pool, 0 to 1; `None` when none was
    /// asked for.
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

impl OrderEntryCounters {
    /// Every metric that has a value, in the order of the workload's list.
    #[must_use]
    pub fn metrics(&self) -> Vec<MetricValue> {
        let count = |count: u64| Some(count as f64);
        let database = self.database.as_ref();
        let deferred = self.deferred.as_ref();
        let new_orders = self
            .transaction(NEW_ORDER)
            .map_or(0, |new_orders| new_orders.completed);
        with_values(
            &METRICS,
            [
                Some(self.nopm),
                Some(self.tpm),
                count(self.completed()),
                count(new_orders),
                count(self.rolled_back),
                count(self.lost()),
                count(self.sum(|transaction| transaction.retries)),
                count(self.short_deliveries),
                count(self.reconnections),
                deferred.and_then(|deferred| count(deferred.queued)),
                deferred.and_then(|deferred| count(deferred.in_time)),
                database.and_then(DatabaseReadings::nopm),
                database.and_then(DatabaseReadings::hit_ratio),
                database.and_then(|database| count(database.logical_reads)),
                database.and_then(|database| count(database.misses)),
                database.and_then(|database| count(database.pool_bytes?)),
                database.and_then(|database| count(database.bytes_after?)),
            ],
        )
    }

    /// New-Orders of the window that were rolled back, and all that came to an end.
    #[must_use]
    pub fn rollbacks(&self) -> (u64, u64) {
        let committed = self
            .transaction(NEW_ORDER)
            .map_or(0, |new_orders| new_orders.completed);
        (self.rolled_back, self.rolled_back.saturating_add(committed))
    }

    /// The database must hold what terminals were told was committed; what ended in the dark may be
    /// there or not.
    #[must_use]
    pub fn proof(&self) -> Proof {
        let (told, unknown) = (&self.told, &self.unknown);
        let rows = [
            (NEW_ORDERS, told.new_orders, unknown.new_orders),
            (PAYMENTS, told.payments, unknown.payments),
            (DELIVERED_ORDERS, told.delivered, unknown.delivered),
        ];
        Proof {
            rows: rows
                .map(|(what, told, unknown)| ProofRow::new(what, told, unknown))
                .into(),
        }
    }

    /// nopm, and all transactions per minute.
    #[must_use]
    pub fn unit_rates(&self) -> UnitRates {
        UnitRates {
            units_per_minute: self.nopm,
            requests_per_minute: self.tpm,
        }
    }

    /// Add what another guest counted in the same window.
    pub fn merge(&mut self, other: &Self) {
        self.nopm += other.nopm;
        self.tpm += other.tpm;
        for theirs in &other.transactions {
            match self
                .transactions
                .iter_mut()
                .find(|mine| mine.name == theirs.name)
            {
                Some(mine) => mine.merge(theirs),
                None => self.transactions.push(theirs.clone()),
            }
        }
        for theirs in &other.retries {
            match self
                .retries
                .iter_mut()
                .find(|mine| mine.cause == theirs.cause)
            {
                Some(mine) => mine.count = mine.count.saturating_add(theirs.count),
                None => self.retries.push(theirs.clone()),
            }
        }
        self.rolled_back = self.rolled_back.saturating_add(other.rolled_back);
        self.short_deliveries = self.short_deliveries.saturating_add(other.short_deliveries);
        self.reconnections = self.reconnections.saturating_add(other.reconnections);
        self.deferred = either(self.deferred, other.deferred, DeferredDeliveries::plus);
        self.told = self.told.plus(other.told);
        self.unknown = self.unknown.plus(other.unknown);
        self.database = either(self.database, other.database, DatabaseReadings::plus);
    }
}

/// Both together where both are there, else the one that is.
fn either<T>(mine: Option<T>, theirs: Option<T>, both: impl Fn(T, T) -> T) -> Option<T> {
    match (mine, theirs) {
        (Some(mine), Some(theirs)) => Some(both(mine, theirs)),
        (mine, theirs) => mine.or(theirs),
    }
}

impl TransactionCounters {
    fn merge(&mut self, other: &Self) {
        self.completed = self.completed.saturating_add(other.completed);
        self.retries = self.retries.saturating_add(other.retries);
        self.failed = self.failed.saturating_add(other.failed);
        self.unknown = self.unknown.saturating_add(other.unknown);
    }
}

impl DeferredDeliveries {
    fn plus(self, other: Self) -> Self {
        Self {
            queued: self.queued.saturating_add(other.queued),
            executed: self.executed.saturating_add(other.executed),
            in_time: self.in_time.saturating_add(other.in_time),
        }
    }
}

impl LedgerCounts {
    fn plus(self, other: Self) -> Self {
        Self {
            new_orders: self.new_orders.saturating_add(other.new_orders),
            payments: self.payments.saturating_add(other.payments),
            delivered: self.delivered.saturating_add(other.delivered),
        }
    }
}

impl DatabaseReadings {
    /// Two databases read over nearly the same time: counts and sizes add up, times are the longer
    /// ones. Looks of different databases are not one look.
    fn plus(self, other: Self) -> Self {
        let sum = |mine: Option<u64>, theirs: Option<u64>| Some(mine?.saturating_add(theirs?));
        Self {
            seconds: self.seconds.max(other.seconds),
            logical_reads: self.logical_reads.saturating_add(other.logical_reads),
            misses: self.misses.saturating_add(other.misses),
            read_ahead: sum(self.read_ahead, other.read_ahead),
            read_bytes: sum(self.read_bytes, other.read_bytes),
            new_orders: sum(self.new_orders, other.new_orders),
            looks: None,
            look_s: self.look_s.max(other.look_s),
            pool_bytes: sum(self.pool_bytes, other.pool_bytes),
            bytes_before: sum(self.bytes_before, other.bytes_before),
            bytes_after: sum(self.bytes_after, other.bytes_after),
            hit_target: self.hit_target.or(other.hit_target),
        }
    }
}

/// Rows of the proof, by what they count.
pub const NEW_ORDERS: &str = "new orders";
/// See [`NEW_ORDERS`].
pub const PAYMENTS: &str = "payments";
/// See [`NEW_ORDERS`].
pub const DELIVERED_ORDERS: &str = "delivered orders";

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
    fn guests_together_are_summed() {
        let one = OrderEntryCounters {
            nopm: 100.0,
            tpm: 230.0,
            transactions: vec![TransactionCounters {
                name: NEW_ORDER.to_owned(),
                completed: 99,
                ..TransactionCounters::default()
            }],
            retries: vec![RetryTally {
                cause: "deadlock".to_owned(),
                count: 2,
            }],
            told: LedgerCounts {
                new_orders: 120,
                payments: 110,
                delivered: 90,
            },
            database: Some(DatabaseReadings {
                seconds: 60.0,
                logical_reads: 100,
                misses: 20,
                new_orders: Some(100),
                ..DatabaseReadings::default()
            }),
            ..OrderEntryCounters::default()
        };
        let mut both = one.clone();
        both.merge(&one);
        assert_eq!((both.nopm, both.tpm), (200.0, 460.0));
        assert_eq!(
            (both.transactions.len(), both.transactions[0].completed),
            (1, 198)
        );
        assert_eq!((both.retries.len(), both.retries[0].count), (1, 4));
        let database = both.database.expect("readings");
        assert_eq!(
            (database.hit_ratio(), database.nopm()),
            (Some(0.8), Some(200.0))
        );
        assert_eq!(
            both.proof().rows,
            [
                ProofRow::new(NEW_ORDERS, 240, 0),
                ProofRow::new(PAYMENTS, 220, 0),
                ProofRow::new(DELIVERED_ORDERS, 180, 0),
            ]
        );
        let headline = both.metrics()[0];
        assert_eq!((headline.metric.name, headline.value), ("nopm", 200.0));
    }
}
