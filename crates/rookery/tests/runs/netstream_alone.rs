//! Streams of a trial beside streams of iperf3 alone, over links with the same limit: so far below
//! what CPUs carry that a busy machine makes no difference.

use std::{
    fs,
    io::Write,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rookery_host::in_unnamed_netns;
use serde_json::Value;

use crate::{
    common::{Place, assert_host_as, host_state, metric, root_tests, text},
    netstream::{rows, study},
};

/// The limit of each link, as a study and as `tc` write it.
const LIMIT: &str = "100Mbit";
/// Both sides may differ by so much.
const TOLERANCE: f64 = 0.03;
const STREAMS: &str = "2";

#[test]
fn a_trial_carries_what_iperf3_carries_alone() {
    if !root_tests() {
        return;
    }
    let place = Place::new();
    let before = host_state();
    let limited = format!("[network]\nrate_limit = \"{LIMIT}\"\n");
    let wanted = study("container", 131_072, STREAMS, &limited).replace(
        "answer_bytes",
        "program = [\"rookery\", \"iperf3\"]\nanswer_bytes",
    );
    let (_, run) = place.done_everywhere("limited.toml", &wanted);
    let guests = rows(&run, "guests");
    assert_eq!(guests.len(), 2, "{guests:?}");
    let alone = in_unnamed_netns(|| {
        let _server = far_end();
        client_mbit_per_s()
    });
    let alone = alone.expect("a network namespace");
    for guest in guests {
        let received = metric(&run, guest, "received_mbit_per_s");
        eprintln!("{received} in a trial, {alone} alone");
        assert!(
            (received / alone - 1.0).abs() < TOLERANCE,
            "{received} {alone}"
        );
    }
    assert_host_as(&before);
}

/// A server of iperf3 in a network namespace of its own, which is killed.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended with its client.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A link from this namespace to one of its own with a server behind it.
fn far_end() -> Server {
    let bucket = format!("root tbf rate {LIMIT} burst 131072 latency 50ms");
    let ends = "ip link set lo up; ip address add 10.9.0.2/24 dev far; ip link set far up";
    let script =
        format!("read go; {ends}; tc qdisc replace dev far {bucket}; exec iperf3 --server");
    let mut child = Command::new("unshare")
        .args(["--net", "sh", "-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("unshare starts");
    let pid = child.id().to_string();
    await_that("the server has a namespace", || {
        fs::read_link(format!("/proc/{pid}/ns/net")).ok()
            != fs::read_link("/proc/thread-self/ns/net").ok()
    });
    for command in [
        "ip link add near type veth peer name far".to_owned(),
        format!("ip link set far netns {pid}"),
        "ip address add 10.9.0.1/24 dev near".to_owned(),
        "ip link set near up".to_owned(),
        format!("tc qdisc replace dev near {bucket}"),
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let output = Command::new(words[0]).args(&words[1..]).output();
        let output = output.unwrap_or_else(|error| panic!("{command}: {error}"));
        assert!(
            output.status.success(),
            "{command}: {}",
            text(&output.stderr)
        );
    }
    let go = child.stdin.as_mut().expect("piped").write_all(b"go\n");
    go.expect("it reads");
    Server(child)
}

/// What the streams carry, million bits of content per second.
fn client_mbit_per_s() -> f64 {
    let mut bits = None;
    await_that("the server answers", || {
        let output = Command::new("iperf3")
            .args(["--client", "10.9.0.2", "--reverse", "--parallel", STREAMS])
            .args(["--omit", "1", "--time", "2", "--json"])
            .output()
            .expect("iperf3 starts");
        let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        bits = said["end"]["sum_received"]["bits_per_second"].as_f64();
        bits.is_some()
    });
    bits.expect("it answered") / 1e6
}

fn await_that(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
