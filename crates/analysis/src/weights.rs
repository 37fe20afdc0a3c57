//! The CPU time that guests got on CPUs that they share, beside what their weights ask for.

use std::collections::BTreeMap;

use rookery_stats::{KernelCounter, Measurement};
use rookery_store::TrialRecord;
use rookery_study::CpuTime;

use crate::{Run, TrialData, cpu, mean::mean, schema::data};

/// The setting that holds a guest's weight.
const WEIGHT: &str = "guest.cpu_weight";
/// The setting that holds its CPUs.
const CPUS: &str = "placement.cpus";
/// The weight of a control group that says nothing.
const USUAL_WEIGHT: u32 = 100;
/// Threads that ran or were ready to, for each CPU, from which on guests are taken to have wanted
/// more than they got.
const CONTENDED: f64 = 0.85;

data! {
    /// Guests of a point that run on the same CPUs, one of them at least with a weight.
    #[derive(Clone, Debug, PartialEq)]
    pub struct WeightedGuests {
        /// Number of the point in the plan; of a layout with groups, of the whole of it.
        pub point: u32,
        /// Its short name.
        pub label: String,
        /// Their CPUs, as a list: `0,2-3`.
        pub cpus: String,
        /// Good trials, of which all numbers are means.
        pub trials: usize,
        /// Whether they had work for nearly all of these CPUs together: threads that ran, and those
        /// that waited. Where they had not, each got what it wanted, and weights decided nothing.
        pub contended: bool,
        /// Each of them.
        pub guests: Vec<WeightedGuest>,
    }
}

data! {
    /// One of several guests on the same CPUs.
    #[derive(Clone, Debug, PartialEq)]
    pub struct WeightedGuest {
        /// Its name.
        pub guest: String,
        /// Its weight; 100 where none is asked for.
        pub weight: u32,
        /// Its weight over the weights of all.
        pub asked: f64,
        /// Cores that it used.
        pub cores: f64,
        /// The same over the cores of all.
        pub got: f64,
        /// Threads of it that were ready to run and waited for a CPU, at a time; null where the
        /// kernel does not count them.
        pub waiting: Option<f64>,
    }
}

/// What one guest got in one trial.
struct Reading {
    guest: String,
    cpus: String,
    /// `None` where shares of vCPUs stand in its place.
    weight: Option<u32>,
    asked: bool,
    cores: f64,
    waiting: Option<f64>,
}

/// All sets of guests on the same CPUs that have weights, in the order of the points.
pub(crate) fn of_run(run: &Run) -> Vec<WeightedGuests> {
    // Trials of several groups stand in a run once for each.
    let mut trials: BTreeMap<u32, Vec<&TrialData>> = BTreeMap::new();
    for trial in &run.trials {
        trials.entry(trial.row.trial.id).or_default().push(trial);
    }
    let mut sets: BTreeMap<(u32, String), Vec<Vec<Reading>>> = BTreeMap::new();
    for parts in trials.values() {
        let Some(first) = parts.first() else { continue };
        let (point, _) = whole(run, first.row.trial.point);
        let found = parts.iter().flat_map(|part| readings(run, part)).collect();
        for (cpus, guests) in by_cpus(found) {
            sets.entry((point, cpus)).or_default().push(guests);
        }
    }
    sets.into_iter()
        .map(|((point, cpus), trials)| summary(run, point, cpus, &trials))
        .collect()
}

/// The point as it was planned, of one that stands for a group: its number and name.
fn whole(run: &Run, id: u32) -> (u32, String) {
    let has_part = |part: &crate::grouped::GroupPart| part.point == Some(id);
    let grouped = run
        .groups
        .iter()
        .find(|grouped| grouped.point.id == id || grouped.groups.iter().any(has_part));
    let planned = run.header.plan.points.iter().find(|point| point.id == id);
    let point = grouped.map(|grouped| &grouped.point).or(planned);
    point.map_or((id, String::new()), |point| (point.id, point.label()))
}

/// What the guests of a good trial got, of one that stands for a group those of the group.
fn readings(run: &Run, trial: &TrialData) -> Vec<Reading> {
    let Some((record, measurement)) = trial.valid() else {
        return Vec::new();
    };
    let shares = run.study_of(trial).guest.cpu == CpuTime::Share;
    let placed = record.tunings.iter().filter(|setting| setting.name == CPUS);
    let reading = |setting: &rookery_store::Tuning| {
        let guest = &setting.guest;
        let of_guest = |name: &str| {
            let mut own = record.tunings.iter();
            own.find(|other| other.guest == *guest && other.name == name)
        };
        let asked = of_guest(WEIGHT);
        let usual = (!shares).then_some(USUAL_WEIGHT);
        Some(Reading {
            guest: guest.clone(),
            cpus: setting.asked.clone(),
            weight: match asked {
                Some(found) => found.effective.parse().ok(),
                None => usual,
            },
            asked: asked.is_some(),
            cores: cpu::mean_cores(&record.resources, guest, measurement)?,
            waiting: waiting(record, guest, measurement),
        })
    };
    placed.filter_map(reading).collect()
}

/// Threads of a guest that waited for a CPU, at a time.
fn waiting(record: &TrialRecord, guest: &str, measurement: &Measurement) -> Option<f64> {
    let mut counts = record.kernel.iter();
    let count =
        counts.find(|count| count.scope == guest && count.counter == KernelCounter::RunDelay)?;
    let window = &measurement.window;
    let us = (window.end_s - window.start_s) * 1e6;
    (us > 0.0).then(|| count.count as f64 / us)
}

/// The guests of a trial by their CPUs, where there are several on the same, their weights are
/// known, and one was asked for.
fn by_cpus(found: Vec<Reading>) -> BTreeMap<String, Vec<Reading>> {
    let mut sets: BTreeMap<String, Vec<Reading>> = BTreeMap::new();
    for reading in found {
        sets.entry(reading.cpus.clone()).or_default().push(reading);
    }
    sets.retain(|_, guests| {
        guests.len() > 1
            && guests.iter().any(|guest| guest.asked)
            && guests.iter().all(|guest| guest.weight.is_some())
    });
    sets
}

/// Means over the trials of a point.
fn summary(run: &Run, point: u32, cpus: String, trials: &[Vec<Reading>]) -> WeightedGuests {
    let names = trials.first().into_iter().flatten();
    let guests: Vec<WeightedGuest> = names
        .map(|first| {
            let own = || {
                let all = trials.iter().flatten();
                all.filter(|reading| reading.guest == first.guest)
            };
            let waits: Vec<f64> = own().filter_map(|reading| reading.waiting).collect();
            WeightedGuest {
                guest: first.guest.clone(),
                weight: first.weight.unwrap_or(USUAL_WEIGHT),
                asked: 0.0,
                cores: mean(&own().map(|reading| reading.cores).collect::<Vec<_>>())
                    .unwrap_or_default(),
                got: 0.0,
                waiting: mean(&waits),
            }
        })
        .collect();
    let weights: f64 = guests.iter().map(|guest| f64::from(guest.weight)).sum();
    let cores: f64 = guests.iter().map(|guest| guest.cores).sum();
    let waiting: f64 = guests.iter().filter_map(|guest| guest.waiting).sum();
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let (_, label) = whole(run, point);
    WeightedGuests {
        point,
        label,
        contended: cores + waiting >= CONTENDED * f64::from(cpu_count(&cpus)),
        cpus,
        trials: trials.len(),
        guests: guests
            .into_iter()
            .map(|guest| WeightedGuest {
                asked: share(f64::from(guest.weight), weights),
                got: share(guest.cores, cores),
                ..guest
            })
            .collect(),
    }
}

/// How many CPUs a list such as `0,2-3` has.
fn cpu_count(list: &str) -> u32 {
    let parts = list.split(',').map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (first.parse::<u32>(), last.parse::<u32>()) {
            (Ok(first), Ok(last)) => last.saturating_sub(first).saturating_add(1),
            _ => 0,
        }
    });
    parts.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(guest: &str, cpus: &str, weight: Option<u32>, asked: bool) -> Reading {
        Reading {
            guest: guest.to_owned(),
            cpus: cpus.to_owned(),
            weight,
            asked,
            cores: 0.5,
            waiting: None,
        }
    }

    #[test]
    fn guests_with_weights_are_compared_where_they_share_cpus() {
        let sets = |found: Vec<Reading>| -> Vec<(String, usize)> {
            let sets = by_cpus(found).into_iter();
            sets.map(|(cpus, guests)| (cpus, guests.len())).collect()
        };
        let heavy = || reading("g1", "0", Some(300), true);
        let usual = |cpus| reading("g2", cpus, Some(100), false);
        assert_eq!(sets(vec![heavy(), usual("0")]), [("0".to_owned(), 2)]);
        assert!(sets(vec![heavy(), usual("1")]).is_empty(), "other CPUs");
        assert!(sets(vec![usual("0"), usual("0")]).is_empty(), "no weight");
        let by_vcpus = reading("g2", "0", None, false);
        assert!(sets(vec![heavy(), by_vcpus]).is_empty(), "not comparable");
    }

    #[test]
    fn cpus_of_lists_are_counted() {
        assert_eq!(cpu_count("0,2-3"), 3);
        assert_eq!(cpu_count("7"), 1);
        assert_eq!(cpu_count(""), 0);
    }
}
