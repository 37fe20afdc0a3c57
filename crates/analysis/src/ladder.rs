//! What a ladder of loads says without any law: up to where throughput grows in proportion, and
//! where failures begin. Pure.

use std::collections::BTreeMap;

use rookery_stats::{Measurement, Ratio};

use crate::schema::data;

/// Throughput grows in proportion while it is at least this share of what the smallest load gives
/// in proportion.
pub const IN_PROPORTION: f64 = 0.95;
/// The largest share of failed requests that is no onset of failures.
pub const FEW_FAILURES: f64 = 0.001;

data! {
    /// What a ladder of loads says without any law.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Ladder {
        /// Up to where throughput grows in proportion.
        pub linear: LinearRange,
        /// Where failures begin; null where no load had more than 0.1 %.
        pub first_failures: Option<FirstFailures>,
        /// Where failures of each class begin, the smallest load first.
        pub classes: Vec<ClassOnset>,
    }
}

data! {
    /// Up to which load throughput is at least 95 % of that of the smallest load in proportion, at
    /// every load between them.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct LinearRange {
        /// The largest such load.
        pub to: f64,
        /// The largest load up to which this holds for the lower ends of the intervals, and for
        /// the upper ends; null where the repeats carry no intervals.
        pub interval: Option<(f64, f64)>,
        /// Whether it is the largest load that was tried.
        pub is_largest: bool,
    }
}

data! {
    /// The smallest load at which more than 0.1 % of the requests fail.
    #[derive(Clone, Debug, PartialEq)]
    pub struct FirstFailures {
        /// The load.
        pub load: f64,
        /// Failed and unfinished requests there, as a share of all.
        pub share: f64,
        /// The class and sub-class of most of them: `status 403`; null where none was told.
        pub class: Option<String>,
    }
}

data! {
    /// The smallest load at which more than 0.1 % of the requests fail with one class.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ClassOnset {
        /// Class and sub-class: `status 403`.
        pub class: String,
        /// The load.
        pub load: f64,
        /// Requests that failed so there, as a share of all.
        pub share: f64,
    }
}

/// The failures of one trial, or of several at one load.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Failures {
    started: u64,
    bad: u64,
    /// By class and sub-class.
    classes: BTreeMap<String, u64>,
}

impl Failures {
    /// Those of a trial.
    pub(crate) fn of_trial(measured: &Measurement) -> Self {
        let (started, bad) = measured.started_and_bad();
        let mut classes = BTreeMap::new();
        for error in measured.guests.iter().flat_map(|guest| &guest.errors) {
            let class = format!("{} {}", error.class.name(), error.sub_class);
            let count: &mut u64 = classes.entry(class).or_default();
            *count = count.saturating_add(error.count);
        }
        Self {
            started,
            bad,
            classes,
        }
    }

    fn add(&mut self, other: &Self) {
        self.started = self.started.saturating_add(other.started);
        self.bad = self.bad.saturating_add(other.bad);
        for (class, count) in &other.classes {
            let own = self.classes.entry(class.clone()).or_default();
            *own = own.saturating_add(*count);
        }
    }

    fn share(&self) -> f64 {
        self.bad as f64 / self.started.max(1) as f64
    }

    /// The share of the requests that failed with each class. Classes are counted over the whole
    /// trial and requests within its window: the classes divide what failed within the window.
    fn shares(&self) -> impl Iterator<Item = (&String, f64)> {
        let all: u64 = self.classes.values().sum();
        let whole = self.share() / all.max(1) as f64;
        self.classes
            .iter()
            .map(move |(class, count)| (class, whole * *count as f64))
    }

    /// The class of most of them, the first by name of several.
    fn class(&self) -> Option<String> {
        let most = self.classes.values().max()?;
        let mut all = self.classes.iter();
        all.find(|(_, count)| *count == most)
            .map(|(class, _)| class.clone())
    }
}

/// A load, and its speed-up over what the load grew by; nothing of the smallest load itself.
pub(crate) type Rung = (f64, Option<Ratio>);

/// The facts of a ladder: its rungs, the smallest load first, and the failures of each trial with
/// its load.
pub(crate) fn facts<'f>(
    rungs: &[Rung],
    failures: impl IntoIterator<Item = (f64, &'f Failures)>,
) -> Option<Ladder> {
    let loads = by_load(failures);
    Some(Ladder {
        linear: linear(rungs)?,
        first_failures: first_failures(&loads),
        classes: onsets(&loads),
    })
}

fn linear(rungs: &[Rung]) -> Option<LinearRange> {
    let (smallest, _) = *rungs.first()?;
    let (largest, _) = *rungs.last()?;
    let larger = &rungs[1..];
    // The last load before the first of which the given part of the ratio is short.
    let up_to = |part: fn(&Ratio) -> Option<f64>| {
        let keeps = |(_, ratio): &&Rung| {
            let share = ratio.as_ref().and_then(part);
            share.is_some_and(|share| share >= IN_PROPORTION)
        };
        let kept = larger.iter().take_while(keeps);
        kept.last().map_or(smallest, |(load, _)| *load)
    };
    let known = larger
        .iter()
        .all(|(_, ratio)| ratio.is_some_and(|ratio| ratio.interval.is_some()));
    let to = up_to(|ratio| Some(ratio.value));
    Some(LinearRange {
        to,
        interval: (known && !larger.is_empty()).then(|| {
            (
                up_to(|ratio| Some(ratio.interval?.0)),
                up_to(|ratio| Some(ratio.interval?.1)),
            )
        }),
        is_largest: to == largest,
    })
}

/// The failures of each load together, the smallest load first.
fn by_load<'f>(failures: impl IntoIterator<Item = (f64, &'f Failures)>) -> Vec<(f64, Failures)> {
    let mut loads: Vec<(f64, Failures)> = Vec::new();
    for (load, own) in failures {
        match loads.iter_mut().find(|(known, _)| *known == load) {
            Some((_, all)) => all.add(own),
            None => loads.push((load, own.clone())),
        }
    }
    loads.sort_by(|a, b| a.0.total_cmp(&b.0));
    loads
}

fn first_failures(loads: &[(f64, Failures)]) -> Option<FirstFailures> {
    let (load, all) = loads.iter().find(|(_, all)| all.share() > FEW_FAILURES)?;
    Some(FirstFailures {
        load: *load,
        share: all.share(),
        class: all.class(),
    })
}

fn onsets(loads: &[(f64, Failures)]) -> Vec<ClassOnset> {
    let mut onsets: Vec<ClassOnset> = Vec::new();
    for (load, all) in loads {
        for (class, share) in all.shares() {
            let known = onsets.iter().any(|onset| onset.class == *class);
            if share > FEW_FAILURES && !known {
                onsets.push(ClassOnset {
                    class: class.clone(),
                    load: *load,
                    share,
                });
            }
        }
    }
    onsets
}

#[cfg(test)]
mod tests {
    use rookery_stats::{ErrorClass, ErrorTally};

    use super::*;
    use crate::{
        predict::fixture::{World, run, study},
        scaling::{self, Grows},
    };

    fn step(load: f64, efficiency: Option<(f64, Option<(f64, f64)>)>) -> Rung {
        let ratio = efficiency.map(|(value, interval)| Ratio { value, interval });
        (load, ratio)
    }

    fn failures(started: u64, bad: u64, classes: &[(&str, u64)]) -> Failures {
        Failures {
            started,
            bad,
            classes: classes
                .iter()
                .map(|(class, count)| ((*class).to_owned(), *count))
                .collect(),
        }
    }

    #[test]
    fn the_linear_range_ends_before_the_first_load_that_is_short() {
        let around = |value: f64| Some((value, Some((value - 0.03, value + 0.03))));
        let steps = [
            step(1.0, None),
            step(10.0, around(1.0)),
            step(30.0, around(0.96)),
            step(45.0, around(0.93)),
            step(60.0, around(0.99)),
        ];
        let range = linear(&steps).expect("a range");
        // What comes behind the first short load does not count.
        assert_eq!((range.to, range.is_largest), (30.0, false));
        assert_eq!(range.interval, Some((10.0, 60.0)));
        let whole = linear(&steps[..3]).expect("a range");
        assert_eq!((whole.to, whole.is_largest), (30.0, true));
    }

    #[test]
    fn without_repeats_there_is_no_interval() {
        let steps = [
            step(1.0, None),
            step(2.0, Some((0.99, None))),
            step(4.0, Some((0.5, None))),
        ];
        let range = linear(&steps).expect("a range");
        assert_eq!((range.to, range.interval), (2.0, None));
        assert_eq!(linear(&[]), None);
    }

    #[test]
    fn failures_begin_at_the_smallest_load_with_more_than_a_thousandth() {
        let none = failures(10_000, 10, &[("status 500", 10)]);
        let some = failures(10_000, 15, &[("status 403", 9), ("status 500", 6)]);
        let half = failures(10_000, 6, &[("status 403", 6)]);
        let loads = by_load([
            (400.0, &some),
            (110.0, &some),
            (110.0, &half),
            (100.0, &none),
        ]);
        assert_eq!(
            first_failures(&loads),
            Some(FirstFailures {
                load: 110.0,
                share: 21.0 / 20_000.0,
                class: Some("status 403".to_owned()),
            })
        );
        assert_eq!(first_failures(&by_load([(100.0, &none)])), None);
    }

    #[test]
    fn each_class_begins_where_it_alone_is_more_than_a_thousandth() {
        let few = failures(1_000, 20, &[("status 500", 20)]);
        // A tenth of the failures is 0.5 % of the requests.
        let more = failures(1_000, 50, &[("status 403", 4), ("status 500", 36)]);
        let loads = by_load([(10.0, &few), (20.0, &more), (40.0, &more)]);
        let onset = |class: &str, load, share| ClassOnset {
            class: class.to_owned(),
            load,
            share,
        };
        assert_eq!(
            onsets(&loads),
            [
                onset("status 500", 10.0, 0.02),
                onset("status 403", 20.0, 0.005)
            ]
        );
    }

    /// The linear range and the onset of failures of a system whose truth is known: one core of 5
    /// ms an order, users who think 250 ms. By mean-value analysis throughput per user is 0.983 of
    /// that of ten users at 30 users, and 0.844 at 60.
    #[test]
    fn the_facts_of_a_simulated_ladder_are_those_of_its_queue() {
        let mut run = run(&study("1", &[10, 20, 30, 60, 120], 4), &World::PLAIN, 1);
        for trial in &mut run.trials {
            let point = trial.row.trial.point;
            let point = run.header.plan.points.iter().find(|own| own.id == point);
            if point.is_some_and(|point| point.total_users() >= 60) {
                let record = trial.record.as_mut().expect("a record");
                fail(record.measurement.as_mut().expect("a measurement"));
            }
        }
        let lines = scaling::lines(&run);
        let line = lines.iter().find(|line| line.grows == Grows::Clients);
        let ladder = line.expect("a ladder").ladder.as_ref().expect("its facts");
        assert_eq!(ladder.linear.to, 30.0, "{ladder:?}");
        assert!(!ladder.linear.is_largest);
        let (low, high) = ladder.linear.interval.expect("repeats");
        assert!(low <= 30.0 && (30.0..60.0).contains(&high), "{ladder:?}");
        let first = ladder.first_failures.as_ref().expect("failures");
        assert_eq!(
            (first.load, first.class.as_deref()),
            (60.0, Some("status 403"))
        );
        assert!((first.share - 0.01).abs() < 1e-3, "{first:?}");
        assert_eq!(ladder.classes.len(), 1);
    }

    /// Lets one of a hundred requests of every kind fail.
    fn fail(measurement: &mut Measurement) {
        for guest in &mut measurement.guests {
            let mut all = 0;
            for operation in &mut guest.operations {
                operation.failed = operation.started / 99;
                operation.started += operation.failed;
                all += operation.failed;
            }
            guest.errors.push(ErrorTally {
                class: ErrorClass::Status,
                sub_class: "403".to_owned(),
                count: all,
                examples: Vec::new(),
            });
        }
    }
}
