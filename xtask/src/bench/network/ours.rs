//! The server and the driver of the workload, each as a process of its own.

use std::{
    path::PathBuf,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use rookery_cast::index;
use rookery_driver::{Load, Phases};
use rookery_stack::{
    StopSignal,
    netstream::{ServeConfig, Server},
};
use rookery_stats::Pacing;
use rookery_web::{
    Assignment, Config, Limits, Script, run as drive_web, workloads::netstream::NetstreamScript,
};
use rookery_workload::netstream::{ConnectionUse, ExchangeSize, Receiver};
use serde_json::{Value, json};

use super::{CLIENT_CPU, SERVER_CPU, STREAM_BYTES, Sample, TRANSACTION_BYTES, on_cpu, peers};
use crate::bench::{
    driver::client::{Weighed, per_request, weigh},
    lamp::say,
};

const PORT: u16 = 8080;
const ADDRESS: &str = "127.0.0.1:8080";

pub(super) fn stream(streams: u32, seconds: u32) -> Result<Sample, String> {
    let (weighed, found) = exchange(streams, STREAM_BYTES, 0, seconds)?;
    Ok(Sample {
        rate: number(&found, "bits_per_s")?,
        cost: weighed.cpu.as_secs_f64() / (number(&found, "bytes_from_start")? / 1e9),
    })
}

pub(super) fn transactions(seconds: u32) -> Result<Sample, String> {
    let (weighed, found) = exchange(1, TRANSACTION_BYTES, TRANSACTION_BYTES, seconds)?;
    let all = found["exchanges_from_start"]
        .as_u64()
        .filter(|all| *all > 0)
        .ok_or_else(|| format!("no exchange went well: {found}"))?;
    Ok(Sample {
        rate: number(&found, "exchanges_per_s")?,
        cost: per_request(weighed.cpu, all),
    })
}

fn number(found: &Value, key: &str) -> Result<f64, String> {
    found[key]
        .as_f64()
        .filter(|number| *number > 0.0)
        .ok_or_else(|| format!("the client tells no {key}: {found}"))
}

/// Let both processes exchange for some seconds.
fn exchange(users: u32, answer: u32, pad: u32, seconds: u32) -> Result<(Weighed, Value), String> {
    let own =
        std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let words = ["bench", "network"];
    let _server = peers::Server::start(
        on_cpu(SERVER_CPU, &own)
            .args(words)
            .args(["server", ADDRESS]),
        PORT,
    )?;
    let weighed = weigh(
        on_cpu(CLIENT_CPU, &own)
            .args(words)
            .args(["client", ADDRESS])
            .args([users, answer, pad, seconds].map(|number| number.to_string())),
    )?;
    let found = serde_json::from_str(&weighed.output)
        .map_err(|error| format!("the client wrote no result: {error}"))?;
    Ok((weighed, found))
}

/// The process of the server; it is killed.
pub(super) fn serve(address: &str) -> Result<(), String> {
    let stop = StopSignal::on_termination().map_err(|error| error.to_string())?;
    let server = Server::bind(&ServeConfig {
        counts: PathBuf::from("/dev/null"),
        listen: address.parse().map_err(|_| "no address".to_owned())?,
        partner: None,
        iperf3: None,
    })
    .map_err(|error| error.to_string())?;
    server.run(&stop).map_err(|error| error.to_string())
}

/// The process of the driver.
pub(super) fn drive(
    address: &str,
    users: &str,
    answer: &str,
    pad: &str,
    seconds: &str,
) -> Result<(), String> {
    let number = |text: &str| {
        text.parse::<u32>()
            .map_err(|_| format!("`{text}` is no number"))
    };
    let config = Config {
        assignments: vec![Assignment {
            guest: "g1".to_owned(),
            target: address.parse().map_err(|_| "no address".to_owned())?,
            users: number(users)?,
            script: Script::Netstream(NetstreamScript {
                size: ExchangeSize {
                    pad_bytes: number(pad)?,
                    answer_bytes: number(answer)?,
                },
                connection: ConnectionUse::Kept,
                receiver: Receiver::Driver,
            }),
        }],
        network: None,
        cpus: vec![CLIENT_CPU],
        phases: Phases {
            ramp_up: Duration::ZERO,
            settle: Duration::from_millis(200),
            steady: Duration::from_secs(number(seconds)?.into()),
            ramp_down: Duration::ZERO,
            drain: Duration::from_secs(1),
        },
        load: Load::Closed,
        pacing: Pacing::Think,
        think_time: Duration::ZERO,
        think_distribution: rookery_workload::DelayDistribution::Uniform,
        timeout: Duration::from_secs(10),
        limits: Limits {
            body_bytes: index(number(answer)?.into()),
            ..Limits::default()
        },
        seed: 1,
        confirmed_targets: Vec::new(),
    };
    let start = Instant::now() + Duration::from_millis(50);
    let measured = drive_web(&config, start, &AtomicBool::new(false), &|_| {})
        .map_err(|error| error.to_string())?;
    let counters = measured.guests[0]
        .counters
        .netstream()
        .ok_or("another workload")?;
    say(&json!({
        "bits_per_s": 8.0 * counters.received_bytes / counters.window_s,
        "bytes_from_start": counters.bytes_from_start,
        "exchanges_per_s": counters.exchanges as f64 / counters.window_s,
        "exchanges_from_start": counters.exchanges_from_start,
    })
    .to_string())
}
