//! What the terminals of one guest count beside the times of their transactions.

use std::time::Duration;

use rookery_driver::{Nanos, Span};
use rookery_workload::orderentry::{
    Counts, DEFERRED_DELIVERY_LIMIT_MS, DeliveryMode, Kind, Ledger, PerKind,
    transaction::{Cause, Outcome},
};
use rookery_workload::orderentry::{
    DeferredDeliveries, LedgerCounts, OrderEntryCounters, RetryTally, TRANSACTIONS,
    TransactionCounters,
};

/// Orders that one delivery delivers at most: one of each district.
const MOST_DELIVERED: i64 = 10;

/// Counters of one guest on one thread, or of many together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tally {
    /// What ended inside the window.
    pub(crate) counts: Counts,
    /// By transaction, of those that ended inside the window.
    retries: PerKind<u64>,
    failed: PerKind<u64>,
    lost: PerKind<u64>,
    /// By cause, over the whole trial.
    pub(crate) causes: [u64; 5],
    pub(crate) reconnections: u64,
    /// What terminals were told was committed, over the whole trial.
    pub(crate) told: Ledger,
    /// What may have been committed besides.
    pub(crate) unknown: Ledger,
    deferred: DeferredDeliveries,
}

fn add_ledger(sum: &mut Ledger, more: Ledger) {
    sum.new_orders += more.new_orders;
    sum.payments += more.payments;
    sum.delivered += more.delivered;
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        for kind in 0..5 {
            self.counts.completed.0[kind] += other.counts.completed.0[kind];
            self.retries.0[kind] += other.retries.0[kind];
            self.failed.0[kind] += other.failed.0[kind];
            self.lost.0[kind] += other.lost.0[kind];
            self.causes[kind] += other.causes[kind];
        }
        self.counts.rolled_back += other.counts.rolled_back;
        self.counts.failed += other.counts.failed;
        self.counts.unknown += other.counts.unknown;
        self.counts.short_deliveries += other.counts.short_deliveries;
        self.reconnections += other.reconnections;
        add_ledger(&mut self.told, other.told);
        add_ledger(&mut self.unknown, other.unknown);
        self.deferred.queued += other.deferred.queued;
        self.deferred.executed += other.deferred.executed;
        self.deferred.in_time += other.deferred.in_time;
    }

    /// A transaction completed; the ledger takes it always, the figures when it ended `within` the
    /// window.
    pub(super) fn done(&mut self, kind: Kind, outcome: Outcome, within: bool) {
        match outcome {
            Outcome::NewOrder { .. } => self.told.new_orders += 1,
            Outcome::Payment { .. } => self.told.payments += 1,
            Outcome::Delivery { delivered, .. } => self.told.delivered += i64::from(delivered),
            Outcome::RolledBack | Outcome::OrderStatus { .. } | Outcome::StockLevel { .. } => {}
        }
        if !within {
            return;
        }
        match outcome {
            Outcome::RolledBack => self.counts.rolled_back += 1,
            _ => self.counts.completed[kind] += 1,
        }
        if matches!(outcome, Outcome::Delivery { skipped, .. } if skipped > 0) {
            self.counts.short_deliveries += 1;
        }
    }

    /// A transaction was tried again for these causes before it ended.
    pub(super) fn retried(&mut self, kind: Kind, causes: [u32; 5], within: bool) {
        for (sum, count) in self.causes.iter_mut().zip(causes) {
            *sum += u64::from(count);
            self.retries[kind] += if within { u64::from(count) } else { 0 };
        }
    }

    /// A transaction was given up: nothing was changed.
    pub(super) fn failed(&mut self, kind: Kind, within: bool) {
        self.failed[kind] += u64::from(within);
        self.counts.failed += u64::from(within);
    }

    /// The connection was lost during the COMMIT.
    pub(super) fn lost(&mut self, kind: Kind, within: bool) {
        self.doubtful(kind);
        self.lost[kind] += u64::from(within);
        self.counts.unknown += u64::from(within);
    }

    /// Nobody knows what became of a transaction: the ledger takes it as a perhaps.
    pub(super) fn doubtful(&mut self, kind: Kind) {
        match kind {
            Kind::NewOrder => self.unknown.new_orders += 1,
            Kind::Payment => self.unknown.payments += 1,
            Kind::Delivery => self.unknown.delivered += MOST_DELIVERED,
            Kind::OrderStatus | Kind::StockLevel => {}
        }
    }

    /// A delivery was queued inside the window.
    pub(super) fn queued(&mut self) {
        self.deferred.queued += 1;
    }

    /// A delivery that was queued inside the window has been executed, so long after that.
    pub(super) fn executed(&mut self, after: Nanos) {
        self.deferred.executed += 1;
        self.deferred.in_time += u64::from(after <= DEFERRED_DELIVERY_LIMIT_MS * 1_000_000);
    }

    /// The counters as they are stored.
    pub(super) fn counters(&self, window: Span, delivery: DeliveryMode) -> OrderEntryCounters {
        let length = Duration::from_nanos(window.length());
        let per_minute = |figure: fn(&Counts, Duration) -> f64| {
            if length.is_zero() {
                0.0
            } else {
                figure(&self.counts, length)
            }
        };
        let ledger = |ledger: Ledger| LedgerCounts {
            new_orders: ledger.new_orders.unsigned_abs(),
            payments: ledger.payments.unsigned_abs(),
            delivered: ledger.delivered.unsigned_abs(),
        };
        OrderEntryCounters {
            nopm: per_minute(Counts::nopm),
            tpm: per_minute(Counts::tpm),
            transactions: Kind::ALL
                .into_iter()
                .zip(TRANSACTIONS)
                .map(|(kind, name)| TransactionCounters {
                    name: name.to_owned(),
                    completed: self.counts.completed[kind],
                    retries: self.retries[kind],
                    failed: self.failed[kind],
                    unknown: self.lost[kind],
                })
                .collect(),
            rolled_back: self.counts.rolled_back,
            short_deliveries: self.counts.short_deliveries,
            deferred: (delivery == DeliveryMode::Deferred).then_some(self.deferred),
            retries: Cause::ALL
                .iter()
                .zip(self.causes)
                .filter(|(_, count)| *count > 0)
                .map(|(cause, count)| RetryTally {
                    cause: cause.name().to_owned(),
                    count,
                })
                .collect(),
            reconnections: self.reconnections,
            told: ledger(self.told),
            unknown: ledger(self.unknown),
            database: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAYMENT: Outcome = Outcome::Payment {
        warehouse: 1,
        district: 1,
        customer: 1,
        amount_cents: 1,
        balance_cents: 1,
    };

    #[test]
    fn the_ledger_takes_what_the_window_does_not() {
        let mut tally = Tally::default();
        tally.done(Kind::Payment, PAYMENT, false);
        tally.done(Kind::Payment, PAYMENT, true);
        tally.done(
            Kind::Delivery,
            Outcome::Delivery {
                delivered: 8,
                skipped: 2,
            },
            true,
        );
        tally.done(Kind::NewOrder, Outcome::RolledBack, true);
        tally.lost(Kind::Delivery, true);
        tally.lost(Kind::NewOrder, false);
        let mut sum = tally.clone();
        sum.add(&tally);
        assert_eq!(
            (sum.told.payments, sum.told.delivered, sum.told.new_orders),
            (4, 16, 0)
        );
        assert_eq!((sum.unknown.delivered, sum.unknown.new_orders), (20, 2));
        assert_eq!(sum.counts.completed.0, [0, 2, 0, 2, 0]);
        assert_eq!(
            (
                sum.counts.rolled_back,
                sum.counts.unknown,
                sum.counts.short_deliveries
            ),
            (2, 2, 2)
        );
    }

    #[test]
    fn counters_say_what_was_counted() {
        let mut tally = Tally::default();
        (0..50).for_each(|_| tally.done(Kind::Payment, PAYMENT, true));
        tally.done(Kind::NewOrder, Outcome::RolledBack, true);
        tally.retried(Kind::Payment, [2, 0, 1, 0, 0], true);
        tally.retried(Kind::Payment, [1, 0, 0, 0, 0], false);
        tally.failed(Kind::StockLevel, true);
        tally.queued();
        tally.executed(80_000_000_000);
        tally.queued();
        tally.executed(80_000_000_001);
        let window = Span {
            start: 0,
            end: 30_000_000_000,
        };
        let counters = tally.counters(window, DeliveryMode::Deferred);
        assert_eq!((counters.nopm, counters.tpm), (0.0, 102.0));
        let payment = &counters.transactions[1];
        assert_eq!(
            (payment.name.as_str(), payment.completed, payment.retries),
            ("payment", 50, 3)
        );
        assert_eq!((counters.transactions[4].failed, counters.lost()), (1, 1));
        let retries: Vec<_> = counters
            .retries
            .iter()
            .map(|tally| (tally.cause.as_str(), tally.count))
            .collect();
        assert_eq!(retries, [("deadlock", 3), ("serialization failure", 1)]);
        let deferred = counters.deferred.expect("deferred");
        assert_eq!(
            (deferred.queued, deferred.executed, deferred.in_time),
            (2, 2, 1)
        );
        let empty = Span { start: 5, end: 5 };
        assert_eq!(
            Tally::default().counters(empty, DeliveryMode::Inline).tpm,
            0.0
        );
    }
}
