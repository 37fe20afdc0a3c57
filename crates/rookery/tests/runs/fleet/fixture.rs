//! What the tests of runs on pretend hosts share: hosts that come up and go down, runs on them, and
//! what is read of a run.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::hosts::PretendHosts;
use crate::common::{Place, assert_host_as, code, host_state, root_tests, stripped_program, text};

/// How long anything here may take to happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// Pretend hosts that are up.
pub(super) struct Fleet<'p> {
    pub(super) place: &'p Place,
    pub(super) hosts: PretendHosts<'p>,
    /// Their hosts file.
    pub(super) file: String,
}

/// Do `test` with so many pretend hosts, which come up by the hosts file that `file` writes, and go
/// down afterwards. Nothing is left on this host then.
pub(super) fn on_hosts(
    place: fn() -> Place,
    count: usize,
    file: impl FnOnce(&PretendHosts<'_>) -> String,
    test: impl FnOnce(&Fleet<'_>),
) {
    let file = |hosts: &PretendHosts<'_>| (file(hosts), ());
    on_hosts_beside(place, count, file, |fleet, ()| test(fleet));
}

/// The same beside something that is needed until `test` is done, and no longer.
pub(super) fn on_hosts_beside<T>(
    place: fn() -> Place,
    count: usize,
    file: impl FnOnce(&PretendHosts<'_>) -> (String, T),
    test: impl FnOnce(&Fleet<'_>, T),
) {
    if !root_tests() {
        return;
    }
    let place = place();
    let before = host_state();
    {
        let hosts = PretendHosts::new(&place, count);
        let (file, beside) = file(&hosts);
        let fleet = Fleet {
            place: &place,
            hosts,
            file,
        };
        fleet.up(&fleet.file);
        test(&fleet, beside);
        fleet.down(&fleet.file);
        for number in 0..count {
            assert!(!fleet.hosts.directory(number).exists(), "host {number}");
        }
    }
    assert_host_as(&before);
}

/// The directory of a host has the program.
fn have_program(directory: &Path) {
    fs::create_dir_all(directory).expect("made");
    let there = directory.join("rookery");
    if !there.exists() {
        fs::hard_link(stripped_program(), &there)
            .or_else(|_| fs::copy(stripped_program(), &there).map(drop))
            .expect("linked or copied");
    }
}

/// A hosts file of all pretend hosts.
pub(super) fn all(hosts: &PretendHosts<'_>) -> String {
    hosts.file_of_all()
}

/// A hosts file of the first of them.
pub(super) fn first(count: usize) -> impl Fn(&PretendHosts<'_>) -> String {
    move |hosts| {
        let entries = (0..count).map(|number| hosts.entry(number, ""));
        hosts.file(&entries.collect::<Vec<_>>())
    }
}

impl Fleet<'_> {
    /// What `rookery run STUDY --guests HOSTS.toml --drivers DRIVERS.toml` says.
    pub(super) fn run_from(&self, drivers: &str, study: &str) -> Output {
        let study = self.place.study("study.toml", study);
        let files = ["--guests", &self.file, "--drivers", drivers];
        self.hosts.rookery(&[&["run", &study], &files[..]].concat())
    }

    /// Bring the hosts of a file up. The program lies there already: other tests look at how it is
    /// copied, which takes seconds for each.
    pub(super) fn up(&self, file: &str) {
        let named = fs::read_to_string(file).expect("a hosts file");
        let hosts = (0..self.hosts.count()).map(|number| self.hosts.directory(number));
        hosts
            .filter(|directory| named.contains(&format!("\"{}\"", directory.display())))
            .for_each(|directory| have_program(&directory));
        let up = self.hosts.rookery(&["fleet", "up", file]);
        assert_eq!(code(&up), 0, "{}", text(&up.stderr));
    }

    pub(super) fn down(&self, file: &str) {
        let down = self.hosts.rookery(&["fleet", "down", file]);
        assert_eq!(code(&down), 0, "{}", text(&down.stderr));
    }

    /// What `rookery run STUDY OPTION HOSTS.toml` says; the option is `--spread`, `--drivers` or
    /// `--guests`.
    pub(super) fn run(&self, study: &str, option: &str) -> Output {
        let study = self.place.study("study.toml", study);
        self.hosts.rookery(&["run", &study, option, &self.file])
    }

    /// The same run when it has begun.
    pub(super) fn begin(&self, study: &str, option: &str) -> Running {
        self.begin_by(&[], study, option)
    }

    /// The same run with users from other hosts.
    pub(super) fn begin_from(&self, drivers: &str, study: &str) -> Running {
        let study = self.place.study("study.toml", study);
        let files = ["--guests", &self.file, "--drivers", drivers, "--json"];
        let args = [&["run", &study], &files[..]].concat();
        Running::from_command(self.hosts.command(&args))
    }

    /// The same by a command such as `taskset --cpu-list 1`, which runs what follows it.
    pub(super) fn begin_by(&self, by: &[&str], study: &str, option: &str) -> Running {
        let study = self.place.study("study.toml", study);
        let args = ["run", &study, option, &self.file, "--json"];
        Running::from_command(self.hosts.command_by(by, &args))
    }

    /// What its resumption says.
    pub(super) fn resume(&self, option: &str) -> Output {
        self.hosts.rookery(&["run", "--resume", option, &self.file])
    }

    /// Wait until no agent is at work any more.
    pub(super) fn await_agents(&self, count: usize) {
        (0..count).for_each(|number| self.await_end_of_agent(number));
    }

    /// The same of one host.
    pub(super) fn await_end_of_agent(&self, number: usize) {
        let began = Instant::now();
        while self.hosts.agent(number).is_some() {
            assert!(
                began.elapsed() < PATIENCE,
                "the agent of host {number} is left"
            );
            sleep(Duration::from_millis(100));
        }
    }

    /// Kill the agent of a host, which is at work.
    pub(super) fn kill_agent(&self, number: usize) {
        let agent = self.hosts.agent(number).expect("an agent at work");
        let agent = i32::try_from(agent).ok().and_then(Pid::from_raw);
        kill_process(agent.expect("a process"), Signal::KILL).expect("killed");
    }
}

/// A run whose events are heard.
pub(super) struct Running {
    child: Child,
    lines: Box<dyn Iterator<Item = String>>,
}

impl Running {
    fn from_command(mut command: Command) -> Self {
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

/// Which host performed each trial; where each had a part of it, all in their order.
pub(super) fn hosts_of(run: &Value) -> BTreeMap<u64, String> {
    let mut hosts: BTreeMap<u64, String> = BTreeMap::new();
    for row in rows(run, "trial_hosts") {
        let all = hosts.entry(number(row, "trial")).or_default();
        let comma = if all.is_empty() { "" } else { ", " };
        *all += &format!("{comma}{}", row["host"].as_str().unwrap_or(""));
    }
    hosts
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

/// The trials that ended so.
pub(super) fn ended_as(run: &Value, status: &str) -> Vec<u64> {
    let trials = rows(run, "trials").iter();
    let own = trials.filter(|trial| trial["status"] == status);
    own.map(|trial| number(trial, "trial")).collect()
}

/// Why the first trial is void or failed, in words: its first reason has this code.
pub(super) fn only_reason(run: &Value, code: &str) -> String {
    let reasons = rows(run, "reasons");
    let first = reasons
        .iter()
        .find(|row| number(row, "trial") == 1)
        .unwrap_or_else(|| panic!("{reasons:?}"));
    assert_eq!(first["code"], code, "{reasons:?}");
    first["reason"].as_str().unwrap_or_default().to_owned()
}

/// What the settings of all trials say of this name, void ones too.
pub(super) fn told<'r>(run: &'r Value, name: &str) -> Vec<&'r str> {
    let rows = rows(run, "tunings").iter();
    let own = rows.filter(|row| row["name"] == name);
    let told: Vec<&str> = own.filter_map(|row| row["effective"].as_str()).collect();
    assert!(!told.is_empty(), "nothing is told of {name}");
    told
}

/// The settings of every trial say this of a name; a void one, which this machine may always cause,
/// says it too.
pub(super) fn told_of_each(run: &Value, name: &str, effective: &str) {
    let told = told(run, name);
    assert!(
        told.iter().all(|told| *told == effective),
        "{name}: {told:?}"
    );
}

/// The audit of every guest found what its users were told.
pub(super) fn audited(run: &Value, least: usize) {
    let audits = rows(run, "audits");
    let consistent = audits.iter().all(|audit| audit["consistent"] == true);
    assert!(audits.len() >= least && consistent, "{audits:?}");
}

/// No process of a run is left.
pub(super) fn assert_no_guests() {
    let left: Vec<String> = host_state()
        .into_iter()
        .filter(|thing| thing.starts_with("process "))
        .collect();
    assert!(left.is_empty(), "{left:#?}");
}
