//! The netstream workload over loopback and links, through the whole laboratory.

use serde_json::Value;

use crate::common::{Place, assert_host_as, code, host_state, metric, root_tests, text};

/// One guest that answers `answer` bytes, with more sections.
pub(crate) fn study(kind: &str, answer: u32, users: &str, more: &str) -> String {
    format!(
        r#"
title = "streamed"
seed = 3

[workload]
kind = "netstream"
answer_bytes = {answer}

[load]
users = {users}
ramp_up = "100ms"
settle = "900ms"
steady = "2s"
ramp_down = "100ms"
drain = "2s"
repeats = 1

[stack]
kind = "bundled"

[guest]
kind = "{kind}"
memory = "128MiB per guest"

[host]
overcommit = 2
other_work = 1

[[layout]]
name = "one"
guests = 1
vcpus = 1
{more}
"#
    )
}

pub(crate) fn rows<'a>(of: &'a Value, key: &str) -> &'a Vec<Value> {
    of[key]
        .as_array()
        .unwrap_or_else(|| panic!("{key} in {of}"))
}

fn number(of: &Value, key: &str) -> u64 {
    of[key].as_u64().unwrap_or_else(|| panic!("{key} in {of}"))
}

/// The server sent what connections received, answer by answer and byte by byte.
fn proof_holds(run: &Value, answer: u64) {
    let audits = rows(run, "audits");
    assert!(!audits.is_empty());
    for audit in audits {
        assert_eq!(audit["consistent"], true, "{audit}");
    }
    for pair in rows(run, "proofs").chunks(2) {
        let [answers, bytes] = pair else {
            panic!("two rows each: {pair:?}");
        };
        assert_eq!(answers["what"], "answers");
        assert!(number(answers, "acknowledged") > 0, "{answers}");
        assert_eq!(number(bytes, "found"), answer * number(answers, "found"));
    }
}

/// What was asked of a network and in force at both ends of each trial.
fn settings(run: &Value, name: &str) -> Vec<(String, String, String)> {
    let of = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    rows(run, "tunings")
        .iter()
        .filter(|row| row["name"] == name)
        .map(|row| (of(row, "asked"), of(row, "effective"), of(row, "at_end")))
        .collect()
}

/// The parts of the CPU time for so much are what the host spent on it.
fn costs_add_up(run: &Value, guest: &Value, amount: &str) {
    let cost = |side: &str| metric(run, guest, &format!("{side}_cpu_s_per_{amount}"));
    let (whole, ends) = (cost("host"), cost("guest") + cost("driver"));
    assert!(whole > 0.0 && ends > 0.0, "{whole} {ends}");
    let sum = ends + cost("elsewhere");
    assert!((sum / whole - 1.0).abs() < 1e-6, "{sum} {whole}");
    let share = |kind: &str| metric(run, guest, &format!("host_{kind}_share"));
    let shares = share("user") + share("system") + share("interrupt");
    assert!((shares - 1.0).abs() < 1e-6, "{shares}");
}

#[test]
fn exchanges_are_counted_and_their_cpu_time_with_them() {
    let place = Place::among_others();
    let (_, run) = place.done("small.toml", &study("bare", 100, "[1, 5]", ""));
    proof_holds(&run, 100);
    for guest in rows(&run, "guests") {
        let rate = metric(&run, guest, "exchanges_per_s");
        assert!(rate > 10.0, "{guest}");
        let bits = 8.0 * 100.0 * rate / 1e6;
        let received = metric(&run, guest, "received_mbit_per_s");
        assert!((received / bits - 1.0).abs() < 0.05, "{received} {bits}");
        costs_add_up(&run, guest, "million");
        let _ = metric(&run, guest, "resent_segments");
    }
    let page = place.dir.path().join("small.html");
    let output = place
        .rookery(&["report", "latest", "--html", &page.display().to_string()])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let page = std::fs::read_to_string(page).expect("the page");
    for own in [
        "exchanges/min",
        "host_cpu_s_per_gb",
        "answers of 100 bytes",
        "What links carry, and the CPU time that it costs",
    ] {
        assert!(page.contains(own), "{own}");
    }
}

#[test]
fn each_exchange_may_open_a_connection() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let wanted = study("container", 100, "2", "").replace(
        "answer_bytes = 100",
        "answer_bytes = 100\nrequest_bytes = 50\nconnection = \"new\"",
    );
    let (_, run) = place.done("new.toml", &wanted);
    proof_holds(&run, 100);
    for guest in rows(&run, "guests") {
        costs_add_up(&run, guest, "million");
        let exchanges = metric(&run, guest, "exchanges");
        let accepted = rows(&run, "kernel_counts").iter().find(|count| {
            count["scope"] == guest["guest"] && count["counter"] == "connections_accepted"
        });
        let accepted = number(accepted.expect("a count"), "count") as f64;
        assert!(accepted > 0.8 * exchanges, "{accepted} {exchanges}");
    }
}

#[test]
fn a_limit_and_a_bridge_of_another_size_are_named() {
    if !root_tests() {
        return;
    }
    let place = Place::new();
    let before = host_state();
    let network = "[network]\nrate_limit = \"100Mbit\"\nmtu = 9000\nbridge_mtu = 1500\n";
    let (_, run) = place.done("limited.toml", &study("container", 1 << 20, "2", network));
    proof_holds(&run, 1 << 20);
    for (name, wanted) in [
        ("network.rate_limit", "100Mbit"),
        ("network.mtu", "9000"),
        ("network.bridge_mtu", "1500"),
        ("network.device", "veth"),
    ] {
        let found = settings(&run, name);
        assert!(!found.is_empty(), "{name}");
        for (asked, in_force, at_end) in found {
            assert_eq!([&*asked, &*in_force, &*at_end], [wanted; 3], "{name}");
        }
    }
    for guest in rows(&run, "guests") {
        let received = metric(&run, guest, "received_mbit_per_s");
        assert!(received < 101.0, "{received}");
    }
    let output = place
        .rookery(&["report", "latest", "--json"])
        .output()
        .expect("rookery starts");
    let told = text(&output.stdout);
    assert!(
        told.contains("limited to 100.0 Mbit/s") && told.contains("the limit bounds it"),
        "{told}"
    );
    assert_host_as(&before);
}

/// A guest that receives from another, which sends, on a network of their own.
const BETWEEN: &str = r#"
title = "between guests"
seed = 3
workload = { kind = "netstream", answer_bytes = 1048576, connection = "new" }
load = { ramp_up = "100ms", settle = "900ms", steady = "2s", ramp_down = "100ms", drain = "2s", repeats = 1 }
stack = { kind = "bundled" }
guest = { kind = "container", memory = "128MiB per guest" }
host = { overcommit = 4, other_work = 1 }
network = { back_end = "separate" }
[[layout]]
name = "pair"
[[layout.group]]
name = "receiver"
users = 2
[[layout.group]]
name = "sender"
tier_of = "receiver"
"#;

#[test]
fn one_guest_streams_to_another_and_both_are_paid_for() {
    if !root_tests() {
        return;
    }
    let place = Place::new();
    let before = host_state();
    let (_, run) = place.done("between.toml", BETWEEN);
    // The tier holds what the receiver acknowledged.
    proof_holds(&run, 1 << 20);
    for audit in rows(&run, "audits") {
        assert_eq!(audit["guest"], "g2", "{audit}");
    }
    let receiver = rows(&run, "guests")
        .iter()
        .find(|guest| guest["guest"] == "g1")
        .expect("the receiver");
    let cost = |side: &str| metric(&run, receiver, &format!("{side}_cpu_s_per_gb"));
    let (guest, partner, driver) = (cost("guest"), cost("partner"), cost("driver"));
    assert!(guest > 0.0 && partner > 0.0, "{guest} {partner}");
    // The driver only asks.
    assert!(driver < guest + partner, "{driver} {guest} {partner}");
    let sum = guest + partner + driver + cost("elsewhere");
    assert!((sum / cost("host") - 1.0).abs() < 1e-6, "{sum}");
    // One receiver has all that its sender sent again.
    let resent = rows(&run, "kernel_counts")
        .iter()
        .find(|count| count["scope"] == "g2" && count["counter"] == "segments_retransmitted");
    let resent = resent.map_or(0, |count| number(count, "count")) as f64;
    let told = metric(&run, receiver, "partner_resent_segments");
    assert!((told - resent).abs() < 1e-6, "{told} {resent}");
    assert_host_as(&before);
}

/// A guest with many packets and one with few on CPU 0, in two layouts: the packets of both are
/// handled there, or on the driver's CPU.
fn unequal() -> String {
    let layout = |name: &str, cpu: u32| {
        format!(
            r#"
[[layout]]
name = "{name}"
[[layout.group]]
name = "busy"
users = 2
answer_bytes = 65536
irq = [{cpu}]
[[layout.group]]
name = "quiet"
users = 1
answer_bytes = 100
think_time = "100ms"
irq = [{cpu}]
"#
        )
    };
    let layouts = layout("among guests", 0) + &layout("beside guests", 1);
    format!(
        r#"
title = "served"
seed = 3
workload = {{ kind = "netstream" }}
load = {{ ramp_up = "100ms", settle = "900ms", steady = "2s", ramp_down = "100ms", drain = "2s", repeats = 1 }}
stack = {{ kind = "bundled" }}
guest = {{ kind = "container", memory = "128MiB per guest" }}
host = {{ guest_cpus = [0], driver_cpus = [1], overcommit = 2, other_work = 1 }}
network = {{ gro = "off", gso = "off", tso = "off" }}
{layouts}"#
    )
}

#[test]
fn a_guest_whose_cpu_serves_the_packets_of_another_is_named() {
    if !root_tests() {
        return;
    }
    let place = Place::new();
    let before = host_state();
    let (_, run) = place.done_everywhere("served.toml", &unequal());
    for name in ["network.irq", "network.irq_send"] {
        let mut found = settings(&run, name);
        found.sort();
        found.dedup();
        let of = |cpu: &str| (cpu.to_owned(), cpu.to_owned(), cpu.to_owned());
        assert_eq!(found, [of("0"), of("1")], "{name}");
    }
    let output = place
        .rookery(&["report", "latest", "--json"])
        .output()
        .expect("rookery starts");
    let analysis: Value = serde_json::from_slice(&output.stdout).expect("an analysis");
    let served: Vec<&str> = rows(&analysis["trust"], "checks")
        .iter()
        .flat_map(|check| rows(check, "remarks"))
        .filter_map(|remark| remark["text"].as_str())
        .filter(|text| text.contains("they serve others"))
        .collect();
    let names_g2 = |text: &&str| text.contains("the CPUs of g2 (0)");
    assert!(
        !served.is_empty() && served.iter().all(names_g2),
        "{served:?}"
    );
    assert_host_as(&before);
}

#[test]
fn links_of_containers_carry_streams_and_leave_nothing() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let before = host_state();
    let network = "[network]\ndevice = [\"macvlan\", \"vxlan\", \"routed\"]\nmtu = 9000\n";
    let (_, run) = place.done("links.toml", &study("container", 1 << 20, "2", network));
    proof_holds(&run, 1 << 20);
    let mut devices: Vec<String> = settings(&run, "network.device")
        .into_iter()
        .map(|(asked, in_force, at_end)| {
            assert_eq!([&in_force, &at_end], [&asked; 2]);
            asked
        })
        .collect();
    devices.sort();
    assert_eq!(devices, ["macvlan", "routed", "vxlan"]);
    assert_host_as(&before);
}

/// What iperf3 itself says that the streams of a trial carried, million bits per second.
fn by_iperf3(run: &Value, trial: &Value) -> f64 {
    let outputs = rows(run, "outputs");
    let own = outputs.iter().find(|output| output["trial"] == *trial);
    let own = own.unwrap_or_else(|| panic!("no output of trial {trial}"));
    let program = own["program"].as_str().unwrap_or_default();
    assert!(program.starts_with("iperf 3"), "{own}");
    let said: Value = serde_json::from_str(own["text"].as_str().expect("text")).expect("JSON");
    assert_eq!(said["start"]["test_start"]["num_streams"], 2);
    assert_eq!(
        said["server_output_json"]["start"]["test_start"]["reverse"],
        1
    );
    let bits = said["end"]["sum_received"]["bits_per_second"].as_f64();
    bits.expect("a number") / 1e6
}

/// Two streams of iperf3 from one guest.
fn by_iperf3_alone(kind: &str) -> String {
    study(kind, 131_072, "2", "").replace("answer_bytes", "program = \"iperf3\"\nanswer_bytes")
}

fn streams_are_measured_by_iperf3(place: &Place, kind: &str) {
    let (output, run) = place.done("iperf3.toml", &by_iperf3_alone(kind));
    for audit in rows(&run, "audits") {
        assert_eq!(audit["consistent"], true, "{audit}");
    }
    let guests = rows(&run, "guests");
    assert_eq!(guests.len(), rows(&run, "trials").len());
    for guest in guests {
        let (received, said) = (
            metric(&run, guest, "received_mbit_per_s"),
            by_iperf3(&run, &guest["trial"]),
        );
        assert!((received / said - 1.0).abs() < 0.01, "{received} {said}");
        costs_add_up(&run, guest, "gb");
        assert!(metric(&run, guest, "driver_cpu_s_per_gb") > 0.0);
    }
    // It is the driver, and no other work on its CPUs.
    let others = rows(&run, "other_programs");
    assert!(
        !others.iter().any(|other| other["name"] == "iperf3"),
        "{others:?}"
    );
    assert!(!output.contains("Little"), "{output}");
}

#[test]
fn iperf3_streams_from_bare_guests_and_containers() {
    let place = Place::new();
    streams_are_measured_by_iperf3(&place, "bare");
    if root_tests() {
        let place = Place::new();
        let before = host_state();
        streams_are_measured_by_iperf3(&place, "container");
        assert_host_as(&before);
    }
}

#[test]
fn streams_of_iperf3_are_told_while_they_flow() {
    let place = Place::among_others();
    let study = by_iperf3_alone("bare").replace("steady = \"2s\"", "steady = \"4s\"");
    let (mut child, events) = place.under_load(&study);
    let rates: Vec<f64> = events
        .filter_map(|line| {
            let event: Value = serde_json::from_str(&line).ok()?;
            let of_load = event["event"] == "load" && event["phase"] == "steady";
            of_load.then(|| event["requests_per_s"].as_f64()).flatten()
        })
        .collect();
    child.wait().expect("it ends");
    assert!(
        rates.len() > 1 && rates.iter().all(|rate| *rate > 0.0),
        "{rates:?}"
    );
}

#[test]
fn what_iperf3_cannot_do_is_refused() {
    let place = Place::among_others();
    let asked = study("bare", 100, "129", "");
    let asked = asked.replace("answer_bytes", "program = \"iperf3\"\nanswer_bytes");
    let study = place.study("many.toml", &asked);
    let output = place
        .rookery(&["check", &study])
        .output()
        .expect("rookery starts");
    let told = text(&output.stderr);
    assert!(
        told.contains("at most 128 streams for each guest, and not 129"),
        "{told}"
    );
    assert_ne!(code(&output), 0);
}
