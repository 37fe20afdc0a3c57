//! `rookery run --guests`: groups of one trial on several pretend hosts.

use std::{fs, thread::sleep, time::Duration};

use serde_json::Value;

use super::{
    drivers::{STUDY, directly, drivers},
    fixture::{
        Fleet, all, audited, ended_as, first, hosts_of, number, on_hosts, only_reason, rows, told,
    },
    guests::await_users,
};
use crate::common::{Place, code, text};

/// Few users of containers on two hosts, of which the second has two groups.
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
         [[layout.group]]\nname = \"right\"\nhost = \"{host_of_second}\"\n\
         [[layout.group]]\nname = \"beside\"\nhost = \"{host_of_second}\"\n"
    )
}

/// Nothing is asked of a host that a file lacks, or that no file names.
fn what_cannot_be_placed_is_refused(fleet: &Fleet<'_>) {
    let refused = |args: &[&str]| {
        let wrong = fleet.hosts.rookery(args);
        let said = text(&wrong.stderr);
        assert_eq!(code(&wrong), 4, "{said}");
        assert!(said.contains("lab::group-host"), "{said}");
        said
    };
    let unknown = fleet.place.study("unknown.toml", &study("z"));
    let said = refused(&["run", &unknown, "--guests", &fleet.file]);
    assert!(said.contains("`z`") && said.contains("a, b"), "{said}");
    let apart = fleet.place.study("apart.toml", &study("b"));
    for args in [
        &["run", &apart][..],
        &["run", &apart, "--spread", &fleet.file],
    ] {
        let said = refused(args);
        assert!(said.contains("--guests"), "{said}");
    }
}

/// The one trial that is done: all groups were measured, sampled and audited, each on its host,
/// from one start.
fn whole_trial(run: &Value) -> u64 {
    let done = ended_as(run, "done");
    let trial = *done.first().expect("a trial that is done");
    // A row for each of its groups.
    assert_eq!(done, [trial; 3], "{}", run["reasons"]);
    let of_trial = |table| {
        let all = rows(run, table).iter();
        all.filter(|row| number(row, "trial") == trial)
            .collect::<Vec<_>>()
    };
    assert_eq!(of_trial("measurements").len(), 3, "one for each group");
    let audits = of_trial("audits");
    for guest in ["g1", "g2", "g3", "g4"] {
        let mut own = audits.iter().filter(|audit| audit["guest"] == guest);
        assert!(
            own.next().is_some() && own.all(|audit| audit["consistent"] == true),
            "{audits:?}"
        );
        let samples = of_trial("resources").into_iter();
        let sampled = samples.filter(|row| row["subject"] == guest).count();
        assert!(sampled >= 3, "{guest}");
    }
    let of_groups = rows(run, "groups").iter();
    let hosts: Vec<&Value> = of_groups.map(|group| &group["host"]).collect();
    assert_eq!(hosts, ["a", "b", "b"]);
    for row in of_trial("trial_hosts") {
        assert!(row["clock_bound_ms"].as_f64().is_some(), "{row}");
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
    assert_eq!(told("host.b.guests"), "g3 to g4");
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
    trial
}

#[test]
fn groups_of_a_trial_on_two_hosts_are_one_trial() {
    on_hosts(Place::among_others, 4, first(2), |fleet| {
        what_cannot_be_placed_is_refused(fleet);
        let drivers = fleet.hosts.file_of_drivers([2, 3]);
        fleet.up(&drivers);
        let ran = fleet.run_from(&drivers, &study("b"));
        assert_eq!(code(&ran), 0, "{}", text(&ran.stderr));
        let run = fleet.place.export();
        let trial = whole_trial(&run);
        assert_eq!(hosts_of(&run)[&trial], "a, b");
        for name in ["driver.c.clock", "driver.d.clock"] {
            told(&run, name);
        }
        fleet.down(&drivers);
    });
}

/// The same groups, which the plan lays on the hosts: three guests of half a CPU on the first, and
/// the two groups of one CPU on the second.
fn placed_study() -> String {
    let named = study("b")
        .replace("host = \"a\"\n", "")
        .replace("host = \"b\"\n", "");
    named
        .replace(
            "name = \"apart\"\n",
            "name = \"apart\"\nhosts = [\"b\", \"a\"]\n",
        )
        .replace("name = \"left\"\nguests = 2", "name = \"left\"\nguests = 3")
}

#[test]
fn groups_are_laid_on_hosts_by_the_plan_and_stay_there() {
    on_hosts(Place::among_others, 4, first(2), |fleet| {
        let lacking = placed_study().replace("[\"b\", \"a\"]", "[\"b\", \"z\"]");
        let wrong = fleet.run(&lacking, "--guests");
        let said = text(&wrong.stderr);
        assert_eq!(code(&wrong), 4, "{said}");
        assert!(said.contains("lab::group-host"), "{said}");

        let drivers = fleet.hosts.file_of_drivers([2, 3]);
        fleet.up(&drivers);
        let mut running = fleet.begin_from(&drivers, &placed_study());
        running.hear("trial-started", 1);
        running.kill();
        fleet.await_agents(4);
        let resume = ["run", "--resume", "--guests", &fleet.file];
        let resume = [&resume[..], &["--drivers", &drivers]].concat();
        let resumed = fleet.hosts.rookery(&resume);
        assert_eq!(code(&resumed), 0, "{}", text(&resumed.stderr));
        let run = fleet.place.export();
        let of_groups = rows(&run, "groups").iter();
        let placed: Vec<(&str, &str)> = of_groups
            .map(|group| (group["group"].as_str(), group["host"].as_str()))
            .map(|(group, host)| (group.unwrap_or(""), host.unwrap_or("")))
            .collect();
        assert_eq!(placed, [("left", "b"), ("right", "a"), ("beside", "a")]);
        let trial = *ended_as(&run, "done").last().expect("a trial that is done");
        assert_eq!(hosts_of(&run)[&trial], "a, b");
        assert_eq!(told(&run, "host.b.guests").last(), Some(&"g1 to g3"));
        assert_eq!(told(&run, "host.a.guests").last(), Some(&"g4 to g5"));
        audited(&run, 5);
        fleet.down(&drivers);
    });
}

#[test]
fn a_host_that_is_lost_voids_the_trial_on_all_and_resuming_repeats_it() {
    let place = Place::with_planted_fault_among_others;
    on_hosts(place, 2, all, |fleet| {
        let mut running = fleet.begin(&study("b"), "--guests");
        running.hear("trial-started", 1);
        await_users();
        // Two seconds to the start of the users.
        sleep(Duration::from_secs(3));
        fleet.kill_agent(1);
        assert_eq!(running.wait(), 4, "no other hosts can have these groups");
        let run = fleet.place.export();
        assert_eq!(rows(&run, "reasons").len(), 1, "{}", run["reasons"]);
        let said = only_reason(&run, "host-lost");
        assert!(said.starts_with("host b was lost"), "{said}");
        // The host that was not lost has put everything back.
        let left = fs::read_dir(fleet.hosts.directory(0).join("runs")).expect("there");
        assert_eq!(left.count(), 0);

        let resumed = fleet.resume("--guests");
        assert_eq!(code(&resumed), 0, "{}", text(&resumed.stderr));
        let run = fleet.place.export();
        assert!(whole_trial(&run) > 1, "the first is void");
    });
}

/// Two groups with users, both on this machine, whose driver is elsewhere.
fn side_by_side() -> String {
    let (head, _) = STUDY.split_once("[[layout]]").expect("a layout");
    let head = head.replace("repeats = 2", "repeats = 1");
    format!(
        "{head}[[layout]]\nname = \"beside\"\n\
         [[layout.group]]\nname = \"left\"\n\
         [[layout.group]]\nname = \"right\"\n"
    )
}

/// Each group was measured, with its own users, from these CPUs of its driver.
fn each_group_has_its_users(run: &Value, cpus: [&str; 2]) {
    let done = ended_as(run, "done");
    let last = *done.last().expect("a trial that is done");
    let measured = rows(run, "measurements").iter();
    let measured: Vec<_> = measured
        .filter(|row| number(row, "trial") == last)
        .collect();
    assert_eq!(measured.len(), 2, "one for each group: {measured:?}");
    for (row, cpus) in measured.into_iter().zip(cpus) {
        assert_eq!(row["driver_cpus"], cpus, "{row}");
        assert_eq!(number(row, "connections"), 9, "{row}");
    }
}

#[test]
fn groups_on_one_host_are_driven_together_from_one_driver() {
    on_hosts(Place::among_others, 1, drivers(1), |fleet| {
        let ran = fleet.run(&side_by_side(), "--drivers");
        assert_eq!(code(&ran), 0, "{}", text(&ran.stderr));
        let run = fleet.place.export();
        // The one CPU of the driver is for both.
        each_group_has_its_users(&run, ["1", "1"]);
        let skew = told(&run, "driver.start-skew");
        assert!(
            skew.iter().all(|skew| skew.contains("of 2 threads")),
            "{skew:?}"
        );
    });
}

#[test]
fn groups_in_labs_of_their_own_have_a_way_each() {
    on_hosts(Place::among_others, 1, directly(1), |fleet| {
        // Links of other packets are those of another lab.
        let study = format!("{}network.mtu = 1400\n", side_by_side());
        let ran = fleet.run(&study, "--drivers");
        assert_eq!(code(&ran), 0, "{}", text(&ran.stderr));
        let run = fleet.place.export();
        each_group_has_its_users(&run, ["1", "1"]);
        let packets = told(&run, "network.mtu");
        for mtu in ["1500", "1400"] {
            assert!(packets.contains(&mtu), "{packets:?}");
        }
        audited(&run, 2);
    });
}

#[test]
fn groups_on_another_host_are_driven_from_two_drivers() {
    on_hosts(Place::among_others, 3, first(1), |fleet| {
        let drivers = fleet.hosts.file_of_drivers([1, 2]);
        fleet.up(&drivers);
        let ran = fleet.run_from(&drivers, &side_by_side());
        assert_eq!(code(&ran), 0, "{}", text(&ran.stderr));
        let run = fleet.place.export();
        each_group_has_its_users(&run, ["1", "1"]);
        for name in ["driver.b.start", "driver.c.start"] {
            told(&run, name);
        }
        fleet.down(&drivers);
    });
}
