//! Sessions of banking as the original had them, all on one core of the driver; and downloads at
//! the rate that a user has.

use std::process::Command;

use serde_json::Value;

use super::{CLIENT_CPU, Server, program};
use crate::bench::{
    data::{Scratch, default_dir},
    driver::client::weigh,
};

/// A set of a thousand users, who are shared: their number changes nothing for the driver, and
/// those of so many sessions would be a hundred gigabytes.
const BANKING: [&str; 6] = ["--model", "banking", "--sessions", "200", "--scale", "0.1"];

/// One directory of downloads.
const SUPPORT: [&str; 6] = ["--model", "support", "--sessions", "4", "--scale", "1"];

/// The most that the 99th percentile of scheduling lag may be, ms.
const MOST_LAG_MS: f64 = 10.0;

/// Length of the window, s; that of downloads is as long as the largest at the rate of a user.
const STEADY_S: f64 = 30.0;
const DOWNLOADS_S: f64 = 400.0;

/// Users who download.
const DOWNLOADERS: &str = "60";

/// So many banking sessions.
pub(super) fn sessions(sessions: usize) -> Result<(), String> {
    let users = sessions.to_string();
    let found = measured(&BANKING, &users, STEADY_S)?;
    let driver = &found["driver"];
    let number = |key: &str| driver[key].as_f64().unwrap_or(f64::NAN);
    let sum = |key: &str| sum(&found, key);
    println!(
        "{sessions} banking sessions on one core: {:.1} % of it, lag p50 {:.2} p99 {:.2} max \
         {:.2} ms (p99 at most {MOST_LAG_MS} ms), {:.0} pages/s with {:.0} embedded files/s, {} \
         good of {}, {} wrong, {} unanswered; Little's law off by {:.2} %; faults {}",
        100.0 * number("cpu_share"),
        number("lag_p50_us") / 1e3,
        number("lag_p99_us") / 1e3,
        number("lag_max_us") / 1e3,
        sum("requests") as f64 / STEADY_S,
        sum("objects") as f64 / STEADY_S,
        sum("good"),
        sum("requests"),
        sum("invalid"),
        sum("unanswered"),
        100.0 * number("little_error"),
        found["faults"],
    );
    Ok(())
}

/// Downloads of a server that has little to do.
pub(super) fn downloads() -> Result<(), String> {
    let found = measured(&SUPPORT, DOWNLOADERS, DOWNLOADS_S)?;
    let pages = found["guests"][0]["counters"]["pages"].as_array();
    let downloads = pages.and_then(|pages| pages.last());
    let number = |key: &str| {
        let count = downloads.and_then(|page| page[key].as_f64());
        count.unwrap_or(f64::NAN)
    };
    println!(
        "{} downloads of {:.0} bytes on average at {:.0} bytes/s (99900 to 100000 expected), {} of \
         them good; faults {}",
        number("requests"),
        number("bytes") / number("requests"),
        number("bytes") / (number("response_us") / 1e6),
        number("good"),
        found["faults"],
    );
    Ok(())
}

/// A sum over all page types.
fn sum(found: &Value, key: &str) -> u64 {
    let pages = found["guests"][0]["counters"]["pages"].as_array();
    let counts = pages.into_iter().flatten();
    counts.filter_map(|page| page[key].as_u64()).sum()
}

/// What the driver says of so many users of a server with this file set.
fn measured(set: &[&str; 6], users: &str, steady_s: f64) -> Result<Value, String> {
    let dir = default_dir()?.join(format!("bench-web2005-{}", std::process::id()));
    let scratch = Scratch::create(dir)?;
    let files = scratch.path().display().to_string();
    let mut data = Command::new(program()?);
    data.args(["data", "web2005", "--quiet", "--out", &files])
        .args(set);
    weigh(&mut data)?;
    let mut app = vec!["web2005", "--files", &files];
    app.extend(set);
    let server = Server::start(&app)?;
    let target = format!("http://{}", server.address);
    let mut command = Command::new(program()?);
    command
        .args(["drive", "web2005", "--target", &target])
        .args(&set[..4])
        .args(["--fileset-scale", set[5], "--users", users])
        .args(["--cpus", CLIENT_CPU, "--ramp-up", "30s", "--settle", "45s"])
        .args(["--steady", &format!("{steady_s}s"), "--json", "--quiet"]);
    let output = command
        .output()
        .map_err(|error| format!("cannot start {command:?}: {error}"))?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let told = String::from_utf8_lossy(&output.stderr);
        format!("{command:?} measured nothing: {told}")
    })
}
