//! The buffer pool in figures: what it held back from the disk, what passed, how the database grew.

use rookery_analysis::{Run, io::guest_io};
use rookery_stats::IoRates;
use rookery_study::Point;
use rookery_workload::orderentry::DatabaseReadings;

use super::{Trial, mean, over};
use crate::{
    prose::format,
    tables::{Table, table as rows_under},
};

const HEADS: [&str; 10] = [
    "point",
    "hit ratio",
    "asked for",
    "misses per transaction",
    "misses per New-Order",
    "device reads/s",
    "mean device read, KiB",
    "pool of each guest, MiB",
    "database in the window, MiB",
    "growth per New-Order, bytes",
];

/// Beyond this distance the hit ratio missed its target.
const REACHED: f64 = 0.02;
const MIB: f64 = 1_048_576.0;

/// One row for each point whose databases were read; no rows where none was.
pub(super) fn table(points: &[(&Point, Vec<Trial<'_>>)]) -> Table {
    let read = points
        .iter()
        .filter(|(_, trials)| trials.iter().any(|trial| !readings(trial).is_empty()));
    rows_under(
        &HEADS,
        read.map(|(point, trials)| row(point, trials)).collect(),
    )
}

/// The dial: one row for each point whose pool was sized by calibration trials.
pub(super) fn pools(run: &Run) -> Table {
    let heads = [
        "point",
        "hit ratio asked for",
        "found by calibration",
        "pool, MiB",
        "rounds",
    ];
    let rows = run.pools.iter().map(|pool| {
        let point = run
            .header
            .plan
            .points
            .iter()
            .find(|point| point.id == pool.point);
        let rounds = pool.rounds.iter().map(|round| {
            format!(
                "{} MiB: {}",
                format::number(round.bytes as f64 / MIB),
                format::percent(round.hit)
            )
        });
        vec![
            point.map_or_else(|| pool.point.to_string(), Point::label),
            format::percent(pool.target),
            format!(
                "{}, {}",
                format::percent(pool.hit),
                if pool.reached {
                    "reached"
                } else {
                    "not reached"
                }
            ),
            format::number(pool.bytes as f64 / MIB),
            rounds.collect::<Vec<_>>().join("; "),
        ]
    });
    rows_under(&heads, rows.collect())
}

/// What the databases of a trial said.
fn readings(trial: &Trial<'_>) -> Vec<DatabaseReadings> {
    trial
        .counters()
        .filter_map(|counters| counters.database)
        .collect()
}

/// Hit ratio over all guests of a trial.
fn hit_ratio(trial: &Trial<'_>) -> Option<f64> {
    let mut all = DatabaseReadings::default();
    for one in readings(trial) {
        all.logical_reads = all.logical_reads.saturating_add(one.logical_reads);
        all.misses = all.misses.saturating_add(one.misses);
    }
    all.hit_ratio()
}

/// Misses for each of so many things of the window. Readings last a little longer or shorter than
/// the window: both are rates.
fn misses_per(trial: &Trial<'_>, count: f64) -> Option<f64> {
    let rate: f64 = readings(trial)
        .iter()
        .filter(|one| one.seconds > 0.0)
        .map(|one| one.misses as f64 / one.seconds)
        .sum();
    let window_s = trial.measured.window.seconds();
    (count > 0.0 && !readings(trial).is_empty()).then(|| rate * window_s / count)
}

fn row(point: &Point, trials: &[Trial<'_>]) -> Vec<String> {
    let io = |of: fn(&IoRates) -> f64| {
        move |trial: &Trial<'_>| guest_io(&trial.record.resources, trial.measured).map(|io| of(&io))
    };
    let read_kib = |trial: &Trial<'_>| {
        let io = guest_io(&trial.record.resources, trial.measured)?;
        (io.reads_per_s > 0.0).then(|| io.read_bytes_per_s / io.reads_per_s / 1024.0)
    };
    let pool = |trial: &Trial<'_>| {
        readings(trial)
            .iter()
            .find_map(|one| one.pool_bytes)
            .map(|bytes| bytes as f64 / MIB)
    };
    vec![
        point.label(),
        mean(trials, hit_ratio, format::percent),
        target(trials),
        mean(
            trials,
            |trial| misses_per(trial, trial.completed()),
            format::number,
        ),
        mean(
            trials,
            |trial| misses_per(trial, trial.orders()),
            format::number,
        ),
        mean(trials, io(|io| io.reads_per_s), format::number),
        mean(trials, read_kib, format::number),
        mean(trials, pool, format::number),
        sizes(trials),
        mean(trials, growth, format::number),
    ]
}

/// `80.0 %, reached`, `90.0 %, missed by 4.1 points`, `nothing`.
fn target(trials: &[Trial<'_>]) -> String {
    let asked = trials
        .iter()
        .flat_map(readings)
        .find_map(|one| one.hit_target);
    let (Some(asked), Some(measured)) = (asked, over(trials, hit_ratio)) else {
        return asked.map_or_else(|| "nothing".to_owned(), format::percent);
    };
    let off = (measured.mean - asked).abs();
    if off <= REACHED {
        format!("{}, reached", format::percent(asked))
    } else {
        format!(
            "{}, missed by {:.1} points",
            format::percent(asked),
            100.0 * off
        )
    }
}

/// Bytes of the databases of all guests at both readings.
fn bytes(trial: &Trial<'_>) -> Option<(f64, f64)> {
    let each: Option<Vec<(u64, u64)>> = readings(trial)
        .iter()
        .map(|one| Some((one.bytes_before?, one.bytes_after?)))
        .collect();
    let each = each.filter(|each| !each.is_empty())?;
    Some(each.iter().fold((0.0, 0.0), |sum, one| {
        (sum.0 + one.0 as f64, sum.1 + one.1 as f64)
    }))
}

fn sizes(trials: &[Trial<'_>]) -> String {
    let of = |pick: fn((f64, f64)) -> f64| {
        mean(
            trials,
            |trial| bytes(trial).map(|sizes| pick(sizes) / MIB),
            format::number,
        )
    };
    let before = of(|(before, _)| before);
    if before == format::NONE {
        before
    } else {
        format!("{before} to {}", of(|(_, after)| after))
    }
}

/// Growth for each order between both readings; `None` where databases did not grow, as files do in
/// large steps.
fn growth(trial: &Trial<'_>) -> Option<f64> {
    let (before, after) = bytes(trial)?;
    let orders: Option<Vec<u64>> = readings(trial).iter().map(|one| one.new_orders).collect();
    let orders = orders?.iter().sum::<u64>() as f64;
    (after > before && orders > 0.0).then(|| (after - before) / orders)
}
