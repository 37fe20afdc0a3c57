//! `rookery run --guests`: guests on pretend hosts, their users from here.

use std::{
    fs,
    thread::sleep,
    time::{Duration, Instant},
};

use super::{
    drivers::STUDY,
    hosts::PretendHosts,
    spread::{Running, down, each_trial_once, hosts_of, kill, number, rows, up},
};
use crate::common::{Place, assert_host_as, code, host_state, root_tests, text};

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
        let study = STUDY.replace("repeats = 2", "repeats = 1");
        let study = place.study("guests.toml", &study);
        let args = ["run", &study, "--guests", &file, "--json"];
        let command = hosts.command_by(&["taskset", "--cpu-list", "1"], &args);
        let mut running = Running::from_command(command);
        running.hear("trial-started", 1);
        await_users();
        let agent = hosts.agent(0).expect("an agent at work");
        assert!(hosts.agent(1).is_some(), "the other one waits");
        // Two seconds to the start of the users.
        sleep(Duration::from_secs(3));
        kill(agent);
        let ended = running.wait();
        let run = place.export();
        assert_eq!(ended, 0, "{}", run["reasons"]);
        each_trial_once(&run);
        let reason = &rows(&run, "reasons")[0];
        assert_eq!(
            (number(reason, "trial"), &reason["code"]),
            (1, &"host-lost".into())
        );
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
        let audits = rows(&run, "audits");
        assert!(
            audits.len() >= 2 && audits.iter().all(|audit| audit["consistent"] == true),
            "{audits:?}"
        );
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
            let mut told = rows(&run, "tunings").iter();
            assert!(told.any(|row| row["name"] == name), "{name}");
        }
        // What the killed agent had made goes with the fleet.
        down(&hosts, &file, 2);
    }
    assert_host_as(&before);
}

/// A host of guests under another name as their driver.
fn one_machine_has_one_role(place: &Place, hosts: &PretendHosts<'_>, guests: &str) {
    let other_name = hosts
        .entry(0, "")
        .replacen("name = \"a\"", "name = \"z\"", 1);
    let drivers = format!("ssh_config = \"ssh.conf\"\n{other_name}");
    let drivers = place.study("DOUBLE.toml", &drivers);
    let study = place.study("double.toml", STUDY);
    let refused = hosts.rookery(&["run", &study, "--guests", guests, "--drivers", &drivers]);
    let said = text(&refused.stderr);
    assert_eq!(code(&refused), 4, "{said}");
    assert!(
        said.contains("this is the same machine as host a"),
        "{said}"
    );
}

#[test]
fn guests_on_one_host_are_driven_from_another() {
    if !root_tests() {
        return;
    }
    let place = Place::new();
    let before = host_state();
    {
        let hosts = PretendHosts::new(&place, 2);
        let guests = hosts.file(&[hosts.entry(0, "")]);
        up(&hosts, &guests);
        one_machine_has_one_role(&place, &hosts, &guests);
        let drivers = hosts.entry(1, "cpus = \"1\"");
        let drivers = format!("ssh_config = \"ssh.conf\"\n{drivers}");
        let drivers = place.study("DRIVERS.toml", &drivers);
        up(&hosts, &drivers);
        let study = place.study("apart.toml", &STUDY.replace("repeats = 2", "repeats = 1"));
        let ran = hosts.rookery(&["run", &study, "--guests", &guests, "--drivers", &drivers]);
        assert_eq!(code(&ran), 0, "{}", text(&ran.stderr));
        let run = place.export();
        each_trial_once(&run);
        assert!(hosts_of(&run).values().all(|host| host == "a"));
        for measured in rows(&run, "measurements") {
            assert_eq!(measured["driver_cpus"], "1", "{measured}");
            assert_eq!(number(measured, "connections"), 18, "{measured}");
        }
        for name in ["driver.b.clock", "driver.b.start", "driver.start-skew"] {
            let mut told = rows(&run, "tunings").iter();
            assert!(told.any(|row| row["name"] == name), "{name}");
        }
        assert_eq!(rows(&run, "hosts").len(), 2);
        down(&hosts, &guests, 1);
        down(&hosts, &drivers, 2);
    }
    assert_host_as(&before);
}
