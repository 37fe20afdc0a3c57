//! One run as its page shows it: what is planned, and where each trial stands.

use std::{collections::BTreeMap, path::Path};

use rookery_stats::{Spread, Summary};
use rookery_store::{Cell, CellKind, RunHeader, Store, StoreError, TrialRow, TrialStatus};
use rookery_study::{Point, Purpose, Trial};
use serde::Serialize;

use crate::{
    searches::{self, SearchView},
    summary::RunState,
};

/// A run for its page; text in it is as the store has it, and untrusted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Overview {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) question: Option<String>,
    pub(crate) study: String,
    pub(crate) created_at: String,
    pub(crate) version: String,
    pub(crate) host: String,
    pub(crate) state: RunState,
    /// What was expected before the first trial, of all trials, s.
    pub(crate) expected_s: f64,
    /// What throughput counts: `orders/min`.
    pub(crate) rate: String,
    /// What the response times are of.
    pub(crate) operation: String,
    pub(crate) points: Vec<PointView>,
    pub(crate) trials: Vec<TrialView>,
    pub(crate) searches: Vec<SearchView>,
    /// Remarks on the whole run, the newest [`MOST_NOTES`].
    pub(crate) notes: Vec<NoteView>,
}

/// Remarks that are shown.
const MOST_NOTES: usize = 100;

/// A point of the plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct PointView {
    pub(crate) id: u32,
    pub(crate) label: String,
    pub(crate) layouts: String,
    /// The search that tries it.
    pub(crate) search: Option<u32>,
    /// Users, or arrivals per second, on all its guests together.
    pub(crate) load: f64,
    /// What they are called.
    pub(crate) load_unit: &'static str,
    /// The mean throughput after each of its good trials, the last [`MOST_MEANS`].
    pub(crate) means: Vec<MeanView>,
}

/// Means of a point that are shown.
const MOST_MEANS: usize = 30;

/// The mean of the first trials of a point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct MeanView {
    pub(crate) trials: u32,
    pub(crate) mean: f64,
    /// Half of its 95 % interval; nothing of fewer than three trials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) half_width: Option<f64>,
}

/// What of a run is not as it was.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Changes<'a> {
    pub(crate) trials: Vec<&'a TrialView>,
    pub(crate) points: Vec<&'a PointView>,
}

impl Changes<'_> {
    /// Nothing is new.
    pub(crate) fn is_empty(&self) -> bool {
        self.trials.is_empty() && self.points.is_empty()
    }
}

/// A trial and what is known of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct TrialView {
    pub(crate) id: u32,
    pub(crate) point: u32,
    pub(crate) repeat: u32,
    #[serde(skip_serializing_if = "is_study")]
    pub(crate) purpose: Purpose,
    pub(crate) status: TrialStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ended_at: Option<String>,
    /// Whether a later trial is run in its place.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) retried: bool,
    /// Units of work, of the guests of the first group together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) throughput: Option<f64>,
    /// The largest p95 of a guest, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) p95_ms: Option<f64>,
    /// Whether all limits were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) passed: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) reasons: Vec<String>,
}

fn is_study(purpose: &Purpose) -> bool {
    *purpose == Purpose::Study
}

/// A remark.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct NoteView {
    pub(crate) at: String,
    pub(crate) text: String,
}

impl Overview {
    /// Read the run in `directory`.
    ///
    /// # Errors
    /// When its store cannot be read.
    pub(crate) fn read(directory: &Path) -> Result<Self, StoreError> {
        let store = Store::open_read_only(rookery_lab::store_in(directory))?;
        let header = store.header()?;
        let info = header.study.workload.kind().info();
        let numbers = numbers(&store, info.headline, info.main_operation())?;
        let rows = store.trials()?;
        let left = rows.iter().filter(|row| is_left(row.status)).count();
        let searches = searches::views(&store, &header, &rows)?;
        let trials = trials(rows, &numbers);
        let means = means(&trials);
        let point = |point: &Point| PointView::new(point, means.get(&point.id));
        let notes = store.notes()?;
        let from = notes.len().saturating_sub(MOST_NOTES);
        let notes = notes.into_iter().skip(from).map(|note| NoteView {
            at: note.at,
            text: note.text,
        });
        Ok(Self {
            state: RunState::of(directory, left),
            expected_s: header.plan.estimate.duration.as_secs_f64(),
            rate: info.unit.rate.to_owned(),
            operation: info.main_operation().to_owned(),
            points: header.plan.points.iter().map(point).collect(),
            trials,
            searches,
            notes: notes.collect(),
            ..Self::from_header(header)
        })
    }

    fn from_header(header: RunHeader) -> Self {
        Self {
            id: header.run_id,
            title: header.title,
            question: header.study.question,
            study: header.study_file,
            created_at: header.created_at,
            version: header.rookery_version,
            host: format!("{}, {}", header.host.hostname, header.host.cpu_model),
            state: RunState::Interrupted,
            expected_s: 0.0,
            rate: String::new(),
            operation: String::new(),
            points: Vec::new(),
            trials: Vec::new(),
            searches: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// What is not as it was in `before`, where everything else is; `None` where the whole must be
    /// shown anew.
    pub(crate) fn changed_since(&self, before: &Self) -> Option<Changes<'_>> {
        let same_plan = self.points.len() == before.points.len()
            && self.trials.len() == before.trials.len()
            && self.notes.len() == before.notes.len()
            && self.searches == before.searches
            && self.state == before.state;
        same_plan.then(|| Changes {
            trials: changed(&self.trials, &before.trials),
            points: changed(&self.points, &before.points),
        })
    }
}

/// Those that are not as they were.
fn changed<'a, T: PartialEq>(now: &'a [T], before: &[T]) -> Vec<&'a T> {
    let pairs = now.iter().zip(before);
    pairs
        .filter(|(now, before)| now != before)
        .map(|(now, _)| now)
        .collect()
}

impl PointView {
    fn new(point: &Point, means: Option<&Vec<MeanView>>) -> Self {
        Self {
            means: means.cloned().unwrap_or_default(),
            id: point.id,
            label: point.label(),
            layouts: point.layouts.join(", "),
            search: point.search,
            load: point.load(),
            load_unit: match point.rate_per_s() {
                Some(_) => "arrivals/s",
                None => point.people(),
            },
        }
    }
}

/// The means of the points so far, by point: as a report has the last of each.
fn means(trials: &[TrialView]) -> BTreeMap<u32, Vec<MeanView>> {
    let good = trials
        .iter()
        .filter(|trial| trial.status == TrialStatus::Done && trial.purpose == Purpose::Study);
    let mut values: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (point, value) in good.filter_map(|trial| Some((trial.point, trial.throughput?))) {
        values.entry(point).or_default().push(value);
    }
    let of_point = |values: Vec<f64>| {
        let first = values.len().saturating_sub(MOST_MEANS) + 1;
        let prefixes = (first..=values.len()).map(|count| &values[..count]);
        prefixes
            .filter_map(Summary::from_values)
            .map(MeanView::new)
            .collect()
    };
    let points = values.into_iter();
    points
        .map(|(point, values)| (point, of_point(values)))
        .collect()
}

impl MeanView {
    fn new(summary: Summary) -> Self {
        Self {
            trials: summary.count,
            mean: summary.mean,
            half_width: match summary.spread {
                Spread::Interval { half_width } => Some(half_width),
                Spread::Single | Spread::Range { .. } => None,
            },
        }
    }
}

fn is_left(status: TrialStatus) -> bool {
    matches!(status, TrialStatus::Planned | TrialStatus::Running)
}

/// What was measured in a trial.
#[derive(Clone, Copy, Debug, Default)]
struct Numbers {
    throughput: Option<f64>,
    p95_ms: Option<f64>,
    passed: Option<bool>,
}

/// The numbers of all trials, without reading what else their records hold: a run may have
/// thousands of trials.
fn numbers(
    store: &Store,
    headline: &str,
    operation: &str,
) -> Result<BTreeMap<i64, Numbers>, StoreError> {
    let mut numbers: BTreeMap<i64, Numbers> = BTreeMap::new();
    let throughput = format!(
        "SELECT m.trial, SUM(m.value) FROM metrics m \
         JOIN guests g ON g.trial = m.trial AND g.guest = m.guest WHERE m.metric = '{}' AND g.part = 0 GROUP BY m.trial",
        quoted(headline)
    );
    visit(store, "metrics", &throughput, |trial, value| {
        numbers.entry(trial).or_default().throughput = Some(value);
    })?;
    let p95 = format!(
        "SELECT trial, MAX(service_p95_us) FROM operations WHERE operation = '{}' GROUP BY trial",
        quoted(operation)
    );
    visit(store, "operations", &p95, |trial, value| {
        numbers.entry(trial).or_default().p95_ms = Some(value / 1000.0);
    })?;
    let passed = "SELECT v.trial, MIN(v.passed) FROM verdicts v \
                  WHERE EXISTS (SELECT 1 FROM rules r WHERE r.trial = v.trial) GROUP BY v.trial";
    visit(store, "verdicts", passed, |trial, value| {
        numbers.entry(trial).or_default().passed = Some(value > 0.5);
    })?;
    Ok(numbers)
}

/// A name within the quotes of SQL. It is one of a workload's own, and still.
fn quoted(name: &str) -> String {
    name.replace('\'', "''")
}

/// The rows of a query that gives a trial and a number.
fn visit(
    store: &Store,
    table: &'static str,
    sql: &str,
    mut with: impl FnMut(i64, f64),
) -> Result<(), StoreError> {
    let columns = [("trial", CellKind::Whole), ("value", CellKind::Number)];
    store.visit_rows(table, sql, &columns, |cells| {
        if let [Cell::Whole(trial), Cell::Number(value)] = cells {
            with(*trial, *value);
        }
        Ok(())
    })
}

fn trials(rows: Vec<TrialRow>, numbers: &BTreeMap<i64, Numbers>) -> Vec<TrialView> {
    // The last trial of each kind: those before it were run again.
    let what = |trial: &Trial| (trial.point, trial.repeat, trial.block, trial.purpose.name());
    let last: BTreeMap<_, u32> = rows
        .iter()
        .map(|row| (what(&row.trial), row.trial.id))
        .collect();
    let view = |row: TrialRow| {
        let ended = !is_left(row.status);
        let known = numbers
            .get(&i64::from(row.trial.id))
            .copied()
            .filter(|_| ended)
            .unwrap_or_default();
        TrialView {
            retried: row.status == TrialStatus::Void
                && last.get(&what(&row.trial)) != Some(&row.trial.id),
            id: row.trial.id,
            point: row.trial.point,
            repeat: row.trial.repeat,
            purpose: row.trial.purpose,
            status: row.status,
            started_at: row.started_at,
            ended_at: row.ended_at,
            throughput: known.throughput,
            p95_ms: known.p95_ms,
            passed: known.passed.filter(|_| row.status == TrialStatus::Done),
            reasons: row.reasons.iter().map(ToString::to_string).collect(),
        }
    };
    rows.into_iter().map(view).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(id: u32, throughput: f64) -> TrialView {
        TrialView {
            id,
            point: 1,
            repeat: id,
            purpose: Purpose::Study,
            status: TrialStatus::Done,
            started_at: None,
            ended_at: None,
            retried: false,
            throughput: Some(throughput),
            p95_ms: None,
            passed: None,
            reasons: Vec::new(),
        }
    }

    #[test]
    fn a_point_has_its_mean_after_each_good_trial() {
        let mut trials: Vec<TrialView> = [(1, 10.0), (2, 11.0), (3, 12.0)]
            .map(|(id, value)| trial(id, value))
            .into();
        trials.push(TrialView {
            status: TrialStatus::Void,
            ..trial(4, 99.0)
        });
        trials.push(TrialView {
            purpose: Purpose::Pilot,
            ..trial(5, 99.0)
        });
        let means = &means(&trials)[&1];
        assert_eq!(
            means.iter().map(|mean| mean.trials).collect::<Vec<_>>(),
            [1, 2, 3]
        );
        assert!(means[1].half_width.is_none(), "two trials have no interval");
        let half_width = means[2].half_width.expect("three have one");
        assert!(
            (half_width - 4.302_653 / 3f64.sqrt()).abs() < 1e-5,
            "{half_width}"
        );
    }
}
