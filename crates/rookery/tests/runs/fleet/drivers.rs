//! `rookery run --drivers`: guests here, their users on pretend hosts.

use std::{thread::sleep, time::Duration};

use super::{
    hosts::PretendHosts,
    spread::{Running, down, kill, number, rows, up},
};
use crate::common::{Place, assert_host_as, code, host_state, root_tests, text};

/// Few users of two containers on the first CPU; their drivers are on the second.
pub(super) const STUDY: &str = r#"
title = "driven from elsewhere"
seed = 5
[workload]
kind = "sample"
records = 50
record_bytes = 24
list_length = 5
think_time = "30ms"
[load]
users = "9 per guest"
ramp_up = "200ms"
settle = "500ms"
steady = "3s"
ramp_down = "200ms"
drain = "2s"
repeats = 2
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

/// A hosts file of two drivers, both on the second CPU.
fn drivers(hosts: &PretendHosts<'_>) -> String {
    hosts.file(&[
        hosts.entry(0, "cpus = \"1\""),
        hosts.entry(1, "cpus = \"1\""),
    ])
}

#[test]
fn users_of_containers_are_driven_from_two_other_hosts() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let before = host_state();
    {
        let hosts = PretendHosts::new(&place, 2);
        let file = drivers(&hosts);
        up(&hosts, &file);
        let study = place.study("driven.toml", STUDY);
        let ran = hosts.rookery(&["run", &study, "--drivers", &file]);
        assert_eq!(code(&ran), 0, "{}", text(&ran.stderr));
        let run = place.export();
        let done = rows(&run, "trials")
            .iter()
            .filter(|trial| trial["status"] == "done");
        assert_eq!(done.count(), 2, "{}", text(&ran.stderr));
        let audits = rows(&run, "audits");
        assert!(
            audits.len() >= 4 && audits.iter().all(|audit| audit["consistent"] == true),
            "{audits:?}"
        );
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
        for name in [
            "driver.a.clock",
            "driver.a.start",
            "driver.b.clock",
            "driver.b.start",
            "driver.start-skew",
        ] {
            // Of a void trial too.
            let told = rows(&run, "tunings").iter();
            assert!(
                told.filter(|row| row["name"] == name).count() >= 2,
                "{name}"
            );
        }
        assert_eq!(rows(&run, "hosts").len(), 2);
        down(&hosts, &file, 2);
    }
    assert_host_as(&before);
}

#[test]
fn a_lost_driver_makes_its_trial_void_and_the_others_carry_its_users() {
    if !root_tests() {
        return;
    }
    // The test spoils the first trial.
    let place = Place::with_planted_fault_among_others();
    let before = host_state();
    {
        let hosts = PretendHosts::new(&place, 2);
        let file = drivers(&hosts);
        up(&hosts, &file);
        let once = STUDY.replace("repeats = 2", "repeats = 1\nretry_void = 0");
        let study = place.study("driven.toml", &once);
        let mut running = Running::start(&hosts, &["run", &study, "--drivers", &file, "--json"]);
        running.hear("load-started", 1);
        // Its users are at work then.
        sleep(Duration::from_secs(3));
        kill(hosts.agent(0).expect("an agent at work"));
        assert_eq!(running.wait(), 0);
        let run = place.export();
        let ends: Vec<&str> = rows(&run, "trials")
            .iter()
            .filter_map(|trial| trial["status"].as_str())
            .collect();
        assert_eq!(ends, ["void", "done"]);
        let reason = &rows(&run, "reasons")[0];
        assert_eq!(
            (number(reason, "trial"), &reason["code"]),
            (1, &"driver-lost".into())
        );
        // The other host has one CPU, and all users.
        let measured = rows(&run, "measurements");
        assert_eq!(measured.len(), 1, "{measured:?}");
        assert_eq!(measured[0]["driver_cpus"], "1");
        assert_eq!(number(&measured[0], "connections"), 18);
        let noted = rows(&run, "notes").iter().any(|note| {
            let text = note["text"].as_str().unwrap_or_default();
            text.starts_with("the driver on host a was lost") && text.contains("from b alone")
        });
        assert!(noted, "{}", run["notes"]);
        down(&hosts, &file, 2);
    }
    assert_host_as(&before);
}

#[test]
fn the_loss_of_the_last_driver_ends_the_run_which_then_goes_on() {
    if !root_tests() {
        return;
    }
    // The test spoils the first trial.
    let place = Place::with_planted_fault_among_others();
    let before = host_state();
    {
        let hosts = PretendHosts::new(&place, 1);
        let file = hosts.file(&[hosts.entry(0, "cpus = \"1\"")]);
        up(&hosts, &file);
        let study = place.study("driven.toml", STUDY);
        let mut running = Running::start(&hosts, &["run", &study, "--drivers", &file, "--json"]);
        running.hear("load-started", 1);
        // Its users are at work then.
        sleep(Duration::from_secs(3));
        kill(hosts.agent(0).expect("an agent at work"));
        assert_eq!(running.wait(), 4);
        let resumed = hosts.rookery(&["run", "--resume", "--drivers", &file]);
        assert_eq!(code(&resumed), 0, "{}", text(&resumed.stderr));
        let run = place.export();
        let trials = rows(&run, "trials").iter();
        assert_eq!(trials.filter(|trial| trial["status"] == "done").count(), 2);
        down(&hosts, &file, 1);
    }
    assert_host_as(&before);
}

#[test]
fn what_cannot_be_driven_from_elsewhere_is_refused_before_anything_is_made() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let hosts = PretendHosts::new(&place, 1);
    let file = hosts.file(&[hosts.entry(0, "cpus = \"1\"")]);
    up(&hosts, &file);
    let elsewhere = place.study("elsewhere.toml", STUDY);
    let here = STUDY.replace("driver = \"elsewhere\"\n", "");
    let here = place.study("here.toml", &here);
    let bare = STUDY.replace("\"container\"", "\"bare\"");
    let bare = place.study("bare.toml", &bare);
    let with_drivers = ["--drivers", file.as_str()];
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
        let refused = hosts.rookery(&args);
        let told = text(&refused.stderr);
        assert_eq!(code(&refused), 4, "{told}");
        assert!(
            told.contains("lab::driver-elsewhere") && told.contains(words),
            "{told}"
        );
    }
    assert!(!place.runs().exists(), "no run was made");
    down(&hosts, &file, 1);
}
