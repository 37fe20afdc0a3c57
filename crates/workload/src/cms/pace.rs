//! How long users wait: times of cycles, or think times, of each operation.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{CmsOperation, operation::OPERATION_COUNT};
use crate::streams::UserDelays;

/// How a delay scatters about its mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CmsScatter {
    /// Negative exponential, cut at the longest delay.
    #[default]
    Exponential,
    /// Not at all.
    Fixed,
}

/// The delays of users: think times, or lengths of cycles, as the study says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CmsPace {
    /// How delays scatter.
    pub scatter: CmsScatter,
    /// The mean of the delays behind each operation before they are cut, in the order of
    /// [`CmsOperation::ALL`].
    pub means: [Duration; OPERATION_COUNT],
    /// Delays are cut at so many means.
    pub longest: f64,
}

impl Default for CmsPace {
    /// A cycle of one second on average and five at most: what the published figures allow, as the
    /// report on Drupal says none.
    fn default() -> Self {
        Self {
            scatter: CmsScatter::Exponential,
            means: [Duration::from_secs(1); OPERATION_COUNT],
            longest: 5.0,
        }
    }
}

impl CmsPace {
    /// The delay behind an operation, us.
    pub fn draw_us(&self, delays: &mut UserDelays, operation: CmsOperation) -> u64 {
        let mean = self.means[operation.index()];
        match self.scatter {
            CmsScatter::Fixed => crate::delay::microseconds(mean),
            CmsScatter::Exponential => delays.exponential_us(mean, self.longest_of(mean)),
        }
    }

    fn longest_of(&self, mean: Duration) -> Duration {
        Duration::try_from_secs_f64(mean.as_secs_f64() * self.longest).unwrap_or(Duration::MAX)
    }

    /// The mean of the delays behind an operation as they are drawn, s: an exponential delay of
    /// mean m that is cut at c has the mean m (1 - exp(-c / m)).
    #[must_use]
    pub fn mean_s(&self, operation: CmsOperation) -> f64 {
        let mean = self.means[operation.index()].as_secs_f64();
        match self.scatter {
            CmsScatter::Fixed => mean,
            CmsScatter::Exponential => mean * (1.0 - (-self.longest).exp()),
        }
    }

    /// The mean over operations with these shares, s.
    #[must_use]
    pub fn overall_s(&self, shares: &[f64; OPERATION_COUNT]) -> f64 {
        let operations = CmsOperation::ALL.into_iter().zip(shares);
        operations
            .map(|(one, share)| share * self.mean_s(one))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 40_000;

    #[test]
    fn exponential_cycles_have_the_mean_of_the_formula_and_are_cut() {
        let pace = CmsPace::default();
        assert!((pace.mean_s(CmsOperation::Logout) - 0.993_262).abs() < 1e-6);
        let mut delays = UserDelays::new(3, 0, 0);
        let (mut sum, mut longest) = (0.0, 0);
        for _ in 0..DRAWS {
            let us = pace.draw_us(&mut delays, CmsOperation::Logout);
            sum += us as f64 / 1e6;
            longest = longest.max(us);
        }
        let mean = sum / f64::from(DRAWS);
        // Four standard errors of a distribution whose deviation is below one.
        assert!(
            (mean - 0.993_262).abs() < 4.0 / f64::from(DRAWS).sqrt(),
            "{mean}"
        );
        assert_eq!(longest, 5_000_000, "some of so many are cut");
    }

    #[test]
    fn each_operation_has_a_delay_of_its_own() {
        let mut pace = CmsPace {
            scatter: CmsScatter::Fixed,
            ..CmsPace::default()
        };
        pace.means[CmsOperation::CreateStory.index()] = Duration::from_secs(9);
        let mut delays = UserDelays::new(3, 0, 0);
        let mut us = |operation| pace.draw_us(&mut delays, operation);
        assert_eq!(us(CmsOperation::CreateStory), 9_000_000);
        assert_eq!(us(CmsOperation::CreatePage), 1_000_000);
        let mut shares = [0.0; OPERATION_COUNT];
        shares[CmsOperation::CreateStory.index()] = 0.5;
        shares[CmsOperation::CreatePage.index()] = 0.5;
        assert_eq!(pace.overall_s(&shares), 5.0);
    }
}
