//! I/O of the guests against the ceiling of their storage.

use rookery_analysis::{
    Analysis, Run,
    storage::{Ceiling, Direction, Highest, PointIo, highest},
};
use rookery_stats::Summary;

use super::data::{Datum, Figure, Mark, Panel, Series, one_panel};
use crate::{
    prose::{format, loop_type::loop_type},
    tables::Table,
};

/// Name of a direction in legends.
pub(super) fn name(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "reads",
        Direction::Write => "writes",
    }
}

/// Requests per second of every point, with the ceilings as dashed lines; `None` where no I/O was
/// counted.
///
/// Where the kernel does not count for each guest, the disks of the host stand for them.
pub(crate) fn figure(run: &Run, analysis: &Analysis, ceilings: &[Ceiling]) -> Option<Figure> {
    let storage = &analysis.storage;
    let who = if storage.of_guests {
        "the guests"
    } else {
        "the host's disks"
    };
    let panels: Vec<Panel> = Direction::ALL
        .into_iter()
        .filter_map(|direction| panel(direction, who, &storage.points, ceilings))
        .collect();
    // Requests to the disks of the host, beside no ceiling, are about other work as well: no
    // figure.
    if !storage.of_guests && ceilings.is_empty() {
        return None;
    }
    (!panels.is_empty()).then(|| Figure {
        id: "io-ceiling".to_owned(),
        title: "I/O per second against the ceiling of the disk".to_owned(),
        caption: format!(
            "{}. {} inside the window, mean over good trials; error bars: range of the trials. {}",
            loop_type(run),
            if storage.of_guests {
                "Requests of all guests to block devices"
            } else {
                "The kernel did not count for each guest: requests to all disks of the host, other \
                 work included,"
            },
            if ceilings.is_empty() {
                "No ceiling is known: `rookery host storage --run` measures that of this run's \
                 storage."
                    .to_owned()
            } else {
                format!(
                    "Dashed: the most that {} got from the same storage, at any queue depth.",
                    tools(ceilings)
                )
            }
        ),
        panels,
        tables: vec![shares(who, &storage.points, ceilings)],
        ..Figure::default()
    })
}

fn tools(ceilings: &[Ceiling]) -> String {
    let mut tools: Vec<&str> = ceilings
        .iter()
        .map(|ceiling| ceiling.tool.as_str())
        .collect();
    tools.dedup();
    tools.join(", ")
}

fn rates(direction: Direction, point: &PointIo) -> Vec<f64> {
    let trials = point.trials.iter();
    trials.map(|rates| direction.rate(rates)).collect()
}

fn datum(direction: Direction, point: &PointIo) -> Option<Datum> {
    let values = rates(direction, point);
    let summary = Summary::from_values(&values)?;
    let mut datum = Datum::named(&point.label, summary.mean);
    datum.ends = (values.len() > 1).then_some((summary.min, summary.max));
    Some(datum)
}

fn panel(
    direction: Direction,
    who: &str,
    points: &[PointIo],
    ceilings: &[Ceiling],
) -> Option<Panel> {
    let data: Vec<Datum> = points
        .iter()
        .filter_map(|point| datum(direction, point))
        .collect();
    if data.iter().all(|datum| datum.y <= 0.0) {
        return None;
    }
    let mut series = vec![Series {
        name: format!("{} of {who}", name(direction)),
        mark: Mark::Bars,
        data,
    }];
    let most = highest(direction, ceilings);
    series.extend(most.iter().enumerate().map(|(index, most)| {
        Series {
            name: ceiling_name(direction, most, ceilings),
            mark: Mark::Rival(index),
            data: points
                .iter()
                .map(|point| Datum::named(&point.label, most.point.iops))
                .collect(),
        }
    }));
    let y_title = format!("{}/s", name(direction));
    let mut panel = one_panel("point", &y_title, series).pop()?;
    panel.label = name(direction).to_owned();
    Some(panel)
}

/// `ceiling, random reads of 16 KiB (depth 32)`, with the pool where there are several.
fn ceiling_name(direction: Direction, most: &Highest<'_>, ceilings: &[Ceiling]) -> String {
    let pool = if ceilings.len() > 1 {
        format!("{}: ", most.pool)
    } else {
        String::new()
    };
    format!(
        "{pool}ceiling, random {} of {} KiB (depth {})",
        name(direction),
        most.point.block_kib,
        most.point.depth
    )
}

/// How much of the ceiling each point used.
fn shares(who: &str, points: &[PointIo], ceilings: &[Ceiling]) -> Table {
    let mut heads = vec!["point".to_owned()];
    let mut columns: Vec<(Direction, Option<f64>)> = Vec::new();
    for direction in Direction::ALL {
        heads.push(format!("{}/s", name(direction)));
        columns.push((direction, None));
        for most in highest(direction, ceilings) {
            let name = ceiling_name(direction, &most, ceilings);
            heads.push(format!("share of {name}"));
            columns.push((direction, Some(most.point.iops)));
        }
    }
    let pools: Vec<&str> = ceilings
        .iter()
        .map(|ceiling| ceiling.pool.as_str())
        .collect();
    Table {
        label: if pools.is_empty() {
            format!("I/O of {who}")
        } else {
            format!(
                "I/O of {who}, and its share of the ceiling of {}",
                pools.join("; ")
            )
        },
        heads,
        rows: points
            .iter()
            .map(|point| share_row(point, &columns))
            .collect(),
    }
}

fn share_row(point: &PointIo, columns: &[(Direction, Option<f64>)]) -> Vec<String> {
    let cells = columns.iter().map(|(direction, most)| {
        let rates = rates(*direction, point);
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        match most {
            Some(most) => format::percent(mean / most),
            None => format::number(mean),
        }
    });
    std::iter::once(point.label.clone()).chain(cells).collect()
}
