//! The workload's own metrics, from its list.

use rookery_analysis::{metrics::MetricSummary, points::PointSummary};
use rookery_workload::Better;

use super::{Table, table};
use crate::prose::format;

/// The metrics that a point has a value of, each once, in the workload's order.
fn all(points: &[PointSummary]) -> Vec<&MetricSummary> {
    let mut all: Vec<&MetricSummary> = Vec::new();
    for metric in points.iter().flat_map(|point| &point.metrics) {
        if !all.iter().any(|known| known.name == metric.name) {
            all.push(metric);
        }
    }
    all
}

/// One row for each point, one column for each metric.
pub(crate) fn values(points: &[PointSummary]) -> Table {
    let metrics = all(points);
    let rows = points.iter().map(|point| {
        let value = |wanted: &&MetricSummary| {
            let own = point.metrics.iter().find(|own| own.name == wanted.name);
            format::or_none(own, |own| format::summary(&own.values))
        };
        let mut row = vec![point.point.label.clone()];
        row.extend(metrics.iter().map(value));
        row
    });
    let mut heads = vec!["point"];
    heads.extend(metrics.iter().map(|metric| metric.name));
    table(&heads, rows.collect())
}

/// What each metric is.
pub(crate) fn meanings(points: &[PointSummary]) -> Table {
    let rows = all(points).into_iter().map(|metric| {
        vec![
            metric.name.to_owned(),
            metric.unit.to_owned(),
            match metric.better {
                Better::Higher => "more",
                Better::Lower => "less",
                Better::Neither => format::NONE,
            }
            .to_owned(),
            metric.meaning.to_owned(),
        ]
    });
    table(&["metric", "unit", "better", "meaning"], rows.collect())
}
