//! Whether the CPUs were equally fast in all trials, by the fixed calculation beside each.

use rookery_stats::{KernelCount, KernelCounter};

use crate::{Run, mean::mean, schema::data};

/// Difference between the fastest and the slowest trial from which on it is a caveat: as much as
/// repeats on a quiet host may differ.
pub const NOTABLE: f64 = 0.05;

data! {
    /// How fast the CPUs were over the good trials: the time of a fixed calculation on the CPUs of
    /// guests and driver, mean of before and after the load.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct CpuSpeeds {
        /// Good trials with such a time.
        pub trials: usize,
        /// Number of the trial in which it took least.
        pub fastest_trial: u32,
        /// Its time there, us.
        pub fastest_us: f64,
        /// Number of the trial in which it took most.
        pub slowest_trial: u32,
        /// Its time there, us.
        pub slowest_us: f64,
    }
}

impl CpuSpeeds {
    /// `None` of fewer than two good trials that have such times.
    #[must_use]
    pub fn from_run(run: &Run) -> Option<Self> {
        let good = run.whole_trials().filter_map(|trial| {
            let us = time_us(&trial.done()?.kernel)?;
            Some((trial.row.trial.id, us))
        });
        let times: Vec<(u32, f64)> = good.collect();
        let least = times.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let most = times.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        (times.len() > 1).then_some(Self {
            trials: times.len(),
            fastest_trial: least.0,
            fastest_us: least.1,
            slowest_trial: most.0,
            slowest_us: most.1,
        })
    }

    /// By how much longer it took in the slowest trial than in the fastest, a share.
    #[must_use]
    pub fn spread(&self) -> f64 {
        self.slowest_us / self.fastest_us - 1.0
    }

    /// Whether repeats may differ by it.
    #[must_use]
    pub fn is_notable(&self) -> bool {
        self.spread() >= NOTABLE
    }
}

/// The mean time of the calculation beside one trial, us; `None` where it was not done.
fn time_us(counts: &[KernelCount]) -> Option<f64> {
    let is_time = |counter| {
        matches!(
            counter,
            KernelCounter::FixedWorkBefore | KernelCounter::FixedWorkAfter
        )
    };
    let times = counts.iter().filter(|count| is_time(count.counter));
    let times: Vec<f64> = times.map(|count| count.count as f64 / 1000.0).collect();
    mean(&times).filter(|us| *us > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_and_after_have_one_mean() {
        let of = |counter, count| KernelCount {
            scope: "cpu 0".to_owned(),
            counter,
            count,
        };
        let counts = [
            of(KernelCounter::FixedWorkBefore, 300_000),
            of(KernelCounter::Stolen, 5),
            of(KernelCounter::FixedWorkAfter, 340_000),
        ];
        assert_eq!(time_us(&counts), Some(320.0));
        assert_eq!(time_us(&counts[1..2]), None);
    }

    #[test]
    fn a_twentieth_is_notable() {
        let speeds = |slowest_us| CpuSpeeds {
            trials: 2,
            fastest_trial: 1,
            fastest_us: 300.0,
            slowest_trial: 2,
            slowest_us,
        };
        assert!(!speeds(312.0).is_notable());
        assert!(speeds(318.0).is_notable());
    }
}
