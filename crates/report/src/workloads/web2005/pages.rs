//! The per-page table.

use rookery_workload::web2005::{PAGE, PageRow};

use super::WebWindow;
use crate::{
    prose::format,
    tables::{Table, table},
};

const HEADS: [&str; 15] = [
    "point",
    "page",
    "total requests",
    "good",
    "tolerable",
    "fail",
    "validation errors",
    "share",
    "mean, ms",
    "p95, ms",
    "p99, ms",
    "average bytes per request",
    "published bytes",
    "weighted ABR, bytes/s",
    "304",
];

/// Columns of the table that a terminal has room for.
const BRIEF: [usize; 10] = [0, 1, 2, 3, 4, 5, 6, 8, 11, 13];

/// One row per point and page type, and one of all page types.
pub(super) fn table_of(windows: &[WebWindow<'_>]) -> Table {
    table(&HEADS, windows.iter().flat_map(rows).collect())
}

/// The same without the columns that a page has room for.
pub(super) fn brief_table(windows: &[WebWindow<'_>]) -> Table {
    let cut = |row: Vec<String>| -> Vec<String> {
        let cells = BRIEF.iter().filter_map(|column| row.get(*column).cloned());
        cells.collect()
    };
    let heads: Vec<&str> = BRIEF.iter().map(|column| HEADS[*column]).collect();
    table(&heads, windows.iter().flat_map(rows).map(cut).collect())
}

fn rows(window: &WebWindow<'_>) -> Vec<Vec<String>> {
    let counters = &window.counters;
    let table = counters.table();
    let published = counters
        .model
        .pages()
        .iter()
        .map(|page| page.published_bytes);
    let types = table.rows.iter().zip(published);
    let mut rows: Vec<Vec<String>> = types
        .map(|(row, published)| cells(window, row, row.name, Some(published)))
        .collect();
    rows.push(cells(window, &table.total, PAGE, None));
    rows
}

fn cells(
    window: &WebWindow<'_>,
    row: &PageRow,
    operation: &str,
    published: Option<f64>,
) -> Vec<String> {
    let latencies = window.latencies(operation);
    let at = |percentile: f64| {
        let us = latencies.supported_percentile_us(percentile);
        format::or_none(us, |us| format::ms_value(us as f64))
    };
    let bytes = |mean: f64| format!("{mean:.0}");
    vec![
        window.point.label(),
        row.name.to_owned(),
        row.requests.to_string(),
        row.good.to_string(),
        row.tolerable.to_string(),
        row.fail.to_string(),
        row.invalid.to_string(),
        format::or_none(row.share, format::percent),
        format::or_none(row.mean_response_s, |mean| format::ms_value(1e6 * mean)),
        at(95.0),
        at(99.0),
        format::or_none(row.mean_bytes, bytes),
        format::or_none(published, bytes),
        format::or_none(row.weighted_abr, |rate| format!("{rate:.1}")),
        format::or_none(row.not_modified, format::percent),
    ]
}
