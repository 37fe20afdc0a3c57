//! What only order entry has: nopm and tpm, each type of transaction, the database's buffer pool
//! and growth, what retries and clients cost.

mod buffer;
mod conditions;

use rookery_analysis::{Analysis, Run, cpu};
use rookery_stats::{Measurement, Summary};
use rookery_store::TrialRecord;
use rookery_study::{Point, Purpose, WorkloadKind};
use rookery_workload::orderentry::{OrderEntryCounters, TRANSACTIONS, TransactionCounters};

use super::{Brief, Part, Section};
use crate::{
    prose::{format, loop_type::loop_type},
    tables::{Table, table},
};

/// How the section is to be read.
const CAPTION: &str = "nopm is committed New-Orders per minute \
                       of the window, without those that roll back on purpose (1 %). tpm counts \
                       all completed transactions per minute, rolled-back New-Orders included. All \
                       guests of a point together, means over good trials. Figures of different \
                       statement modes are not to be compared, hit ratios only within one engine \
                       and statement mode. These are figures of this workload alone, not results \
                       of any standard benchmark.";

/// More rows than this are closed at first.
const FOLDED: usize = 30;
/// A table that is never closed.
const NEVER: usize = usize::MAX;

/// The tables of the section; all without rows where no trial ended well.
struct Tables {
    /// nopm, tpm and what they were measured under.
    figures: Table,
    /// One row per point and type of transaction.
    types: Table,
    /// Hit ratio, misses, device reads, growth.
    buffer: Table,
    /// How the buffer pools were sized to hold a hit ratio.
    pools: Table,
    /// Retries, connections, what the driver and the guests spent.
    costs: Table,
}

impl Tables {
    /// What all figures were measured under, taken out of their table; `None` where it is not the
    /// same for all.
    fn take_common_conditions(&mut self) -> Option<String> {
        let words = self.figures.rows.first()?.last()?.clone();
        if self
            .figures
            .rows
            .iter()
            .any(|row| row.last() != Some(&words))
        {
            return None;
        }
        self.figures.heads.pop();
        self.figures.rows.iter_mut().for_each(|row| drop(row.pop()));
        Some(words)
    }
}

/// The section of a run; `None` where no trial ended well.
pub(super) fn section(run: &Run, analysis: &Analysis) -> Option<Section> {
    let tables = tables(run, analysis);
    if tables.figures.rows.is_empty() {
        return None;
    }
    let part = |heading, caption, fold_beyond, table| Part {
        heading,
        caption,
        fold_beyond,
        rows: "rows",
        table,
    };
    let parts = [
        part("", "", NEVER, tables.figures),
        part(
            "Transactions by type",
            "Counts and times over all good trials of a point together, retries included in the \
             times. A percentile stands only where enough transactions carry it.",
            FOLDED,
            tables.types,
        ),
        part(
            "Buffer pool and growth",
            "Hit ratio, misses and sizes by the servers' own counters over the window, all guests \
             of a point together. A hit ratio within 2 points of the one asked for is reached.",
            NEVER,
            tables.buffer,
        ),
        part(
            "Calibration of the buffer pools",
            "Trials of calibration are in no average. Each pool is held for all trials of its \
             point.",
            NEVER,
            tables.pools,
        ),
        part(
            "Retries and costs",
            "Retries and connections of the whole trial. The driver's cost is what the terminals \
             took of its CPUs within the window.",
            NEVER,
            tables.costs,
        ),
    ];
    Some(Section {
        id: "orderentry",
        name: "Order entry",
        title: "Order entry: nopm and tpm",
        caption: format!("{}. {CAPTION}", loop_type(run)),
        parts: parts
            .into_iter()
            .filter(|part| !part.table.rows.is_empty())
            .collect(),
    })
}

/// What stands on a terminal; types of transactions are left to the page.
pub(super) fn brief(run: &Run, analysis: &Analysis) -> Brief {
    let mut tables = tables(run, analysis);
    let conditions = tables.take_common_conditions();
    Brief {
        tables: vec![tables.figures, tables.buffer, tables.costs],
        remarks: conditions
            .map(|words| format!("Order entry, measured under: {words}."))
            .into_iter()
            .collect(),
    }
}

/// A good trial of order entry.
struct Trial<'a> {
    record: &'a TrialRecord,
    measured: &'a Measurement,
}

impl Trial<'_> {
    /// The counters of the guests.
    fn counters(&self) -> impl Iterator<Item = &OrderEntryCounters> {
        self.measured
            .guests
            .iter()
            .filter_map(|guest| guest.counters.orderentry())
    }

    /// A count over all guests.
    fn sum(&self, of: impl Fn(&OrderEntryCounters) -> u64) -> f64 {
        self.counters().map(|counters| of(counters) as f64).sum()
    }

    /// Transactions that completed in the window.
    fn completed(&self) -> f64 {
        self.sum(OrderEntryCounters::completed)
    }

    /// Committed New-Orders of the window.
    fn orders(&self) -> f64 {
        self.sum(|counters| {
            counters
                .transaction(rookery_workload::orderentry::NEW_ORDER)
                .map_or(0, |orders| orders.completed)
        })
    }
}

/// The good trials of a point of the study.
fn trials<'a>(run: &'a Run, point: &Point) -> Vec<Trial<'a>> {
    let own = run.trials.iter().filter(|trial| {
        trial.row.trial.point == point.id && trial.row.trial.purpose == Purpose::Study
    });
    own.filter_map(|trial| trial.valid())
        .filter(|(_, measured)| measured.workload() == Some(WorkloadKind::Orderentry))
        .map(|(record, measured)| Trial { record, measured })
        .collect()
}

/// Mean and spread of a value over trials; trials without it are left out.
fn over(trials: &[Trial<'_>], of: impl Fn(&Trial<'_>) -> Option<f64>) -> Option<Summary> {
    let values: Vec<f64> = trials
        .iter()
        .filter_map(of)
        .filter(|value| value.is_finite())
        .collect();
    Summary::from_values(&values)
}

/// Mean of a value over trials, shown.
fn mean(
    trials: &[Trial<'_>],
    of: impl Fn(&Trial<'_>) -> Option<f64>,
    show: impl Fn(f64) -> String,
) -> String {
    format::or_none(over(trials, of), |summary| show(summary.mean))
}

fn tables(run: &Run, analysis: &Analysis) -> Tables {
    let points: Vec<(&Point, Vec<Trial<'_>>)> = run
        .header
        .plan
        .study_points()
        .map(|point| (point, trials(run, point)))
        .filter(|(_, trials)| !trials.is_empty())
        .collect();
    let rows = |row: &dyn Fn(&Point, &[Trial<'_>]) -> Vec<String>| {
        points
            .iter()
            .map(|(point, trials)| row(point, trials))
            .collect()
    };
    Tables {
        figures: table(
            &FIGURES,
            rows(&|point, trials| figures_row(run, analysis, point, trials)),
        ),
        types: table(
            &TYPES,
            points
                .iter()
                .flat_map(|(point, trials)| type_rows(run, point, trials))
                .collect(),
        ),
        buffer: buffer::table(&points),
        pools: buffer::pools(run),
        costs: table(&COSTS, rows(&costs_row)),
    }
}

const FIGURES: [&str; 8] = [
    "point",
    "nopm",
    "tpm",
    "nopm by the database",
    "rolled back",
    "failed or unknown",
    "deliveries short of orders",
    "measured under",
];

fn figures_row(run: &Run, analysis: &Analysis, point: &Point, trials: &[Trial<'_>]) -> Vec<String> {
    let nopm = analysis
        .point(point.id)
        .and_then(|summary| summary.per_minute);
    let tpm = over(trials, |trial| {
        Some(trial.counters().map(|counters| counters.tpm).sum())
    });
    let of_database = |trial: &Trial<'_>| {
        let each: Option<Vec<f64>> = trial
            .counters()
            .map(|counters| counters.database?.nopm())
            .collect();
        each.map(|each| each.iter().sum())
    };
    let share = |of: fn(&OrderEntryCounters) -> u64, all: &dyn Fn(&Trial<'_>) -> f64| {
        let value = |trial: &Trial<'_>| Some(trial.sum(of) / all(trial));
        mean(trials, value, format::percent)
    };
    let deliveries = |trial: &Trial<'_>| {
        trial.sum(|counters| {
            counters
                .transaction("delivery")
                .map_or(0, |deliveries| deliveries.completed)
        })
    };
    vec![
        point.label(),
        format::or_none(nopm.as_ref(), format::estimate),
        format::or_none(tpm.as_ref(), format::summary),
        mean(trials, of_database, format::number),
        share(|counters| counters.rolled_back, &|trial| {
            trial.orders() + trial.sum(|counters| counters.rolled_back)
        }),
        share(OrderEntryCounters::lost, &|trial| {
            trial.sum(OrderEntryCounters::attempts)
        }),
        share(|counters| counters.short_deliveries, &deliveries),
        conditions::words(run, point, trials),
    ]
}

/// Percentiles of each type; a value stands only where enough transactions carry it.
const PERCENTILES: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];

const TYPES: [&str; 14] = [
    "point",
    "transaction",
    "completed",
    "share",
    "asked for",
    "mean, ms",
    "p50, ms",
    "p90, ms",
    "p95, ms",
    "p99, ms",
    "p99.9, ms",
    "max, ms",
    "retries",
    "failed, unknown",
];

/// One row for each type of transaction: counts over all good trials, times of all of them
/// together.
fn type_rows(run: &Run, point: &Point, trials: &[Trial<'_>]) -> Vec<Vec<String>> {
    let asked = run.header.plan.study_of(point).intent().mix;
    let all: f64 = trials.iter().map(Trial::completed).sum();
    let row = |(index, name): (usize, &str)| {
        let sum = |of: fn(&TransactionCounters) -> u64| -> u64 {
            let counters = trials.iter().flat_map(|trial| trial.counters());
            counters
                .filter_map(|counters| counters.transaction(name))
                .map(of)
                .fold(0, u64::saturating_add)
        };
        let rolled_back = if name == rookery_workload::orderentry::NEW_ORDER {
            trials
                .iter()
                .map(|trial| trial.sum(|counters| counters.rolled_back))
                .sum()
        } else {
            0.0
        };
        let completed = sum(|counters| counters.completed) as f64 + rolled_back;
        let mut latencies = rookery_stats::Latencies::new();
        trials
            .iter()
            .for_each(|trial| latencies.merge(&trial.measured.latencies(name)));
        let ms = |us: Option<f64>| format::or_none(us, format::ms_value);
        let at = |percentile: f64| {
            ms(latencies
                .supported_percentile_us(percentile)
                .map(|us| us as f64))
        };
        let mut cells = vec![
            point.label(),
            name.to_owned(),
            format!("{completed:.0}"),
            format::percent(completed / all),
            format::or_none(asked.get(index), |asked| format::percent(asked.share)),
            ms(latencies.mean_us()),
        ];
        cells.extend(PERCENTILES.map(at));
        cells.extend([
            ms(latencies.max_us().map(|us| us as f64)),
            sum(|counters| counters.retries).to_string(),
            format!(
                "{}, {}",
                sum(|counters| counters.failed),
                sum(|counters| counters.unknown)
            ),
        ]);
        cells
    };
    TRANSACTIONS.iter().copied().enumerate().map(row).collect()
}

const COSTS: [&str; 8] = [
    "point",
    "retries per 1000 transactions",
    "by cause",
    "connections made again",
    "driver CPU, s per 1000 transactions",
    "driver CPU",
    "guest CPU, s per 1000 transactions",
    "deferred deliveries within 80 s",
];

fn costs_row(point: &Point, trials: &[Trial<'_>]) -> Vec<String> {
    let per_thousand = |seconds: f64, trial: &Trial<'_>| Some(1000.0 * seconds / trial.completed());
    let retries = |trial: &Trial<'_>| {
        let retries = trial.sum(|counters| {
            let each = counters
                .transactions
                .iter()
                .map(|transaction| transaction.retries);
            each.fold(0, u64::saturating_add)
        });
        per_thousand(retries, trial)
    };
    let driver = |trial: &Trial<'_>| {
        let quality = &trial.measured.driver;
        per_thousand(
            quality.cpu_share * quality.cpus.len() as f64 * trial.measured.window.seconds(),
            trial,
        )
    };
    let guests = |trial: &Trial<'_>| {
        let cores = cpu::guest_cores(&trial.record.resources, trial.measured)?;
        per_thousand(cores * trial.measured.window.seconds(), trial)
    };
    let bound = |share: f64| {
        let words = if share > CLIENT_BOUND {
            ", client-bound"
        } else {
            ""
        };
        format!("{}{words}", format::percent(share))
    };
    vec![
        point.label(),
        mean(trials, retries, format::number),
        causes(trials),
        mean(
            trials,
            |trial| Some(trial.sum(|counters| counters.reconnections)),
            format::number,
        ),
        mean(trials, driver, format::number),
        mean(trials, |trial| Some(trial.measured.driver.cpu_share), bound),
        mean(trials, guests, format::number),
        deferred(trials),
    ]
}

/// A driver that uses more of its CPUs than this holds the guests back.
const CLIENT_BOUND: f64 = 0.8;

/// `deadlock 12, lock timeout 1`, over all good trials; `none`.
fn causes(trials: &[Trial<'_>]) -> String {
    let mut sums: Vec<(&str, u64)> = Vec::new();
    let tallies = trials
        .iter()
        .flat_map(|trial| trial.counters())
        .flat_map(|counters| &counters.retries);
    for tally in tallies.filter(|tally| tally.count > 0) {
        match sums.iter_mut().find(|(cause, _)| *cause == tally.cause) {
            Some((_, sum)) => *sum = sum.saturating_add(tally.count),
            None => sums.push((&tally.cause, tally.count)),
        }
    }
    if sums.is_empty() {
        return "none".to_owned();
    }
    sums.iter()
        .map(|(cause, count)| format!("{cause} {count}"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn deferred(trials: &[Trial<'_>]) -> String {
    let (mut queued, mut in_time, mut any) = (0_u64, 0_u64, false);
    for deferred in trials
        .iter()
        .flat_map(|trial| trial.counters())
        .filter_map(|counters| counters.deferred)
    {
        (queued, in_time, any) = (
            queued.saturating_add(deferred.queued),
            in_time.saturating_add(deferred.in_time),
            true,
        );
    }
    match (any, queued) {
        (false, _) => "inline".to_owned(),
        (true, 0) => format::NONE.to_owned(),
        (true, _) => format!(
            "{} of {queued}",
            format::percent(in_time as f64 / queued as f64)
        ),
    }
}
