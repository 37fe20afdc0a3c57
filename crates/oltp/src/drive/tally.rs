//! What terminals count.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rookery_workload::orderentry::{Counts, Kind, Ledger, transaction::Outcome};

/// Counters of one terminal, or of many together.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    pub(super) counts: Counts,
    /// Microseconds, one for each kind.
    pub(super) histograms: [Histogram<u32>; 5],
    pub(super) retries: [u64; 5],
    pub(super) reconnections: u64,
    pub(super) told: Ledger,
    pub(super) unknown: Ledger,
}

/// Longest response time that is told apart, in microseconds: an hour.
const LONGEST_US: u64 = 3_600_000_000;

impl Tally {
    pub(super) fn new() -> Self {
        let empty = || Histogram::new_with_bounds(1, LONGEST_US, 3).expect("the bounds are valid");
        Self {
            counts: Counts::default(),
            histograms: std::array::from_fn(|_| empty()),
            retries: [0; 5],
            reconnections: 0,
            told: Ledger::default(),
            unknown: Ledger::default(),
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        let counts = &other.counts;
        for kind in 0..5 {
            self.counts.completed.0[kind] += counts.completed.0[kind];
            self.retries[kind] += other.retries[kind];
            self.histograms[kind]
                .add(&other.histograms[kind])
                .expect("all histograms have the same bounds");
        }
        self.counts.rolled_back += counts.rolled_back;
        self.counts.failed += counts.failed;
        self.counts.unknown += counts.unknown;
        self.counts.short_deliveries += counts.short_deliveries;
        self.reconnections += other.reconnections;
        for (sum, more) in [(&mut self.told, other.told), (&mut self.unknown, other.unknown)] {
            sum.new_orders += more.new_orders;
            sum.payments += more.payments;
            sum.delivered += more.delivered;
        }
    }

    /// A transaction completed; the ledger takes it always, the figures when it ended within the window.
    pub(super) fn done(&mut self, kind: Kind, outcome: Outcome, began: Instant, ended: Instant, within: bool) {
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
            _ => self.counts.completed.0[kind as usize] += 1,
        }
        if matches!(outcome, Outcome::Delivery { skipped, .. } if skipped > 0) {
            self.counts.short_deliveries += 1;
        }
        let micros = u64::try_from((ended - began).as_micros()).unwrap_or(LONGEST_US);
        self.histograms[kind as usize].saturating_record(micros.max(1));
    }

    /// A transaction whose outcome nobody knows.
    pub(super) fn lost(&mut self, kind: Kind, within: bool) {
        match kind {
            Kind::NewOrder => self.unknown.new_orders += 1,
            Kind::Payment => self.unknown.payments += 1,
            // One order of each district at most.
            Kind::Delivery => self.unknown.delivered += 10,
            Kind::OrderStatus | Kind::StockLevel => {}
        }
        self.counts.unknown += u64::from(within);
    }
}

/// Response times of one kind of transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Latencies {
    /// How many there are.
    pub count: u64,
    /// Their mean.
    pub mean: Duration,
    /// The median.
    pub p50: Duration,
    /// The 90th percentile.
    pub p90: Duration,
    /// The 95th percentile.
    pub p95: Duration,
    /// The 99th percentile.
    pub p99: Duration,
    /// The longest.
    pub max: Duration,
}

impl Latencies {
    pub(super) fn of(histogram: &Histogram<u32>) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        let at = |quantile| Duration::from_micros(histogram.value_at_quantile(quantile));
        Self {
            count: histogram.len(),
            mean: Duration::from_nanos((histogram.mean() * 1000.0) as u64),
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            max: Duration::from_micros(histogram.max()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ledger_takes_what_the_window_does_not() {
        let mut tally = Tally::new();
        let now = Instant::now();
        let later = now + Duration::from_millis(3);
        let payment = Outcome::Payment {
            warehouse: 1,
            district: 1,
            customer: 1,
            amount_cents: 1,
            balance_cents: 1,
        };
        tally.done(Kind::Payment, payment, now, later, false);
        tally.done(Kind::Payment, payment, now, later, true);
        tally.done(Kind::Delivery, Outcome::Delivery { delivered: 8, skipped: 2 }, now, later, true);
        tally.done(Kind::NewOrder, Outcome::RolledBack, now, later, true);
        tally.lost(Kind::Delivery, true);
        let mut sum = tally.clone();
        sum.add(&tally);
        assert_eq!((sum.told.payments, sum.told.delivered, sum.told.new_orders), (4, 16, 0));
        assert_eq!(sum.unknown.delivered, 20);
        assert_eq!(sum.counts.completed.0, [0, 2, 0, 2, 0]);
        assert_eq!((sum.counts.rolled_back, sum.counts.unknown, sum.counts.short_deliveries), (2, 2, 2));
        let latencies = Latencies::of(&sum.histograms[Kind::Payment as usize]);
        assert_eq!(latencies.count, 2);
        assert!(
            latencies.p50.abs_diff(Duration::from_millis(3)) < Duration::from_micros(10),
            "{latencies:?}"
        );
        assert_eq!(Latencies::of(&sum.histograms[Kind::OrderStatus as usize]), Latencies::default());
    }
}
