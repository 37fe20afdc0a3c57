//! Whether the CPUs of driver and guests were equally far apart in all trials, by the exchange of a
//! cache line after each.

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
        /// Trials of one distance each, at least one, the nearest first.
        pub classes: Vec<DistanceClass>,
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
        /// Numbers of the trials, at least one.
        pub trials: Vec<u32>,
    }
}

impl CpuDistances {
    /// `None` where no good trial has distances.
    #[must_use]
    pub fn from_run(run: &Run) -> Option<Self> {
        let good = run.whole_trials().filter_map(|trial| {
            let ns = distance_ns(&trial.done()?.kernel)?;
            Some((trial.row.trial.id, ns))
        });
        Self::from_times(good.collect())
    }

    /// From the number of each trial and its distance, ns.
    fn from_times(mut times: Vec<(u32, f64)>) -> Option<Self> {
        times.sort_by(|one, other| one.1.total_cmp(&other.1));
        let mut classes: Vec<DistanceClass> = Vec::new();
        for (trial, ns) in times {
            match classes.last_mut() {
                Some(class) if ns < APART * class.most_ns => {
                    class.most_ns = ns;
                    class.trials.push(trial);
                }
                _ => classes.push(DistanceClass {
                    least_ns: ns,
                    most_ns: ns,
                    trials: vec![trial],
                }),
            }
        }
        (!classes.is_empty()).then_some(Self { classes })
    }

    /// Whether trials may differ by it.
    #[must_use]
    pub fn is_notable(&self) -> bool {
        self.classes.len() > 1
    }
}

/// The distance after the load of a trial, mean of its pairs of CPUs, ns; `None` where it was not
/// measured.
fn distance_ns(counts: &[KernelCount]) -> Option<f64> {
    let own = counts
        .iter()
        .filter(|count| count.counter == KernelCounter::CacheLine);
    let own: Vec<f64> = own.map(|count| count.count as f64).collect();
    mean(&own).filter(|ns| *ns > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_are_told_apart_by_their_distance() {
        let times = vec![(1, 72.0), (2, 460.0), (3, 455.0), (4, 90.0), (5, 29.0)];
        let distances = CpuDistances::from_times(times).expect("distances");
        let trials: Vec<&[u32]> = distances
            .classes
            .iter()
            .map(|class| class.trials.as_slice())
            .collect();
        assert_eq!(trials, [&[5][..], &[1, 4], &[3, 2]]);
        let far = &distances.classes[2];
        assert_eq!((far.least_ns, far.most_ns), (455.0, 460.0));
        assert!(distances.is_notable());
    }

    #[test]
    fn one_distance_is_not_worth_a_word() {
        let distances = CpuDistances::from_times(vec![(1, 70.0), (2, 100.0), (3, 85.0)]);
        assert!(distances.is_some_and(|distances| !distances.is_notable()));
        assert_eq!(CpuDistances::from_times(Vec::new()), None);
    }

    #[test]
    fn a_trial_has_the_mean_of_its_pairs() {
        let of = |counter, count| KernelCount {
            scope: "cpus 0 1".to_owned(),
            counter,
            count,
        };
        let counts = [
            of(KernelCounter::CacheLine, 70),
            of(KernelCounter::Stolen, 5),
            of(KernelCounter::CacheLine, 90),
        ];
        assert_eq!(distance_ns(&counts), Some(80.0));
        assert_eq!(distance_ns(&counts[1..2]), None);
    }
}
