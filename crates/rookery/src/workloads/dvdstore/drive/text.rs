//! What a load measured, as tables for people and as JSON.

use rookery_stats::{GuestMeasurement, Latencies, Measurement, Mode, hidden_freezes};
use rookery_workload::dvdstore::lines;

use crate::{
    exit::{Code, Failure},
    output,
};

use super::original;

/// Print the tables.
pub(super) fn print(measurement: &Measurement, faults: &[String]) {
    for guest in &measurement.guests {
        print_guest(measurement, guest);
    }
    if measurement.guests.len() > 1 {
        output::text(format!(
            "all {} targets: {:.0} orders/min, {:.0} requests/s",
            measurement.guests.len(),
            measurement.units_per_minute(),
            measurement.requests_per_second()
        ));
    }
    let driver = &measurement.driver;
    output::text(format!(
        "driver: {:.1} % of CPU {:?}, {:.1} us of CPU per request, lag p99 {} us",
        100.0 * driver.cpu_share,
        driver.cpus,
        driver.cpu_us_per_request,
        driver.lag_p99_us
    ));
    if let Some(arrivals) = &driver.arrivals {
        output::text(format!(
            "arrivals: {} {} drawn, {} started ({}), {} dropped; lateness p50 {} us, p99 {} us, \
             max {} us",
            arrivals.drawn,
            arrivals.spacing,
            arrivals.started,
            arrivals.precision,
            arrivals.dropped,
            driver.lag_p50_us,
            driver.lag_p99_us,
            driver.lag_max_us
        ));
    }
    for freeze in hidden_freezes(measurement) {
        output::text(format!("NOTE: {}", freeze.sentence()));
    }
    for fault in faults {
        output::text(format!("VOID: {fault}"));
    }
}

/// The loop type in words: response times mean little without it.
fn loop_type(mode: Mode, users: u32) -> String {
    match mode {
        Mode::Closed => format!("{users} users, closed loop"),
        Mode::Open => "open load, response times from the intended start".to_owned(),
        Mode::PartlyOpen => "partly open load, response times from the intended start".to_owned(),
    }
}

fn print_guest(measurement: &Measurement, guest: &GuestMeasurement) {
    output::text(format!(
        "{} ({})",
        guest.guest,
        loop_type(measurement.mode, guest.users)
    ));
    if let Some(shop) = guest.counters.dvdstore() {
        let totals =
            original::window_totals(shop, measurement.window.end_s - measurement.window.start_s);
        output::text(lines::final_line(None, &totals, &original::calls(shop)));
        output::text(lines::from_start_line(
            shop.n_purchase_from_start,
            shop.n_rollbacks_from_start,
        ));
    }
    output::text(format!(
        "{:14} {:>9} {:>8} {:>10} {:>10} {:>10} {:>10}",
        "operation", "completed", "failed", "p50 ms", "p95 ms", "p99 ms", "max ms"
    ));
    for operation in &guest.operations {
        let latencies = operation.headline(measurement.pacing);
        let ms = |value: Option<u64>| {
            value.map_or("n/a".to_owned(), |us| format!("{:.2}", us as f64 / 1e3))
        };
        let [p50, p95, p99] = percentiles(latencies);
        output::text(format!(
            "{:14} {:>9} {:>8} {:>10} {:>10} {:>10} {:>10}",
            operation.name,
            operation.completed,
            operation.failed + operation.unfinished,
            ms(p50),
            ms(p95),
            ms(p99),
            ms(latencies.max_us())
        ));
    }
    failures(guest).for_each(output::result);
}

/// What failed at a target, by class, each with an example.
pub(super) fn failures(guest: &GuestMeasurement) -> impl Iterator<Item = String> {
    guest.errors.iter().map(|error| {
        let example = error
            .examples
            .iter()
            .map(|example| output::printable(&example.detail))
            .find(|detail| !detail.trim().is_empty())
            .map_or_else(String::new, |detail| format!(", such as: {detail}"));
        format!(
            "{} x {}/{}{example}",
            error.count,
            error.class.name(),
            error.sub_class
        )
    })
}

/// The 50th, 95th and 99th percentile, us.
fn percentiles(latencies: &Latencies) -> [Option<u64>; 3] {
    [50.0, 95.0, 99.0].map(|p| latencies.percentile_us(p))
}

/// The measurement as JSON, with the percentiles that its histograms hold.
pub(super) fn with_percentiles(
    measurement: &Measurement,
    faults: &[String],
) -> Result<serde_json::Value, Failure> {
    let mut value =
        serde_json::to_value(measurement).map_err(|error| Failure::new(Code::Internal, error))?;
    for (guest_index, guest) in measurement.guests.iter().enumerate() {
        for (index, operation) in guest.operations.iter().enumerate() {
            for (name, histogram) in [
                ("service_us", &operation.service),
                ("response_us", &operation.response),
            ] {
                let [p50, p95, p99] = percentiles(histogram);
                value["guests"][guest_index]["operations"][index][name] = serde_json::json!({
                    "count": histogram.count(),
                    "mean": histogram.mean_us(),
                    "p50": p50,
                    "p95": p95,
                    "p99": p99,
                    "max": histogram.max_us(),
                });
            }
        }
    }
    value["faults"] = serde_json::json!(faults);
    Ok(value)
}
