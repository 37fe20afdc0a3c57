//! The runs of a study over time: a value of each for each metric, and where it changed.
//!
//! [`RunLevels`] reduces a run to the level of each metric at each point; [`trends`] puts those of
//! many runs beside each other. Only points that all of these runs have enter, so that no run looks
//! different because it measured something else: the newest run says which points count, and runs
//! that lack one of them are left out.

use std::collections::{BTreeMap, BTreeSet};

use rookery_stats::{Goal, change_points};
use rookery_workload::UnitOfWork;
use serde::Serialize;

use crate::{
    Run, TrialData,
    compare::{Metric, Scale},
    identity, loads,
    meaning::meaning,
};

/// Probability that a study which does not change shows some change, over all its metrics.
pub const LEVEL: f64 = 0.05;
/// Most runs that are looked at, the newest.
pub const MOST_RUNS: usize = 200;
/// Seed of the shufflings: the same runs give the same changes.
const SEED: u64 = 0x7265_6e64;
/// Metrics that are followed.
const OF_USERS: [Metric; 4] = [
    Metric::Throughput,
    Metric::UnitP95,
    Metric::CpuPerUnit,
    Metric::Errors,
];

/// A run, as far as a trend needs it.
#[derive(Clone, Debug)]
pub struct RunLevels {
    run_id: String,
    created_at: String,
    version: String,
    unit: UnitOfWork,
    /// By metric and point: the mean over good trials, on the scale of the metric.
    levels: BTreeMap<Metric, BTreeMap<String, f64>>,
}

/// A metric over the runs of a study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trend {
    /// Which.
    pub metric: Metric,
    /// Its name, in the words of the workload.
    pub name: String,
    /// Which way is the good one.
    pub goal: Goal,
    /// How many points enter.
    pub points: usize,
    /// A value of each run, the oldest first: the geometric mean over the points, of shares the
    /// mean.
    pub runs: Vec<TrendRun>,
    /// Where it changed, the oldest first.
    pub changes: Vec<TrendChange>,
    /// Runs that lack points of the newest.
    pub left_out: usize,
}

/// A run in a trend.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrendRun {
    /// Label of the run.
    pub run_id: String,
    /// Creation, RFC 3339.
    pub created_at: String,
    /// Version of Rookery.
    pub version: String,
    /// The value.
    pub value: f64,
}

/// A change of level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrendChange {
    /// Index of the first run of the new level.
    pub at: usize,
    /// Its label.
    pub run_id: String,
    /// The level before, since the change before that.
    pub before: f64,
    /// The level from there on.
    pub after: f64,
    /// The change: a ratio less one; of shares the difference.
    pub change: f64,
    /// Whether it is one for the better.
    pub better: bool,
    /// Probability that the order of the runs is chance.
    pub p: f64,
}

impl RunLevels {
    /// Label of the run.
    #[must_use]
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Of a run.
    #[must_use]
    pub fn from_run(run: &Run) -> Self {
        let metrics: &[Metric] = if loads::alone(run) {
            &[Metric::LoadTime]
        } else {
            &OF_USERS
        };
        let levels = metrics.iter().map(|metric| (*metric, levels(run, *metric)));
        Self {
            run_id: run.header.run_id.clone(),
            created_at: run.header.created_at.clone(),
            version: run.header.rookery_version.clone(),
            unit: run.header.study.workload.kind().info().unit,
            levels: levels.collect(),
        }
    }
}

/// The level of each point of the study that has a good trial.
fn levels(run: &Run, metric: Metric) -> BTreeMap<String, f64> {
    let plan = &run.header.plan;
    let level = |point: &rookery_study::Point| {
        let study = plan.study_of(point);
        let trials = run
            .trials
            .iter()
            .filter(|trial| trial.row.trial.point == point.id);
        let values: Vec<f64> = trials
            .filter_map(|trial: &TrialData| Some(metric.scale().on(metric.of(trial)?)))
            .collect();
        let key = format!(
            "{:?} {} {:?}",
            study.guest.kind(),
            identity::of(point),
            meaning(study)
        );
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        mean.is_finite().then_some((key, mean))
    };
    plan.study_points().filter_map(level).collect()
}

/// The metrics over the runs of a study, in the order of time; a metric that the newest run does
/// not have is not among them.
#[must_use]
pub fn trends(runs: &[RunLevels]) -> Vec<Trend> {
    let mut runs: Vec<&RunLevels> = runs.iter().collect();
    // RFC 3339 in UTC sorts as text.
    runs.sort_by(|a, b| {
        a.created_at
            .cmp(&b.created_at)
            .then(a.run_id.cmp(&b.run_id))
    });
    let runs = &runs[runs.len().saturating_sub(MOST_RUNS)..];
    let Some(newest) = runs.last() else {
        return Vec::new();
    };
    let metrics = newest
        .levels
        .iter()
        .filter(|(_, levels)| !levels.is_empty());
    let level = LEVEL / metrics.clone().count().max(1) as f64;
    let mut trends: Vec<Trend> = metrics
        .map(|(metric, levels)| trend(*metric, levels.keys().collect(), runs, &newest.unit, level))
        .collect();
    trends.sort_by_key(|trend| trend.metric);
    trends
}

fn trend(
    metric: Metric,
    points: BTreeSet<&String>,
    runs: &[&RunLevels],
    unit: &UnitOfWork,
    level: f64,
) -> Trend {
    let with_value: Vec<(&RunLevels, f64)> = runs
        .iter()
        .filter_map(|run| {
            let levels = run.levels.get(&metric)?;
            let found: Option<Vec<f64>> = points
                .iter()
                .map(|point| levels.get(*point).copied())
                .collect();
            let found = found?;
            Some((*run, found.iter().sum::<f64>() / found.len() as f64))
        })
        .collect();
    let values: Vec<f64> = with_value.iter().map(|(_, value)| *value).collect();
    let shown = with_value.iter().map(|(run, value)| TrendRun {
        run_id: run.run_id.clone(),
        created_at: run.created_at.clone(),
        version: run.version.clone(),
        value: metric.scale().value(*value),
    });
    let shown: Vec<TrendRun> = shown.collect();
    Trend {
        metric,
        name: metric.name(unit),
        goal: metric.goal(),
        points: points.len(),
        changes: changes(metric, &values, &shown, level),
        left_out: runs.len() - shown.len(),
        runs: shown,
    }
}

fn changes(metric: Metric, values: &[f64], runs: &[TrendRun], level: f64) -> Vec<TrendChange> {
    let found = change_points(values, level, SEED);
    let ends: Vec<usize> = [0]
        .into_iter()
        .chain(found.iter().map(|change| change.at))
        .chain([values.len()])
        .collect();
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let change = |(change, ends): (&rookery_stats::ChangePoint, &[usize])| {
        let before = mean(&values[ends[0]..ends[1]]);
        let after = mean(&values[ends[1]..ends[2]]);
        let scale: Scale = metric.scale();
        TrendChange {
            at: change.at,
            run_id: runs[change.at].run_id.clone(),
            before: scale.value(before),
            after: scale.value(after),
            change: scale.change(after - before),
            better: (after > before) == (metric.goal() == Goal::Higher),
            p: change.p,
        }
    };
    found.iter().zip(ends.windows(3)).map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(day: u32, throughput: f64, points: &[&str]) -> RunLevels {
        let levels = |value: f64| -> BTreeMap<String, f64> {
            points
                .iter()
                .map(|point| ((*point).to_owned(), value))
                .collect()
        };
        RunLevels {
            run_id: format!("run{day}"),
            created_at: format!("2026-01-{day:02}T00:00:00Z"),
            version: "0.1.0".to_owned(),
            unit: rookery_workload::WorkloadKind::ALL[0].info().unit,
            levels: [
                (Metric::Throughput, levels(throughput.ln())),
                (Metric::Errors, levels(0.001)),
            ]
            .into(),
        }
    }

    /// A slowdown of a fifth on day 11, with a little noise.
    fn slowed() -> Vec<RunLevels> {
        let value = |day: u32| {
            let noise = f64::from(day * 7 % 5) - 2.0;
            if day < 11 {
                1000.0 + noise
            } else {
                800.0 + noise
            }
        };
        (1..=20)
            .map(|day| run(day, value(day), &["a", "b"]))
            .collect()
    }

    #[test]
    fn a_slowdown_is_found_at_its_run_whatever_the_order() {
        let mut runs = slowed();
        runs.reverse();
        let trends = trends(&runs);
        assert_eq!(trends.len(), 2);
        let throughput = &trends[0];
        assert_eq!(
            (throughput.metric, throughput.points),
            (Metric::Throughput, 2)
        );
        assert_eq!(throughput.runs[0].run_id, "run1");
        let [change] = throughput.changes.as_slice() else {
            panic!("one change: {:?}", throughput.changes);
        };
        assert_eq!((change.at, change.run_id.as_str()), (10, "run11"));
        assert!(
            (change.change + 0.2).abs() < 0.01 && !change.better,
            "{change:?}"
        );
        assert!((change.before - 1000.0).abs() < 2.0, "{change:?}");
        assert!(
            trends[1].changes.is_empty(),
            "errors did not change: {:?}",
            trends[1]
        );
    }

    #[test]
    fn runs_that_measured_something_else_are_left_out() {
        let mut runs = slowed();
        runs[3] = run(4, 5.0, &["a"]);
        runs[5] = run(6, 5000.0, &["a", "b", "c"]);
        let trends = trends(&runs);
        assert_eq!((trends[0].left_out, trends[0].runs.len()), (1, 19));
        assert!(trends[0].runs.iter().all(|run| run.run_id != "run4"));
    }

    #[test]
    fn without_runs_there_is_no_trend() {
        assert!(trends(&[]).is_empty());
    }
}
