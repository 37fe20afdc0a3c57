//! What each layer costs: the tables.

use rookery_analysis::layers::{AddedCost, Layer, LayeredPoint};

use super::{Table, labelled};
use crate::prose::{
    format,
    layers::{limited_by, mean, ratio, signless},
};

/// All tables, each with its title; none where there are no layers.
pub(crate) fn tables(points: &[LayeredPoint]) -> Vec<Table> {
    if points.is_empty() {
        return Vec::new();
    }
    let mut all = vec![costs(points), speeds(points)];
    all.extend(super::machines::table(points));
    all
}

/// Those of a terminal: without the median and the p99, and without the accounts of machines, which
/// the page has; lines are long enough.
pub(crate) fn narrow_tables(points: &[LayeredPoint]) -> Vec<Table> {
    if points.is_empty() {
        return Vec::new();
    }
    let kept = |cells: Vec<String>| {
        [0, 1, 2, 3, 4, 7, 8, 11]
            .iter()
            .filter_map(|column| cells.get(*column).cloned())
            .collect()
    };
    let speeds = speeds(points);
    let narrow = Table {
        label: speeds.label,
        heads: kept(speeds.heads),
        rows: speeds.rows.into_iter().map(kept).collect(),
    };
    vec![costs(points), narrow]
}

/// One row per point and layer.
fn rows(points: &[LayeredPoint], cells: impl Fn(&Layer) -> Vec<String>) -> Vec<Vec<String>> {
    let of_layer = |point: &LayeredPoint, layer: &Layer| {
        let mut row = vec![point.label.clone(), layer.name()];
        row.extend(cells(layer));
        row
    };
    let of_point = |point| move |layer| of_layer(point, layer);
    points
        .iter()
        .flat_map(|point| point.layers.iter().map(of_point(point)))
        .collect()
}

/// Host CPU per operation, and what each layer adds.
fn costs(points: &[LayeredPoint]) -> Table {
    let part = |layer: &Layer, of: fn(&rookery_stats::CpuParts) -> f64| {
        format::or_none(layer.parts_us.as_ref(), |parts| format::number(of(parts)))
    };
    let cells = |layer: &Layer| {
        vec![
            format::or_none(layer.cpu_us.as_ref(), mean),
            part(layer, |parts| parts.user),
            part(layer, |parts| parts.system),
            part(layer, |parts| parts.guest),
            part(layer, |parts| parts.emulator),
            format::or_none(layer.tax_us.as_ref(), adds),
            format::or_none(layer.cpu_ratio.as_ref(), ratio),
            format::or_none(layer.elsewhere_us.as_ref(), mean),
        ]
    };
    let unit = points.first().map_or("", |point| point.unit);
    let host_cpu = format!("host CPU per {unit}, µs");
    let heads = [
        "point",
        "layer",
        &host_cpu,
        "user",
        "system",
        "guest",
        "emulator",
        "adds to the layer below, µs",
        "times the lowest",
        "rest of the host, µs",
    ];
    labelled(&format!("Host CPU per {unit}"), &heads, rows(points, cells))
}

/// `+31 (−5 to 67)`.
fn adds(tax: &AddedCost) -> String {
    let sign = if tax.value > 0.0 { "+" } else { "" };
    let interval = tax.interval.map_or_else(String::new, |(low, high)| {
        format!(" ({} to {})", signless(low), signless(high))
    });
    format!("{sign}{}{interval}", signless(tax.value))
}

/// Throughput and percentiles, with their ratios to the lowest layer.
fn speeds(points: &[LayeredPoint]) -> Table {
    let cells = |layer: &Layer| {
        let mut cells = vec![
            format::or_none(layer.per_minute.as_ref(), mean),
            format::or_none(layer.throughput_ratio.as_ref(), ratio),
            layer.limit.map_or(format::NONE, limited_by).to_owned(),
        ];
        for percentile in &layer.percentiles {
            cells.push(format::or_none(percentile.ms.as_ref(), mean));
            cells.push(format::or_none(percentile.ratio.as_ref(), ratio));
        }
        let left_out = match layer.left_out {
            0 => String::new(),
            count => format!(", {count} left out"),
        };
        cells.push(format!("{}{left_out}", layer.trials));
        cells
    };
    let heads = [
        "point",
        "layer",
        points.first().map_or("", |point| point.rate),
        "times the lowest",
        "limited by",
        "p50, ms",
        "times",
        "p95, ms",
        "times",
        "p99, ms",
        "times",
        "trials",
    ];
    labelled("Throughput and response times", &heads, rows(points, cells))
}
