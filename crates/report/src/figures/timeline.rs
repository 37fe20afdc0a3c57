//! The time series of each trial: throughput, response time, CPU.

use rookery_analysis::{
    Run,
    timeline::{GuestSeries, Timeline, envelope, timelines},
};

use super::data::{Datum, Figure, Mark, Panel, Row, Series};
use crate::prose::{format, loop_type::loop_type};

/// With more guests than this, the response time of the slowest is drawn instead of one line each.
const MOST_LINES: usize = 6;

/// One panel per trial that was measured, void ones included and marked.
pub(crate) fn figure(run: &Run) -> Option<Figure> {
    let panels: Vec<Panel> = timelines(run)
        .iter()
        .filter_map(|timeline| panel(run, timeline))
        .collect();
    (!panels.is_empty()).then(|| Figure {
        id: "time-series",
        title: "Each trial second by second: throughput, response time, CPU".to_owned(),
        caption: format!(
            "{}. The window is shaded; only it counts. p95 is of the requests completed in that \
             second.",
            loop_type(run)
        ),
        panels,
        ..Figure::default()
    })
}

fn panel(run: &Run, timeline: &Timeline) -> Option<Panel> {
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
        rows: rows(timeline),
        window: timeline.window,
        ..Panel::default()
    })
}

fn rows(timeline: &Timeline) -> Vec<Row> {
    let failed = line("failed requests", &timeline.failures)
        .filter(|series| series.data.iter().any(|datum| datum.y > 0.0));
    let requests = line("requests, all guests", &timeline.requests);
    let cores = [
        line("CPU, all guests", &timeline.guest_cores),
        line("CPU, driver", &timeline.driver_cores),
        line("CPU, whole host", &timeline.host_cores),
    ];
    let rows = [
        ("requests/s", requests.into_iter().chain(failed).collect()),
        ("p95, ms", response_times(&timeline.p95_ms)),
        ("cores", cores.into_iter().flatten().collect()),
    ];
    rows.into_iter()
        .map(|(y_title, series): (&str, Vec<Series>)| Row {
            y_title: y_title.to_owned(),
            series,
        })
        .filter(|row| !row.series.is_empty())
        .collect()
}

fn line(name: &str, values: &[(f64, f64)]) -> Option<Series> {
    (!values.is_empty()).then(|| Series {
        name: name.to_owned(),
        mark: Mark::Line,
        data: envelope(values)
            .into_iter()
            .map(|(at, value)| Datum::at(at, value))
            .collect(),
    })
}

fn response_times(guests: &[GuestSeries]) -> Vec<Series> {
    if guests.len() > MOST_LINES {
        return line("p95 of the slowest guest", &slowest(guests))
            .into_iter()
            .collect();
    }
    guests
        .iter()
        .filter_map(|guest| line(&format!("p95 {}", guest.guest), &guest.values))
        .collect()
}

/// The largest value of each moment.
fn slowest(guests: &[GuestSeries]) -> Vec<(f64, f64)> {
    let mut slowest: Vec<(f64, f64)> = guests
        .iter()
        .flat_map(|guest| guest.values.iter().copied())
        .collect();
    slowest.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
    slowest.dedup_by_key(|(at, _)| *at);
    slowest
}
