//! The time series of each trial: throughput, response time, CPU.

use rookery_judge::cpu::{self, DRIVER, HOST};
use rookery_stats::{Measurement, ResourceSample};
use rookery_store::TrialRecord;

use crate::{
    Run, TrialData,
    figures::{Datum, Figure, Mark, Panel, Row, Series},
    format,
};

/// With more guests than this, the response time of the slowest is drawn instead of one line each.
const MOST_LINES: usize = 6;

/// One panel per trial that was measured, void ones included and marked.
pub(crate) fn figure(run: &Run) -> Option<Figure> {
    let panels: Vec<Panel> = run
        .trials
        .iter()
        .filter_map(|trial| panel(run, trial))
        .collect();
    (!panels.is_empty()).then(|| Figure {
        id: "time-series",
        title: "Each trial second by second: throughput, response time, CPU".to_owned(),
        caption: format!(
            "{}. The window is shaded; only it counts. p95 is of the requests completed in that second.",
            crate::loop_type::loop_type(run)
        ),
        panels,
        ..Figure::default()
    })
}

fn panel(run: &Run, trial: &TrialData) -> Option<Panel> {
    let record = trial.record.as_ref()?;
    let measured = record.measurement.as_ref()?;
    let point = run
        .header
        .plan
        .points
        .iter()
        .find(|point| point.id == trial.row.trial.point)?;
    let window = &measured.window;
    Some(Panel {
        label: format!(
            "{} ({}), {}",
            trial.label(),
            point.label(),
            format::status(trial.row.status)
        ),
        x_title: "seconds since the common start".to_owned(),
        rows: rows(record, measured),
        window: (window.start_s.is_finite() && window.end_s.is_finite())
            .then_some((window.start_s, window.end_s)),
        ..Panel::default()
    })
}

fn rows(record: &TrialRecord, measured: &Measurement) -> Vec<Row> {
    let row = |y_title: &str, series: Vec<Series>| Row {
        y_title: y_title.to_owned(),
        series,
    };
    let rows = [
        row(
            "requests/s",
            vec![requests(measured), failures(measured)]
                .into_iter()
                .flatten()
                .collect(),
        ),
        row("p95, ms", response_times(measured)),
        row("cores", cpu_series(&record.resources)),
    ];
    rows.into_iter()
        .filter(|row| !row.series.is_empty())
        .collect()
}

fn line(name: &str, data: Vec<Datum>) -> Option<Series> {
    (!data.is_empty()).then(|| Series {
        name: name.to_owned(),
        mark: Mark::Line,
        data,
    })
}

/// Sums over guests, by second.
fn summed(
    measured: &Measurement,
    value: impl Fn(&rookery_stats::SecondSample) -> f64,
) -> Vec<Datum> {
    let mut sums = std::collections::BTreeMap::new();
    for sample in measured.guests.iter().flat_map(|guest| &guest.series) {
        *sums.entry(sample.second).or_insert(0.0) += value(sample);
    }
    sums.into_iter()
        .map(|(second, sum)| Datum::at(f64::from(second), sum))
        .collect()
}

fn requests(measured: &Measurement) -> Option<Series> {
    line(
        "requests, all guests",
        summed(measured, |sample| f64::from(sample.requests)),
    )
}

fn failures(measured: &Measurement) -> Option<Series> {
    let data = summed(measured, |sample| f64::from(sample.errors));
    line("failed requests", data).filter(|series| series.data.iter().any(|datum| datum.y > 0.0))
}

fn response_times(measured: &Measurement) -> Vec<Series> {
    if measured.guests.len() > MOST_LINES {
        let mut slowest = std::collections::BTreeMap::new();
        for sample in measured
            .guests
            .iter()
            .flat_map(|guest| &guest.series)
            .filter(|sample| sample.requests > 0)
        {
            let worst = slowest.entry(sample.second).or_insert(0);
            *worst = sample.p95_us.max(*worst);
        }
        let data = slowest
            .into_iter()
            .map(|(second, us)| Datum::at(f64::from(second), us as f64 / 1000.0))
            .collect();
        return line("p95 of the slowest guest", data).into_iter().collect();
    }
    let guest = |guest: &rookery_stats::GuestMeasurement| {
        let answered = guest.series.iter().filter(|sample| sample.requests > 0);
        let data = answered
            .map(|sample| Datum::at(f64::from(sample.second), sample.p95_us as f64 / 1000.0))
            .collect();
        line(&format!("p95 {}", guest.guest), data)
    };
    measured.guests.iter().filter_map(guest).collect()
}

fn cpu_series(resources: &[ResourceSample]) -> Vec<Series> {
    let of = |subject: &str, name: &str| {
        let samples = resources
            .iter()
            .filter(|sample| sample.subject == subject && sample.cpu_cores.is_finite());
        line(
            name,
            samples
                .map(|sample| Datum::at(tenths(sample.at_s), sample.cpu_cores))
                .collect(),
        )
    };
    let mut guests: Vec<(f64, f64)> = Vec::new();
    for sample in resources
        .iter()
        .filter(|sample| cpu::is_guest(sample) && sample.cpu_cores.is_finite())
    {
        let at = tenths(sample.at_s);
        match guests.iter_mut().rev().find(|(known, _)| *known == at) {
            Some((_, sum)) => *sum += sample.cpu_cores,
            None => guests.push((at, sample.cpu_cores)),
        }
    }
    guests.sort_by(|a, b| a.0.total_cmp(&b.0));
    let guests = line(
        "CPU, all guests",
        guests
            .into_iter()
            .map(|(at, cores)| Datum::at(at, cores))
            .collect(),
    );
    [
        guests,
        of(DRIVER, "CPU, driver"),
        of(HOST, "CPU, whole host"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Samples of one round are taken one after the other; to a tenth of a second they are of the same moment.
fn tenths(at_s: f64) -> f64 {
    (10.0 * at_s).round() / 10.0
}
