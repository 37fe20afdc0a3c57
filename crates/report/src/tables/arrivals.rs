//! What became of the arrivals of open loads, and what their visitors waited for.

use rookery_analysis::Run;
use rookery_stats::{ArrivalCounts, Latencies, Measurement};
use rookery_study::Point;

use super::Table;
use crate::prose::{format, words};

/// Heads of the table.
fn heads(unit: &str) -> Vec<String> {
    let of_unit = |what: &str| format!("{unit} {what} p50 / p95 / p99, ms");
    let own = [
        "point",
        "arrivals drawn",
        "dropped",
        "started",
        "late p50 / p99, µs",
    ];
    let mut heads = own.map(str::to_owned).to_vec();
    heads.extend(["response", "service"].map(of_unit));
    heads
}

/// One row for each point of an open load that has good trials; no rows of a closed load.
///
/// Response counts from the intended start, service from the moment of sending: their difference is
/// what a driver that waits for answers would hide. Lateness is that of the worst trial.
pub(crate) fn table(run: &Run) -> Table {
    Table {
        label: String::new(),
        heads: heads(words::unit(run)),
        rows: run
            .header
            .plan
            .study_points()
            .filter_map(|point| row(run, point))
            .collect(),
    }
}

fn row(run: &Run, point: &Point) -> Option<Vec<String>> {
    let trials = run
        .trials
        .iter()
        .filter(|trial| trial.row.trial.point == point.id);
    let measured: Vec<&Measurement> = trials.filter_map(|trial| Some(trial.valid()?.1)).collect();
    let counts: Vec<&ArrivalCounts> = measured
        .iter()
        .filter_map(|measured| measured.driver.arrivals.as_ref())
        .collect();
    let first = counts.first()?;
    let sum = |of: fn(&ArrivalCounts) -> u64| {
        counts
            .iter()
            .fold(0_u64, |sum, counts| sum.saturating_add(of(counts)))
    };
    let (mut response, mut service) = (Latencies::new(), Latencies::new());
    let orders = measured
        .iter()
        .flat_map(|measured| &measured.guests)
        .filter_map(|guest| guest.operation(guest.main_operation()));
    for order in orders {
        response.merge(&order.response);
        service.merge(&order.service);
    }
    let worst = |of: fn(&Measurement) -> u64| {
        measured
            .iter()
            .map(|measured| of(measured))
            .max()
            .unwrap_or(0)
    };
    Some(vec![
        point.label(),
        format!("{} {}", sum(|counts| counts.drawn), first.spacing),
        sum(|counts| counts.dropped).to_string(),
        format!("{} ({})", sum(|counts| counts.started), first.precision),
        format!(
            "{} / {}",
            worst(|measured| measured.driver.lag_p50_us),
            worst(|measured| measured.driver.lag_p99_us)
        ),
        percentiles(&response),
        percentiles(&service),
    ])
}

fn percentiles(latencies: &Latencies) -> String {
    let at = |percentile: f64| {
        format::or_none(latencies.percentile_us(percentile), |us| {
            format::ms_value(us as f64)
        })
    };
    [50.0, 95.0, 99.0].map(at).join(" / ")
}
