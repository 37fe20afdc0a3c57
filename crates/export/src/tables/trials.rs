//! Trials and their guests, with what they carried.

use rookery_stats::{Measurement, qos::Verdict};
use rookery_store::{Cell, Store, TrialRecord, TrialRow, TrialStatus};
use rookery_study::{Callers, GuestGroup, Point};

use super::{ms, number, operations::times, optional_text, text, whole};
use crate::{
    ExportError, Table,
    column::{self, RowVisitor, Source},
};

pub(super) const TRIALS: Table = Table {
    name: "trials",
    row: "trial, or group of a trial that has several",
    columns: &[
        column::whole("trial", "Number of the trial."),
        column::whole("point", "Number of its point."),
        column::text(
            "group",
            "The group that the numbers are of; nothing where guests are all alike.",
        ),
        column::text("label", "Short name of its point, as in the report."),
        column::whole("repeat", "1, 2, 3, ..."),
        column::whole(
            "block",
            "Trials of one block ran back to back and differ in factor levels alone.",
        ),
        column::text(
            "seed",
            "Seed of its random streams; text, because it may need 64 bits without a sign.",
        ),
        column::text(
            "purpose",
            "`study`, or of a search `approach`, `confirm`, `above`; `pilot` where it chose the \
             times of the others and stands in no average.",
        ),
        column::text(
            "status",
            "`done`, `void`, `failed`, `running` or `planned`.",
        ),
        column::whole("attempts", "How often it was begun."),
        column::text("started_at", "Begin of the last attempt, RFC 3339."),
        column::text("ended_at", "Its end, RFC 3339."),
        column::number(
            "ready_s",
            "Time from the start of the guests until all were healthy.",
        ),
        column::text(
            "limits",
            "`met`, `missed` or `not judged`; nothing where it was not measured.",
        ),
        column::number(
            "throughput_per_min",
            "Units of work per minute of all guests; `run.throughput_unit` says of what.",
        ),
        column::number(
            "requests_per_s",
            "Successful requests per second of all guests.",
        ),
        column::number(
            "bad_share",
            "Requests that failed or did not finish, over those started.",
        ),
        column::text(
            "main_operation",
            "The operation that the unit of work is; the times that follow are its own.",
        ),
        column::number(
            "response_mean_ms",
            "Response time of the main operation over all guests: mean.",
        ),
        column::number("response_p50_ms", "Median."),
        column::number("response_p95_ms", "95th percentile."),
        column::number("response_p99_ms", "99th percentile."),
        column::number(
            "response_p999_ms",
            "99.9th percentile; nothing with fewer than ten times beyond it.",
        ),
        column::number("response_max_ms", "Largest."),
        column::number(
            "driver_cpu_share",
            "CPU time of the driver inside the window, over that of its CPUs.",
        ),
        column::number(
            "lag_p99_ms",
            "How late requests were started, 99th percentile.",
        ),
    ],
    source: Source::Computed(trials),
};

pub(super) const GUESTS: Table = Table {
    name: "guests",
    row: "guest of a measured trial",
    columns: &[
        column::whole("trial", "Number of the trial."),
        column::text("guest", "Name of the guest."),
        column::text("group", "Its group; nothing where guests are all alike."),
        column::text(
            "host",
            "Name of the host that its group names; nothing where groups name none, see \
             `trial_hosts`.",
        ),
        column::text("workload", "Name of its workload."),
        column::whole("users", "Users that were assigned to it."),
        column::number("throughput_per_min", "Units of work per minute."),
        column::number("requests_per_s", "Successful requests per second."),
        column::number(
            "busy_s",
            "Sum over users of time spent in operations inside the window.",
        ),
        column::number(
            "idle_s",
            "Sum over users of time spent thinking inside the window.",
        ),
        column::number(
            "drawn_delay_mean_s",
            "Mean of the delays as they were drawn.",
        ),
        column::number(
            "actual_delay_mean_s",
            "Mean of the same delays as they were kept.",
        ),
    ],
    source: Source::Computed(guests),
};

fn trials(store: &Store, visit: &mut RowVisitor<'_>) -> Result<(), ExportError> {
    let points = store.header()?.plan.points;
    for row in store.trials()? {
        let record = store.outline(row.trial.id)?;
        let point = points.iter().find(|point| point.id == row.trial.point);
        let label = point.map(Point::label);
        let groups: Vec<_> = point.into_iter().flat_map(loaded).collect();
        let parts = measured_parts(record.as_ref(), groups.len());
        for (group, part) in groups.into_iter().zip(parts) {
            let mut cells = planned(&row, group_name(group), label.as_deref());
            cells.extend(measured(record.as_ref(), part));
            visit(&cells)?;
        }
    }
    Ok(())
}

/// What was measured of a group, and what its limits say.
type Part<'r> = (Option<&'r Measurement>, Option<&'r Verdict>);

/// So many groups as they were measured.
fn measured_parts(record: Option<&TrialRecord>, groups: usize) -> Vec<Part<'_>> {
    let first = record.map_or((None, None), |record| {
        (record.measurement.as_ref(), record.verdict.as_ref())
    });
    let further = record.into_iter().flat_map(|record| &record.further);
    let further = further.map(|group| (Some(&group.measurement), group.verdict.as_ref()));
    let all = std::iter::once(first).chain(further);
    all.chain(std::iter::repeat((None, None)))
        .take(groups)
        .collect()
}

/// The groups of a point that have users.
fn loaded(point: &Point) -> impl Iterator<Item = &GuestGroup> {
    let groups = point.groups.iter();
    groups.filter(|group| group.callers == Callers::Users)
}

/// The name of a group; nothing where guests are all alike.
fn group_name(group: &GuestGroup) -> Option<&str> {
    Some(group.name.as_str()).filter(|name| !name.is_empty())
}

fn planned<'r>(row: &'r TrialRow, group: Option<&'r str>, label: Option<&'r str>) -> Vec<Cell<'r>> {
    let trial = &row.trial;
    vec![
        whole(Some(trial.id)),
        whole(Some(trial.point)),
        optional_text(group),
        optional_text(label),
        whole(Some(trial.repeat)),
        whole(Some(trial.block)),
        text(trial.seed.to_string()),
        text(trial.purpose.name()),
        text(status(row.status)),
        whole(Some(row.attempts)),
        optional_text(row.started_at.as_deref()),
        optional_text(row.ended_at.as_deref()),
    ]
}

fn measured<'r>(record: Option<&'r TrialRecord>, (measured, verdict): Part<'r>) -> Vec<Cell<'r>> {
    let limits = measured.map(|_| limits(verdict));
    let mut cells = vec![
        number(record.map(|record| record.ready_s)),
        optional_text(limits),
        number(measured.map(|measured| measured.units_per_minute())),
        number(measured.map(|measured| measured.requests_per_second())),
    ];
    let Some(measured) = measured else {
        cells.resize(TRIALS.columns.len() - PLANNED, Cell::Null);
        return cells;
    };
    let (started, bad) = measured.started_and_bad();
    let main = measured.main_operation();
    cells.push(number((started > 0).then(|| bad as f64 / started as f64)));
    cells.push(text(main));
    cells.extend(times(&measured.latencies(main)));
    cells.push(number(Some(measured.driver.cpu_share)));
    cells.push(ms(Some(measured.driver.lag_p99_us)));
    cells
}

/// Columns of a trial that it has before it is measured.
const PLANNED: usize = 12;

fn status(status: TrialStatus) -> &'static str {
    match status {
        TrialStatus::Planned => "planned",
        TrialStatus::Running => "running",
        TrialStatus::Done => "done",
        TrialStatus::Void => "void",
        TrialStatus::Failed => "failed",
        TrialStatus::Skipped => "skipped",
    }
}

fn limits(verdict: Option<&Verdict>) -> &'static str {
    match verdict.filter(|verdict| !verdict.rules.is_empty()) {
        Some(verdict) if verdict.failed() => "missed",
        Some(verdict) if verdict.passed => "met",
        _ => "not judged",
    }
}

fn guests(store: &Store, visit: &mut RowVisitor<'_>) -> Result<(), ExportError> {
    let points = store.header()?.plan.points;
    for row in store.trials()? {
        let trial = row.trial.id;
        let Some(record) = store.outline(trial)? else {
            continue;
        };
        let point = points.iter().find(|point| point.id == row.trial.point);
        let groups = point.into_iter().flat_map(loaded);
        for (group, measured) in groups.zip(record.measurements()) {
            for guest in &measured.guests {
                visit(&[
                    whole(Some(trial)),
                    text(&guest.guest),
                    optional_text(group_name(group)),
                    optional_text(group.host.as_deref()),
                    text(guest.counters.kind().name()),
                    whole(Some(guest.users)),
                    number(Some(guest.units_per_minute(&measured.window))),
                    number(Some(guest.requests_per_second(&measured.window))),
                    number(Some(guest.busy_s)),
                    number(Some(guest.idle_s)),
                    number(guest.drawn_delay_mean_s),
                    number(guest.actual_delay_mean_s),
                ])?;
            }
        }
    }
    Ok(())
}
