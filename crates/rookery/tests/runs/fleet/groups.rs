//! `rookery run --guests`: groups of one trial on several pretend hosts.

use std::{collections::BTreeSet, fs, thread::sleep, time::Duration};

use serde_json::Value;

use super::{
    drivers::STUDY,
    guests::await_users,
    hosts::PretendHosts,
    spread::{Running, down, hosts_of, kill, number, rows, up},
};
use crate::common::{Place, assert_host_as, code, host_state, root_tests, text};

/// Few users of one container on each of two hosts.
fn study(host_of_second: &str) -> String {
    let (head, _) = STUDY.split_once("[[layout]]").expect("a layout");
    let head = head
        .replace("repeats = 2", "repeats = 1")
        .replace("30ms", "100ms")
        // Too few users to judge any.
        .replace("[qos.write]\np95 = \"5s\"\n", "");
    format!(
        "{head}[[layout]]\nname = \"apart\"\n\
         [[layout.group]]\nname = \"left\"\nguests = 2\nvcpus = 0.5\nhost = \"a\"\n\
         [[layout.group]]\nname = \"right\"\nhost = \"{host_of_second}\"\n"
    )
}

/// Nothing is asked of a host that a file lacks, or that no file names.
fn what_cannot_be_placed_is_refused(place: &Place, hosts: &PretendHosts<'_>, file: &str) {
    let unknown = place.study("unknown.toml", &study("z"));
    let wrong = hosts.rookery(&["run", &unknown, "--guests", file]);
    let said = text(&wrong.stderr);
    assert_eq!(code(&wrong), 4, "{said}");
    assert!(
        said.contains("lab::group-host") && said.contains("`z`") && said.contains("a, b"),
        "{said}"
    );
    let apart = place.study("apart.toml", &study("b"));
    for args in [vec!["run", &apart], vec!["run", &apart, "--spread", file]] {
        let wrong = hosts.rookery(&args);
        let said = text(&wrong.stderr);
        assert_eq!(code(&wrong), 4, "{said}");
        assert!(
            said.contains("lab::group-host") && said.contains("--guests"),
            "{said}"
        );
    }
}

/// The trials that are done: each has a row for each of its groups.
fn done(run: &Value) -> BTreeSet<u64> {
    let trials = rows(run, "trials").iter();
    let done = trials.filter(|trial| trial["status"] == "done");
    done.map(|trial| number(trial, "trial")).collect()
}

/// Both groups were measured, sampled and audited, each on its host, from one start.
fn is_whole(run: &Value, trial: u64) {
    let of_trial = |table| {
        let all = rows(run, table).iter();
        all.filter(|row| number(row, "trial") == trial)
            .collect::<Vec<_>>()
    };
    assert_eq!(of_trial("measurements").len(), 2, "one for each group");
    let audits = of_trial("audits");
    for guest in ["g1", "g2", "g3"] {
        let mut own = audits.iter().filter(|audit| audit["guest"] == guest);
        assert!(
            own.next().is_some() && own.all(|audit| audit["consistent"] == true),
            "{audits:?}"
        );
        let samples = of_trial("resources").into_iter();
        let sampled = samples.filter(|row| row["subject"] == guest).count();
        assert!(sampled >= 3, "{guest}");
    }
    for host in ["host@a", "host@b"] {
        let mut samples = of_trial("resources").into_iter();
        assert!(samples.any(|row| row["subject"] == host), "{host}");
    }
    let tunings = of_trial("tunings");
    let told = |name: &str| -> String {
        let row = tunings.iter().find(|row| row["name"] == name);
        let row = row.unwrap_or_else(|| panic!("{name}"));
        row["effective"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(told("host.a.guests"), "g1 to g2");
    assert_eq!(told("host.b.guests"), "g3 to g3");
    for name in ["host.a.clock", "host.b.clock"] {
        assert!(told(name).contains("ahead, known to"), "{}", told(name));
    }
    for name in ["host.a.start", "host.b.start"] {
        let start = told(name);
        // All pretend hosts have one clock: what differs is what is known of it.
        let (late, bound) = start
            .split_once(" us after the common start, known to ")
            .expect("both");
        let late: i64 = late.parse().expect("a number");
        let bound: i64 = bound.trim_end_matches(" us").parse().expect("a number");
        assert!(late.abs() <= 2 * bound.max(1_000), "{start}");
    }
}

#[test]
fn groups_of_a_trial_on_two_hosts_are_one_trial() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let before = host_state();
    {
        let hosts = PretendHosts::new(&place, 4);
        let guests = hosts.file(&[hosts.entry(0, ""), hosts.entry(1, "")]);
        what_cannot_be_placed_is_refused(&place, &hosts, &guests);
        up(&hosts, &guests);
        let drivers = [2, 3].map(|number| hosts.entry(number, "cpus = \"1\""));
        let drivers = format!("ssh_config = \"ssh.conf\"\n{}", drivers.join(""));
        let drivers = place.study("DRIVERS.toml", &drivers);
        up(&hosts, &drivers);
        let apart = place.study("apart.toml", &study("b"));
        let ran = hosts.rookery(&["run", &apart, "--guests", &guests, "--drivers", &drivers]);
        assert_eq!(code(&ran), 0, "{}", text(&ran.stderr));
        let run = place.export();
        assert_eq!(done(&run), BTreeSet::from([1]));
        assert_eq!(hosts_of(&run)[&1], "a, b");
        is_whole(&run, 1);
        for name in ["driver.c.clock", "driver.d.clock"] {
            let mut told = rows(&run, "tunings").iter();
            assert!(told.any(|row| row["name"] == name), "{name}");
        }
        down(&hosts, &guests, 2);
        down(&hosts, &drivers, 4);
    }
    assert_host_as(&before);
}

#[test]
fn a_host_that_is_lost_voids_the_trial_on_all_and_resuming_repeats_it() {
    if !root_tests() {
        return;
    }
    let place = Place::with_planted_fault_among_others();
    let before = host_state();
    {
        let hosts = PretendHosts::new(&place, 2);
        let file = hosts.file_of_all();
        up(&hosts, &file);
        let apart = place.study("apart.toml", &study("b"));
        let args = ["run", &apart, "--guests", &file, "--json"];
        let mut running = Running::start(&hosts, &args);
        running.hear("trial-started", 1);
        await_users();
        // Two seconds to the start of the users.
        sleep(Duration::from_secs(3));
        kill(hosts.agent(1).expect("an agent at work"));
        assert_eq!(running.wait(), 4, "no other hosts can have these groups");
        let run = place.export();
        let reasons = rows(&run, "reasons");
        assert_eq!(reasons.len(), 1, "{reasons:?}");
        assert_eq!(
            (number(&reasons[0], "trial"), &reasons[0]["code"]),
            (1, &"host-lost".into())
        );
        let said = reasons[0]["reason"].as_str().unwrap_or_default();
        assert!(said.starts_with("host b was lost"), "{said}");
        // The host that was not lost has put everything back.
        let left = fs::read_dir(hosts.directory(0).join("runs")).expect("there");
        assert_eq!(left.count(), 0);

        let resumed = hosts.rookery(&["run", "--resume", "latest", "--guests", &file]);
        assert_eq!(code(&resumed), 0, "{}", text(&resumed.stderr));
        let run = place.export();
        let again = done(&run);
        assert_eq!(again, BTreeSet::from([2]), "{}", text(&resumed.stderr));
        is_whole(&run, 2);
        down(&hosts, &file, 2);
    }
    assert_host_as(&before);
}
