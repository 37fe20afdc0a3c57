//! What the run says: the numbers of the report.

use rookery_analysis::{
    Analysis,
    estimate::{Estimate, EstimateBasis, Quantile},
    loads::LoadSummary,
    points::{LimitCount, OperationSummary, PointSummary},
    searches::SearchSummary,
};
use rookery_stats::{Spread, Summary};
use rookery_store::{Cell, Store};
use rookery_study::Over;

use super::{number, optional_text, text, whole};
use crate::{
    ExportError, Table,
    column::{self, RowVisitor, Source},
};

pub(super) const RESULTS: Table = Table {
    name: "results",
    row: "point and metric, largest load of a search, and load of a database: the numbers of the report",
    columns: &[
        column::whole(
            "point",
            "Number of the point; nothing for a largest load that no trial confirms.",
        ),
        column::whole(
            "search",
            "Number of the search; nothing for a point of the study.",
        ),
        column::text(
            "label",
            "Short name of the point or the search, as in the report.",
        ),
        column::text("layouts", "The layouts that contain it, joined by commas."),
        column::text(
            "metric",
            "`throughput`, `requests`, `bad_share`, `efficiency` (throughput over that of the one \
             big guest), `guest_cpu`, `throttled_cpu`, `driver_cpu`, `response_mean`, `response_p50` and so on, \
             `largest_load` or `least_memory` of a search, `load_time`, `load_rows` and `load_bytes` of databases, or \
             a metric of the workload.",
        ),
        column::text(
            "operation",
            "The operation that it is of; nothing for all of the point.",
        ),
        column::text("unit", "Its unit; empty for a plain number."),
        column::number(
            "mean",
            "Mean over the good trials; of a percentile: that of all their times.",
        ),
        column::number(
            "low",
            "Lower end of the interval; nothing where nothing bounds it.",
        ),
        column::number("high", "Upper end."),
        column::whole("n", "Number of good trials behind it."),
        column::text(
            "basis",
            "What the interval rests on: `repeats` (95 %, over trials), `range` (two trials), \
             `seconds` (of one trial), `search` (95 %, over its trials), `nothing`.",
        ),
        column::text(
            "limits",
            "Of the point, the same in all its rows: `met` in every trial, `missed` in every judged \
             one, `unsure`, `not judged`.",
        ),
        column::text(
            "wish",
            "Whether the point met the wish of the study for its intervals, the same in all its \
             rows: `met` or `missed`; nothing where the study has none.",
        ),
    ],
    source: Source::Computed(results),
};

/// A number with its interval.
struct Value<'a> {
    metric: &'a str,
    operation: Option<&'a str>,
    unit: &'a str,
    mean: Option<f64>,
    ends: (Option<f64>, Option<f64>),
    n: usize,
    basis: &'static str,
}

/// What all rows of a point have in common.
struct Subject<'a> {
    point: Option<u32>,
    search: Option<u32>,
    label: &'a str,
    layouts: &'a [String],
    limits: &'static str,
    wish: Option<&'static str>,
}

fn results(store: &Store, visit: &mut RowVisitor<'_>) -> Result<(), ExportError> {
    let analysis = Analysis::from_store(store)?;
    for summary in &analysis.points {
        let subject = Subject {
            wish: wish(&analysis, summary),
            ..Subject::of_point(summary, None)
        };
        for value in values(summary) {
            visit(&subject.row(&value))?;
        }
    }
    for search in &analysis.searches {
        search_rows(search, visit)?;
    }
    for load in &analysis.loads {
        load_rows(load, visit)?;
    }
    Ok(())
}

/// Of a template there is no point.
fn load_rows(load: &LoadSummary, visit: &mut RowVisitor<'_>) -> Result<(), ExportError> {
    let subject = Subject {
        point: load.point,
        search: None,
        label: &load.label,
        layouts: &[],
        limits: "not judged",
        wish: None,
    };
    let plain = |metric, unit, mean| Value {
        mean,
        ..Value::plain(metric, unit, load.count)
    };
    for value in estimated("load_time", "s", load.total_s, load.count)
        .into_iter()
        .chain([
            plain("load_rows", "1/s", load.rows_per_s),
            plain("load_bytes", "B/s", load.bytes_per_s),
        ])
        .filter(|value| value.mean.is_some())
    {
        visit(&subject.row(&value))?;
    }
    Ok(())
}

fn search_rows(search: &SearchSummary, visit: &mut RowVisitor<'_>) -> Result<(), ExportError> {
    let subject = match &search.at {
        Some(summary) => Subject::of_point(summary, Some(search.id)),
        None => Subject {
            point: None,
            search: Some(search.id),
            label: &search.label,
            layouts: &search.layouts,
            limits: "not judged",
            wish: None,
        },
    };
    let load = Value {
        metric: match search.over {
            Over::Memory => "least_memory",
            Over::Users | Over::Rate | Over::Guests => "largest_load",
        },
        operation: None,
        unit: search.over.unit(),
        mean: search.load,
        ends: search.edge,
        n: search.tried.len(),
        basis: "search",
    };
    visit(&subject.row(&load))?;
    for value in search.at.iter().flat_map(values) {
        visit(&subject.row(&value))?;
    }
    Ok(())
}

impl<'a> Subject<'a> {
    fn of_point(summary: &'a PointSummary, search: Option<u32>) -> Self {
        Self {
            point: Some(summary.point.id),
            search,
            label: &summary.point.label,
            layouts: &summary.point.layouts,
            limits: limits(summary.limits),
            wish: None,
        }
    }

    fn row<'r>(&'r self, value: &'r Value<'_>) -> [Cell<'r>; 14] {
        [
            whole(self.point),
            whole(self.search),
            text(self.label),
            text(self.layouts.join(", ")),
            text(value.metric),
            optional_text(value.operation),
            text(value.unit),
            number(value.mean),
            number(value.ends.0),
            number(value.ends.1),
            whole(Some(value.n)),
            text(value.basis),
            text(self.limits),
            optional_text(self.wish),
        ]
    }
}

/// Whether a point met the wish of its study.
fn wish(analysis: &Analysis, summary: &PointSummary) -> Option<&'static str> {
    let mut points = analysis.wish.as_ref()?.points.iter();
    let own = points.find(|wished| wished.point == summary.point.id)?;
    Some(if own.met { "met" } else { "missed" })
}

/// A point that was judged otherwise in one trial than in another is unsure.
fn limits(count: LimitCount) -> &'static str {
    match (count.passed, count.failed, count.unjudged) {
        (0, 0, _) => "not judged",
        (_, 0, 0) => "met",
        (0, _, 0) => "missed",
        _ => "unsure",
    }
}

/// Every number of a point, in the order of the report.
fn values(summary: &PointSummary) -> Vec<Value<'_>> {
    let done = summary.done;
    let mut all = Vec::new();
    all.extend(estimated(
        "throughput",
        summary.rate,
        summary.per_minute,
        done,
    ));
    all.extend(estimated(
        "requests",
        "1/s",
        summary.requests_per_second,
        done,
    ));
    all.push(Value {
        mean: summary.error_share(),
        ..Value::plain("bad_share", "share", done)
    });
    if let Some(efficiency) = &summary.efficiency {
        all.push(Value {
            mean: Some(efficiency.value),
            ends: split(efficiency.interval),
            basis: efficiency.interval.map_or("nothing", |_| "repeats"),
            ..Value::plain("efficiency", "share", done)
        });
    }
    all.extend(summarised(
        "guest_cpu",
        "cores",
        summary.guest_cores.as_ref(),
    ));
    all.extend(summarised(
        "throttled_cpu",
        "cores",
        summary.throttled_cores.as_ref(),
    ));
    all.extend(summarised(
        "driver_cpu",
        "share",
        summary.driver_share.as_ref(),
    ));
    for operation in &summary.operations {
        all.extend(response_times(operation, done));
    }
    for metric in &summary.metrics {
        all.extend(summarised(metric.name, metric.unit, Some(&metric.values)));
    }
    all.retain(|value| value.mean.is_some());
    all
}

impl<'a> Value<'a> {
    fn plain(metric: &'a str, unit: &'a str, n: usize) -> Self {
        Self {
            metric,
            operation: None,
            unit,
            mean: None,
            ends: (None, None),
            n,
            basis: "nothing",
        }
    }
}

fn response_times(operation: &OperationSummary, done: usize) -> Vec<Value<'_>> {
    let of = |metric| Value {
        operation: Some(operation.name.as_str()),
        ..Value::plain(metric, "ms", done)
    };
    let mut all = vec![Value {
        mean: operation.mean_us.map(|us| us / 1000.0),
        ..of("response_mean")
    }];
    all.extend(operation.quantiles.iter().map(|quantile| {
        let Quantile {
            value_us, ends_us, ..
        } = quantile;
        Value {
            mean: Some(*value_us as f64 / 1000.0),
            ends: (
                ends_us.0.map(|us| us / 1000.0),
                ends_us.1.map(|us| us / 1000.0),
            ),
            basis: basis(quantile.basis),
            ..of(percentile_name(quantile.percentile))
        }
    }));
    all
}

fn percentile_name(percentile: f64) -> &'static str {
    match percentile {
        50.0 => "response_p50",
        95.0 => "response_p95",
        99.0 => "response_p99",
        99.9 => "response_p999",
        _ => "response_percentile",
    }
}

fn estimated<'a>(
    metric: &'a str,
    unit: &'a str,
    estimate: Option<Estimate>,
    n: usize,
) -> Option<Value<'a>> {
    estimate.map(|estimate| Value {
        mean: Some(estimate.mean),
        ends: split(estimate.ends),
        basis: basis(estimate.basis),
        ..Value::plain(metric, unit, n)
    })
}

fn summarised<'a>(metric: &'a str, unit: &'a str, summary: Option<&Summary>) -> Option<Value<'a>> {
    summary.map(|summary| Value {
        mean: Some(summary.mean),
        ends: split(summary.ends()),
        basis: match summary.spread {
            Spread::Single => "nothing",
            Spread::Range { .. } => "range",
            Spread::Interval { .. } => "repeats",
        },
        ..Value::plain(metric, unit, summary.count as usize)
    })
}

fn split(ends: Option<(f64, f64)>) -> (Option<f64>, Option<f64>) {
    ends.map_or((None, None), |(low, high)| (Some(low), Some(high)))
}

fn basis(basis: EstimateBasis) -> &'static str {
    match basis {
        EstimateBasis::Nothing => "nothing",
        EstimateBasis::Within { .. } => "seconds",
        EstimateBasis::Range => "range",
        EstimateBasis::Repeats { .. } | EstimateBasis::Adaptive { .. } => "repeats",
    }
}
