//! Open loads: how punctual arrivals are and what that costs, and whether a server that stands
//! still is seen.
//!
//! Everything runs on 127.0.0.1: the server on CPU 0, the client on CPU 1. The server is one thread
//! of this process that stamps every request.

mod freeze;
mod peers;
mod punctuality;

use std::{
    net::SocketAddr,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use rookery_driver::{Arrivals, Load, OpenLoad, Phases, Precision, Profile, Visit};
use rookery_stats::{Measurement, Pacing};
use rookery_web::{Assignment, Config, Limits, Script, run as drive, workloads::page::PageScript};

/// CPU of the server and CPU of the client.
const SERVER_CPU: u32 = 0;
const CLIENT_CPU: u32 = 1;

const USAGE: &str = "usage: cargo xtask bench open [punctuality | freeze] [--repeats N]";

/// Run `bench open`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let (what, options) = match words.split_first() {
        Some((what @ (&"punctuality" | &"freeze"), options)) => (Some(*what), options),
        _ => (None, words.as_slice()),
    };
    let repeats = match options {
        [] => 5,
        ["--repeats", number] => number
            .parse()
            .map_err(|_| format!("`{number}` is not a whole number\n{USAGE}"))?,
        _ => return Err(USAGE.to_owned()),
    };
    if what != Some("freeze") {
        punctuality::run(repeats)?;
    }
    if what != Some("punctuality") {
        freeze::run(repeats)?;
    }
    Ok(())
}

/// Uniform arrivals.
fn open(rate: f64, max_in_flight: u32, precision: Precision) -> Load {
    Load::Open(OpenLoad {
        arrivals: Arrivals::Uniform,
        profile: Profile::level(rate),
        weights: Vec::new(),
        max_in_flight,
        precision,
        visit: Visit::Single,
    })
}

/// Drive one page: `users` count in a closed load only.
fn measure(
    target: SocketAddr,
    load: Load,
    users: u32,
    settle: Duration,
    steady: Duration,
    start: Instant,
) -> Result<Measurement, String> {
    let config = Config {
        assignments: vec![Assignment {
            guest: "server".to_owned(),
            target,
            users,
            script: Script::Page(PageScript {
                path: "/".to_owned(),
            }),
        }],
        network: None,
        cpus: vec![CLIENT_CPU],
        load,
        phases: Phases {
            ramp_up: Duration::ZERO,
            settle,
            steady,
            ramp_down: Duration::ZERO,
            drain: Duration::from_secs(3),
        },
        pacing: Pacing::Think,
        think_time: Duration::ZERO,
        think_distribution: rookery_workload::DelayDistribution::Uniform,
        timeout: Duration::from_secs(10),
        limits: Limits::default(),
        seed: 1,
        confirmed_targets: Vec::new(),
    };
    drive(&config, start, &AtomicBool::new(false), &|_| {}).map_err(|error| error.to_string())
}

/// Median, smallest and largest.
fn spread(values: &mut [f64]) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
    (
        at(values.len() / 2),
        at(0),
        at(values.len().saturating_sub(1)),
    )
}

/// Print one line of the result.
fn say(line: &str) -> Result<(), String> {
    use std::io::Write;
    writeln!(std::io::stdout(), "{line}")
        .map_err(|error| format!("cannot write to standard output: {error}"))
}
