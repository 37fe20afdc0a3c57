//! What exchanges cost: streams beside iperf3, requests and responses beside sockperf and qperf.
//!
//! All run over the loopback of one network namespace that has no name and goes with the benchmark:
//! servers on CPU 0, clients on CPU 1. A machine drifts, so that all clients are measured once in each
//! round, in random order, and compared within it; ratios are worth quoting, absolute numbers are of
//! this machine only. A peer that is not installed is said and left out.

mod ours;
mod peers;
mod rounds;

use std::process::Command;

use rookery_host::in_unnamed_netns;

use rounds::{Client, Units, compare};

use super::lamp::say;

const USAGE: &str = "usage: cargo xtask bench network [--rounds N] [--seconds S]";
/// CPU of servers and CPU of clients.
const SERVER_CPU: u32 = 0;
const CLIENT_CPU: u32 = 1;
/// Streams at a time.
const STREAMS: [u32; 2] = [1, 5];
/// Content of an answer of a stream: so large that the pauses between answers do not count.
const STREAM_BYTES: u32 = 64 << 20;
/// Content of a request and of an answer of a transaction.
const TRANSACTION_BYTES: u32 = 100;

/// What one client did.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// Bits per second of content, or transactions per second.
    rate: f64,
    /// CPU time of the client for 10^9 bytes, s, or for a transaction, us.
    cost: f64,
}

/// Run `bench network`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words[..] {
        // The benchmark starts itself again as the processes whose CPU time is measured.
        ["server", address] => return ours::serve(address),
        ["client", address, users, answer, pad, seconds] => {
            return ours::drive(address, users, answer, pad, seconds);
        }
        _ => {}
    }
    let (mut rounds, mut seconds) = (21, 1);
    for option in words.chunks(2) {
        let number = |text: &str| {
            text.parse()
                .map_err(|_| format!("`{text}` is no number\n{USAGE}"))
        };
        match option {
            ["--rounds", text] => rounds = number(text)?,
            ["--seconds", text] => seconds = number(text)?,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let measured = in_unnamed_netns(|| {
        up()?;
        streams(rounds, seconds)?;
        transactions(rounds, seconds)
    });
    measured.map_err(|error| format!("no network namespace: {error}"))?
}

/// The loopback of a new namespace is down.
fn up() -> Result<(), String> {
    let status = Command::new("ip")
        .args(["link", "set", "dev", "lo", "up"])
        .status()
        .map_err(|error| format!("cannot run ip: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err("the loopback cannot be set up".to_owned()),
    }
}

/// The process `command` on one CPU.
fn on_cpu(cpu: u32, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu.to_string()]).arg(program);
    command
}

fn streams(rounds: u32, seconds: u32) -> Result<(), String> {
    if !peers::is_there("iperf3") {
        return say("streams: there is no iperf3 (apt install iperf3)");
    }
    say(&format!(
        "streams from CPU {SERVER_CPU} to CPU {CLIENT_CPU} over loopback, {rounds} rounds of \
         {seconds} s each in random order"
    ))?;
    let units = Units {
        rate: ("Mbit/s", 1e-6),
        cost: "client CPU s/GB",
    };
    for streams in STREAMS {
        let peer = Client::new("iperf3", || peers::iperf3(streams, seconds));
        let own = Client::new("rookery", || ours::stream(streams, seconds));
        compare(&format!("{streams} streams"), &units, rounds, &own, &[peer])?;
    }
    Ok(())
}

fn transactions(rounds: u32, seconds: u32) -> Result<(), String> {
    say(&format!(
        "requests and responses of {TRANSACTION_BYTES} bytes over one connection, {rounds} rounds; \
         those of rookery have the head of HTTP beside them"
    ))?;
    let mut there = Vec::new();
    for peer in [
        Client::new("sockperf", || peers::sockperf(seconds)),
        Client::new("qperf", || peers::qperf(seconds)),
    ] {
        match peers::is_there(peer.name) {
            true => there.push(peer),
            false => say(&format!(
                "transactions: there is no {0} (apt install {0})",
                peer.name
            ))?,
        }
    }
    let units = Units {
        rate: ("1/s", 1.0),
        cost: "client CPU us each",
    };
    let own = Client::new("rookery", || ours::transactions(seconds));
    compare("transactions", &units, rounds, &own, &there)
}
