//! Percentiles with the ranks that bound them.
//!
//! Of n independent values, the one at rank r lies below the p-quantile when at least r values do;
//! their number is binomial. So the values at ranks r and s hold the quantile with probability P(r
//! <= Bin(n, p) <= s - 1). Source: David, Nagaraja, "Order Statistics" (2003), section 7.1.
//!
//! Responses of one trial depend on each other, which makes these bounds too narrow: show them as
//! an indication ([`PercentilePoint`]), with the design effect where it is known (n /
//! [`effective_count`](crate::effective_count) of the seconds), and take
//! [`Summary`](crate::Summary) over the percentiles of repeats for what is claimed.

use rookery_cast::{index, truncate_u64};

use crate::{Latencies, histogram::nearest_rank};

/// The 97.5 % quantile of the normal distribution.
const Z_975: f64 = 1.959_964;
/// What each end may miss.
const TAIL: f64 = 0.025;
/// Beyond this the binomial is walked no longer: its normal limit differs by less than one rank in
/// a thousand.
const LARGEST_EXACT: u64 = 100_000_000;

/// Ranks, 1-based in ascending order, whose values hold a quantile with at least 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankBounds {
    /// The lower rank; `None` when even the smallest value may lie above the quantile.
    pub low: Option<u64>,
    /// The upper rank; `None` when even the largest value may lie below the quantile.
    pub high: Option<u64>,
    /// Probability that the two hold the quantile (where one is missing: that the other bounds it).
    pub coverage: f64,
}

impl RankBounds {
    /// Exact, from the binomial distribution: the narrowest ranks of which each misses with at most
    /// 2.5 %. `n` values, quantile `p`, 0 < `p` < 1; without values, or with `p` outside, there are
    /// no bounds. Beyond 100 million values as [`Self::normal`].
    ///
    /// ```
    /// use rookery_stats::RankBounds;
    /// let bounds = RankBounds::exact(1_000, 0.95);
    /// assert_eq!((bounds.low, bounds.high), (Some(936), Some(964)));
    /// assert!((bounds.coverage - 0.958_095).abs() < 1e-6);
    /// ```
    #[must_use]
    pub fn exact(n: u64, p: f64) -> Self {
        if n == 0 || !(p > 0.0 && p < 1.0) {
            return Self {
                low: None,
                high: None,
                coverage: 0.0,
            };
        }
        if n > LARGEST_EXACT {
            return Self::normal(n, p);
        }
        let (first, weights) = binomial(n, p);
        let total: f64 = weights.iter().sum();
        // Below the walked range lies less than 1e-15.
        let (mut below, mut low, mut high) = (0.0, None, None);
        let (mut under, mut over) = (0.0, 1.0);
        for (hits, weight) in (first..).zip(weights) {
            // `below` = P(Bin < hits).
            if below <= TAIL && hits >= 1 {
                (low, under) = (Some(hits), below);
            }
            below += weight / total;
            if below >= 1.0 - TAIL && high.is_none() && hits < n {
                (high, over) = (Some(hits + 1), below);
            }
        }
        Self {
            low,
            high,
            coverage: over - under,
        }
    }

    /// By the normal limit: ceil(n p -+ z sqrt(n p (1 - p))), as many reports print it. The upper
    /// rank is `None` beyond n.
    #[must_use]
    pub fn normal(n: u64, p: f64) -> Self {
        let centre = n as f64 * p;
        let reach = Z_975 * (centre * (1.0 - p)).sqrt();
        let rank =
            |place: f64| Some(truncate_u64(place.ceil())).filter(|rank| (1..=n).contains(rank));
        Self {
            low: rank(centre - reach),
            high: rank(centre + reach),
            coverage: 0.95,
        }
    }
}

/// Probabilities of Bin(n, p), up to a common factor, over all numbers that matter, with the first
/// of these numbers.
fn binomial(n: u64, p: f64) -> (u64, Vec<f64>) {
    let mode = ((n + 1) as f64 * p).floor().min(n as f64);
    let reach = 10.0 * (n as f64 * p * (1.0 - p)).sqrt() + 40.0;
    let (first, last) = (
        truncate_u64((mode - reach).max(0.0)),
        truncate_u64(mode + reach).min(n),
    );
    let mode = truncate_u64(mode);
    let odds = p / (1.0 - p);
    let mut weights = vec![1.0; index(last - first + 1)];
    let at = |hits: u64| index(hits - first);
    for hits in mode + 1..=last {
        weights[at(hits)] = weights[at(hits - 1)] * odds * (n - hits + 1) as f64 / hits as f64;
    }
    for hits in (first..mode).rev() {
        weights[at(hits)] = weights[at(hits + 1)] / odds * (hits + 1) as f64 / (n - hits) as f64;
    }
    (first, weights)
}

/// The fewest independent values whose largest bounds the quantile `p` from above with this
/// confidence: 1 - p^n >= `confidence`. `None` unless both lie between 0 and 1.
///
/// ```
/// assert_eq!(rookery_stats::fewest_for_upper_bound(0.99, 0.95), Some(299));
/// ```
#[must_use]
pub fn fewest_for_upper_bound(p: f64, confidence: f64) -> Option<u64> {
    let inside = |share: f64| share > 0.0 && share < 1.0;
    (inside(p) && inside(confidence))
        .then(|| truncate_u64(((1.0 - confidence).ln() / p.ln()).ceil()))
}

/// A percentile of a histogram with bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PercentilePoint {
    /// The percentile, 0 to 100.
    pub percentile: f64,
    /// Its value by nearest rank, us: the upper end of its bucket.
    pub value_us: u64,
    /// Lower bound, us: the lower end of the bucket at the lower rank.
    pub low_us: Option<u64>,
    /// Upper bound, us: the upper end of the bucket at the upper rank.
    pub high_us: Option<u64>,
}

impl PercentilePoint {
    /// Of `latencies`, of which the `unfinished` slowest are lower bounds only: their operations
    /// were still under way.
    ///
    /// `design_effect`, at least 1, is how many dependent values are worth one independent value;
    /// smaller numbers count as 1. `None` without values, outside 0 < `percentile` < 100, or when
    /// the percentile lies among the unfinished.
    #[must_use]
    pub fn from_latencies(
        latencies: &Latencies,
        unfinished: u64,
        percentile: f64,
        design_effect: f64,
    ) -> Option<Self> {
        let p = percentile / 100.0;
        let count = latencies.count();
        let known = count.saturating_sub(unfinished);
        let at = |rank: u64| latencies.value_at_rank(rank).filter(|_| rank <= known);
        let value_us = at(nearest_rank(count, percentile)).filter(|_| p > 0.0 && p < 1.0)?;
        let effect = if design_effect > 1.0 {
            design_effect
        } else {
            1.0
        };
        let bounds = RankBounds::exact(truncate_u64(count as f64 / effect).max(1), p);
        // A rank among n_eff independent values, as a rank among all.
        let of_all = |rank: u64, ends: fn(f64) -> f64| {
            truncate_u64(ends(rank as f64 * effect)).clamp(1, count)
        };
        let low = bounds.low.and_then(|rank| at(of_all(rank, f64::floor)));
        let high = bounds.high.and_then(|rank| at(of_all(rank, f64::ceil)));
        Some(Self {
            percentile,
            value_us,
            low_us: low.map(bucket_begin),
            high_us: high,
        })
    }
}

/// The smallest value of the bucket that ends at `end_us`: three digits make 2048 sub-buckets,
/// values below 2048 are exact, above the width is 2^(floor(log2 v) - 10).
fn bucket_begin(end_us: u64) -> u64 {
    let width = 1u64 << end_us.max(1).ilog2().saturating_sub(10);
    end_us / width * width
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rookery_workload::random::{RandomSource as _, SplitMix64};

    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Latencies {
        let mut latencies = Latencies::new();
        values
            .into_iter()
            .for_each(|value| latencies.record_us(value));
        latencies
    }

    #[test]
    fn exact_ranks_are_those_of_the_binomial() {
        let bounds = RankBounds::exact(1_000, 0.95);
        assert!(
            (bounds.coverage - 0.958_095_268_222_654).abs() < 1e-9,
            "{bounds:?}"
        );
        // The median of ten: P(2 <= Bin <= 8) = 1002/1024.
        let ten = RankBounds::exact(10, 0.5);
        assert_eq!((ten.low, ten.high), (Some(2), Some(9)));
        assert!((ten.coverage - 1_002.0 / 1_024.0).abs() < 1e-12);
        let thin = RankBounds::exact(100, 0.99);
        assert_eq!((thin.low.is_some(), thin.high), (true, None));
        assert_eq!(
            RankBounds::exact(1, 0.5),
            RankBounds {
                low: None,
                high: None,
                coverage: 1.0
            }
        );
        assert_eq!(RankBounds::exact(0, 0.5).coverage, 0.0);
        assert_eq!(RankBounds::exact(9, 1.0).low, None);
    }

    #[test]
    fn normal_ranks_are_those_of_the_specification() {
        let ranks = |n, p| (RankBounds::normal(n, p).low, RankBounds::normal(n, p).high);
        assert_eq!(ranks(1_000, 0.9), (Some(882), Some(919)));
        assert_eq!(ranks(10_000, 0.99), (Some(9_881), Some(9_920)));
        assert_eq!(ranks(10, 0.99), (Some(10), None));
        let (large, limit) = (
            RankBounds::exact(100_000_000, 0.5),
            RankBounds::normal(100_000_000, 0.5),
        );
        assert!(
            large
                .low
                .zip(limit.low)
                .is_some_and(|(a, b)| a.abs_diff(b) <= 2),
            "{large:?} {limit:?}"
        );
    }

    #[test]
    fn an_upper_bound_of_a_tail_needs_many_values() {
        assert_eq!(fewest_for_upper_bound(0.99, 0.95), Some(299));
        assert_eq!(fewest_for_upper_bound(0.5, 0.5), Some(1));
        assert_eq!(
            (
                fewest_for_upper_bound(1.0, 0.95),
                fewest_for_upper_bound(0.9, f64::NAN)
            ),
            (None, None)
        );
    }

    #[test]
    fn points_read_their_bounds_from_the_histogram() {
        let thousand = of(1..=1_000);
        let point = PercentilePoint::from_latencies(&thousand, 0, 95.0, 1.0).expect("values");
        assert_eq!(
            (point.value_us, point.low_us, point.high_us),
            (950, Some(936), Some(964))
        );
        let dependent = PercentilePoint::from_latencies(&thousand, 0, 95.0, 4.0).expect("values");
        assert!(dependent.low_us < point.low_us && dependent.high_us > point.high_us);
        assert_eq!(
            PercentilePoint::from_latencies(&thousand, 100, 95.0, 1.0),
            None,
            "the percentile never finished"
        );
        let some =
            PercentilePoint::from_latencies(&thousand, 50, 95.0, 1.0).expect("just finished");
        assert_eq!((some.value_us, some.high_us), (950, None));
        assert_eq!(
            PercentilePoint::from_latencies(&Latencies::new(), 0, 95.0, 1.0),
            None
        );
        assert_eq!(
            PercentilePoint::from_latencies(&thousand, 0, 100.0, 1.0),
            None
        );
    }

    #[test]
    fn a_bound_is_the_outer_end_of_its_bucket() {
        assert_eq!(
            (bucket_begin(1), bucket_begin(2_047), bucket_begin(2_049)),
            (1, 2_047, 2_048)
        );
        assert_eq!(
            (bucket_begin(123_519), bucket_begin(4_001_791)),
            (123_456, 4_000_000 / 2_048 * 2_048)
        );
        for value in [1, 5, 2_048, 99_999, 123_456, 7_654_321] {
            let end = of([value]).value_at_rank(1).expect("a value");
            assert!(
                bucket_begin(end) <= value && of([bucket_begin(end)]).value_at_rank(1) == Some(end)
            );
        }
    }

    #[test]
    fn ninety_five_percent_of_bounds_hold_the_quantile() {
        let mut stream = SplitMix64::new(8);
        for (n, p) in [(40, 0.5), (400, 0.95)] {
            let bounds = RankBounds::exact(n, p);
            let (low, high) = (
                bounds.low.expect("a rank") as usize,
                bounds.high.expect("a rank") as usize,
            );
            let hits = (0..2_000).filter(|_| {
                let mut values: Vec<f64> = (0..n).map(|_| stream.unit()).collect();
                values.sort_by(f64::total_cmp);
                values[low - 1] <= p && p <= values[high - 1]
            });
            let share = hits.count() as f64 / 2_000.0;
            assert!(
                (share - bounds.coverage).abs() < 0.015 && bounds.coverage >= 0.95,
                "{share} {bounds:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn bounds_surround_the_percentile(n in 1u64..5_000, p in 0.01..0.99f64) {
            let bounds = RankBounds::exact(n, p);
            let rank = nearest_rank(n, 100.0 * p);
            prop_assert!(bounds.low.is_none_or(|low| 1 <= low && low <= rank));
            prop_assert!(bounds.high.is_none_or(|high| rank <= high && high <= n));
            prop_assert!(bounds.coverage >= 0.95 - 1e-9 && bounds.coverage <= 1.0 + 1e-9);
        }
    }
}
