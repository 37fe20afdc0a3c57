//! How far two lots lie apart, without assuming anything of their shape: ranks instead of means.
//!
//! [`Shift::between`] gives the Hodges-Lehmann estimate (the median of all differences) with its
//! interval, the probability of Mann and Whitney, and the size of the effect as the chance that a
//! value of the second lot exceeds one of the first. For a ratio, hand in logarithms. Sources:
//! Hodges, Lehmann, Ann. Math. Stat. 34 (1963) 598; Mann, Whitney, Ann. Math. Stat. 18 (1947) 50;
//! Hollander, Wolfe, "Nonparametric Statistical Methods", chapter 4.
//!
//! The sample is one number per trial (its throughput, its 95th percentile), never single
//! responses. Below four and four repeats no verdict at 5 % is possible, whatever the numbers.

use rookery_cast::truncate_usize;

/// Lots up to this size are counted out exactly, when no two values are equal.
const EXACT: usize = 20;
/// What each end of the interval may miss.
const TAIL: f64 = 0.025;
/// The 97.5 % quantile of the normal distribution.
const Z_975: f64 = 1.959_964;

/// The second lot against the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// Median of all differences, second less first, in the unit of the values.
    pub value: f64,
    /// Interval of the shift with at least 95 % coverage; `None` where the lots are too small for
    /// one.
    pub interval: Option<(f64, f64)>,
    /// U: pairs in which the second value is larger, ties half.
    pub u: f64,
    /// Two-sided probability of a U at least so far from its middle by chance alone.
    pub p: f64,
    /// Vargha and Delaney's A: the share of pairs in which the second value is larger, ties half.
    /// 0.5 = no difference. Cliff's delta is 2 A - 1.
    pub superiority: f64,
}

impl Shift {
    /// Of two lots; `None` when one is empty, a value is not finite, or there are more than a
    /// million pairs.
    #[must_use]
    pub fn between(first: &[f64], second: &[f64]) -> Option<Self> {
        let pairs = first
            .len()
            .checked_mul(second.len())
            .filter(|pairs| (1..=1_000_000).contains(pairs))?;
        if first.iter().chain(second).any(|value| !value.is_finite()) {
            return None;
        }
        let mut differences: Vec<f64> = second
            .iter()
            .flat_map(|b| first.iter().map(move |a| b - a))
            .collect();
        differences.sort_by(f64::total_cmp);
        let count = |holds: fn(&f64) -> bool| {
            differences
                .iter()
                .filter(|difference| holds(difference))
                .count() as f64
        };
        let u =
            count(|difference| *difference > 0.0) + 0.5 * count(|difference| *difference == 0.0);
        let null = Null::between(first, second);
        let k = null.lower_rank();
        Some(Self {
            value: f64::midpoint(differences[(pairs - 1) / 2], differences[pairs / 2]),
            interval: (k >= 1).then(|| (differences[k - 1], differences[pairs - k])),
            u,
            p: null.two_sided(u),
            superiority: u / pairs as f64,
        })
    }
}

/// The distribution of U when both lots are drawn from one population.
enum Null {
    /// P(U <= u) for u = 0, 1, ..., m n.
    Exact(Vec<f64>),
    /// Normal, with this mean and deviation (ties taken into account).
    Normal { mean: f64, deviation: f64 },
}

impl Null {
    fn between(first: &[f64], second: &[f64]) -> Self {
        let (m, n) = (first.len(), second.len());
        let ties = tied_groups(first, second);
        if ties.is_empty() && m <= EXACT && n <= EXACT {
            return Self::Exact(cumulative(m, n));
        }
        let (m, n) = (m as f64, n as f64);
        let all = m + n;
        let lost: f64 =
            ties.iter().map(|size| size.powi(3) - size).sum::<f64>() / (all * (all - 1.0));
        Self::Normal {
            mean: m * n / 2.0,
            deviation: (m * n / 12.0 * (all + 1.0 - lost)).max(0.0).sqrt(),
        }
    }

    /// Twice the smaller tail, at most 1.
    fn two_sided(&self, u: f64) -> f64 {
        let tail = match self {
            Self::Exact(cumulative) => {
                // Symmetric: the upper tail at u is the lower tail at m n - u.
                let top = cumulative.len() - 1;
                cumulative[truncate_usize(u).min(top - truncate_usize(u))]
            }
            Self::Normal { deviation: 0.0, .. } => 0.5,
            Self::Normal { mean, deviation } => {
                normal_tail(((u - mean).abs() - 0.5).max(0.0) / deviation)
            }
        };
        (2.0 * tail).min(1.0)
    }

    /// k: the interval runs from the k-th difference to the k-th from the end; the smallest with
    /// P(U <= k) >= 2.5 %, so that P(U <= k - 1) < 2.5 %. 0 = even the outermost differences do not
    /// cover 95 %.
    fn lower_rank(&self) -> usize {
        match self {
            Self::Exact(cumulative) => cumulative
                .iter()
                .position(|share| *share >= TAIL)
                .unwrap_or(0),
            Self::Normal { mean, deviation } => {
                truncate_usize((mean - Z_975 * deviation).floor().max(0.0))
            }
        }
    }
}

/// Sizes of groups of equal values among both lots, those of one left out.
fn tied_groups(first: &[f64], second: &[f64]) -> Vec<f64> {
    let mut all: Vec<f64> = first.iter().chain(second).copied().collect();
    all.sort_by(f64::total_cmp);
    all.chunk_by(|a, b| a == b)
        .filter(|group| group.len() > 1)
        .map(|group| group.len() as f64)
        .collect()
}

/// P(U <= u) by counting: the number of ways to U = u with lots of m and n is that of partitions,
/// built up factor by factor of the Gaussian binomial coefficient prod (1 - q^(n+i)) / (1 - q^i), i
/// = 1..m.
fn cumulative(m: usize, n: usize) -> Vec<f64> {
    let top = m * n;
    let mut ways = vec![0.0; top + 1];
    ways[0] = 1.0;
    for i in 1..=m {
        for u in (n + i..=top).rev() {
            ways[u] -= ways[u - n - i];
        }
        for u in i..=top {
            ways[u] += ways[u - i];
        }
    }
    let total: f64 = ways.iter().sum();
    let running = ways.iter().scan(0.0, |sum, count| {
        *sum += count;
        Some(*sum / total)
    });
    running.collect()
}

/// P(Z > z), z >= 0. Source: Abramowitz and Stegun (1964), 26.2.17; the error is below 7.5e-8.
fn normal_tail(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let series = [
        1.330_274_429,
        -1.821_255_978,
        1.781_477_937,
        -0.356_563_782,
        0.319_381_530,
    ];
    let sum = series.iter().fold(0.0, |sum, factor| (sum + factor) * t);
    sum * (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rookery_workload::random::{RandomSource as _, SplitMix64};

    use super::*;

    #[test]
    fn the_worked_example_comes_out() {
        let first = [12.1, 11.8, 12.6, 12.3, 11.9, 12.2];
        let second = [12.9, 12.4, 13.1, 12.7, 12.5, 13.4, 12.8];
        let found = Shift::between(&first, &second).expect("two lots");
        let (low, high) = found.interval.expect("large enough");
        for (found, known) in [
            (found.value, 0.65),
            (found.u, 40.0),
            (found.p, 0.004_662_004_662_004_66),
            (found.superiority, 0.952_380_952_380_952),
            (2.0 * found.superiority - 1.0, 0.904_761_904_761_905),
            (low, 0.2),
            (high, 1.1),
        ] {
            assert!((found - known).abs() < 1e-9, "{found} for {known}");
        }
        let null = Null::between(&first, &second);
        let Null::Exact(below) = &null else {
            panic!("small and without ties")
        };
        assert_eq!(null.lower_rank(), 7);
        assert!((1.0 - 2.0 * below[6] - 0.965_034_965_034_965).abs() < 1e-12);
    }

    #[test]
    fn three_and_three_can_never_convince() {
        let p = |size: u32| {
            let first: Vec<f64> = (0..size).map(f64::from).collect();
            let second: Vec<f64> = (0..size).map(|value| 100.0 + f64::from(value)).collect();
            let found = Shift::between(&first, &second).expect("two lots");
            (found.p, found.interval.is_some())
        };
        assert!((p(3).0 - 0.1).abs() < 1e-12 && !p(3).1);
        assert!((p(4).0 - 2.0 / 70.0).abs() < 1e-12 && p(4).1);
        assert_eq!(Shift::between(&[], &[1.0]), None);
        assert_eq!(Shift::between(&[f64::NAN], &[1.0]), None);
        assert_eq!(Shift::between(&vec![0.0; 2_000], &vec![0.0; 2_000]), None);
    }

    #[test]
    fn ties_take_the_corrected_normal() {
        let equal = Shift::between(&[5.0; 8], &[5.0; 8]).expect("two lots");
        assert_eq!((equal.value, equal.p, equal.superiority), (0.0, 1.0, 0.5));
        // By hand: U = 15.5 of 16, ties 2 and 2, deviation sqrt(16/12 (9 - 12/56)): z = (15.5 - 8 -
        // 0.5) / 3.4226 = 2.0452.
        let tied = Shift::between(&[1.0, 2.0, 2.0, 3.0], &[3.0, 4.0, 5.0, 6.0]).expect("two lots");
        assert!(
            (tied.u - 15.5).abs() < 1e-12 && (tied.p - 0.0408).abs() < 1e-4,
            "{tied:?}"
        );
        assert!(
            (normal_tail(1.959_964) - 0.025).abs() < 1e-7 && (normal_tail(0.0) - 0.5).abs() < 1e-7
        );
    }

    #[test]
    fn ninety_five_percent_of_intervals_hold_the_shift() {
        let mut stream = SplitMix64::new(9);
        // Long tails, as response times have them; sizes on both sides of the exact count.
        for size in [6, 25] {
            let mut lot = |shift: f64| -> Vec<f64> {
                (0..size)
                    .map(|_| shift + (0.5 * stream.normal()).exp())
                    .collect()
            };
            let hits = (0..1_000).filter(|_| {
                let (low, high) = Shift::between(&lot(0.0), &lot(0.4))
                    .and_then(|found| found.interval)
                    .expect("large enough");
                low <= 0.4 && 0.4 <= high
            });
            let hits = hits.count();
            assert!((930..=980).contains(&hits), "{size}: {hits} of 1000");
        }
    }

    proptest! {
        #[test]
        fn swapping_the_lots_turns_the_sign(
            first in prop::collection::vec(0.0..10.0f64, 1..25),
            second in prop::collection::vec(0.0..10.0f64, 1..25),
        ) {
            let (forth, back) = (Shift::between(&first, &second).expect("lots"), Shift::between(&second, &first).expect("lots"));
            prop_assert!((forth.value + back.value).abs() < 1e-9 && (forth.p - back.p).abs() < 1e-9);
            prop_assert!((forth.superiority + back.superiority - 1.0).abs() < 1e-9);
            prop_assert_eq!(forth.interval.is_some(), back.interval.is_some());
            if let (Some(forth), Some(back)) = (forth.interval, back.interval) {
                prop_assert!((forth.0 + back.1).abs() < 1e-9 && (forth.1 + back.0).abs() < 1e-9);
            }
        }

        #[test]
        fn moving_a_lot_moves_the_shift(
            first in prop::collection::vec(0.0..10.0f64, 4..20),
            second in prop::collection::vec(0.0..10.0f64, 4..20),
            by in -5.0..5.0f64,
        ) {
            let moved: Vec<f64> = second.iter().map(|value| value + by).collect();
            let (plain, moved) = (Shift::between(&first, &second).expect("lots"), Shift::between(&first, &moved).expect("lots"));
            prop_assert!((moved.value - plain.value - by).abs() < 1e-9);
            prop_assert!((0.0..=1.0).contains(&plain.p));
        }
    }
}
