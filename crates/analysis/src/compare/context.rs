//! What else differs between the runs: it may explain a change, or be what was meant to be tried.

use std::collections::{BTreeMap, BTreeSet};

use rookery_store::TrialStatus;
use serde::Serialize;

use super::{
    estimate::{self, Sample, Sides},
    matching::Matched,
};
use crate::{Run, TrialData, cpu};

/// Lines of a study, and settings, that are shown of each side.
const MOST: usize = 12;

/// Something that was not the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What.
    pub what: String,
    /// In the base; several values where its runs differ.
    pub base: Vec<String>,
    /// In the new side.
    pub new: Vec<String>,
}

/// What the runs show of the machine itself, apart from what was under test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Machine {
    /// CPU time of the driver for one request, which does the same work in every run: its change as
    /// a share. A slower machine makes it grow, whatever the servers do.
    pub driver_cpu_per_request: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<(f64, f64)>,
    /// Cores of the host that neither guests nor the driver used, on average over the trials: in
    /// the base.
    pub other_cores_base: Option<f64>,
    /// The same in the new side.
    pub other_cores_new: Option<f64>,
}

/// All differences, those of the host first.
pub(super) fn differences(base: &[Run], new: &[Run], matched: &[Matched]) -> Vec<Difference> {
    let mut all = Vec::new();
    let mut add =
        |what: &str, of: &dyn Fn(&Run) -> String| all.extend(difference(what, base, new, of));
    add("host", &|run| run.header.host.hostname.clone());
    add("CPU", &|run| run.header.host.cpu_model.clone());
    add("CPUs", &|run| run.header.host.facts.cpus.len().to_string());
    add("memory, MiB", &|run| {
        run.header.host.facts.memory_mib.to_string()
    });
    add("kernel", &|run| run.header.host.kernel.clone());
    add("rookery", &|run| run.header.rookery_version.clone());
    for name in version_names(base.iter().chain(new)) {
        add(&format!("version of {name}"), &|run| version(run, &name));
    }
    add("CPUs of the driver", &|run| {
        format!("{:?}", run.header.plan.driver_cpus)
    });
    add("CPUs of the guests", &|run| {
        format!("{:?}", run.header.plan.guest_cpus)
    });
    all.extend(study_difference(base, new));
    all.extend(settings(base, new, matched));
    all.extend(difference("trials", base, new, &trial_counts));
    all
}

fn difference(
    what: &str,
    base: &[Run],
    new: &[Run],
    of: &dyn Fn(&Run) -> String,
) -> Option<Difference> {
    let values = |runs: &[Run]| -> Vec<String> {
        runs.iter()
            .map(of)
            .collect::<BTreeSet<String>>()
            .into_iter()
            .collect()
    };
    let (base, new) = (values(base), values(new));
    (base != new).then(|| Difference {
        what: what.to_owned(),
        base,
        new,
    })
}

fn version_names<'a>(runs: impl Iterator<Item = &'a Run>) -> BTreeSet<String> {
    let names = runs.flat_map(|run| {
        run.header
            .host
            .versions
            .iter()
            .map(|(name, _)| name.clone())
    });
    // Its own line says it.
    names.filter(|name| name != "rookery").collect()
}

fn version(run: &Run, name: &str) -> String {
    let found = run.header.host.versions.iter().find(|(own, _)| own == name);
    found.map_or_else(|| "not there".to_owned(), |(_, version)| version.clone())
}

fn trial_counts(run: &Run) -> String {
    let count = |status| run.count(status);
    let open = count(TrialStatus::Planned) + count(TrialStatus::Running);
    format!(
        "{} done, {} void, {} failed, {open} not run",
        count(TrialStatus::Done),
        count(TrialStatus::Void),
        count(TrialStatus::Failed)
    )
}

/// Lines that only one side's study files have; where the files are the same, what their scale
/// changed.
fn study_difference(base: &[Run], new: &[Run]) -> Option<Difference> {
    let lines = |runs: &[Run]| -> BTreeSet<String> {
        runs.iter()
            .flat_map(|run| meant_lines(&run.header.study_text))
            .collect()
    };
    let (in_base, in_new) = (lines(base), lines(new));
    let only = |own: &BTreeSet<String>, other: &BTreeSet<String>| {
        shortened(own.difference(other).cloned().collect())
    };
    let found = Difference {
        what: "study".to_owned(),
        base: only(&in_base, &in_new),
        new: only(&in_new, &in_base),
    };
    if !found.base.is_empty() || !found.new.is_empty() {
        return Some(found);
    }
    difference("study, in scales of one file", base, new, &|run| {
        let study = &run.header.study;
        format!(
            "seed {}, ramp-up {}, settle {:?}, steady {:?}, {} repeats",
            study.seed,
            study.load.ramp_up,
            study.load.settle,
            study.load.steady,
            study.load.repeats
        )
    })
}

/// Lines of a study file without comments and empty ones.
fn meant_lines(text: &str) -> Vec<String> {
    let without_comment = |line: &str| {
        // A `#` within a string is no comment; such lines are compared whole.
        let cut = if line.contains("\"") && line.rfind('"') > line.find('#') {
            line
        } else {
            line.split('#').next().unwrap_or(line)
        };
        cut.trim().to_owned()
    };
    text.lines()
        .map(without_comment)
        .filter(|line| !line.is_empty())
        .collect()
}

fn shortened(mut values: Vec<String>) -> Vec<String> {
    if values.len() > MOST {
        let more = values.len() - MOST;
        values.truncate(MOST);
        values.push(format!("and {more} more"));
    }
    values
}

/// Settings in force at matched points that were not the same on both sides.
fn settings(base: &[Run], new: &[Run], matched: &[Matched]) -> Vec<Difference> {
    let sides = base.len();
    let of = |runs: &[Run], first: usize| {
        let mut values: BTreeMap<(usize, String), BTreeSet<String>> = BTreeMap::new();
        for (run, at) in runs.iter().zip(first..) {
            for (index, point) in matched.iter().enumerate() {
                let trials = run
                    .trials
                    .iter()
                    .filter(|trial| trial.row.trial.point == point.ids[at]);
                for tuning in trials
                    .filter_map(|trial| trial.record.as_ref())
                    .flat_map(|record| &record.tunings)
                {
                    values
                        .entry((index, tuning.name.clone()))
                        .or_default()
                        .insert(tuning.effective.clone());
                }
            }
        }
        values
    };
    let (in_base, in_new) = (of(base, 0), of(new, sides));
    let mut found: BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)> = BTreeMap::new();
    for key in in_base.keys().chain(in_new.keys()) {
        let (one, other) = (in_base.get(key), in_new.get(key));
        if one != other {
            let entry = found.entry(key.1.clone()).or_default();
            entry.0.extend(one.into_iter().flatten().cloned());
            entry.1.extend(other.into_iter().flatten().cloned());
        }
    }
    let shown = |values: BTreeSet<String>| shortened(values.into_iter().collect());
    found
        .into_iter()
        .map(|(name, (base, new))| Difference {
            what: format!("setting {name}"),
            base: shown(base),
            new: shown(new),
        })
        .collect()
}

/// What the runs show of the machine itself.
pub(super) fn machine(base: &[Run], new: &[Run], matched: &[Matched]) -> Machine {
    let lot = |run: &Run, at: usize| {
        let of_point = |(index, point): (usize, &Matched)| -> Vec<Sample> {
            good(run, point.ids[at])
                .filter_map(|trial| {
                    let (_, measured) = trial.valid()?;
                    let value = measured.driver.cpu_us_per_request.ln();
                    value.is_finite().then_some(Sample {
                        point: index,
                        round: trial.row.trial.repeat,
                        value,
                    })
                })
                .collect()
        };
        matched.iter().enumerate().flat_map(of_point).collect()
    };
    let sides = Sides {
        base: base
            .iter()
            .enumerate()
            .map(|(at, run)| lot(run, at))
            .collect(),
        new: new
            .iter()
            .zip(base.len()..)
            .map(|(run, at)| lot(run, at))
            .collect(),
    };
    let points: Vec<usize> = (0..matched.len()).collect();
    let change = estimate::change(&sides, &points, 0.0);
    let share = |log: f64| log.exp() - 1.0;
    Machine {
        driver_cpu_per_request: change.value.map(share),
        interval: change
            .estimate
            .map(|estimate| (share(estimate.interval.0), share(estimate.interval.1))),
        other_cores_base: other_cores(base, matched, 0),
        other_cores_new: other_cores(new, matched, base.len()),
    }
}

fn good(run: &Run, point: u32) -> impl Iterator<Item = &TrialData> {
    run.trials
        .iter()
        .filter(move |trial| trial.row.trial.point == point && trial.valid().is_some())
}

/// Cores that somebody else used, on average over the good trials of matched points.
fn other_cores(runs: &[Run], matched: &[Matched], first: usize) -> Option<f64> {
    let mut values = Vec::new();
    for (run, at) in runs.iter().zip(first..) {
        for (record, measured) in matched
            .iter()
            .flat_map(|point| good(run, point.ids[at]))
            .filter_map(TrialData::valid)
        {
            let of = |subject| cpu::mean_cores(&record.resources, subject, measured);
            if let (Some(host), Some(driver), Some(guests)) = (
                of(cpu::HOST),
                of(cpu::DRIVER),
                cpu::guest_cores(&record.resources, measured),
            ) {
                values.push((host - driver - guests).max(0.0));
            }
        }
    }
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
