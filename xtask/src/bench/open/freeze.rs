//! A server of 10 ms that stands still for a second: what an open load tells, what closed loads
//! tell, and the truth.

use std::time::{Duration, Instant};

use rookery_driver::{Load, Precision, faults};
use rookery_stats::{Measurement, hidden_freezes};
use rookery_testkit::{Freezes, StallingServer, truth};

use super::{SERVER_CPU, measure, open, peers, say, spread};

const SERVICE: Duration = Duration::from_millis(10);
const FREEZE: Duration = Duration::from_secs(1);
const FIRST: Duration = Duration::from_secs(4);
const WINDOW: Duration = Duration::from_secs(9);
const RATE: f64 = 1_000.0;
const USERS: u32 = 64;

pub(super) fn run(repeats: u32) -> Result<(), String> {
    let truth_ms = |p| truth(SERVICE, 1, FREEZE, WINDOW, p).as_secs_f64() * 1e3;
    say(&format!(
        "freeze: {} ms of service, still for {} s in {} s; truth for uniform arrivals: p50 {:.0}, \
         p90 {:.0}, p99 {:.0} ms; {repeats} repeats",
        SERVICE.as_millis(),
        FREEZE.as_secs(),
        WINDOW.as_secs(),
        truth_ms(50.0),
        truth_ms(90.0),
        truth_ms(99.0)
    ))?;
    for precision in [Precision::Exact, Precision::Batched] {
        let load = || open(RATE, 4_000, precision);
        tell(
            &format!("open {RATE}/s {}", precision.name()),
            repeats,
            truth_ms(99.0),
            load,
            0,
        )?;
    }
    tell(
        &format!("closed {USERS} users"),
        repeats,
        truth_ms(99.0),
        || Load::Closed,
        USERS,
    )?;
    for peer in peers::ALL {
        let mut p99 = Vec::new();
        for _ in 0..repeats {
            let (server, _) = server()?;
            match peers::p99_ms(peer, server.address(), USERS, WINDOW)? {
                Some(ms) => p99.push(ms),
                None => break,
            }
        }
        match p99.is_empty() {
            true => say(&format!("  {peer}: not installed"))?,
            false => line(&format!("{peer}, closed {USERS}"), &mut p99, truth_ms(99.0))?,
        }
    }
    Ok(())
}

/// A server that will freeze, and when its time began.
fn server() -> Result<(StallingServer, Instant), String> {
    let epoch = Instant::now() + Duration::from_millis(100);
    let freezes = Freezes {
        epoch,
        first: FIRST,
        last: FREEZE,
        every: Duration::from_secs(3_600),
    };
    let server = StallingServer::start(SERVICE, Some(freezes), Some(SERVER_CPU))
        .map_err(|error| format!("cannot start a server: {error}"))?;
    Ok((server, epoch))
}

fn tell(
    name: &str,
    repeats: u32,
    truth_ms: f64,
    load: impl Fn() -> Load,
    users: u32,
) -> Result<(), String> {
    let mut p99 = Vec::new();
    let mut last = None;
    for _ in 0..repeats {
        let (server, epoch) = server()?;
        let measurement = measure(
            server.address(),
            load(),
            users,
            Duration::ZERO,
            WINDOW,
            epoch,
        )?;
        p99.push(percentile_ms(&measurement, 99.0));
        last = Some(measurement);
    }
    line(name, &mut p99, truth_ms)?;
    let Some(measurement) = last else {
        return Ok(());
    };
    say(&format!(
        "    the last: p50 {:.1}, p90 {:.1}, max {:.0} ms; lateness p50 {} p99 {} max {} us; {} \
         connections; void: {:?}",
        percentile_ms(&measurement, 50.0),
        percentile_ms(&measurement, 90.0),
        percentile_ms(&measurement, 100.0),
        measurement.driver.lag_p50_us,
        measurement.driver.lag_p99_us,
        measurement.driver.lag_max_us,
        measurement.driver.connections,
        faults(&measurement)
    ))?;
    hidden_freezes(&measurement)
        .iter()
        .try_for_each(|freeze| say(&format!("    {}", freeze.sentence())))
}

/// A percentile of the headline response time, ms.
fn percentile_ms(measurement: &Measurement, p: f64) -> f64 {
    let latencies = measurement.guests[0].operations[0].headline(measurement.pacing);
    latencies
        .percentile_us(p)
        .map_or(f64::NAN, |us| us as f64 / 1e3)
}

fn line(name: &str, p99: &mut [f64], truth_ms: f64) -> Result<(), String> {
    let (median, least, most) = spread(p99);
    say(&format!(
        "  {name}: p99 {median:.1} ms [{least:.1}-{most:.1}], {:.3} of the truth",
        median / truth_ms
    ))
}
