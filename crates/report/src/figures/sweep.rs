//! What storage can do, drawn: requests per second and their time against the queue depth.

use rookery_analysis::storage::{Ceiling, CeilingPoint, Direction};

use super::{
    ceiling::name,
    data::{Datum, Figure, Mark, Panel, Row, Series},
};

/// The sweeps of a run's pools; `None` where none was measured.
pub(crate) fn figure(ceilings: &[Ceiling]) -> Option<Figure> {
    let panels: Vec<Panel> = Direction::ALL
        .into_iter()
        .filter_map(|direction| panel(direction.pattern(), name(direction), ceilings))
        .collect();
    let pools: Vec<String> = ceilings
        .iter()
        .map(|ceiling| format!("{} ({})", ceiling.pool, ceiling.tool))
        .collect();
    (!panels.is_empty()).then(|| Figure {
        id: "storage-sweep".to_owned(),
        title: "What the storage can do".to_owned(),
        caption: format!(
            "Random requests past the cache of the system, at growing queue depths, with no guest \
             beside them: {}. More requests under way at once \
             bring more of them per second until the storage is busy; then they only wait longer.",
            pools.join("; ")
        ),
        panels,
        ..Figure::default()
    })
}

/// Requests per second above, their time below.
fn panel(pattern: &str, label: &str, ceilings: &[Ceiling]) -> Option<Panel> {
    let row = |title: String, what: &str, value: &dyn Fn(&CeilingPoint) -> f64| {
        let of_pool = |ceiling: &Ceiling| {
            let pool = if ceilings.len() > 1 {
                format!("{}: ", ceiling.pool)
            } else {
                String::new()
            };
            series(ceiling, pattern, &format!("{pool}{what}"), value)
        };
        Row {
            y_title: title,
            series: ceilings.iter().flat_map(of_pool).collect(),
            ..Row::default()
        }
    };
    let rows = vec![
        row(format!("{label}/s"), label, &|point| point.iops),
        row("mean time, ms".to_owned(), "time", &|point| {
            point.mean_us / 1000.0
        }),
    ];
    rows.iter()
        .all(|row| !row.series.is_empty())
        .then(|| Panel {
            label: label.to_owned(),
            x_title: "requests under way at once".to_owned(),
            rows,
            ..Panel::default()
        })
}

/// One line for each size of requests, smallest first.
fn series(
    ceiling: &Ceiling,
    pattern: &str,
    what: &str,
    value: &dyn Fn(&CeilingPoint) -> f64,
) -> Vec<Series> {
    let own = || {
        ceiling
            .points
            .iter()
            .filter(|point| point.pattern == pattern)
    };
    let mut blocks: Vec<u32> = own().map(|point| point.block_kib).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let line = |block: u32| {
        let points = own().filter(|point| point.block_kib == block);
        let mut points: Vec<(u32, f64)> = points.map(|point| (point.depth, value(point))).collect();
        points.retain(|(_, value)| value.is_finite());
        points.sort_by_key(|(depth, _)| *depth);
        Series {
            name: format!("{what} of {block} KiB"),
            mark: Mark::Dots,
            data: points
                .iter()
                .map(|(depth, value)| Datum::named(&depth.to_string(), *value))
                .collect(),
        }
    };
    blocks
        .into_iter()
        .map(line)
        .filter(|series| !series.data.is_empty())
        .collect()
}
