//! `rookery run --spread`: trials of one run on several pretend hosts.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::hosts::PretendHosts;
use crate::common::{Place, assert_host_as, code, host_state, root_tests, text};

/// How long anything here may take to happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// Trials that are computed: two points, four repeats each.
const SIMULATED: &str = r#"
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

pub(super) fn rows<'a>(run: &'a Value, table: &str) -> &'a Vec<Value> {
    run[table].as_array().unwrap_or_else(|| panic!("{table}"))
}

pub(super) fn number(of: &Value, key: &str) -> u64 {
    of[key].as_u64().unwrap_or_else(|| panic!("{key} in {of}"))
}

/// Exit codes of a run that went to its end: also where its driver was disturbed in every trial, or
/// too few users of one guest were measured to judge its limits.
pub(super) fn went_well(code: i32) -> bool {
    matches!(code, 0 | 6 | 7)
}

/// Which host performed each trial.
pub(super) fn hosts_of(run: &Value) -> BTreeMap<u64, String> {
    let of_row = |row: &Value| {
        (
            number(row, "trial"),
            row["host"].as_str().unwrap_or("").to_owned(),
        )
    };
    rows(run, "trial_hosts").iter().map(of_row).collect()
}

/// Every trial of the plan has ended once, and a host is known of each.
pub(super) fn each_trial_once(run: &Value) {
    let hosts = hosts_of(run);
    for trial in rows(run, "trials") {
        let id = number(trial, "trial");
        assert!(
            trial["status"] == "done" || trial["status"] == "void",
            "{trial}"
        );
        assert!(hosts.contains_key(&id), "{id} in {hosts:?}");
        let attempts = rows(run, "attempts").iter();
        let ended = attempts.filter(|attempt| {
            number(attempt, "trial") == id && attempt["ended_as"] == trial["status"]
        });
        assert_eq!(ended.count(), 1, "trial {id}");
    }
}

pub(super) fn up(hosts: &PretendHosts<'_>, file: &str) {
    let up = hosts.rookery(&["fleet", "up", file]);
    assert_eq!(code(&up), 0, "{}", text(&up.stderr));
}

pub(super) fn down(hosts: &PretendHosts<'_>, file: &str, count: usize) -> Output {
    let down = hosts.rookery(&["fleet", "down", file]);
    assert_eq!(code(&down), 0, "{}", text(&down.stderr));
    for number in 0..count {
        assert!(!hosts.directory(number).exists(), "{}", text(&down.stdout));
    }
    down
}

/// A run whose events are heard.
pub(super) struct Running {
    child: Child,
    lines: Box<dyn Iterator<Item = String>>,
}

impl Running {
    pub(super) fn start(hosts: &PretendHosts<'_>, args: &[&str]) -> Self {
        Self::from_command(hosts.command(args))
    }

    pub(super) fn from_command(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .expect("rookery starts");
        let out = child.stdout.take().expect("piped");
        let lines = Box::new(BufReader::new(out).lines().map_while(Result::ok));
        Self { child, lines }
    }

    /// Hear until so many events of a kind came.
    pub(super) fn hear(&mut self, event: &str, count: usize) {
        let wanted = format!("\"event\":\"{event}\"");
        let heard = self
            .lines
            .by_ref()
            .filter(|line| line.contains(&wanted))
            .take(count)
            .count();
        assert_eq!(heard, count, "the run ended early");
    }

    /// Kill it, and wait for its end.
    pub(super) fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("ended");
    }

    pub(super) fn wait(mut self) -> i32 {
        self.lines.by_ref().for_each(drop);
        self.child.wait().expect("it ends").code().unwrap_or(-1)
    }
}

pub(super) fn kill(pid: u32) {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .expect("a process");
    kill_process(pid, Signal::KILL).expect("killed");
}

#[test]
fn trials_are_shared_out_and_each_ends_once() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let hosts = PretendHosts::new(&place, 3);
    let file = hosts.file_of_all();
    let study = place.study("computed.toml", SIMULATED);
    let refused = hosts.rookery(&["run", &study, "--spread", &file]);
    assert_eq!(code(&refused), 4);
    assert!(
        text(&refused.stderr).contains("fleet::not-up"),
        "{}",
        text(&refused.stderr)
    );

    up(&hosts, &file);
    let ran = hosts.rookery(&["run", &study, "--spread", &file]);
    assert!(went_well(code(&ran)), "{}", text(&ran.stderr));
    let run = place.export();
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
    let here = place
        .rookery(&["run", &study])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&here), code(&ran), "{}", text(&here.stderr));
    assert_eq!(
        rows(&place.export(), "operations"),
        rows(&run, "operations")
    );
    down(&hosts, &file, 3);
}

#[test]
fn guests_are_measured_and_audited_where_they_live() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let before = host_state();
    {
        let hosts = PretendHosts::new(&place, 2);
        let file = hosts.file_of_all();
        up(&hosts, &file);
        let study = place.study("sampled.toml", &sampled("4", 4, "2s"));
        let ran = hosts.rookery(&["run", &study, "--spread", &file]);
        assert!(went_well(code(&ran)), "{}", text(&ran.stderr));
        let run = place.export();
        each_trial_once(&run);
        let audits = rows(&run, "audits");
        assert!(audits.len() >= 4, "{audits:?}");
        assert!(
            audits.iter().all(|audit| audit["consistent"] == true),
            "{audits:?}"
        );
        let by_host = hosts_of(&run);
        let used: BTreeSet<&String> = by_host.values().collect();
        assert_eq!(used.len(), 2, "{by_host:?}");
        down(&hosts, &file, 2);
    }
    assert_host_as(&before);
}

#[test]
fn a_lost_host_makes_its_trial_void_and_another_performs_it() {
    if !root_tests() {
        return;
    }
    // The test spoils the first trial: that of host a.
    let place = Place::with_planted_fault_among_others();
    let before = host_state();
    {
        let hosts = PretendHosts::new(&place, 2);
        let file = hosts.file_of_all();
        up(&hosts, &file);
        let study = place.study("sampled.toml", &sampled("4", 3, "3s"));
        let mut running = Running::start(&hosts, &["run", &study, "--spread", &file, "--json"]);
        running.hear("trial-started", 2);
        sleep(Duration::from_secs(1));
        kill(hosts.agent(0).expect("an agent at work"));
        let ended = running.wait();
        assert!(went_well(ended), "{ended}");
        let run = place.export();
        each_trial_once(&run);
        let of_first = |row: &&Value| number(row, "trial") == 1;
        let reason = rows(&run, "reasons")
            .iter()
            .find(of_first)
            .expect("a reason");
        assert_eq!(reason["code"], "host-lost", "{reason}");
        let by_host = hosts_of(&run);
        assert_eq!(by_host[&1], "a");
        assert!(
            by_host
                .iter()
                .all(|(trial, host)| *trial == 1 || host == "b"),
            "{by_host:?}"
        );
        assert!(
            rows(&run, "trials").len() >= 4,
            "the first was planned again"
        );
        // What the killed agent had made goes with the fleet.
        down(&hosts, &file, 2);
    }
    assert_host_as(&before);
}

#[test]
fn a_full_disk_of_a_host_costs_its_trial_alone() {
    if !root_tests() {
        return;
    }
    let place = Place::with_planted_fault_among_others();
    let before = host_state();
    {
        let hosts = PretendHosts::new(&place, 2);
        let file = hosts.file(&[hosts.entry_on_disk(0, 1024), hosts.entry(1, "")]);
        up(&hosts, &file);
        let study = place.study("sampled.toml", &sampled("4", 4, "2s"));
        let mut running = Running::start(&hosts, &["run", &study, "--spread", &file, "--json"]);
        running.hear("trial-started", 2);
        hosts.fill_disk(0);
        let ended = running.wait();
        assert!(went_well(ended), "{ended}");
        let run = place.export();
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
        let down = hosts.rookery(&["fleet", "down", &file]);
        assert_eq!(code(&down), 0, "{}", text(&down.stderr));
    }
    assert_host_as(&before);
}

#[test]
fn a_host_that_is_cut_off_ends_its_load_by_itself() {
    if !root_tests() {
        return;
    }
    // The test spoils the first trial: that of host a.
    let place = Place::with_planted_fault_among_others();
    let before = host_state();
    {
        let hosts = PretendHosts::new(&place, 2);
        let file = hosts.file_of_all();
        up(&hosts, &file);
        // The load of host a would last longer than everything else here.
        let study = place.study("sampled.toml", &sampled("4", 2, "8s"));
        let mut running = Running::start(&hosts, &["run", &study, "--spread", &file, "--json"]);
        running.hear("trial-started", 2);
        sleep(Duration::from_secs(1));
        let agent = hosts.agent(0).expect("an agent at work");
        hosts.cut_off(0);
        let ended = running.wait();
        assert!(went_well(ended), "{ended}");
        let run = place.export();
        each_trial_once(&run);
        let of_first = |row: &&Value| number(row, "trial") == 1;
        let reason = rows(&run, "reasons")
            .iter()
            .find(of_first)
            .expect("a reason");
        assert_eq!(reason["code"], "host-lost", "{reason}");
        await_agents(&hosts, 2);
        assert!(!Path::new(&format!("/proc/{agent}")).exists());
        assert_no_guests();
        hosts.join_again(0);
        down(&hosts, &file, 2);
    }
    assert_host_as(&before);
}

/// Wait until no agent is at work any more.
pub(super) fn await_agents(hosts: &PretendHosts<'_>, count: usize) {
    let began = Instant::now();
    while (0..count).any(|number| hosts.agent(number).is_some()) {
        assert!(began.elapsed() < PATIENCE, "agents are left");
        sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_run_whose_controller_was_killed_goes_on_and_leaves_nothing() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let before = host_state();
    {
        let hosts = PretendHosts::new(&place, 2);
        let file = hosts.file_of_all();
        up(&hosts, &file);
        let study = place.study("sampled.toml", &sampled("4", 6, "2s"));
        let mut running = Running::start(&hosts, &["run", &study, "--spread", &file, "--json"]);
        running.hear("trial-ended", 2);
        running.kill();
        // Without their controller agents remove their guests and end.
        await_agents(&hosts, 2);
        assert_no_guests();
        let resumed = hosts.rookery(&["run", "--resume", "--spread", &file]);
        assert!(went_well(code(&resumed)), "{}", text(&resumed.stderr));
        each_trial_once(&place.export());
        down(&hosts, &file, 2);
    }
    assert_host_as(&before);
}

/// No process of a run is left.
pub(super) fn assert_no_guests() {
    let left: Vec<String> = host_state()
        .into_iter()
        .filter(|thing| thing.starts_with("process "))
        .collect();
    assert!(left.is_empty(), "{left:#?}");
}
