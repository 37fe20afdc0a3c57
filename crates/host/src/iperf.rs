//! What a link of a network carries, measured with iperf3.
//!
//! The caller gives the places of both ends; [`measure`] starts a server at one, streams from the
//! other, and tells bits per second, segments that were sent again, and the CPU time of both ends
//! and of the whole host.

use std::{
    fs,
    net::{IpAddr, SocketAddr},
    path::Path,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use rookery_diagnosis::Diagnosis;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    BusyTime, bound_command,
    command::{CommandError, Host, Invocation},
    find_program, in_netns,
};

/// Streams at a time, unless others are asked for: those of the z/VM paper.
pub const STREAMS: [u32; 3] = [1, 5, 10];

/// Beyond its time iperf3 may take so long to start and to end.
const GRACE: Duration = Duration::from_secs(20);
/// How long the server may take until it listens.
const SERVER_PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks whether it does.
const SERVER_LOOK: Duration = Duration::from_millis(10);
/// Faster than any link of one host; a number beyond is damage, bits per second.
const MOST_BITS: f64 = 1e14;

/// Longer than any trial, s.
const MOST_SECONDS: f64 = 1e7;
/// More than is received in that time.
const MOST_BYTES: u64 = 1 << 60;

/// One measured point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamPoint {
    /// Streams at the same time, from the driver's end to the guest's.
    pub streams: u32,
    /// What the receiver got, bits per second of content.
    pub bits_per_s: f64,
    /// TCP segments that were sent again; `None` where iperf3 does not tell.
    pub retransmits: Option<u64>,
    /// CPU time of the sender for 10^9 bytes, s.
    pub sender_cpu_s_per_gb: f64,
    /// CPU time of the receiver for 10^9 bytes, s.
    pub receiver_cpu_s_per_gb: f64,
    /// Busy time of all CPUs of the host for 10^9 bytes, s: both ends, and whatever else ran.
    pub host_cpu_s_per_gb: f64,
    /// What iperf3 said.
    pub iperf3: Value,
}

/// Where the ends of a link are.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a> {
    /// The network namespace of the server, and its address there.
    pub server: (&'a Path, IpAddr),
    /// The network namespace of the client.
    pub client: &'a Path,
    /// The server's port.
    pub port: u16,
}

/// A link that cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum IperfError {
    /// iperf3 is not there.
    #[error("links are measured with `iperf3`, and there is none on this host")]
    Missing,
    /// The server did not come up.
    #[error("the server of iperf3 did not listen at {0}")]
    NoServer(String),
    /// A process or a namespace cannot be used.
    #[error("cannot run iperf3: {0}")]
    Io(#[from] std::io::Error),
    /// The client failed.
    #[error("iperf3 failed: {0}")]
    Failed(String),
    /// Its report cannot be understood.
    #[error("iperf3 reports something that cannot be: {0}")]
    Report(String),
}

impl Diagnosis for IperfError {
    fn code(&self) -> &'static str {
        match self {
            Self::Missing => "iperf3::missing",
            Self::NoServer(_) => "iperf3::no-server",
            Self::Io(_) => "iperf3::not-run",
            Self::Failed(_) => "iperf3::failed",
            Self::Report(_) => "iperf3::report",
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Missing => "apt install iperf3",
            Self::NoServer(_) | Self::Io(_) => "run as root, on a host that is not overloaded",
            Self::Failed(_) => "look whether the link carries packets of this size",
            Self::Report(_) => "use iperf3 3.7 or later",
        };
        Some(help.to_owned())
    }
}

/// The first line of `iperf3 --version`: `iperf 3.12 (cJSON 1.7.15)`.
///
/// # Errors
/// When there is none.
pub fn version(host: &dyn Host) -> Result<String, IperfError> {
    if find_program("iperf3").is_none() {
        return Err(IperfError::Missing);
    }
    let said = host.run(Invocation::new("iperf3").arg("--version"));
    let said = said.map_err(|error| IperfError::Failed(error.to_string()))?;
    Ok(said.lines().next().unwrap_or_default().to_owned())
}

/// Stream over a link for some seconds. The server is killed with the calling thread.
///
/// # Errors
/// When iperf3 is missing or fails.
pub fn measure(
    host: &dyn Host,
    ends: &Ends<'_>,
    streams: u32,
    seconds: u32,
) -> Result<StreamPoint, IperfError> {
    let address = ends.server.1.to_string();
    let port = ends.port.to_string();
    // The server's thread waits for its end: the kernel kills it with that thread.
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            in_netns(Some(ends.server.0), || {
                let mut child = bound_command("iperf3")
                    .args(["--server", "--one-off", "--bind", &address, "--port", &port])
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn()?;
                wait_at_most(&mut child, Duration::from_secs(seconds.into()) + GRACE)
            })
        });
        let measured = in_netns(Some(ends.client), || {
            await_listener(ends)?;
            stream(host, (&address, &port), streams, seconds)
        });
        let _ = server.join();
        measured?
    })
}

/// Wait for a child; kill it when it takes longer.
fn wait_at_most(child: &mut Child, limit: Duration) -> std::io::Result<()> {
    let until = Instant::now() + limit;
    while child.try_wait()?.is_none() {
        if Instant::now() > until {
            child.kill()?;
            child.wait()?;
            break;
        }
        thread::sleep(SERVER_LOOK);
    }
    Ok(())
}

/// Wait until the server listens.
fn await_listener(ends: &Ends<'_>) -> Result<(), IperfError> {
    let until = Instant::now() + SERVER_PATIENCE;
    while Instant::now() < until {
        let address = SocketAddr::new(ends.server.1, ends.port);
        if in_netns(Some(ends.server.0), || is_listened_on(address))? {
            return Ok(());
        }
        thread::sleep(SERVER_LOOK);
    }
    Err(IperfError::NoServer(format!(
        "{}:{}",
        ends.server.1, ends.port
    )))
}

/// Whether somebody listens at exactly this address in the network of the calling thread: guests
/// may share it. The table of listeners is read: iperf3 would take a connection for its client.
#[must_use]
pub fn is_listened_on(address: SocketAddr) -> bool {
    let wanted = in_table(address);
    let tables = ["tcp", "tcp6"].map(|table| {
        fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap_or_default()
    });
    // 0A is LISTEN.
    tables.iter().flat_map(|table| table.lines()).any(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let local = fields.next().unwrap_or_default();
        local == wanted && fields.nth(1) == Some("0A")
    })
}

/// An address as the tables of sockets have it: the words of 4 bytes in the order of this machine.
fn in_table(address: SocketAddr) -> String {
    let octets = match address.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let words = octets.as_chunks::<4>().0.iter();
    let words: String = words
        .map(|word| format!("{:08X}", u32::from_ne_bytes(*word)))
        .collect();
    format!("{words}:{:04X}", address.port())
}

fn stream(
    host: &dyn Host,
    (address, port): (&str, &str),
    streams: u32,
    seconds: u32,
) -> Result<StreamPoint, IperfError> {
    let busy = BusyTime::start().ok();
    let said = host.run(
        Invocation::new("iperf3")
            .args(["--client", address, "--port", port, "--json"])
            // Without reports on the way: they would not all be kept.
            .args(["--interval", "0"])
            .args(["--parallel", &streams.to_string()])
            .args(["--time", &seconds.to_string()])
            .timeout(Duration::from_secs(seconds.into()) + GRACE),
    );
    let busy_s = busy
        .and_then(|busy| busy.us().ok())
        .map_or(0.0, |us| us as f64 / 1e6);
    let said = said.map_err(|error| match error {
        CommandError::Missing { .. } => IperfError::Missing,
        other => IperfError::Failed(other.to_string()),
    })?;
    read_report(&said, streams, busy_s)
}

/// What iperf3 says of some streams, beside the busy time of the host.
///
/// # Errors
/// When it is no report, or tells of an error.
fn read_report(said: &str, streams: u32, busy_s: f64) -> Result<StreamPoint, IperfError> {
    let report: Value =
        serde_json::from_str(said).map_err(|error| IperfError::Report(error.to_string()))?;
    if let Some(error) = report["error"].as_str() {
        return Err(IperfError::Failed(error.to_owned()));
    }
    let number = |path: &str| -> Result<f64, IperfError> {
        let found = report.pointer(path).and_then(Value::as_f64);
        found
            .filter(|number| number.is_finite() && (0.0..=MOST_BITS).contains(number))
            .ok_or_else(|| IperfError::Report(format!("no number at {path}")))
    };
    let bits_per_s = number("/end/sum_received/bits_per_second")?;
    let seconds = number("/end/sum_received/seconds")?;
    let gigabytes = bits_per_s * seconds / 8e9;
    if gigabytes <= 0.0 {
        return Err(IperfError::Failed("nothing came through".to_owned()));
    }
    // Per cent of one CPU over the time of the streams.
    let cpu_s = |percent: f64| percent / 100.0 * seconds / gigabytes;
    Ok(StreamPoint {
        streams,
        bits_per_s,
        retransmits: report
            .pointer("/end/sum_sent/retransmits")
            .and_then(Value::as_u64),
        sender_cpu_s_per_gb: cpu_s(number("/end/cpu_utilization_percent/host_total")?),
        receiver_cpu_s_per_gb: cpu_s(number("/end/cpu_utilization_percent/remote_total")?),
        host_cpu_s_per_gb: busy_s / gigabytes,
        iperf3: report,
    })
}

/// What a client of iperf3 received, as it says itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// Content, bytes; what came in the time that was left out first is not in it.
    pub bytes: u64,
    /// In how many seconds.
    pub seconds: f64,
    /// The intervals of its reports, in order, with those of the time that was left out.
    pub intervals: Vec<Interval>,
}

/// An interval of a report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// How long it was, s.
    pub seconds: f64,
    /// Content of all streams, bytes.
    pub bytes: u64,
}

/// What a client that received (`--reverse`) says in its JSON.
///
/// # Errors
/// When it is no such report, or tells of an error.
pub fn read_received(said: &str) -> Result<Received, IperfError> {
    let report: Value =
        serde_json::from_str(said).map_err(|error| IperfError::Report(error.to_string()))?;
    if let Some(error) = report["error"].as_str() {
        return Err(IperfError::Failed(error.to_owned()));
    }
    let interval = |value: &Value| {
        let (seconds, bytes) = (value["seconds"].as_f64()?, value["bytes"].as_u64()?);
        let can_be = |seconds: f64| seconds.is_finite() && (0.0..=MOST_SECONDS).contains(&seconds);
        (can_be(seconds) && bytes <= MOST_BYTES).then_some(Interval { seconds, bytes })
    };
    let missing = |what: &str| IperfError::Report(format!("no bytes and seconds at {what}"));
    let whole = interval(&report["end"]["sum_received"])
        .filter(|whole| whole.seconds > 0.0)
        .ok_or_else(|| missing("end/sum_received"))?;
    let intervals = report["intervals"].as_array();
    let intervals = intervals.into_iter().flatten();
    let intervals: Option<Vec<Interval>> = intervals.map(|own| interval(&own["sum"])).collect();
    Ok(Received {
        bytes: whole.bytes,
        seconds: whole.seconds,
        intervals: intervals.ok_or_else(|| missing("intervals"))?,
    })
}

/// Content that a server of iperf3 sent, bytes, by the JSON that it wrote of each client, one after
/// another; `None` where that is no such text.
#[must_use]
pub fn read_sent(said: &str) -> Option<u64> {
    let mut sent = 0_u64;
    for report in serde_json::Deserializer::from_str(said).into_iter::<Value>() {
        for interval in report.ok()?["intervals"].as_array()? {
            if interval["sum"]["sender"].as_bool()? {
                sent = sent.saturating_add(interval["sum"]["bytes"].as_u64()?);
            }
        }
    }
    Some(sent)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = r#"{"start":{},"end":{
        "sum_sent":{"bytes":2500000000,"bits_per_second":1e10,"retransmits":3},
        "sum_received":{"seconds":2.0,"bytes":2500000000,"bits_per_second":1e10},
        "cpu_utilization_percent":{"host_total":50.0,"remote_total":100.0}}}"#;

    #[test]
    fn costs_are_those_of_a_gigabyte() {
        let point = read_report(SAID, 5, 4.0).expect("a report");
        assert_eq!((point.streams, point.retransmits), (5, Some(3)));
        assert_eq!(point.bits_per_s, 1e10);
        // 2.5 GB in two seconds.
        assert!((point.sender_cpu_s_per_gb - 0.4).abs() < 1e-9);
        assert!((point.receiver_cpu_s_per_gb - 0.8).abs() < 1e-9);
        assert!((point.host_cpu_s_per_gb - 1.6).abs() < 1e-9);
    }

    #[test]
    fn what_is_no_report_is_an_error() {
        assert!(matches!(
            read_report("no", 1, 0.0),
            Err(IperfError::Report(_))
        ));
        assert!(matches!(
            read_report("{\"error\":\"unable to connect\"}", 1, 0.0),
            Err(IperfError::Failed(what)) if what == "unable to connect"
        ));
        let negative = SAID.replace("1e10", "-1");
        assert!(matches!(
            read_report(&negative, 1, 0.0),
            Err(IperfError::Report(_))
        ));
        let nothing = SAID.replace("1e10", "0");
        assert!(matches!(
            read_report(&nothing, 1, 0.0),
            Err(IperfError::Failed(_))
        ));
    }

    const RECEIVED: &str = r#"{"intervals":[
        {"sum":{"seconds":1.0,"bytes":10,"omitted":true,"sender":false}},
        {"sum":{"seconds":1.1,"bytes":20,"omitted":false,"sender":false}}],
        "end":{"sum_received":{"seconds":1.1,"bytes":20}}}"#;

    #[test]
    fn what_a_client_received_is_read() {
        let received = read_received(RECEIVED).expect("a report");
        assert_eq!((received.bytes, received.seconds), (20, 1.1));
        let bytes: Vec<u64> = received.intervals.iter().map(|own| own.bytes).collect();
        assert_eq!(bytes, [10, 20]);
        let failed = read_received("{\"error\":\"unable to connect\"}");
        assert!(matches!(failed, Err(IperfError::Failed(what)) if what == "unable to connect"));
        for (what, by) in [
            ("\"seconds\":1.1", "\"seconds\":-1"),
            ("\"bytes\":10", "\"bytes\":1.5"),
        ] {
            let damaged = read_received(&RECEIVED.replace(what, by));
            assert!(matches!(damaged, Err(IperfError::Report(_))), "{by}");
        }
    }

    #[test]
    fn what_a_server_sent_is_summed_over_its_clients() {
        let one = RECEIVED.replace("\"sender\":false", "\"sender\":true");
        assert_eq!(read_sent(&format!("{one}\n{one}\n")), Some(60));
        assert_eq!(read_sent(RECEIVED), Some(0));
        assert_eq!(read_sent(""), Some(0));
        assert_eq!(read_sent("{\"intervals\":"), None);
    }

    #[test]
    fn who_listens_beside_is_not_who_is_asked_for() {
        for (own, beside) in [("127.0.0.1", "127.0.0.2"), ("::1", "127.0.0.1")] {
            let own: IpAddr = own.parse().expect("an address");
            let listener = std::net::TcpListener::bind((own, 0)).expect("a free port");
            let address = listener.local_addr().expect("bound");
            assert!(is_listened_on(address), "{address}");
            let beside = SocketAddr::new(beside.parse().expect("an address"), address.port());
            assert!(!is_listened_on(beside), "{beside}");
        }
    }
}
