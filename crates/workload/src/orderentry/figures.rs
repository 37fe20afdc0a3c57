//! The figures of a run, `nopm` and `tpm`, and what makes them doubtful.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::terminal::{Kind, Mix, Pacing, PerKind};

/// What ended within the steady window. A transaction counts where it ends, even when it began in
/// the ramp-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Completed transactions, new orders without those that were rolled back.
    pub completed: PerKind<u64>,
    /// New orders that asked for the unused item and were rolled back: completed, too.
    pub rolled_back: u64,
    /// Transactions whose retries all failed.
    pub failed: u64,
    /// Transactions whose outcome nobody knows.
    pub unknown: u64,
    /// Deliveries that found a district without a waiting order.
    pub short_deliveries: u64,
}

fn per_minute(count: u64, window: Duration) -> f64 {
    60.0 * count as f64 / window.as_secs_f64()
}

impl Counts {
    /// `nopm`: committed new orders per minute of `window`, which is above 0.
    ///
    /// ```
    /// use std::time::Duration;
    /// use rookery_workload::orderentry::{Counts, PerKind};
    /// let counts = Counts { completed: PerKind([990, 1000, 100, 100, 100]), rolled_back: 10, ..Counts::default() };
    /// let window = Duration::from_secs(30);
    /// assert_eq!(counts.nopm(window), 1980.0);
    /// assert_eq!(counts.nopm_with_rolled_back(window), 2000.0);
    /// assert_eq!(counts.tpm(window), 4600.0);
    /// ```
    #[must_use]
    pub fn nopm(&self, window: Duration) -> f64 {
        per_minute(self.completed[Kind::NewOrder], window)
    }

    /// New orders per minute with those that were rolled back as they must.
    #[must_use]
    pub fn nopm_with_rolled_back(&self, window: Duration) -> f64 {
        per_minute(self.completed[Kind::NewOrder] + self.rolled_back, window)
    }

    /// `tpm`: all completed transactions per minute, rolled back new orders too.
    #[must_use]
    pub fn tpm(&self, window: Duration) -> f64 {
        per_minute(self.completed(), window)
    }

    /// All completed transactions.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.completed.0.iter().sum::<u64>() + self.rolled_back
    }

    /// The share of `kind` in all completed transactions, 0 to 1; 0 when there were none.
    #[must_use]
    pub fn share(&self, kind: Kind) -> f64 {
        let rolled_back = if kind == Kind::NewOrder {
            self.rolled_back
        } else {
            0
        };
        (self.completed[kind] + rolled_back) as f64 / self.completed().max(1) as f64
    }

    /// What is doubtful about the run.
    #[must_use]
    pub fn remarks(&self, mix: Mix, max_failed_share: f64) -> Vec<Remark> {
        let mut remarks = Vec::new();
        let attempts = self.completed() + self.failed + self.unknown;
        let failed_share = (self.failed + self.unknown) as f64 / attempts.max(1) as f64;
        if failed_share > max_failed_share {
            remarks.push(Remark::TooManyFailed(failed_share));
        }
        let deliveries = self.completed[Kind::Delivery];
        let short_share = self.short_deliveries as f64 / deliveries.max(1) as f64;
        if short_share > MAX_SHORT_DELIVERIES {
            remarks.push(Remark::ShortDeliveries(short_share));
        }
        for kind in Kind::ALL {
            let share = self.share(kind);
            // Decks that are half played when the window begins or ends blur the shares a little.
            if self.completed() > 0
                && share < MINIMUM_SHARES[kind].min(mix.share(kind)) - SHARE_BLUR
            {
                remarks.push(Remark::Share(kind, share));
            }
        }
        remarks
    }
}

/// Failed and unknown transactions that a valid run may have, as a share of all.
pub const MAX_FAILED_SHARE: f64 = 0.001;

/// Deliveries with an empty district that are no remark yet, as a share of all.
const MAX_SHORT_DELIVERIES: f64 = 0.01;

/// The least shares that the benchmark which the workload follows asks for; new orders take the
/// rest.
pub const MINIMUM_SHARES: PerKind<f64> = PerKind([0.0, 0.43, 0.04, 0.04, 0.04]);

const SHARE_BLUR: f64 = 0.005;

/// Something that makes figures doubtful.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Remark {
    /// Too large a share failed or has an unknown outcome: the run is not valid.
    TooManyFailed(f64),
    /// Too large a share of deliveries found an empty district: the mix has drained the queue of
    /// waiting orders.
    ShortDeliveries(f64),
    /// A transaction had less than its least share.
    Share(Kind, f64),
}

impl Remark {
    /// Whether the run is not valid.
    #[must_use]
    pub fn is_fatal(self) -> bool {
        matches!(self, Self::TooManyFailed(_))
    }
}

impl std::fmt::Display for Remark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooManyFailed(share) => write!(
                f,
                "{:.2} % of transactions failed or have an unknown outcome",
                100.0 * share
            ),
            Self::ShortDeliveries(share) => write!(
                f,
                "{:.1} % of deliveries found a district without a waiting order",
                100.0 * share
            ),
            Self::Share(kind, share) => write!(
                f,
                "{} was only {:.1} % of all transactions",
                kind.name(),
                100.0 * share
            ),
        }
    }
}

/// Whether new orders as counted by clients and as the database says (`sum of d_next_o_id` after
/// less before) agree: they may differ by the transactions in flight at both ends, one per client
/// each.
#[must_use]
pub fn new_orders_agree(counted: u64, in_database: u64, clients: u32) -> bool {
    counted.abs_diff(in_database) <= 2 * u64::from(clients)
}

/// The most new orders per minute and warehouse with `terminals` per warehouse, when transactions
/// take no time; nothing without pauses.
#[must_use]
pub fn ceiling_per_warehouse(mix: Mix, pacing: Pacing, terminals: f64) -> Option<f64> {
    let cycle_s: f64 = Kind::ALL
        .iter()
        .map(|&kind| mix.share(kind) * pacing.mean_pause_s(kind))
        .sum();
    (cycle_s > 0.0).then(|| 60.0 * terminals / cycle_s * mix.share(Kind::NewOrder))
}

/// Below so many new orders per minute and warehouse a run of the `spec` profile has more
/// warehouses than it needs.
pub const LEAST_PER_WAREHOUSE: f64 = 9.0;

/// Limits of the 90th percentile of response times in milliseconds.
pub type ResponseLimits = PerKind<u64>;

/// The limits that belong to the pauses of the `spec` profile: 5 s, and 20 s for stock levels.
pub const SPEC_LIMITS_MS: ResponseLimits = PerKind([5000, 5000, 5000, 5000, 20_000]);

/// The limit of a deferred delivery, from queueing to its end.
pub const DEFERRED_DELIVERY_LIMIT_MS: u64 = 80_000;

/// The limits without pauses, where those of `spec` would never bind.
pub const SEED_LIMITS_MS: ResponseLimits = PerKind([100, 100, 100, 500, 500]);

/// The transactions whose 90th percentile, in microseconds, is above its limit.
pub fn over_limit(p90_us: PerKind<u64>, limits_ms: ResponseLimits) -> impl Iterator<Item = Kind> {
    Kind::ALL
        .into_iter()
        .filter(move |&kind| p90_us[kind] > 1000 * limits_ms[kind])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ceiling_of_a_warehouse_is_that_of_the_specification() {
        let ceiling = |mix, pacing| ceiling_per_warehouse(mix, pacing, 10.0);
        assert!(
            ceiling(Mix::MINIMUMS, Pacing::Spec).is_some_and(|nopm| (nopm - 12.86).abs() < 0.005)
        );
        assert!(ceiling(Mix::Deck, Pacing::Spec).is_some_and(|nopm| (nopm - 12.60).abs() < 0.006));
        assert!(
            ceiling(Mix::Deck, Pacing::Scaled(0.1)).is_some_and(|nopm| (nopm - 126.0).abs() < 0.06)
        );
        assert_eq!(ceiling(Mix::Deck, Pacing::None), None);
    }

    #[test]
    fn limits_are_milliseconds_and_times_microseconds() {
        let p90_us = PerKind([4_999_000, 5_000_000, 5_000_001, 80_000, 20_000_000]);
        assert_eq!(
            over_limit(p90_us, SPEC_LIMITS_MS).collect::<Vec<_>>(),
            [Kind::OrderStatus]
        );
        let p90_us = PerKind([100_001, 99_000, 0, 500_000, 501_000]);
        assert_eq!(
            over_limit(p90_us, SEED_LIMITS_MS).collect::<Vec<_>>(),
            [Kind::NewOrder, Kind::StockLevel]
        );
    }

    #[test]
    fn a_sound_run_needs_no_remark() {
        let counts = Counts {
            completed: PerKind([9900, 10_000, 1000, 1000, 1000]),
            rolled_back: 100,
            failed: 23,
            ..Counts::default()
        };
        assert_eq!(counts.remarks(Mix::Deck, MAX_FAILED_SHARE), []);
        let worse = Counts {
            unknown: 1,
            ..counts
        };
        assert!(worse.remarks(Mix::Deck, MAX_FAILED_SHARE)[0].is_fatal());
        let drained = Counts {
            short_deliveries: 11,
            ..counts
        };
        let remarks = drained.remarks(Mix::Deck, MAX_FAILED_SHARE);
        assert_eq!(remarks.len(), 1);
        assert_eq!(
            remarks[0].to_string(),
            "1.1 % of deliveries found a district without a waiting order"
        );
        let few = Counts {
            completed: PerKind([9900, 10_000, 700, 1000, 1000]),
            failed: 0,
            ..counts
        };
        assert!(matches!(
            few.remarks(Mix::Deck, MAX_FAILED_SHARE)[..],
            [Remark::Share(Kind::OrderStatus, _)]
        ));
        assert_eq!(Counts::default().remarks(Mix::Deck, MAX_FAILED_SHARE), []);
    }

    #[test]
    fn clients_and_database_may_differ_by_what_is_in_flight() {
        assert!(new_orders_agree(1000, 1016, 8));
        assert!(!new_orders_agree(1000, 1017, 8));
        assert!(!new_orders_agree(1017, 1000, 8));
    }
}
