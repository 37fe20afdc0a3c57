//! The process that is measured: users of a workload file and nothing else.

use std::{
    fs,
    process::Command,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

use rookery_web::{Config, run as drive};
use serde_json::Value;

use super::{
    load::{self, What},
    say,
};
use crate::bench::driver::{
    CLIENT_CPU,
    client::{per_request, resident_kib as own_resident_kib, result, weigh},
    nginx::Nginx,
};

/// CPU per request, us.
pub(super) fn cost(nginx: &Nginx, what: What, users: u32, seconds: u32) -> Result<f64, String> {
    let steady = Duration::from_secs(seconds.into());
    let (cpu, found) = measure(&load::config(nginx, what, users, Duration::ZERO, steady)?)?;
    let number = |key: &str| found[key].as_u64().unwrap_or(0);
    if number("failed") > 0 || number("requests") == 0 {
        return Err(format!("the driver's requests failed: {found}"));
    }
    Ok(per_request(cpu, number("requests")))
}

/// Resident memory with so many users and so long a pause, KiB. They begin spread over one pause:
/// users that load a page at the same instant would count what is needed meanwhile.
pub(super) fn resident_kib(
    nginx: &Nginx,
    what: What,
    users: u32,
    pause: Duration,
) -> Result<f64, String> {
    let mut config = load::config(nginx, what, users, pause, pause)?;
    config.phases.ramp_up = pause;
    let (_, found) = measure(&config)?;
    found["rss_kib"]
        .as_f64()
        .ok_or_else(|| format!("the driver told no memory: {found}"))
}

/// What so many users with a long pause do to the driver.
pub(super) struct Lag {
    /// How late the 99th of 100 requests was sent, ms.
    pub p99_ms: f64,
    /// CPU time of the driver over the length of the load, ramp-up included.
    pub cpu_share: f64,
    /// Requests per second, ramp-up included.
    pub requests_per_s: f64,
}

/// Many users with a pause of so many seconds.
pub(super) fn lag(nginx: &Nginx, users: u32, pause_s: u64, seconds: u32) -> Result<Lag, String> {
    let steady = Duration::from_secs(seconds.into());
    let pause = Duration::from_secs(pause_s);
    let mut config = load::config(nginx, What::Five, users, pause, steady)?;
    // Nobody begins at the same instant as 10 000 others.
    config.phases.ramp_up = pause;
    let (cpu, found) = measure(&config)?;
    let number = |key: &str| found[key].as_f64().unwrap_or(0.0);
    let p99_us = found["driver"]["lag_p99_us"].as_f64();
    match p99_us {
        Some(p99_us) if number("requests") > 0.0 && number("failed") == 0.0 => Ok(Lag {
            p99_ms: p99_us / 1e3,
            cpu_share: cpu.as_secs_f64() / (steady + pause).as_secs_f64(),
            requests_per_s: number("requests") / (steady + pause).as_secs_f64(),
        }),
        _ => Err(format!("the driver's requests failed: {found}")),
    }
}

/// Drives in a process of its own: its CPU time and what it found.
fn measure(config: &Config) -> Result<(Duration, Value), String> {
    let io = |error: std::io::Error| format!("cannot start the client: {error}");
    let file = tempfile::NamedTempFile::new().map_err(io)?;
    let text = serde_json::to_string(config).map_err(|error| error.to_string())?;
    fs::write(file.path(), text).map_err(io)?;
    let own = std::env::current_exe().map_err(io)?;
    let weighed = weigh(
        Command::new("taskset")
            .args(["-c", &CLIENT_CPU.to_string()])
            .arg(own)
            .args(["bench", "http", "client"])
            .arg(file.path()),
    )?;
    let found = serde_json::from_str(&weighed.output)
        .map_err(|error| format!("the client wrote no result: {error}"))?;
    Ok((weighed.cpu, found))
}

/// The process itself.
pub(super) fn run(file: &str) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|error| format!("cannot read {file}: {error}"))?;
    let config: Config = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let rss_kib = AtomicU64::new(0);
    let look = |_| rss_kib.store(own_resident_kib(), Relaxed);
    let start = Instant::now() + Duration::from_millis(50);
    let measurement =
        drive(&config, start, &AtomicBool::new(false), &look).map_err(|error| error.to_string())?;
    say(&result(&measurement, rss_kib.load(Relaxed)).to_string())
}
