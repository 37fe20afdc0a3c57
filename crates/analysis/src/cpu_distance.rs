//! Whether the CPUs of driver and guests were equally far apart in all trials, by the exchange of a
//! cache line beside each.

use std::collections::BTreeMap;

use rookery_stats::{KernelCount, KernelCounter};

use crate::{Run, mean::mean, schema::data};

/// Distances that differ by less than this factor are one: inside a cache they scatter by a tenth,
/// and one cache is at least twice as far as the other.
const APART: f64 = 1.5;

data! {
    /// How far apart the CPUs of driver and guests were over the good trials: the time that a cache
    /// line takes from one to the other and back.
    #[derive(Clone, Debug, PartialEq)]
    pub struct CpuDistances {
        /// Trials of one distance each, the nearest first.
        pub classes: Vec<DistanceClass>,
        /// Trials in which it was another one before the load than after it.
        pub changed: Vec<u32>,
    }
}

data! {
    /// Trials in which the CPUs were about equally far apart.
    #[derive(Clone, Debug, PartialEq)]
    pub struct DistanceClass {
        /// The smallest distance, ns.
        pub least_ns: f64,
        /// The largest distance, ns.
        pub most_ns: f64,
        /// Numbers of the trials; none where only trials that changed had it.
        pub trials: Vec<u32>,
    }
}

impl CpuDistances {
    /// `None` where no good trial has distances of before and after its load.
    #[must_use]
    pub fn from_run(run: &Run) -> Option<Self> {
        let good = run.whole_trials().filter_map(|trial| {
            let ends = ends_ns(&trial.done()?.kernel)?;
            Some((trial.row.trial.id, ends))
        });
        Self::from_times(&good.collect())
    }

    /// From the distances before and after the load of each trial.
    fn from_times(ends: &BTreeMap<u32, [f64; 2]>) -> Option<Self> {
        let mut all: Vec<f64> = ends.values().flatten().copied().collect();
        all.sort_by(f64::total_cmp);
        let mut classes: Vec<DistanceClass> = Vec::new();
        for ns in all {
            match classes.last_mut() {
                Some(class) if ns < APART * class.most_ns => class.most_ns = ns,
                _ => classes.push(DistanceClass {
                    least_ns: ns,
                    most_ns: ns,
                    trials: Vec::new(),
                }),
            }
        }
        let mut changed = Vec::new();
        for (trial, [before, after]) in ends {
            let class = classes.iter_mut().find(|class| class.holds(*before));
            match class.filter(|class| class.holds(*after)) {
                Some(class) => class.trials.push(*trial),
                None => changed.push(*trial),
            }
        }
        (!classes.is_empty()).then_some(Self { classes, changed })
    }

    /// Whether trials may differ by it.
    #[must_use]
    pub fn is_notable(&self) -> bool {
        self.classes.len() > 1
    }

    /// Number of the class of a trial, from zero; `None` where it changed, or was not measured.
    #[must_use]
    pub fn class_of(&self, trial: u32) -> Option<usize> {
        let mut classes = self.classes.iter();
        classes.position(|class| class.trials.contains(&trial))
    }
}

impl DistanceClass {
    fn holds(&self, ns: f64) -> bool {
        (self.least_ns..=self.most_ns).contains(&ns)
    }
}

/// The distances before and after the load of a trial, mean of its pairs of CPUs, ns; `None` where
/// one of them was not measured.
fn ends_ns(counts: &[KernelCount]) -> Option<[f64; 2]> {
    let of = |counter| {
        let own = counts.iter().filter(|count| count.counter == counter);
        let own: Vec<f64> = own.map(|count| count.count as f64).collect();
        mean(&own).filter(|ns| *ns > 0.0)
    };
    let before = of(KernelCounter::CacheLineBefore)?;
    let after = of(KernelCounter::CacheLineAfter)?;
    Some([before, after])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_are_told_apart_by_their_distance() {
        let ends = [
            (1, [72.0, 80.0]),
            (2, [460.0, 440.0]),
            (3, [75.0, 455.0]),
            (4, [90.0, 70.0]),
        ];
        let distances = CpuDistances::from_times(&ends.into()).expect("distances");
        let trials: Vec<&[u32]> = distances
            .classes
            .iter()
            .map(|class| class.trials.as_slice())
            .collect();
        assert_eq!(trials, [&[1, 4][..], &[2]]);
        assert_eq!(distances.changed, [3]);
        assert_eq!(
            (distances.classes[1].least_ns, distances.classes[1].most_ns),
            (440.0, 460.0)
        );
        assert!(distances.is_notable());
        assert_eq!([1, 2, 3].map(|trial| distances.class_of(trial)), [Some(0), Some(1), None]);
    }

    #[test]
    fn one_distance_is_not_worth_a_word() {
        let distances = CpuDistances::from_times(&[(1, [70.0, 85.0]), (2, [100.0, 76.0])].into());
        assert!(distances.is_some_and(|distances| !distances.is_notable()));
        assert_eq!(CpuDistances::from_times(&BTreeMap::new()), None);
    }

    #[test]
    fn both_ends_must_have_been_measured() {
        let of = |counter, count| KernelCount {
            scope: "cpus 0 1".to_owned(),
            counter,
            count,
        };
        let counts = [
            of(KernelCounter::CacheLineBefore, 70),
            of(KernelCounter::CacheLineBefore, 90),
            of(KernelCounter::CacheLineAfter, 75),
        ];
        assert_eq!(ends_ns(&counts), Some([80.0, 75.0]));
        assert_eq!(ends_ns(&counts[..2]), None);
    }
}
