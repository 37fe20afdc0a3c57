//! `rookery run --guests`: guests on pretend hosts, their users from here.

use std::{
    fs,
    thread::sleep,
    time::{Duration, Instant},
};

use super::{
    drivers::STUDY,
    fixture::{
        Fleet, all, audited, each_trial_once, first, hosts_of, number, on_hosts, only_reason, rows,
        told, told_of_each,
    },
    hosts::PretendHosts,
};
use crate::common::{Place, code, text};

/// How long a load may take to begin.
const PATIENCE: Duration = Duration::from_secs(30);

/// Wait until users are driven from here: their threads have a network of their own.
pub(super) fn await_users() {
    let began = Instant::now();
    let driven = || {
        let networks = fs::read_dir("/run/rookery/netns").into_iter().flatten();
        networks
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().ends_with("r00"))
    };
    while !driven() {
        assert!(began.elapsed() < PATIENCE, "no users");
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn guests_are_elsewhere_and_when_their_host_is_lost_they_are_on_another() {
    // The test spoils the first trial: that of host a.
    let place = Place::with_planted_fault_among_others;
    on_hosts(place, 2, all, |fleet| {
        let study = STUDY.replace("repeats = 2", "repeats = 1");
        let mut running = fleet.begin_by(&["taskset", "--cpu-list", "1"], &study, "--guests");
        running.hear("trial-started", 1);
        await_users();
        assert!(fleet.hosts.agent(1).is_some(), "the other one waits");
        // Two seconds to the start of the users.
        sleep(Duration::from_secs(3));
        fleet.kill_agent(0);
        let ended = running.wait();
        let run = fleet.place.export();
        assert_eq!(ended, 0, "{}", run["reasons"]);
        each_trial_once(&run);
        only_reason(&run, "host-lost");
        let by_host = hosts_of(&run);
        assert!(
            by_host
                .iter()
                .all(|(trial, host)| (*trial == 1) == (host == "a")),
            "{by_host:?}"
        );

        // The other host has the whole trial: users from here, guests measured and audited there.
        for measured in rows(&run, "measurements") {
            assert_eq!(measured["driver_cpus"], "1", "{measured}");
            assert_eq!(number(measured, "connections"), 18, "{measured}");
        }
        audited(&run, 2);
        for guest in ["g1", "g2"] {
            let rows = rows(&run, "resources").iter();
            let sampled = rows.filter(|row| row["subject"] == guest).count();
            assert!(sampled >= 3, "{guest}");
        }
        for name in [
            "driver.controller.clock",
            "driver.controller.start",
            "driver.start-skew",
        ] {
            told(&run, name);
        }
    });
}

/// A host of guests under another name as their driver.
fn one_machine_has_one_role(fleet: &Fleet<'_>) {
    let other_name = fleet
        .hosts
        .entry(0, "")
        .replacen("name = \"a\"", "name = \"z\"", 1);
    let drivers = format!("ssh_config = \"ssh.conf\"\n{other_name}");
    let drivers = fleet.place.study("DOUBLE.toml", &drivers);
    let study = fleet.place.study("double.toml", STUDY);
    let args = [
        "run",
        &study,
        "--guests",
        &fleet.file,
        "--drivers",
        &drivers,
    ];
    let refused = fleet.hosts.rookery(&args);
    let said = text(&refused.stderr);
    assert_eq!(code(&refused), 4, "{said}");
    assert!(
        said.contains("this is the same machine as host a"),
        "{said}"
    );
}

#[test]
fn guests_elsewhere_are_driven_directly_where_their_host_asks_for_it() {
    let file = |hosts: &PretendHosts<'_>| hosts.file(&[hosts.entry(0, "way = \"direct\"")]);
    on_hosts(Place::among_others, 1, file, |fleet| {
        let study = STUDY.replace("repeats = 2", "repeats = 1");
        let mut running = fleet.begin_by(&["taskset", "--cpu-list", "1"], &study, "--guests");
        running.hear("trial-started", 1);
        assert_eq!(running.wait(), 0);
        let run = fleet.place.export();
        audited(&run, 2);
        told_of_each(&run, "driver.controller.way", "direct");
    });
}

#[test]
fn guests_on_one_host_are_driven_from_another() {
    on_hosts(Place::new, 2, first(1), |fleet| {
        one_machine_has_one_role(fleet);
        let drivers = fleet.hosts.file_of_drivers([1]);
        fleet.up(&drivers);
        let study = STUDY.replace("repeats = 2", "repeats = 1");
        let ran = fleet.run_from(&drivers, &study);
        assert_eq!(code(&ran), 0, "{}", text(&ran.stderr));
        let run = fleet.place.export();
        each_trial_once(&run);
        assert!(hosts_of(&run).values().all(|host| host == "a"));
        for measured in rows(&run, "measurements") {
            assert_eq!(measured["driver_cpus"], "1", "{measured}");
            assert_eq!(number(measured, "connections"), 18, "{measured}");
        }
        for name in ["driver.b.clock", "driver.b.start", "driver.start-skew"] {
            told(&run, name);
        }
        assert_eq!(rows(&run, "hosts").len(), 2);
        fleet.down(&drivers);
    });
}
