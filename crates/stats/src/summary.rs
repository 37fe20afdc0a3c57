//! What several repeats say together: mean with spread, ratios with intervals, fairness.

use serde::Serialize;

use crate::t_975;

/// The width of an interval, in multiples of its estimate, beyond which it says nothing.
pub const WIDEST: f64 = 10.0;

/// How far repeats lie apart; what may be said depends on how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Spread {
    /// One value: nothing can be said.
    Single,
    /// Two values: their smallest and largest.
    Range {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
    },
    /// Three or more: half of the 95 % confidence interval of the mean, t(0.975, r-1) s / sqrt(r).
    Interval {
        /// Half-width, in the unit of the values.
        half_width: f64,
    },
}

/// Mean and spread of one number over repeats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Number of values, at least 1.
    pub count: u32,
    /// Mean.
    pub mean: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Spread.
    pub spread: Spread,
}

impl Summary {
    /// Summarise; `None` without values, or when one of them is not finite.
    ///
    /// ```
    /// use rookery_stats::{Spread, Summary};
    /// let summary = Summary::from_values(&[10.0, 11.0, 12.0]).unwrap();
    /// let Spread::Interval { half_width } = summary.spread else { panic!() };
    /// assert!((summary.mean - 11.0).abs() < 1e-12 && (half_width - 4.302_653 / 3f64.sqrt()).abs() < 1e-5);
    /// ```
    #[must_use]
    pub fn from_values(values: &[f64]) -> Option<Self> {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let (mean, variance) = mean_and_variance(values);
        let count = u32::try_from(values.len()).ok()?;
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let spread = match count {
            1 => Spread::Single,
            2 => Spread::Range { min, max },
            _ => Spread::Interval {
                half_width: t_975(count - 1)? * (variance / f64::from(count)).sqrt(),
            },
        };
        Some(Self {
            count,
            mean,
            min,
            max,
            spread,
        })
    }

    /// The ends that an error bar shows; `None` for a single value.
    #[must_use]
    pub fn ends(&self) -> Option<(f64, f64)> {
        match self.spread {
            Spread::Single => None,
            Spread::Range { min, max } => Some((min, max)),
            Spread::Interval { half_width } => {
                Some((self.mean - half_width, self.mean + half_width))
            }
        }
    }
}

/// A ratio of two means with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// Mean of the numerator over mean of the denominator.
    pub value: f64,
    /// The interval; `None` when the repeats do not carry one.
    pub interval: Option<(f64, f64)>,
}

impl Ratio {
    /// The ratio of the means of two independent lots of repeats, with the interval of Fieller
    /// (1954).
    ///
    /// t has min(n) - 1 degrees of freedom. There is no interval below three repeats on either
    /// side, nor when the denominator is not surely different from zero. A bootstrap would be too
    /// narrow at the usual three to five repeats. `None` when a side is empty or the denominator is
    /// not positive.
    #[must_use]
    pub fn between(numerator: &[f64], denominator: &[f64]) -> Option<Self> {
        let (above, below) = (
            Summary::from_values(numerator)?,
            Summary::from_values(denominator)?,
        );
        if below.mean <= 0.0 {
            return None;
        }
        Some(Self {
            value: above.mean / below.mean,
            interval: fieller(numerator, denominator),
        })
    }
}

fn fieller(numerator: &[f64], denominator: &[f64]) -> Option<(f64, f64)> {
    let fewest = numerator.len().min(denominator.len());
    if fewest < 3 {
        return None;
    }
    let t = t_975(u32::try_from(fewest - 1).ok()?)?;
    let (b, variance_b) = mean_and_variance(numerator);
    let (a, variance_a) = mean_and_variance(denominator);
    let va = t * t * variance_a / denominator.len() as f64;
    let vb = t * t * variance_b / numerator.len() as f64;
    let scale = a * a - va;
    if scale <= 0.0 {
        return None;
    }
    let root = ((a * b).powi(2) - scale * (b * b - vb)).max(0.0).sqrt();
    let (low, high) = ((a * b - root) / scale, (a * b + root) / scale);
    // What reaches below zero, or ten times as far as the ratio itself, says nothing.
    (low > 0.0 && high - low <= WIDEST * b / a).then_some((low, high))
}

/// Mean and sample variance (0 for a single value).
fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>();
    (
        mean,
        if values.len() > 1 {
            squares / (n - 1.0)
        } else {
            0.0
        },
    )
}

/// How evenly guests were served.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fairness {
    /// Jain, Chiu and Hawe (1984): (sum x)^2 / (n sum x^2); 1 = all equal, 1/n = one has all.
    pub jain: f64,
    /// Largest over smallest; `None` when the smallest is zero.
    pub max_over_min: Option<f64>,
}

impl Fairness {
    /// Of the throughputs of at least two guests, each divided by its share of the load if those
    /// differ. `None` for fewer than two, a negative or non-finite value, or when all are zero.
    #[must_use]
    pub fn from_values(values: &[f64]) -> Option<Self> {
        let sum = values.iter().sum::<f64>();
        let squares = values.iter().map(|value| value * value).sum::<f64>();
        let usable = values
            .iter()
            .all(|value| value.is_finite() && *value >= 0.0);
        if values.len() < 2 || !usable || squares <= 0.0 {
            return None;
        }
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(0.0, f64::max);
        Some(Self {
            jain: (sum * sum / (values.len() as f64 * squares)).min(1.0),
            max_over_min: (min > 0.0).then(|| max / min),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_spread_follows_the_number_of_repeats() {
        assert_eq!(Summary::from_values(&[]), None);
        assert_eq!(Summary::from_values(&[1.0, f64::NAN]), None);
        assert_eq!(
            Summary::from_values(&[7.0]).and_then(|summary| summary.ends()),
            None
        );
        assert_eq!(
            Summary::from_values(&[9.0, 7.0]).and_then(|summary| summary.ends()),
            Some((7.0, 9.0))
        );
    }

    #[test]
    fn fieller_gives_the_published_interval() {
        let a = [102.1, 99.8, 101.5, 100.7, 98.9, 101.0];
        let b = [106.0, 104.9, 105.1, 106.8, 103.2, 105.5];
        let ratio = Ratio::between(&b, &a).expect("two lots of repeats");
        let (low, high) = ratio.interval.expect("six repeats");
        assert!((ratio.value - 1.045_529_801).abs() < 1e-9);
        assert!(
            (low - 1.027_784_443).abs() < 1e-6 && (high - 1.063_581_236).abs() < 1e-6,
            "{low} {high}"
        );
    }

    #[test]
    fn a_ratio_needs_repeats_for_its_interval_and_a_denominator() {
        assert_eq!(
            Ratio::between(&[3.0], &[2.0]),
            Some(Ratio {
                value: 1.5,
                interval: None
            })
        );
        assert_eq!(Ratio::between(&[3.0], &[0.0]), None);
        assert_eq!(Ratio::between(&[], &[1.0]), None);
        let noisy = Ratio::between(&[1.0, 2.0, 3.0], &[0.0, 1.0, 20.0]).expect("means exist");
        assert_eq!(noisy.interval, None);
    }

    #[test]
    fn fairness_is_one_for_equals_and_a_share_for_one_taker() {
        assert_eq!(
            Fairness::from_values(&[5.0, 5.0, 5.0]),
            Some(Fairness {
                jain: 1.0,
                max_over_min: Some(1.0)
            })
        );
        assert_eq!(
            Fairness::from_values(&[8.0, 0.0, 0.0, 0.0]),
            Some(Fairness {
                jain: 0.25,
                max_over_min: None
            })
        );
        assert_eq!(Fairness::from_values(&[8.0]), None);
        assert_eq!(Fairness::from_values(&[0.0, 0.0]), None);
        assert_eq!(Fairness::from_values(&[1.0, -1.0]), None);
    }

    proptest! {
        #[test]
        fn jain_lies_between_one_taker_and_equals(values in prop::collection::vec(0.0..1e6f64, 2..20)) {
            if let Some(fairness) = Fairness::from_values(&values) {
                prop_assert!(fairness.jain <= 1.0 && fairness.jain >= 1.0 / values.len() as f64 - 1e-12);
            }
        }

        #[test]
        fn a_mean_lies_within_its_ends(values in prop::collection::vec(-1e6..1e6f64, 2..20)) {
            let summary = Summary::from_values(&values).expect("values");
            let (low, high) = summary.ends().expect("two or more");
            prop_assert!(low <= summary.mean && summary.mean <= high);
            prop_assert!(summary.min <= summary.mean + 1e-6 && summary.mean <= summary.max + 1e-6);
        }
    }
}
