//! Lateness of 5000 arrivals per second, as the driver tells it and as the server sees it, and the
//! CPU time of each precision.

use std::time::{Duration, Instant};

use rookery_cast::truncate_usize;
use rookery_driver::{Precision, faults};
use rookery_testkit::StallingServer;

use super::{SERVER_CPU, measure, open, say, spread};

const RATE: f64 = 5_000.0;
const SETTLE: Duration = Duration::from_secs(1);
const STEADY: Duration = Duration::from_secs(5);

/// Of each repeat, us.
#[derive(Default)]
struct Found {
    p50: Vec<f64>,
    p99: Vec<f64>,
    max: Vec<f64>,
    seen_p50: Vec<f64>,
    cpu: Vec<f64>,
    void: Vec<String>,
}

pub(super) fn run(repeats: u32) -> Result<(), String> {
    say(&format!(
        "punctuality: {RATE} uniform arrivals/s for {} s after {} s, {repeats} repeats, exact and \
         batched in turn",
        STEADY.as_secs(),
        SETTLE.as_secs()
    ))?;
    let mut found = [
        (Precision::Exact, Found::default()),
        (Precision::Batched, Found::default()),
    ];
    for repeat in 0..repeats {
        if repeat % 2 == 1 {
            found.reverse();
        }
        for (precision, found) in &mut found {
            once(*precision, found)?;
        }
    }
    for (precision, mut found) in found {
        let show = |values: &mut Vec<f64>| {
            let (median, least, most) = spread(values);
            format!("{median:.0} [{least:.0}-{most:.0}]")
        };
        say(&format!(
            "  {:8} lateness p50 {} us, p99 {} us, max {} us; at the server p50 {} us; CPU {} \
             us/request; void: {}",
            precision.name(),
            show(&mut found.p50),
            show(&mut found.p99),
            show(&mut found.max),
            show(&mut found.seen_p50),
            show(&mut found.cpu),
            if found.void.is_empty() {
                "none".to_owned()
            } else {
                found.void.join("; ")
            }
        ))?;
    }
    Ok(())
}

fn once(precision: Precision, found: &mut Found) -> Result<(), String> {
    let server = StallingServer::start(Duration::ZERO, None, Some(SERVER_CPU))
        .map_err(|error| format!("cannot start a server: {error}"))?;
    let start = Instant::now() + Duration::from_millis(100);
    let measurement = measure(
        server.address(),
        open(RATE, 1_000, precision),
        0,
        SETTLE,
        STEADY,
        start,
    )?;
    let driver = &measurement.driver;
    found.p50.push(driver.lag_p50_us as f64);
    found.p99.push(driver.lag_p99_us as f64);
    found.max.push(driver.lag_max_us as f64);
    found.cpu.push(driver.cpu_us_per_request);
    found
        .void
        .extend(faults(&measurement).into_iter().map(|fault| fault.text));
    // The k-th arrival is due at (k + 0.5) / rate; the first second settles.
    let mut late: Vec<f64> = server
        .finish()
        .iter()
        .enumerate()
        .skip(truncate_usize(RATE * SETTLE.as_secs_f64()))
        .map(|(k, came)| {
            1e6 * (came.saturating_duration_since(start).as_secs_f64() - (k as f64 + 0.5) / RATE)
        })
        .collect();
    found.seen_p50.push(spread(&mut late).0);
    Ok(())
}
