//! What only content management has: the per-operation table, failures by class, and the matrix
//! that was walked.

use rookery_analysis::Run;
use rookery_stats::checks::transition_test;
use rookery_workload::{
    Counters,
    cms::{CmsCounters, CmsOperation, OPERATION},
};

use super::{
    Brief, Part, Section,
    windows::{PointWindow, WindowCounters, windows},
};
use crate::{
    prose::{format, loop_type::loop_type},
    tables::{Table, table},
};

/// How the section is to be read.
const CAPTION: &str = "Windows of all guests and all good trials of a point together; the matrix \
                       from the first operation on. A failure is consequential where an earlier \
                       operation of the same user had failed: what needs a login after a login \
                       that failed.";

/// More rows than this are closed at first.
const FOLDED: usize = 40;

const OPERATIONS: [&str; 11] = [
    "point",
    "operation",
    "completed",
    "share",
    "failed",
    "consequential",
    "requests",
    "mean, ms",
    "p90, ms",
    "p99, ms",
    "per s",
];

const FAILURES: [&str; 6] = ["point", "operation", "request", "class", "kind", "failures"];

const TESTS: [&str; 6] = [
    "point",
    "after",
    "steps",
    "chi-square",
    "limit at 0.1 %",
    "as the matrix says",
];

impl WindowCounters for CmsCounters {
    fn of_guest(counters: &Counters) -> Option<&Self> {
        Self::from_counters(counters)
    }

    fn add_guest(&mut self, other: &Self) {
        self.merge(other);
    }

    fn add_window(&mut self, other: &Self) {
        let window_s = self.window_s + other.window_s;
        self.merge(other);
        self.window_s = window_s;
    }
}

type CmsWindow<'r> = PointWindow<'r, CmsCounters>;

/// The section of a run; `None` where no trial ended well.
pub(super) fn section(run: &Run) -> Option<Section> {
    let windows: Vec<CmsWindow<'_>> = windows(run);
    if windows.is_empty() {
        return None;
    }
    let part = |heading, caption, rows, table| Part {
        heading,
        caption,
        fold_beyond: FOLDED,
        rows,
        table,
    };
    let parts = [
        part("", "", "operations", operations(&windows)),
        part(
            "Failures by class",
            "Within the window, by the request at which an operation failed.",
            "classes",
            failures(&windows),
        ),
        part(
            "The matrix that was walked",
            "How often each operation followed each other, against the probabilities of its row; \
             after a failure a user may begin anew, which is no step.",
            "rows",
            row_tests(&windows),
        ),
    ];
    Some(Section {
        id: "cms",
        name: "Operations",
        title: "Operations, failures and the matrix",
        caption: format!("{}. {CAPTION}", loop_type(run)),
        parts: parts
            .into_iter()
            .filter(|part| !part.table.rows.is_empty())
            .collect(),
    })
}

/// What stands on a terminal.
pub(super) fn brief(run: &Run) -> Brief {
    let windows: Vec<CmsWindow<'_>> = windows(run);
    if windows.is_empty() {
        return Brief::default();
    }
    let tests = row_tests(&windows);
    let off: Vec<&str> = tests
        .rows
        .iter()
        .filter(|row| row.last().is_some_and(|kept| kept == "no"))
        .filter_map(|row| Some(row.get(1)?.as_str()))
        .collect();
    let remark = match &off[..] {
        [] => "Operations followed each other as the matrix says (chi-square of each row, 0.1 %)."
            .to_owned(),
        rows => format!(
            "Operations did not follow each other as the matrix says after: {}.",
            rows.join(", ")
        ),
    };
    Brief {
        tables: [operations(&windows), failures(&windows)]
            .into_iter()
            .filter(|table| !table.rows.is_empty())
            .collect(),
        remarks: vec![remark],
    }
}

fn operations(windows: &[CmsWindow<'_>]) -> Table {
    let rows = windows.iter().flat_map(|window| {
        let whole = std::iter::once(None);
        let each = CmsOperation::ALL.into_iter().map(Some);
        each.chain(whole)
            .map(move |operation| cells(window, operation))
    });
    table(&OPERATIONS, rows.collect())
}

/// The row of an operation, or of all together.
fn cells(window: &CmsWindow<'_>, operation: Option<CmsOperation>) -> Vec<String> {
    let counters = &window.counters;
    let total = counters.total();
    let count = operation.map_or(total, |operation| counters.operation(operation));
    let name = operation.map_or(OPERATION, CmsOperation::name);
    let latencies = window.latencies(name);
    let at = |percentile: f64| {
        let us = latencies.supported_percentile_us(percentile);
        format::or_none(us, |us| format::ms_value(us as f64))
    };
    let share = (total.ended() > 0).then(|| count.ended() as f64 / total.ended() as f64);
    let mean = (count.completed > 0).then(|| count.response_us as f64 / count.completed as f64);
    let rate = (counters.window_s > 0.0).then(|| count.completed as f64 / counters.window_s);
    vec![
        window.point.label(),
        name.to_owned(),
        count.completed.to_string(),
        format::or_none(share, format::percent),
        count.primary.to_string(),
        count.consequential.to_string(),
        count.requests.to_string(),
        format::or_none(mean, format::ms_value),
        at(90.0),
        at(99.0),
        format::or_none(rate, format::number),
    ]
}

fn failures(windows: &[CmsWindow<'_>]) -> Table {
    let rows = windows.iter().flat_map(|window| {
        let mut all = window.counters.failures.clone();
        all.sort_by(|a, b| {
            let key = |one: &rookery_workload::cms::FailureCount| {
                (one.consequential, one.operation, one.class.clone())
            };
            key(a).cmp(&key(b))
        });
        let label = window.point.label();
        all.into_iter().map(move |failure| {
            let kind = if failure.consequential {
                "consequential"
            } else {
                "primary"
            };
            vec![
                label.clone(),
                failure.operation.name().to_owned(),
                failure.step,
                failure.class,
                kind.to_owned(),
                failure.count.to_string(),
            ]
        })
    });
    table(&FAILURES, rows.collect())
}

/// The test of each row of the matrix that can be tested.
fn row_tests(windows: &[CmsWindow<'_>]) -> Table {
    let rows = windows.iter().flat_map(|window| {
        let steps = &window.counters.steps;
        let label = window.point.label();
        let rows = steps.operations.iter();
        let rows = rows.zip(steps.transitions.iter().zip(&steps.expected));
        rows.filter_map(move |(name, (counts, expected))| {
            let never = counts
                .iter()
                .zip(expected)
                .any(|(count, probability)| *count > 0 && *probability <= 0.0);
            let test = transition_test(counts, expected);
            let kept = !never && !test.is_some_and(|test| test.is_beyond_chance());
            let steps: u64 = counts.iter().sum();
            (steps > 0).then(|| {
                vec![
                    label.clone(),
                    name.clone(),
                    steps.to_string(),
                    format::or_none(test, |test| format!("{:.2}", test.statistic)),
                    format::or_none(test, |test| format!("{:.2}", test.limit)),
                    if kept { "yes" } else { "no" }.to_owned(),
                ]
            })
        })
    });
    table(&TESTS, rows.collect())
}

#[cfg(test)]
mod tests;
