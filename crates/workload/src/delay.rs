//! Random delays of users: think times of every workload.

use std::time::Duration;

use rookery_cast::truncate_u64;
use serde::{Deserialize, Serialize};

use crate::random::RandomSource;

/// Exponential delays are cut at so many means where they are truncated; their mean is then lower
/// by 0.005 %.
pub const CUT: f64 = 10.0;

/// How delays scatter about their mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DelayDistribution {
    /// Not at all.
    Constant,
    /// Evenly from zero to twice the mean.
    #[default]
    Uniform,
    /// Exponentially, as waits for independent events do: without memory, and without an end.
    Exponential,
    /// Exponentially, cut at [`CUT`] means.
    TruncatedExponential,
}

impl DelayDistribution {
    /// A delay as a multiple of its mean. A constant one draws nothing.
    ///
    /// ```
    /// use rookery_workload::{DelayDistribution, random::SplitMix64};
    /// let mut source = SplitMix64::new(1);
    /// assert_eq!(DelayDistribution::Constant.multiple(&mut source), 1.0);
    /// assert!(DelayDistribution::TruncatedExponential.multiple(&mut source) <= 10.0);
    /// ```
    pub fn multiple(self, source: &mut impl RandomSource) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Uniform => 2.0 * (1.0 - source.unit()),
            Self::Exponential => source.exponential(),
            Self::TruncatedExponential => source.exponential().min(CUT),
        }
    }

    /// Its name in sentences: `exponential`.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Uniform => "uniform",
            Self::Exponential => "exponential",
            Self::TruncatedExponential => "truncated exponential",
        }
    }
}

/// A random delay by its mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RandomDelay {
    /// Its mean.
    pub mean: Duration,
    /// How it scatters about it.
    #[serde(default)]
    pub distribution: DelayDistribution,
}

impl RandomDelay {
    /// A delay in whole microseconds. A uniform one is drawn as an integer in `[0, 2 * mean)`.
    pub fn microseconds(self, source: &mut impl RandomSource) -> u64 {
        let mean = microseconds(self.mean);
        match self.distribution {
            DelayDistribution::Uniform => source.below(2 * mean),
            other => truncate_u64(other.multiple(source) * mean as f64),
        }
    }
}

/// Whole microseconds, bounded so that twice the value cannot overflow.
pub(crate) fn microseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros())
        .unwrap_or(u64::MAX)
        .min(u64::MAX / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    const DRAWS: usize = 20_000;
    /// The largest distance of Kolmogorov and Smirnov that so many draws have in 999 of 1000 cases,
    /// 1.95 / sqrt(n); the seeds are fixed, so that it holds always or never.
    const FARTHEST: f64 = 0.0138;

    /// The largest distance between the draws and a distribution function, both in means.
    fn distance(distribution: DelayDistribution, cdf: impl Fn(f64) -> f64) -> f64 {
        let delay = RandomDelay {
            mean: Duration::from_millis(250),
            distribution,
        };
        let mut source = SplitMix64::new(7);
        let mut draws: Vec<f64> = (0..DRAWS)
            .map(|_| delay.microseconds(&mut source) as f64 / 250_000.0)
            .collect();
        draws.sort_by(f64::total_cmp);
        let count = draws.len() as f64;
        let at = |(index, draw): (usize, &f64)| {
            let (below, above) = (index as f64 / count, (index + 1) as f64 / count);
            (cdf(*draw) - below).abs().max((above - cdf(*draw)).abs())
        };
        draws.iter().enumerate().map(at).fold(0.0, f64::max)
    }

    #[test]
    fn draws_follow_their_distribution() {
        use DelayDistribution::{Exponential, TruncatedExponential, Uniform};
        let uniform = |x: f64| (x / 2.0).clamp(0.0, 1.0);
        let exponential = |x: f64| 1.0 - (-x).exp();
        assert!(distance(Uniform, uniform) < FARTHEST);
        assert!(distance(Exponential, exponential) < FARTHEST);
        let cut = |x: f64| if x >= CUT { 1.0 } else { exponential(x) };
        assert!(distance(TruncatedExponential, cut) < FARTHEST);
        // What the test cannot tell apart it would not test.
        assert!(distance(Uniform, exponential) > 5.0 * FARTHEST);
        assert!(distance(Exponential, uniform) > 5.0 * FARTHEST);
        assert!(distance(DelayDistribution::Constant, exponential) > 5.0 * FARTHEST);
    }

    #[test]
    fn multiples_have_a_mean_of_one() {
        for distribution in [
            DelayDistribution::Constant,
            DelayDistribution::Uniform,
            DelayDistribution::Exponential,
            DelayDistribution::TruncatedExponential,
        ] {
            let mut source = SplitMix64::new(11);
            let sum: f64 = (0..DRAWS).map(|_| distribution.multiple(&mut source)).sum();
            let mean = sum / DRAWS as f64;
            // Three standard errors of the widest of them.
            assert!((mean - 1.0).abs() < 0.0215, "{distribution:?}: {mean}");
        }
    }

    #[test]
    fn no_delay_is_no_delay_whatever_its_distribution() {
        for distribution in [DelayDistribution::Uniform, DelayDistribution::Exponential] {
            let delay = RandomDelay {
                mean: Duration::ZERO,
                distribution,
            };
            assert_eq!(delay.microseconds(&mut SplitMix64::new(1)), 0);
        }
    }
}
