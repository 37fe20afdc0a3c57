//! I/O of the guests against the ceiling of their storage: what a queue-depth sweep of the same storage reached. Pure.

use rookery_judge::io::{guest_io, host_io};
use rookery_stats::{IoRates, Measurement, ResourceSample, Summary};
use rookery_study::{Point, Purpose};
use serde::Deserialize;

use crate::{
    Run,
    figures::{Datum, Figure, Mark, Panel, Series, Table, one_panel},
    format,
};

/// What a pool of storage can do, as `rookery host storage` measured it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Ceiling {
    /// The pool in words.
    pub pool: String,
    /// What measured it.
    pub tool: String,
    /// Patterns, block sizes, depths.
    pub points: Vec<CeilingPoint>,
}

/// One measured point of a sweep.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct CeilingPoint {
    /// `read` or `write`.
    pub pattern: String,
    /// Size of a request, KiB.
    pub block_kib: u32,
    /// Requests under way at once.
    pub depth: u32,
    /// Requests per second.
    pub iops: f64,
    /// Mean time of a request, us.
    pub mean_us: f64,
}

/// Reads or writes.
#[derive(Clone, Copy)]
pub(crate) struct Way {
    /// As patterns of a sweep are named.
    pub(crate) pattern: &'static str,
    pub(crate) label: &'static str,
    rate: fn(&IoRates) -> f64,
}

pub(crate) const WAYS: [Way; 2] = [
    Way {
        pattern: "read",
        label: "reads",
        rate: |io| io.reads_per_s,
    },
    Way {
        pattern: "write",
        label: "writes",
        rate: |io| io.writes_per_s,
    },
];

/// Requests per second of every point, with the ceilings as dashed lines; `None` where no guest's I/O was counted.
///
/// Where the kernel does not count for each guest, the disks of the host stand for them.
pub(crate) fn figure(run: &Run, ceilings: &[Ceiling]) -> Option<Figure> {
    let measured = |of: Counter| -> Vec<(&Point, Vec<IoRates>)> {
        let points = run
            .header
            .plan
            .study_points()
            .map(|point| (point, rates(run, point, of)));
        points.filter(|(_, rates)| !rates.is_empty()).collect()
    };
    let of_guests = measured(guest_io);
    let (who, measured) = if of_guests.is_empty() {
        ("the host's disks", measured(host_io))
    } else {
        ("the guests", of_guests)
    };
    let panels: Vec<Panel> = WAYS
        .iter()
        .filter_map(|way| panel(*way, who, &measured, ceilings))
        .collect();
    (!panels.is_empty()).then(|| Figure {
        id: "io-ceiling",
        title: "I/O per second against the ceiling of the disk".to_owned(),
        caption: format!(
            "{}. {} inside the window, mean over good trials; whiskers: range of the trials. {}",
            crate::loop_type::loop_type(run),
            if who == "the guests" {
                "Requests of all guests to block devices"
            } else {
                "The kernel did not count for each guest: requests to all disks of the host, other work included,"
            },
            if ceilings.is_empty() {
                "No ceiling is known: `rookery host storage --run` measures that of this run's storage.".to_owned()
            } else {
                format!(
                    "Dashed: the most that {} got from the same storage, at any queue depth.",
                    tools(ceilings)
                )
            }
        ),
        panels,
        tables: shares(who, &measured, ceilings),
        ..Figure::default()
    })
}

/// Rates of a trial.
type Counter = fn(&[ResourceSample], &Measurement) -> Option<IoRates>;

/// Rates of the good trials of a point.
fn rates(run: &Run, point: &Point, of: Counter) -> Vec<IoRates> {
    let own = run.trials.iter().filter(|trial| {
        trial.row.trial.point == point.id && trial.row.trial.purpose == Purpose::Study
    });
    own.filter_map(|trial| trial.valid())
        .filter_map(|(record, measured)| of(&record.resources, measured))
        .collect()
}

fn tools(ceilings: &[Ceiling]) -> String {
    let mut tools: Vec<&str> = ceilings
        .iter()
        .map(|ceiling| ceiling.tool.as_str())
        .collect();
    tools.dedup();
    tools.join(", ")
}

fn panel(
    way: Way,
    who: &str,
    measured: &[(&Point, Vec<IoRates>)],
    ceilings: &[Ceiling],
) -> Option<Panel> {
    let datum = |(point, rates): &(&Point, Vec<IoRates>)| {
        let values: Vec<f64> = rates.iter().map(way.rate).collect();
        let summary = Summary::of(&values)?;
        let ends = values
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(*value), high.max(*value))
            });
        let mut datum = Datum::named(&point.label(), summary.mean);
        datum.ends = (values.len() > 1).then_some(ends);
        Some(datum)
    };
    let data: Vec<Datum> = measured.iter().filter_map(datum).collect();
    if data.iter().all(|datum| datum.y <= 0.0) {
        return None;
    }
    let names: Vec<String> = measured.iter().map(|(point, _)| point.label()).collect();
    let mut series = vec![Series {
        name: format!("{} of {who}", way.label),
        mark: Mark::Bars,
        data,
    }];
    series.extend(
        highest(way, ceilings)
            .into_iter()
            .enumerate()
            .map(|(index, (name, most))| Series {
                name,
                mark: Mark::Rival(index),
                data: names
                    .iter()
                    .map(|point| Datum::named(point, most))
                    .collect(),
            }),
    );
    let mut panel = one_panel("point", &format!("{}/s", way.label), series).pop()?;
    panel.label = way.label.to_owned();
    Some(panel)
}

/// The most of each pool and block size, with its name and depth.
fn highest(way: Way, ceilings: &[Ceiling]) -> Vec<(String, f64)> {
    let mut found: Vec<(String, f64)> = Vec::new();
    for ceiling in ceilings {
        let mut of_block: Vec<&CeilingPoint> = Vec::new();
        for point in ceiling
            .points
            .iter()
            .filter(|point| point.pattern == way.pattern && point.iops.is_finite())
        {
            match of_block
                .iter_mut()
                .find(|known| known.block_kib == point.block_kib)
            {
                Some(known) if known.iops < point.iops => *known = point,
                Some(_) => {}
                None => of_block.push(point),
            }
        }
        let pool = if ceilings.len() > 1 {
            format!("{}: ", ceiling.pool)
        } else {
            String::new()
        };
        let name = |point: &CeilingPoint| {
            let (block, depth) = (point.block_kib, point.depth);
            format!(
                "{pool}ceiling, random {} of {block} KiB (depth {depth})",
                way.label
            )
        };
        found.extend(of_block.into_iter().map(|point| (name(point), point.iops)));
    }
    found
}

/// How much of the ceiling each point used.
fn shares(who: &str, measured: &[(&Point, Vec<IoRates>)], ceilings: &[Ceiling]) -> Vec<Table> {
    let mut heads = vec!["point".to_owned()];
    let mut columns: Vec<(Way, Option<f64>)> = Vec::new();
    for way in WAYS {
        heads.push(format!("{}/s", way.label));
        columns.push((way, None));
        for (name, most) in highest(way, ceilings) {
            heads.push(format!("share of {name}"));
            columns.push((way, Some(most)));
        }
    }
    let row = |(point, rates): &(&Point, Vec<IoRates>)| {
        let cell = |(way, most): &(Way, Option<f64>)| {
            let mean = rates.iter().map(way.rate).sum::<f64>() / rates.len() as f64;
            match most {
                Some(most) => format::percent(mean / most),
                None => format::number(mean),
            }
        };
        std::iter::once(point.label())
            .chain(columns.iter().map(cell))
            .collect()
    };
    let pools: Vec<&str> = ceilings
        .iter()
        .map(|ceiling| ceiling.pool.as_str())
        .collect();
    vec![Table {
        label: if pools.is_empty() {
            format!("I/O of {who}")
        } else {
            format!(
                "I/O of {who}, and its share of the ceiling of {}",
                pools.join("; ")
            )
        },
        heads,
        rows: measured.iter().map(row).collect(),
    }]
}
