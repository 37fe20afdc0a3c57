//! What exchanges cost: streams beside iperf3, requests and responses beside sockperf and qperf.
//!
//! All run over the loopback of one network namespace that has no name and goes with the benchmark:
//! servers on CPU 0, clients on CPU 1. Clients are interleaved in random order, because a machine
//! drifts; ratios are worth quoting, absolute numbers are of this machine only. A peer that is not
//! installed is said and left out.

mod ours;
mod peers;

use std::process::Command;

use rookery_host::in_unnamed_netns;

use super::{
    driver::quartiles,
    lamp::{say, shuffle},
};

const USAGE: &str = "usage: cargo xtask bench network [--repeats N] [--seconds S]";
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

/// The samples of one client.
#[derive(Default)]
struct Samples {
    rates: Vec<f64>,
    costs: Vec<f64>,
}

impl Samples {
    fn push(&mut self, sample: Sample) {
        self.rates.push(sample.rate);
        self.costs.push(sample.cost);
    }
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
    let (mut repeats, mut seconds) = (5, 3);
    for option in words.chunks(2) {
        let number = |text: &str| {
            text.parse()
                .map_err(|_| format!("`{text}` is no number\n{USAGE}"))
        };
        match option {
            ["--repeats", text] => repeats = number(text)?,
            ["--seconds", text] => seconds = number(text)?,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let measured = in_unnamed_netns(|| {
        up()?;
        streams(repeats, seconds)?;
        transactions(repeats, seconds)
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

fn streams(repeats: u32, seconds: u32) -> Result<(), String> {
    if !peers::is_there("iperf3") {
        return say("streams: there is no iperf3 (apt install iperf3)");
    }
    say(&format!(
        "streams from CPU {SERVER_CPU} to CPU {CLIENT_CPU} over loopback, {repeats} repeats of \
         {seconds} s in random order"
    ))?;
    for streams in STREAMS {
        let title = format!("{streams} streams");
        compare(
            &title,
            ("Mbit/s", 1e-6, "client CPU s/GB"),
            repeats,
            ("iperf3", &|| peers::iperf3(streams, seconds)),
            &|| ours::stream(streams, seconds),
        )?;
    }
    Ok(())
}

fn transactions(repeats: u32, seconds: u32) -> Result<(), String> {
    let all: [(&str, Measure<'_>); 2] = [
        ("sockperf", &|| peers::sockperf(seconds)),
        ("qperf", &|| peers::qperf(seconds)),
    ];
    say(&format!(
        "requests and responses of {TRANSACTION_BYTES} bytes over one connection; those of rookery \
         have the head of HTTP beside them"
    ))?;
    for peer in all {
        if !peers::is_there(peer.0) {
            say(&format!(
                "transactions: there is no {0} (apt install {0})",
                peer.0
            ))?;
            continue;
        }
        let unit = ("1/s", 1.0, "client CPU us each");
        let own = || ours::transactions(seconds);
        compare("transactions", unit, repeats, peer, &own)?;
    }
    Ok(())
}

/// One measurement.
type Measure<'a> = &'a dyn Fn() -> Result<Sample, String>;

fn compare(
    title: &str,
    (unit, scale, cost_unit): (&str, f64, &str),
    repeats: u32,
    (name, peer): (&str, Measure<'_>),
    own: Measure<'_>,
) -> Result<(), String> {
    let mut samples = [Samples::default(), Samples::default()];
    for _ in 0..repeats {
        let mut order = [(0, peer), (1, own)];
        shuffle(&mut order);
        for (place, measure) in order {
            samples[place].push(measure()?);
        }
    }
    let mut medians = Vec::new();
    for (name, samples) in [name, "rookery"].iter().zip(&mut samples) {
        let (rates, costs) = (quartiles(&mut samples.rates), quartiles(&mut samples.costs));
        let [low, middle, high] = rates.map(|rate| rate * scale);
        say(&format!(
            "{title:<12} {name:<9} {middle:9.0} {unit} (quartiles {low:.0} to {high:.0}), {:7.3} \
             {cost_unit} ({:.3} to {:.3})",
            costs[1], costs[0], costs[2]
        ))?;
        medians.push((middle, costs[1]));
    }
    say(&format!(
        "{title:<12} ratio     {:9.3}, of CPU time {:.3} (median of rookery / median of {name})",
        medians[1].0 / medians[0].0,
        medians[1].1 / medians[0].1
    ))
}
