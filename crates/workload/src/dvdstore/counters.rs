//! What DVD Store counts, under the original driver's names.

use serde::{Deserialize, Serialize};

use super::info::METRICS;
use crate::{MetricValue, Proof, ProofRow, metric::with_values};

/// Counters under the original driver's names. "Steady" counts orders completed inside the window,
/// as the original counts since its reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ShopCounters {
    /// Orders completed in the window, including rolled-back ones.
    pub n_overall: u64,
    /// Orders per minute over the window.
    #[serde(deserialize_with = "crate::number::or_nan")]
    pub opm: f64,
    /// Mean time of an order without think time, ms.
    #[serde(deserialize_with = "crate::number::or_nan")]
    pub rt_tot_avg_msec: f64,
    /// Largest order time of the last 100 orders, ms.
    #[serde(deserialize_with = "crate::number::or_nan")]
    pub rt_tot_lastn_max_msec: f64,
    /// Purchases answered "insufficient stock" in the window.
    pub n_rollbacks_overall: u64,
    /// 100 * n_rollbacks_overall / n_overall; 0 without orders.
    #[serde(deserialize_with = "crate::number::or_nan")]
    pub rollback_rate: f64,
    /// Logins, new customers, searches and purchases in the window.
    pub n_login_overall: u64,
    /// New customers (orders, not attempts).
    pub n_newcust_overall: u64,
    /// Searches.
    pub n_browse_overall: u64,
    /// Purchases.
    pub n_purchase_overall: u64,
    /// Mean times of the calls, ms; 0 without calls.
    #[serde(deserialize_with = "crate::number::or_nan")]
    pub rt_login_avg_msec: f64,
    /// See `rt_login_avg_msec`.
    #[serde(deserialize_with = "crate::number::or_nan")]
    pub rt_newcust_avg_msec: f64,
    /// See `rt_login_avg_msec`; per search.
    #[serde(deserialize_with = "crate::number::or_nan")]
    pub rt_browse_avg_msec: f64,
    /// See `rt_login_avg_msec`.
    #[serde(deserialize_with = "crate::number::or_nan")]
    pub rt_purchase_avg_msec: f64,
    /// Purchases acknowledged over the whole trial, ramp-up and wind-down included.
    pub n_purchase_from_start: u64,
    /// Of these, rolled back. New rows in ORDERS = the difference.
    pub n_rollbacks_from_start: u64,
    /// Purchases that were sent but whose outcome no answer told (none came, or an unusable one):
    /// the database may hold up to this many further orders.
    pub n_purchase_unanswered: u64,
}

impl ShopCounters {
    /// Every metric, in the order of the workload's list.
    #[must_use]
    pub fn metrics(&self) -> Vec<MetricValue> {
        let count = |count: u64| Some(count as f64);
        with_values(
            &METRICS,
            [
                Some(self.opm),
                count(self.n_overall),
                Some(self.rt_tot_avg_msec),
                Some(self.rt_tot_lastn_max_msec),
                count(self.n_rollbacks_overall),
                Some(self.rollback_rate),
                count(self.n_login_overall),
                count(self.n_newcust_overall),
                count(self.n_browse_overall),
                count(self.n_purchase_overall),
                Some(self.rt_login_avg_msec),
                Some(self.rt_newcust_avg_msec),
                Some(self.rt_browse_avg_msec),
                Some(self.rt_purchase_avg_msec),
                count(self.n_purchase_from_start),
                count(self.n_rollbacks_from_start),
                count(self.n_purchase_unanswered),
            ],
        )
    }

    /// Orders of the window that were rolled back, and all of them.
    #[must_use]
    pub fn rollbacks(&self) -> (u64, u64) {
        (self.n_rollbacks_overall, self.n_overall)
    }

    /// Acknowledged purchases that were not rolled back are new rows in ORDERS; unanswered ones may
    /// be.
    #[must_use]
    pub fn proof(&self) -> Proof {
        let acknowledged = self
            .n_purchase_from_start
            .saturating_sub(self.n_rollbacks_from_start);
        Proof {
            rows: vec![ProofRow::new(
                NEW_ORDERS,
                acknowledged,
                self.n_purchase_unanswered,
            )],
        }
    }

    /// Add what another guest counted in the same window: counts and rates are summed, means
    /// weighted by their counts, maxima taken.
    pub fn merge(&mut self, other: &Self) {
        let mean = |a: f64, n: u64, b: f64, m: u64| match n.saturating_add(m) {
            0 => 0.0,
            all => (a * n as f64 + b * m as f64) / all as f64,
        };
        self.rt_tot_avg_msec = mean(
            self.rt_tot_avg_msec,
            self.n_overall,
            other.rt_tot_avg_msec,
            other.n_overall,
        );
        self.rt_login_avg_msec = mean(
            self.rt_login_avg_msec,
            self.n_login_overall,
            other.rt_login_avg_msec,
            other.n_login_overall,
        );
        self.rt_newcust_avg_msec = mean(
            self.rt_newcust_avg_msec,
            self.n_newcust_overall,
            other.rt_newcust_avg_msec,
            other.n_newcust_overall,
        );
        self.rt_browse_avg_msec = mean(
            self.rt_browse_avg_msec,
            self.n_browse_overall,
            other.rt_browse_avg_msec,
            other.n_browse_overall,
        );
        self.rt_purchase_avg_msec = mean(
            self.rt_purchase_avg_msec,
            self.n_purchase_overall,
            other.rt_purchase_avg_msec,
            other.n_purchase_overall,
        );
        self.rt_tot_lastn_max_msec = self.rt_tot_lastn_max_msec.max(other.rt_tot_lastn_max_msec);
        self.opm += other.opm;
        let counts = [
            (&mut self.n_overall, other.n_overall),
            (&mut self.n_rollbacks_overall, other.n_rollbacks_overall),
            (&mut self.n_login_overall, other.n_login_overall),
            (&mut self.n_newcust_overall, other.n_newcust_overall),
            (&mut self.n_browse_overall, other.n_browse_overall),
            (&mut self.n_purchase_overall, other.n_purchase_overall),
            (&mut self.n_purchase_from_start, other.n_purchase_from_start),
            (
                &mut self.n_rollbacks_from_start,
                other.n_rollbacks_from_start,
            ),
            (&mut self.n_purchase_unanswered, other.n_purchase_unanswered),
        ];
        for (mine, others) in counts {
            *mine = mine.saturating_add(others);
        }
        self.rollback_rate = match self.n_overall {
            0 => 0.0,
            orders => 100.0 * self.n_rollbacks_overall as f64 / orders as f64,
        };
    }
}

/// The rows of a database that a load adds.
pub const NEW_ORDERS: &str = "new orders";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_together_weigh_their_means_by_their_counts() {
        let mut shop = ShopCounters {
            n_overall: 100,
            opm: 100.0,
            rt_tot_avg_msec: 10.0,
            rt_tot_lastn_max_msec: 50.0,
            n_rollbacks_overall: 1,
            rollback_rate: 1.0,
            n_purchase_from_start: 120,
            n_rollbacks_from_start: 2,
            ..ShopCounters::default()
        };
        shop.merge(&ShopCounters {
            n_overall: 300,
            opm: 300.0,
            rt_tot_avg_msec: 20.0,
            rt_tot_lastn_max_msec: 40.0,
            n_rollbacks_overall: 7,
            n_purchase_unanswered: 3,
            ..ShopCounters::default()
        });
        assert_eq!((shop.n_overall, shop.opm), (400, 400.0));
        assert_eq!(
            (shop.rt_tot_avg_msec, shop.rt_tot_lastn_max_msec),
            (17.5, 50.0)
        );
        assert_eq!((shop.rollback_rate, shop.rt_login_avg_msec), (2.0, 0.0));
        assert_eq!(shop.proof().rows, [ProofRow::new(NEW_ORDERS, 118, 3)]);
        assert_eq!(shop.metrics()[0].value, 400.0);
    }
}
