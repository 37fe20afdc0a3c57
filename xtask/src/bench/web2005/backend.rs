//! The back-end on one core: questions, and writes that go to its ledger.

use std::{path::Path, process::Command};

use rookery_workload::web2005::{Model, besim::Query};

use super::{CLIENT_CPU, Server};

/// Length of a measurement, s.
const SECONDS: f64 = 5.0;

/// The least that one core must answer in a second.
const LEAST_PER_S: f64 = 20_000.0;

pub(super) fn run() -> Result<(), String> {
    let dir = tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"))?;
    for (what, command, arguments) in [
        ("accounts of a user", 2, vec!["7"]),
        ("recent payments", 5, vec!["7"]),
        (
            "payments, each in the ledger",
            7,
            vec!["7", "payee", "20041007", "12.00"],
        ),
    ] {
        let mut target = String::new();
        Query::print(&mut target, Model::Banking, command, &arguments);
        let (per_s, per_core) = measure(dir.path(), &target)?;
        println!(
            "back-end, {what}: {per_s:.0} requests/s, {per_core:.0} for each second of CPU time \
             (at least {LEAST_PER_S:.0})"
        );
    }
    Ok(())
}

/// Requests per second, and per second of CPU time of the server.
fn measure(dir: &Path, target: &str) -> Result<(f64, f64), String> {
    let ledger = dir.join("ledger.txt").display().to_string();
    let server = Server::start(&[
        "besim",
        "--model",
        "banking",
        "--sessions",
        "100",
        "--ledger",
        &ledger,
        "--workers",
        "1",
    ])?;
    let url = format!("http://{}{target}", server.address);
    let before = server.cpu_s()?;
    let output = Command::new("taskset")
        .args(["-c", CLIENT_CPU, "wrk", "-t", "1", "-c", "32", "-d"])
        .arg(format!("{SECONDS}s"))
        .arg(&url)
        .output()
        .map_err(|error| {
            format!("cannot start wrk ({error}); install the packages wrk and util-linux")
        })?;
    let cpu_s = server.cpu_s()? - before;
    let told = String::from_utf8_lossy(&output.stdout);
    if told.contains("Non-2xx") || !output.status.success() {
        return Err(format!("{url} is not answered well: {told}"));
    }
    let number = |name: &str| {
        let line = told.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.trim().parse::<f64>().ok())
    };
    let per_s = number("Requests/sec:").ok_or_else(|| format!("wrk says: {told}"))?;
    Ok((per_s, per_s * SECONDS / cpu_s))
}
