//! iperf3, sockperf and qperf: started, weighed, read.

use std::{
    fs,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{CLIENT_CPU, SERVER_CPU, Sample, TRANSACTION_BYTES, on_cpu};
use crate::bench::driver::client::{per_request, weigh};

/// How long a server may take until it listens.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether a program is installed.
pub(super) fn is_there(program: &str) -> bool {
    rookery_host::find_program(program).is_some()
}

/// A server that ends with its owner.
pub(super) struct Server(Child);

impl Server {
    /// Start a server and wait until it listens at a port of loopback.
    pub(super) fn start(command: &mut Command, port: u16) -> Result<Self, String> {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot start {command:?}: {error}"))?;
        let server = Self(child);
        let until = Instant::now() + PATIENCE;
        while !listens(port) {
            if Instant::now() > until {
                return Err(format!("{command:?} does not listen"));
            }
            sleep(Duration::from_millis(20));
        }
        Ok(server)
    }
}

/// Whether there is a listener, from the table of the namespace: a connection would be a client.
fn listens(port: u16) -> bool {
    let wanted = format!(":{port:04X}");
    let tables = ["tcp", "tcp6"].map(|table| {
        fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap_or_default()
    });
    tables.iter().flat_map(|table| table.lines()).any(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        // 0A is LISTEN.
        fields.next().is_some_and(|local| local.ends_with(&wanted)) && fields.nth(1) == Some("0A")
    })
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Streams from the server to the client, as those of the driver.
pub(super) fn iperf3(streams: u32, seconds: u32) -> Result<Sample, String> {
    const PORT: u16 = 5201;
    let _server = Server::start(
        on_cpu(SERVER_CPU, "iperf3").args(["--server", "--bind", "127.0.0.1"]),
        PORT,
    )?;
    let weighed = weigh(
        on_cpu(CLIENT_CPU, "iperf3")
            .args(["--client", "127.0.0.1", "--reverse", "--json"])
            .args(["--parallel", &streams.to_string()])
            .args(["--time", &seconds.to_string()]),
    )?;
    let report: Value = serde_json::from_str(&weighed.output)
        .map_err(|error| format!("iperf3 wrote no report: {error}"))?;
    let number = |path: &str| {
        let found = report.pointer(path).and_then(Value::as_f64);
        found.ok_or_else(|| format!("iperf3 tells no {path}: {report}"))
    };
    Ok(Sample {
        rate: number("/end/sum_received/bits_per_second")?,
        cost: weighed.cpu.as_secs_f64() / (number("/end/sum_received/bytes")? / 1e9),
    })
}

/// One transaction after the other over one connection.
pub(super) fn sockperf(seconds: u32) -> Result<Sample, String> {
    const PORT: u16 = 11_111;
    let place = ["--tcp", "-i", "127.0.0.1", "-p", "11111"];
    let _server = Server::start(
        on_cpu(SERVER_CPU, "sockperf").arg("server").args(place),
        PORT,
    )?;
    let weighed = weigh(
        on_cpu(CLIENT_CPU, "sockperf")
            .arg("ping-pong")
            .args(place)
            .args(["-m", &TRANSACTION_BYTES.to_string()])
            .args(["-t", &seconds.to_string()]),
    )?;
    let (run_s, messages) = total(&weighed.output)
        .ok_or_else(|| format!("sockperf tells no total:\n{}", weighed.output))?;
    Ok(Sample {
        rate: messages as f64 / run_s,
        cost: per_request(weighed.cpu, messages),
    })
}

/// The same; it tells half of the time of a transaction.
pub(super) fn qperf(seconds: u32) -> Result<Sample, String> {
    const PORT: u16 = 19_765;
    let _server = Server::start(&mut on_cpu(SERVER_CPU, "qperf"), PORT)?;
    let weighed = weigh(
        on_cpu(CLIENT_CPU, "qperf")
            .args(["-uu", "-e", "6", "-t", &seconds.to_string()])
            .args(["-m", &TRANSACTION_BYTES.to_string()])
            .args(["127.0.0.1", "tcp_lat"]),
    )?;
    let one_way_s = latency_s(&weighed.output)
        .ok_or_else(|| format!("qperf tells no latency:\n{}", weighed.output))?;
    let rate = 0.5 / one_way_s;
    let transactions = (rate * f64::from(seconds)).round();
    Ok(Sample {
        rate,
        cost: weighed.cpu.as_secs_f64() * 1e6 / transactions,
    })
}

/// Seconds of the line `latency  =  5230.1 ns`.
fn latency_s(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.contains("latency"))?;
    let (_, value) = line.split_once('=')?;
    let nanoseconds: f64 = value.trim().strip_suffix(" ns")?.parse().ok()?;
    (nanoseconds > 0.0).then_some(nanoseconds / 1e9)
}

/// Seconds and messages of the line `[Total Run] RunTime=3.000 sec; .. ReceivedMessages=5`.
fn total(text: &str) -> Option<(f64, u64)> {
    let line = text.lines().find(|line| line.contains("[Total Run]"))?;
    let after = |name: &str| {
        let (_, rest) = line.split_once(name)?;
        rest.split(|c: char| !(c.is_ascii_digit() || c == '.'))
            .next()
    };
    let seconds: f64 = after("RunTime=")?.parse().ok()?;
    let messages = after("ReceivedMessages=")?.parse().ok()?;
    (seconds > 0.0).then_some((seconds, messages))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_sockperf_is_read() {
        let text = "sockperf: [Total Run] RunTime=3.000 sec; Warm up time=400 msec; \
                    SentMessages=90001; ReceivedMessages=90000\n";
        assert_eq!(total(text), Some((3.0, 90_000)));
        assert_eq!(total("[Total Run] RunTime=0 sec"), None);
    }

    #[test]
    fn the_latency_of_qperf_is_read() {
        let text = "tcp_lat:\n    latency  =  5230.1 ns\n";
        assert!(latency_s(text).is_some_and(|found| (found * 1e9 - 5230.1).abs() < 1e-6));
        assert_eq!(latency_s("tcp_lat:\n    latency  =  5.2 us\n"), None);
    }
}
