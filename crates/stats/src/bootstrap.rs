//! Intervals of ratios by resampling: speed-up, efficiency, or any statistic of several lots of
//! repeats.
//!
//! Repeats (whole trials, never single responses) are drawn with replacement within each lot, the
//! statistic is computed anew, and the 2.5 and 97.5 percentiles of 10 000 draws bound it. Source:
//! Efron, Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13. The same seed gives
//! the same interval; store the seed beside it.
//!
//! Below ten repeats in a lot such intervals are too narrow ([`Bootstrap::too_narrow`]): show
//! [`Ratio::between`](crate::Ratio::between) (Fieller) there, and this one where a lot is larger or
//! the statistic has no formula.

use rookery_cast::truncate_usize;
use rookery_workload::random::{RandomSource as _, SplitMix64};

/// With fewer repeats in a lot the interval is too narrow.
const ENOUGH: usize = 10;

/// A statistic with its resampled interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bootstrap {
    /// The statistic of the repeats themselves.
    pub value: f64,
    /// 2.5 and 97.5 percentiles over the draws.
    pub interval: (f64, f64),
    /// Draws that gave a finite value.
    pub draws: usize,
    /// Seed of the draws.
    pub seed: u64,
    /// Whether a lot holds fewer than ten repeats, so that the true interval is wider.
    pub too_narrow: bool,
}

impl Bootstrap {
    /// Draws of [`Self::ratio`] and [`Self::efficiency`].
    pub const DRAWS: usize = 10_000;

    /// Of any statistic of several lots. `None` when a lot holds fewer than two repeats or a value
    /// that is not finite, the statistic of the repeats themselves is not finite, or fewer than
    /// half of the draws give a finite one.
    #[must_use]
    pub fn resample(
        lots: &[&[f64]],
        statistic: impl Fn(&[Vec<f64>]) -> f64,
        draws: usize,
        seed: u64,
    ) -> Option<Self> {
        if lots.is_empty()
            || lots
                .iter()
                .any(|lot| lot.len() < 2 || lot.iter().any(|value| !value.is_finite()))
        {
            return None;
        }
        let mut sample: Vec<Vec<f64>> = lots.iter().map(|lot| lot.to_vec()).collect();
        let value = statistic(&sample);
        let mut stream = SplitMix64::new(seed);
        let mut values = Vec::with_capacity(draws);
        for _ in 0..draws {
            for (drawn, lot) in sample.iter_mut().zip(lots) {
                drawn
                    .iter_mut()
                    .for_each(|value| *value = lot[stream.index(lot.len())]);
            }
            values.extend(Some(statistic(&sample)).filter(|value| value.is_finite()));
        }
        if !value.is_finite() || values.is_empty() || values.len() * 2 < draws {
            return None;
        }
        values.sort_by(f64::total_cmp);
        Some(Self {
            value,
            interval: (quantile(&values, 0.025), quantile(&values, 0.975)),
            draws: values.len(),
            seed,
            too_narrow: lots.iter().any(|lot| lot.len() < ENOUGH),
        })
    }

    /// The ratio of the means of two independent lots; `None` as for [`Self::resample`], or when
    /// the mean of the denominator is not positive.
    ///
    /// The speed-up of several guests over one is the ratio of their throughputs.
    #[must_use]
    pub fn ratio(numerator: &[f64], denominator: &[f64], seed: u64) -> Option<Self> {
        Self::resample(
            &[numerator, denominator],
            |lots| mean(&lots[0]) / mean(&lots[1]),
            Self::DRAWS,
            seed,
        )
        .filter(|_| mean(denominator) > 0.0)
    }

    /// Efficiency of `parts` equal parts (guests, cores): the speed-up over one part, divided by
    /// `parts` > 0.
    #[must_use]
    pub fn efficiency(together: &[f64], one: &[f64], parts: f64, seed: u64) -> Option<Self> {
        (parts > 0.0).then_some(())?;
        let speed_up = Self::ratio(together, one, seed)?;
        Some(Self {
            value: speed_up.value / parts,
            interval: (speed_up.interval.0 / parts, speed_up.interval.1 / parts),
            ..speed_up
        })
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Of ascending values, between neighbours by their distance.
fn quantile(values: &[f64], p: f64) -> f64 {
    let place = p * (values.len() - 1) as f64;
    let (low, share) = (truncate_usize(place.floor()), place.fract());
    let next = values[(low + 1).min(values.len() - 1)];
    values[low] + share * (next - values[low])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const A: [f64; 6] = [102.1, 99.8, 101.5, 100.7, 98.9, 101.0];
    const B: [f64; 6] = [106.0, 104.9, 105.1, 106.8, 103.2, 105.5];

    #[test]
    fn the_worked_example_comes_out() {
        let found = Bootstrap::ratio(&B, &A, 1).expect("two lots");
        assert!((found.value - 1.045_529_801).abs() < 1e-9);
        let (low, high) = found.interval;
        assert!(
            (low - 1.0331).abs() < 0.0005 && (high - 1.0580).abs() < 0.0005,
            "{low} {high}"
        );
        assert!(found.too_narrow && found.draws == Bootstrap::DRAWS);
        assert_eq!(Bootstrap::ratio(&B, &A, 1), Some(found));
        assert_ne!(Bootstrap::ratio(&B, &A, 2), Some(found));
    }

    #[test]
    fn nothing_is_said_of_too_little() {
        assert_eq!(Bootstrap::ratio(&[1.0], &A, 1), None);
        assert_eq!(Bootstrap::ratio(&A, &[], 1), None);
        assert_eq!(Bootstrap::ratio(&A, &[0.0, 0.0], 1), None);
        assert_eq!(Bootstrap::ratio(&A, &[-1.0, -2.0], 1), None);
        assert_eq!(Bootstrap::ratio(&A, &[1.0, f64::NAN], 1), None);
        assert_eq!(Bootstrap::efficiency(&B, &A, 0.0, 1), None);
    }

    #[test]
    fn ninety_five_percent_of_intervals_hold_the_ratio() {
        let mut stream = SplitMix64::new(4);
        let mut lot = |mean: f64| -> Vec<f64> {
            (0..25)
                .map(|_| mean * (1.0 + 0.05 * stream.normal()))
                .collect()
        };
        let hits = (0..1_000).filter(|seed| {
            let (numerator, denominator) = (lot(360.0), lot(100.0));
            let statistic = |lots: &[Vec<f64>]| mean(&lots[0]) / mean(&lots[1]);
            let found = Bootstrap::resample(&[&numerator, &denominator], statistic, 1_000, *seed)
                .expect("two lots");
            found.interval.0 <= 3.6 && 3.6 <= found.interval.1
        });
        let hits = hits.count();
        assert!((920..=970).contains(&hits), "{hits} of 1000");
    }

    proptest! {
        #[test]
        fn an_interval_holds_its_value_and_efficiency_is_its_share(
            together in prop::collection::vec(50.0..100.0f64, 2..12),
            one in prop::collection::vec(10.0..30.0f64, 2..12),
            parts in 1u32..9,
            seed in any::<u64>(),
        ) {
            let speed_up = Bootstrap::ratio(&together, &one, seed).expect("two lots");
            prop_assert!(speed_up.interval.0 <= speed_up.value * 1.02 && speed_up.value <= speed_up.interval.1 * 1.02);
            let smallest = together.iter().copied().fold(f64::MAX, f64::min) / one.iter().copied().fold(0.0, f64::max);
            let largest = together.iter().copied().fold(0.0, f64::max) / one.iter().copied().fold(f64::MAX, f64::min);
            prop_assert!(smallest <= speed_up.interval.0 + 1e-12 && speed_up.interval.1 <= largest + 1e-12);
            let share = Bootstrap::efficiency(&together, &one, f64::from(parts), seed).expect("two \
                lots");
            prop_assert!((share.value * f64::from(parts) - speed_up.value).abs() < 1e-9);
        }
    }
}
