//! `rookery run --spread`: trials of one run on several pretend hosts.

use std::{collections::BTreeSet, path::Path, thread::sleep, time::Duration};

use serde_json::Value;

use super::{
    fixture::{
        all, assert_no_guests, audited, each_trial_once, hosts_of, number, on_hosts, only_reason,
        rows, went_well,
    },
    hosts::PretendHosts,
};
use crate::common::{Place, code, root_tests, text};

/// Trials that are computed: two points, four repeats each.
pub(super) const SIMULATED: &str = r#"
title = "computed elsewhere"
[workload]
kind = "dvdstore"
think_time = "100ms"
[load]
users = [4, 8]
ramp_up = "1s"
settle = "2s"
steady = "20s"
repeats = 4
[qos]
p95 = "100ms"
[stack]
kind = "simulated"
host_cpus = 3
[guest]
kind = "fake"
[[layout]]
name = "one"
guests = 1
vcpus = 2
"#;

/// Few users of a server in Rust, so that several hosts find room on one machine.
pub(super) fn sampled(users: &str, repeats: u32, steady: &str) -> String {
    format!(
        r#"
title = "sampled elsewhere"
seed = 5
[workload]
kind = "sample"
records = 50
record_bytes = 24
list_length = 5
think_time = "20ms"
[load]
users = {users}
ramp_up = "100ms"
settle = "300ms"
steady = "{steady}"
ramp_down = "100ms"
drain = "2s"
repeats = {repeats}
[qos.write]
p95 = "5s"
[stack]
kind = "bundled"
[guest]
kind = "bare"
memory = "128MiB per guest"
[host]
overcommit = 2
other_work = 1
[[layout]]
name = "one"
guests = 1
vcpus = 1
"#
    )
}

#[test]
fn hosts_that_are_not_up_are_said() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let hosts = PretendHosts::new(&place, 1);
    let file = hosts.file_of_all();
    let study = place.study("computed.toml", SIMULATED);
    let refused = hosts.rookery(&["run", &study, "--spread", &file]);
    let said = text(&refused.stderr);
    assert_eq!(code(&refused), 4, "{said}");
    assert!(said.contains("fleet::not-up"), "{said}");
}

#[test]
fn trials_are_shared_out_and_each_ends_once() {
    on_hosts(Place::among_others, 3, all, |fleet| {
        let ran = fleet.run(SIMULATED, "--spread");
        assert!(went_well(code(&ran)), "{}", text(&ran.stderr));
        let run = fleet.place.export();
        assert_eq!(rows(&run, "trials").len(), 8);
        each_trial_once(&run);
        assert_eq!(rows(&run, "hosts").len(), 3);
        let by_host = hosts_of(&run);
        let used: BTreeSet<&String> = by_host.values().collect();
        assert!(used.len() > 1, "{by_host:?}");
        for row in rows(&run, "trial_hosts") {
            let of = |key: &str| row[key].as_f64().expect("a number");
            assert!(
                of("clock_offset_ms").abs() <= of("clock_bound_ms"),
                "one clock: {row}"
            );
        }
        // The same trials on this machine alone yield the same.
        let study = fleet.place.study("study.toml", SIMULATED);
        let here = fleet.place.rookery(&["run", &study]).output();
        let here = here.expect("rookery starts");
        assert_eq!(code(&here), code(&ran), "{}", text(&here.stderr));
        let alone = fleet.place.export();
        assert_eq!(rows(&alone, "operations"), rows(&run, "operations"));
    });
}

#[test]
fn guests_are_measured_and_audited_where_they_live() {
    on_hosts(Place::among_others, 2, all, |fleet| {
        let ran = fleet.run(&sampled("4", 4, "2s"), "--spread");
        assert!(went_well(code(&ran)), "{}", text(&ran.stderr));
        let run = fleet.place.export();
        each_trial_once(&run);
        audited(&run, 4);
        let by_host = hosts_of(&run);
        let used: BTreeSet<&String> = by_host.values().collect();
        assert_eq!(used.len(), 2, "{by_host:?}");
    });
}

/// The first trial, that of host a, was performed again by the other host.
fn only_the_first_was_lost(run: &Value) {
    each_trial_once(run);
    only_reason(run, "host-lost");
    let by_host = hosts_of(run);
    assert_eq!(by_host[&1], "a");
    let mut others = by_host.iter().filter(|(trial, _)| **trial > 1);
    assert!(others.all(|(_, host)| host == "b"), "{by_host:?}");
}

// The tests that follow spoil the first trial: that of host a.

#[test]
fn a_lost_host_makes_its_trial_void_and_another_performs_it() {
    let place = Place::with_planted_fault_among_others;
    on_hosts(place, 2, all, |fleet| {
        let mut running = fleet.begin(&sampled("4", 3, "3s"), "--spread");
        running.hear("trial-started", 2);
        sleep(Duration::from_secs(1));
        fleet.kill_agent(0);
        let ended = running.wait();
        assert!(went_well(ended), "{ended}");
        let run = fleet.place.export();
        only_the_first_was_lost(&run);
        let trials = rows(&run, "trials").len();
        assert!(trials >= 4, "the first was planned again");
    });
}

#[test]
fn a_full_disk_of_a_host_costs_its_trial_alone() {
    let place = Place::with_planted_fault_among_others;
    let file =
        |hosts: &PretendHosts<'_>| hosts.file(&[hosts.entry_on_disk(0, 1024), hosts.entry(1, "")]);
    on_hosts(place, 2, file, |fleet| {
        let mut running = fleet.begin(&sampled("4", 4, "2s"), "--spread");
        running.hear("trial-started", 2);
        fleet.hosts.fill_disk(0);
        let ended = running.wait();
        assert!(went_well(ended), "{ended}");
        let run = fleet.place.export();
        each_trial_once(&run);
        let full: Vec<u64> = rows(&run, "reasons")
            .iter()
            .filter(|row| row["code"] == "host-disk-full")
            .map(|row| number(row, "trial"))
            .collect();
        let [full] = full[..] else {
            panic!("{full:?} in {}", run["reasons"]);
        };
        let by_host = hosts_of(&run);
        assert_eq!(by_host[&full], "a");
        assert!(
            by_host
                .iter()
                .all(|(trial, host)| *trial <= full || host == "b"),
            "{by_host:?}"
        );
    });
}

#[test]
fn a_host_that_is_cut_off_ends_its_load_by_itself() {
    let place = Place::with_planted_fault_among_others;
    on_hosts(place, 2, all, |fleet| {
        // The load of host a would last longer than everything else here.
        let mut running = fleet.begin(&sampled("4", 2, "8s"), "--spread");
        running.hear("trial-started", 2);
        sleep(Duration::from_secs(1));
        let agent = fleet.hosts.agent(0).expect("an agent at work");
        fleet.hosts.cut_off(0);
        let ended = running.wait();
        assert!(went_well(ended), "{ended}");
        only_the_first_was_lost(&fleet.place.export());
        fleet.await_agents(2);
        assert!(!Path::new(&format!("/proc/{agent}")).exists());
        assert_no_guests();
        fleet.hosts.join_again(0);
    });
}

#[test]
fn a_run_whose_controller_was_killed_goes_on_and_leaves_nothing() {
    on_hosts(Place::among_others, 2, all, |fleet| {
        let mut running = fleet.begin(&sampled("4", 6, "2s"), "--spread");
        running.hear("trial-ended", 2);
        running.kill();
        // Without their controller agents remove their guests and end.
        fleet.await_agents(2);
        assert_no_guests();
        let resumed = fleet.resume("--spread");
        assert!(went_well(code(&resumed)), "{}", text(&resumed.stderr));
        each_trial_once(&fleet.place.export());
    });
}
