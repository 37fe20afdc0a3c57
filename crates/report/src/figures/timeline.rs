//! The time series of each trial: throughput, response time, CPU, memory.

use rookery_analysis::{
    Run,
    timeline::{GuestSeries, MemorySeries, Timeline, envelope, timelines},
};
use rookery_store::TrialStatus;

use super::data::{Datum, Figure, Mark, Panel, Row, Series};
use crate::prose::{format, loop_type::loop_type};

/// With more guests than this, the response time of the slowest is drawn instead of one line each.
const MOST_LINES: usize = 6;

/// Trials that are drawn: a list of more is of no use, and a page of them would be too large.
const MOST_PANELS: usize = 32;
/// Points of all lines together.
const MOST_POINTS: usize = 12_000;
/// Points of a line, however many lines there are, and however few.
const LEAST_OF_LINE: usize = 40;
const MOST_OF_LINE: usize = 1_000;

/// One panel per trial that was measured, void ones included and marked; of many trials those that
/// are not done, and one of each point.
pub(crate) fn figure(run: &Run) -> Option<Figure> {
    let all = timelines(run);
    let chosen = chosen(run, &all);
    let lines: usize = chosen.iter().map(|timeline| lines(timeline)).sum();
    let most = (MOST_POINTS / lines.max(1)).clamp(LEAST_OF_LINE, MOST_OF_LINE);
    let panels: Vec<Panel> = chosen
        .iter()
        .filter_map(|timeline| panel(run, timeline, most))
        .collect();
    let of_all = match panels.len() {
        drawn if drawn < all.len() => format!(" {drawn} of {} trials are drawn.", all.len()),
        _ => String::new(),
    };
    (!panels.is_empty()).then(|| Figure {
        id: "time-series".to_owned(),
        title: "Each trial second by second: throughput, response time, CPU, memory".to_owned(),
        caption: format!(
            "{}. The window is shaded; only it counts. p95 is of the requests completed in that \
             second.{}{of_all}",
            loop_type(run),
            memory_remark(&all)
        ),
        panels,
        exported_as: Some("seconds"),
        ..Figure::default()
    })
}

/// What the lines of memory are, and what this kernel does not tell of guests.
fn memory_remark(all: &[Timeline]) -> String {
    let guests = || all.iter().flat_map(|timeline| &timeline.guest_memory);
    if guests().next().is_none() {
        return String::new();
    }
    let reclaim = guests().all(|series| series.reclaimed.is_empty());
    let pressure = guests().all(|series| series.pressure.is_empty());
    let missing = match (reclaim, pressure) {
        (false, false) => "",
        (true, false) => " This kernel does not count the pages that it took from guests.",
        (false, true) => " This kernel does not tell how long guests waited for memory.",
        (true, true) => {
            " This kernel neither counts the pages that it took from guests, nor tells how long \
             they waited for memory."
        }
    };
    format!(
        " Memory of a guest is that of its control group, pages of files included; faults are those \
         that waited for a disk, refaults pages that were read again soon after they had been \
         dropped. Lines that are zero throughout are left out.{missing}"
    )
}

/// The trials that are drawn, in their order.
fn chosen<'t>(run: &Run, all: &'t [Timeline]) -> Vec<&'t Timeline> {
    if all.len() <= MOST_PANELS {
        return all.iter().collect();
    }
    let is_done = |timeline: &Timeline| {
        let trial = run
            .trials
            .iter()
            .find(|trial| trial.row.trial.id == timeline.trial);
        trial.is_some_and(|trial| trial.row.status == TrialStatus::Done)
    };
    let is_first_of_point = |at: usize| {
        let (before, own) = (&all[..at], &all[at]);
        is_done(own)
            && !before
                .iter()
                .any(|other| other.point == own.point && is_done(other))
    };
    let of_study = |timeline: &Timeline| {
        let mut points = run.header.plan.study_points();
        points.any(|point| point.id == timeline.point)
    };
    let mut ranked: Vec<(usize, usize)> = (0..all.len())
        .map(|at| {
            let rank = match (is_first_of_point(at), is_done(&all[at]), of_study(&all[at])) {
                (true, _, true) => 0,
                (_, false, _) => 1,
                (true, _, false) => 2,
                _ => 3,
            };
            (rank, at)
        })
        .filter(|(rank, _)| *rank < 3)
        .collect();
    ranked.sort_unstable();
    ranked.truncate(MOST_PANELS);
    ranked.sort_unstable_by_key(|(_, at)| *at);
    ranked.into_iter().map(|(_, at)| &all[at]).collect()
}

/// How many lines a trial has at most.
fn lines(timeline: &Timeline) -> usize {
    let of_memory = lines_of_memory(timeline, MOST_OF_LINE);
    5 + timeline.p95_ms.len().min(MOST_LINES)
        + memory(timeline, MOST_OF_LINE).len()
        + of_memory.len()
}

fn panel(run: &Run, timeline: &Timeline, most: usize) -> Option<Panel> {
    let trial = run
        .trials
        .iter()
        .find(|trial| trial.row.trial.id == timeline.trial)?;
    let point = run
        .header
        .plan
        .points
        .iter()
        .find(|point| point.id == timeline.point)?;
    Some(Panel {
        label: format!(
            "{} ({}), {}",
            trial.label(),
            point.label(),
            format::status(trial.row.status)
        ),
        x_title: "seconds since the common start".to_owned(),
        rows: rows(timeline, most),
        window: timeline.window,
        ..Panel::default()
    })
}

fn rows(timeline: &Timeline, most: usize) -> Vec<Row> {
    let failed = line("failed requests", &timeline.failures, most)
        .filter(|series| series.data.iter().any(|datum| datum.y > 0.0));
    let requests = line("requests, all guests", &timeline.requests, most);
    let cores = [
        line("CPU, all guests", &timeline.guest_cores, most),
        line("CPU, driver", &timeline.driver_cores, most),
        line("CPU, whole host", &timeline.host_cores, most),
    ];
    let rows = [
        ("requests/s", requests.into_iter().chain(failed).collect()),
        ("p95, ms", response_times(&timeline.p95_ms, most)),
        ("cores", cores.into_iter().flatten().collect()),
        ("memory, MiB", memory(timeline, most)),
        ("memory, events/s", lines_of_memory(timeline, most)),
        ("memory, % of time waited", waits_for_memory(timeline, most)),
    ];
    rows.into_iter()
        .map(|(y_title, series): (&str, Vec<Series>)| Row {
            y_title: y_title.to_owned(),
            series,
            ..Row::default()
        })
        .filter(|row| !row.series.is_empty())
        .collect()
}

/// The memory of each guest, or of the one that has most; and what of all is in swap.
fn memory(timeline: &Timeline, most: usize) -> Vec<Series> {
    let guests = &timeline.memory_mib;
    let mut found: Vec<Series> = match guests.len() > MOST_LINES {
        true => line("memory of the largest guest", &largest(guests), most)
            .into_iter()
            .collect(),
        false => guests
            .iter()
            .filter_map(|guest| line(&format!("memory {}", guest.guest), &guest.values, most))
            .collect(),
    };
    let swap: Vec<&[(f64, f64)]> = timeline
        .guest_memory
        .iter()
        .map(|series| &series.swap_mib[..])
        .collect();
    let swap = line("swap, all guests", &sum(&swap), most);
    found.extend(swap.filter(is_somewhere_above_zero));
    found
}

/// A line of a guest or of the host.
type LineOf = fn(&MemorySeries) -> &[(f64, f64)];

/// Swapping, faults and reclaim of all guests together and of the host, as far as there was any.
fn lines_of_memory(timeline: &Timeline, most: usize) -> Vec<Series> {
    let kinds: [(&str, LineOf); 3] = [
        ("faults from disk", |series| &series.major_faults[..]),
        ("refaults", |series| &series.refaults[..]),
        ("pages reclaimed", |series| &series.reclaimed[..]),
    ];
    let mut found = Vec::new();
    for (name, of) in kinds {
        let guests: Vec<&[(f64, f64)]> = timeline.guest_memory.iter().map(of).collect();
        let host = timeline.host_memory.as_ref().map_or(&[][..], of);
        found.extend(line(&format!("{name}, all guests"), &sum(&guests), most));
        found.extend(line(&format!("{name}, whole host"), host, most));
    }
    found.retain(is_somewhere_above_zero);
    found
}

/// How long the guest that waited most waited for memory, and the host.
fn waits_for_memory(timeline: &Timeline, most: usize) -> Vec<Series> {
    let series = |series: &MemorySeries| GuestSeries {
        guest: series.subject.clone(),
        values: series.pressure.clone(),
    };
    let guests: Vec<GuestSeries> = timeline.guest_memory.iter().map(series).collect();
    let host = timeline.host_memory.as_ref();
    let host = host.map_or(&[][..], |series| &series.pressure[..]);
    let lines = [
        line("waited for memory, worst guest", &largest(&guests), most),
        line("waited for memory, whole host", host, most),
    ];
    let mut found: Vec<Series> = lines.into_iter().flatten().collect();
    found.retain(is_somewhere_above_zero);
    found
}

fn is_somewhere_above_zero(series: &Series) -> bool {
    series.data.iter().any(|datum| datum.y > 0.0)
}

/// The sum at each moment.
fn sum(series: &[&[(f64, f64)]]) -> Vec<(f64, f64)> {
    let mut all: Vec<(f64, f64)> = series.concat();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all.dedup_by(|next, sum| {
        let same = next.0 == sum.0;
        sum.1 += if same { next.1 } else { 0.0 };
        same
    });
    all
}

fn line(name: &str, values: &[(f64, f64)], most: usize) -> Option<Series> {
    (!values.is_empty()).then(|| Series {
        name: name.to_owned(),
        mark: Mark::Line,
        data: envelope(values, most)
            .into_iter()
            .map(|(at, value)| Datum::at(at, value))
            .collect(),
    })
}

fn response_times(guests: &[GuestSeries], most: usize) -> Vec<Series> {
    if guests.len() > MOST_LINES {
        return line("p95 of the slowest guest", &largest(guests), most)
            .into_iter()
            .collect();
    }
    guests
        .iter()
        .filter_map(|guest| line(&format!("p95 {}", guest.guest), &guest.values, most))
        .collect()
}

/// The largest value of each moment.
fn largest(guests: &[GuestSeries]) -> Vec<(f64, f64)> {
    let mut largest: Vec<(f64, f64)> = guests
        .iter()
        .flat_map(|guest| guest.values.iter().copied())
        .collect();
    largest.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
    largest.dedup_by_key(|(at, _)| *at);
    largest
}
