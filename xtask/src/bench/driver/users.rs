//! Thinking users: punctuality, CPU and memory of many users on one core.

use std::time::Duration;

use serde_json::Value;

use super::{
    client::{self, Load},
    nginx::Nginx,
    say,
};

/// The smaller population that memory is compared with.
const FEW: u32 = 1_000;

pub(super) fn run(users: u32) -> Result<(), String> {
    if users <= FEW {
        return Err(format!("take more than {FEW} users"));
    }
    let nginx = Nginx::start()?;
    let few = measure(&nginx, FEW)?;
    let many = measure(&nginx, users)?;
    let kib = |found: &Value| found["rss_kib"].as_u64().unwrap_or(0) as f64;
    say(&format!(
        "memory per further user: {:.2} KiB",
        (kib(&many) - kib(&few)) / f64::from(users - FEW)
    ))
}

fn measure(nginx: &Nginx, users: u32) -> Result<Value, String> {
    let (_, found) = client::driver(&Load {
        address: nginx.address,
        path: "/1k",
        users,
        think: Duration::from_secs(5),
        ramp_up: Duration::from_secs(5),
        settle: Duration::from_secs(6),
        steady: Duration::from_secs(20),
    })?;
    let driver = &found["driver"];
    let number = |key: &str| driver[key].as_f64().unwrap_or(f64::NAN);
    let verdict = match found["faults"].as_array() {
        Some(faults) if faults.is_empty() && found["aborted"].is_null() => "good".to_owned(),
        _ => format!("VOID {} {}", found["faults"], found["aborted"]),
    };
    say(&format!(
        "{users} users, think time 0 to 10 s: {verdict}; {:.1} % of a core, {:.1} CPU us/request, \
         lag p50 {:.2} p99 {:.2} max {:.2} ms, \
         connected within {:.2} s, {} unconnected, {} failed, {:.1} requests/s, resident {:.1} \
         MiB, Little {:.3} %",
        100.0 * number("cpu_share"),
        number("cpu_us_per_request"),
        number("lag_p50_us") / 1e3,
        number("lag_p99_us") / 1e3,
        number("lag_max_us") / 1e3,
        number("connect_s"),
        number("unconnected_users"),
        found["failed"],
        found["completed"].as_f64().unwrap_or(f64::NAN) / 20.0,
        found["rss_kib"].as_f64().unwrap_or(f64::NAN) / 1024.0,
        100.0 * number("little_error"),
    ))?;
    Ok(found)
}
