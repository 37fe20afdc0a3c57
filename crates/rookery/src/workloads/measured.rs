//! What `drive` measured over HTTP, as tables for people and as JSON: what its workloads share.

use std::{
    path::Path,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use indicatif::ProgressBar;
use rookery_driver::Progress;
use rookery_stats::{GuestMeasurement, Latencies, Measurement, Mode, faults, hidden_freezes};

use crate::{
    exit::{Code, Failure, driver_code},
    output,
    progress::load_bar,
    signals,
};

/// How a web driver prints, and what it says where a target gave no good answer.
pub(super) struct WebReport<'a> {
    pub(super) json: bool,
    pub(super) quiet: bool,
    /// Prints the measurement with its faults for people.
    pub(super) print: &'a dyn Fn(&Measurement, &[String]),
    pub(super) nothing_answered: &'a dyn Fn(&GuestMeasurement) -> Failure,
}

/// Put a web load on, tell of it and print what it measured; the exit code of the command.
pub(super) fn drive(
    config: &rookery_web::Config,
    stop: &AtomicBool,
    report: &WebReport<'_>,
) -> Result<Code, Failure> {
    let bar = load_bar(report.quiet, config.phases.load_end());
    let measured = rookery_web::run(config, start(), stop, &|progress| tell(&bar, &progress));
    bar.finish_and_clear();
    let measurement = measured.map_err(|error| Failure::from_error(driver_code(&error), &error))?;
    let faults: Vec<String> = faults::faults(&measurement)
        .into_iter()
        .map(|fault| fault.text)
        .collect();
    if report.json {
        output::json(&with_percentiles(&measurement, &faults)?).map(drop)?;
    } else {
        (report.print)(&measurement, &faults);
    }
    if signals::came(stop) {
        return Ok(Code::Interrupted);
    }
    let silent = |guest: &&GuestMeasurement| completed(guest, |_| true) == 0;
    if let Some(target) = measurement.guests.iter().find(silent) {
        return Err((report.nothing_answered)(target));
    }
    Ok(if faults.is_empty() {
        Code::Done
    } else {
        Code::Driver
    })
}

/// Print the tables; `heading` prints what the workload has to say of a target before its table.
pub(super) fn print(
    measurement: &Measurement,
    faults: &[String],
    heading: &dyn Fn(&GuestMeasurement),
) {
    for guest in &measurement.guests {
        print_guest(measurement, guest, heading);
    }
    if measurement.guests.len() > 1 {
        output::text(format!(
            "all {} targets: {:.0} {}, {:.0} requests/s",
            measurement.guests.len(),
            measurement.units_per_minute(),
            measurement.info().map_or("", |info| info.unit.rate),
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
        Mode::Closed => {
            let plural = if users == 1 { "" } else { "s" };
            format!("{users} user{plural}, closed loop")
        }
        Mode::Open => "open load, response times from the intended start".to_owned(),
        Mode::PartlyOpen => "partly open load, response times from the intended start".to_owned(),
    }
}

fn print_guest(
    measurement: &Measurement,
    guest: &GuestMeasurement,
    heading: &dyn Fn(&GuestMeasurement),
) {
    output::text(format!(
        "{} ({})",
        guest.guest,
        loop_type(measurement.mode, guest.users)
    ));
    heading(guest);
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

/// The first failure that was seen, in words.
pub(super) fn first_failure(guest: &GuestMeasurement) -> String {
    let tally = guest.errors.first();
    tally.map_or_else(
        || "no request failed".to_owned(),
        |tally| {
            let detail = tally
                .examples
                .first()
                .map_or("", |example| example.detail.as_str());
            format!(
                "{}/{} {}",
                tally.class.name(),
                tally.sub_class,
                output::printable(detail)
            )
            .trim_end()
            .to_owned()
        },
    )
}

/// Completed operations whose names are `wanted`.
pub(super) fn completed(guest: &GuestMeasurement, wanted: impl Fn(&str) -> bool) -> u64 {
    guest
        .operations
        .iter()
        .filter(|operation| wanted(&operation.name))
        .map(|operation| operation.completed)
        .sum()
}

/// When the users begin: late enough for all threads to be ready.
pub(super) fn start() -> Instant {
    Instant::now() + Duration::from_millis(100)
}

/// Show how far a load is.
pub(super) fn tell(bar: &ProgressBar, progress: &Progress) {
    bar.set_position(progress.elapsed.as_secs());
    bar.set_message(format!(
        "{}: {:.0} requests/s, {:.0} errors/s",
        progress.phase, progress.requests_per_s, progress.errors_per_s
    ));
}

/// The CPUs of the driver: those of `--cpus`, or the last one.
pub(super) fn driver_cpus(list: Option<&str>) -> Result<Vec<u32>, Failure> {
    let Some(text) = list else {
        let facts = rookery_lab::host_facts(Path::new("."))?;
        return Ok(facts.cpus.last().copied().into_iter().collect());
    };
    let cpus = rookery_host::parse_cpu_list(text).filter(|cpus| !cpus.is_empty());
    cpus.map(|cpus| cpus.into_iter().collect()).ok_or_else(|| {
        Failure::new(Code::Usage, format!("--cpus {text} is no list of CPUs"))
            .help("write numbers and ranges, such as 1 or 2-3,6")
    })
}
