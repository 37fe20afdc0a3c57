//! `rookery run --drivers`: guests here, their users on pretend hosts.

use std::{thread::sleep, time::Duration};

use super::{
    fixture::{Fleet, audited, ended_as, number, on_hosts, only_reason, rows, told, told_of_each},
    hosts::PretendHosts,
};
use crate::common::{Place, code, text};

/// Few users of two containers on the first CPU; their drivers are on the second.
pub(super) const STUDY: &str = r#"
title = "driven from elsewhere"
seed = 5
[workload]
kind = "sample"
records = 50
record_bytes = 24
list_length = 5
think_time = "100ms"
[load]
users = "9 per guest"
ramp_up = "200ms"
settle = "500ms"
steady = "3s"
ramp_down = "200ms"
drain = "2s"
repeats = 2
retry_void = 4
[qos]
min_operations = 20
[qos.write]
p95 = "5s"
[stack]
kind = "bundled"
[guest]
kind = "container"
memory = "128MiB per guest"
[host]
driver = "elsewhere"
guest_cpus = 0
overcommit = 2
other_work = 1
[[layout]]
name = "two"
guests = 2
vcpus = 1
"#;

/// A hosts file of so many drivers, all on the second CPU.
pub(super) fn drivers(count: usize) -> impl Fn(&PretendHosts<'_>) -> String {
    move |hosts| {
        let entries: Vec<String> = (0..count)
            .map(|number| hosts.entry(number, "cpus = \"1\""))
            .collect();
        hosts.file(&entries)
    }
}

#[test]
fn users_of_containers_are_driven_from_two_other_hosts() {
    on_hosts(Place::among_others, 2, drivers(2), |fleet| {
        let ran = fleet.run(STUDY, "--drivers");
        assert_eq!(code(&ran), 0, "{}", text(&ran.stderr));
        let run = fleet.place.export();
        assert_eq!(ended_as(&run, "done").len(), 2, "{}", text(&ran.stderr));
        audited(&run, 4);
        let guests = rows(&run, "guests");
        assert!(
            guests.iter().all(|guest| number(guest, "users") == 9),
            "{guests:?}"
        );
        for measured in rows(&run, "measurements") {
            assert_eq!(measured["driver_cpus"], "1,1", "{measured}");
            // Nine users of two guests each, and none twice.
            assert_eq!(number(measured, "connections"), 18, "{measured}");
        }
        told_of_each(&run, "driver.a.way", "tunnel");
        for name in [
            "driver.a.clock",
            "driver.a.start",
            "driver.b.clock",
            "driver.b.start",
            "driver.start-skew",
        ] {
            assert!(told(&run, name).len() >= 2, "{name}");
        }
        assert_eq!(rows(&run, "hosts").len(), 2);
    });
}

/// The same, with packets that travel as they are.
pub(super) fn directly(count: usize) -> impl Fn(&PretendHosts<'_>) -> String {
    move |hosts| {
        let entries: Vec<String> = (0..count)
            .map(|number| hosts.entry(number, "cpus = \"1\"\nway = \"direct\""))
            .collect();
        hosts.file(&entries)
    }
}

#[test]
fn users_are_driven_directly_from_two_hosts_of_the_same_segment() {
    on_hosts(Place::among_others, 2, directly(2), |fleet| {
        let once = STUDY.replace("repeats = 2", "repeats = 1");
        let ran = fleet.run(&once, "--drivers");
        assert_eq!(code(&ran), 0, "{}", text(&ran.stderr));
        let run = fleet.place.export();
        audited(&run, 2);
        for measured in rows(&run, "measurements") {
            assert_eq!(measured["driver_cpus"], "1,1", "{measured}");
            assert_eq!(number(measured, "connections"), 18, "{measured}");
        }
        for name in ["driver.a.way", "driver.b.way"] {
            told_of_each(&run, name, "direct");
        }
        refused_behind_a_router(fleet, &once);
    });
}

/// A host that is reached through another one is on no segment with this one.
fn refused_behind_a_router(fleet: &Fleet<'_>, study: &str) {
    fleet.hosts.reach_through_itself(0);
    let refused = fleet.run(study, "--drivers");
    let told = text(&refused.stderr);
    assert_eq!(code(&refused), 4, "{told}");
    assert!(
        told.contains("guest::no-direct-way") && told.contains("a tunnel goes through"),
        "{told}"
    );
}

// The tests that follow spoil the first trial.

#[test]
fn a_lost_driver_makes_its_trial_void_and_the_others_carry_its_users() {
    let place = Place::with_planted_fault_among_others;
    on_hosts(place, 2, drivers(2), |fleet| {
        let once = STUDY.replace("repeats = 2", "repeats = 1");
        let mut running = fleet.begin(&once, "--drivers");
        running.hear("load-started", 1);
        // Its users are at work then.
        sleep(Duration::from_secs(3));
        fleet.kill_agent(0);
        assert_eq!(running.wait(), 0);
        let run = fleet.place.export();
        assert_eq!(ended_as(&run, "void").first(), Some(&1));
        only_reason(&run, "driver-lost");
        assert_eq!(ended_as(&run, "done").len(), 1, "{}", run["reasons"]);
        // The other host has one CPU, and all users.
        for measured in rows(&run, "measurements") {
            assert_eq!(measured["driver_cpus"], "1", "{measured}");
            assert_eq!(number(measured, "connections"), 18, "{measured}");
        }
        let noted = rows(&run, "notes").iter().any(|note| {
            let text = note["text"].as_str().unwrap_or_default();
            text.starts_with("the driver on host a was lost") && text.contains("from b alone")
        });
        assert!(noted, "{}", run["notes"]);
    });
}

#[test]
fn the_loss_of_the_last_driver_ends_the_run_which_then_goes_on() {
    let place = Place::with_planted_fault_among_others;
    on_hosts(place, 1, drivers(1), |fleet| {
        let mut running = fleet.begin(STUDY, "--drivers");
        running.hear("load-started", 1);
        // Its users are at work then.
        sleep(Duration::from_secs(3));
        fleet.kill_agent(0);
        assert_eq!(running.wait(), 4);
        let resumed = fleet.resume("--drivers");
        assert_eq!(code(&resumed), 0, "{}", text(&resumed.stderr));
        assert_eq!(ended_as(&fleet.place.export(), "done").len(), 2);
    });
}

#[test]
fn what_cannot_be_driven_from_elsewhere_is_refused_before_anything_is_made() {
    on_hosts(Place::among_others, 1, drivers(1), |fleet| {
        let elsewhere = fleet.place.study("elsewhere.toml", STUDY);
        let here = STUDY.replace("driver = \"elsewhere\"\n", "");
        let here = fleet.place.study("here.toml", &here);
        let bare = STUDY.replace("\"container\"", "\"bare\"");
        let bare = fleet.place.study("bare.toml", &bare);
        let with_drivers = ["--drivers", fleet.file.as_str()];
        for (study, more, words) in [
            (&elsewhere, &[][..], "--drivers HOSTS.toml"),
            (&here, &with_drivers[..], "keeps it beside its guests"),
            (
                &bare,
                &with_drivers[..],
                "bare guests cannot be driven from other machines",
            ),
        ] {
            let mut args = vec!["run", study.as_str()];
            args.extend(more);
            let refused = fleet.hosts.rookery(&args);
            let told = text(&refused.stderr);
            assert_eq!(code(&refused), 4, "{told}");
            assert!(
                told.contains("lab::driver-elsewhere") && told.contains(words),
                "{told}"
            );
        }
        assert!(!fleet.place.runs().exists(), "no run was made");
    });
}
