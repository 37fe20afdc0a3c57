//! The whole road on the distribution's Apache, PHP and MariaDB.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use crate::common::{Place, assert_host_as, host_state, lamp_tests, root_tests, text, tiny_study};

/// One and two LAMP guests of `kind` for a few seconds.
fn lamp_study(kind: &str, vcpus: &str) -> String {
    tiny_study(kind, vcpus, "")
        .replace(
            "kind = \"embedded\"",
            "kind = \"lamp\"\nbuffer_pool = \"warm\"",
        )
        .replace("128MiB per guest", "512MiB per guest")
        .replace("drain = \"2s\"", "drain = \"5s\"\ntimeout = \"20s\"")
}

/// The run of a study that is performed now, with a trial that ended well.
fn performed(place: &Place, study: &str) -> serde_json::Value {
    place.done("lamp.toml", study).1
}

/// Every guest of every trial sold something, and its database holds exactly what its users were
/// told of.
fn orders_agree(run: &serde_json::Value, audits: usize) {
    let all = run["audits"].as_array().expect("audits");
    assert_eq!(all.len(), audits, "{all:?}");
    for audit in all {
        assert_eq!(audit["found"], audit["acknowledged"], "{audit}");
        assert_eq!(audit["consistent"], true, "{audit}");
        assert!(
            audit["acknowledged"]
                .as_u64()
                .is_some_and(|orders| orders > 0),
            "{audit}"
        );
    }
}

/// The value in force of a setting of the first guest, before the load and after it.
fn in_force<'r>(run: &'r serde_json::Value, name: &str) -> (&'r str, &'r str) {
    let rows = run["tunings"].as_array().expect("tunings");
    let row = rows
        .iter()
        .find(|row| row["guest"] == "g1" && row["name"] == name)
        .unwrap_or_else(|| panic!("{name} is not among {rows:?}"));
    (
        row["effective"].as_str().expect("text"),
        row["at_end"].as_str().expect("text"),
    )
}

#[test]
fn bare_lamp_guests_walk_the_whole_road_and_leave_nothing() {
    if !lamp_tests() {
        return;
    }
    let place = Place::among_others();
    let before = host_state();
    let run = performed(&place, &lamp_study("bare", "1"));
    orders_agree(&run, 3);
    place.no_password_is_logged();
    let log = run["logs"][0]["text"].as_str().expect("a log");
    assert!(
        log.contains("mariadb: ") && log.contains("apache: "),
        "{log}"
    );
    let pool = in_force(&run, "mariadb.innodb_buffer_pool_size");
    assert_eq!(pool.0, pool.1, "nothing changed under load");
    assert_host_as(&before);
}

#[test]
fn lamp_containers_with_fractional_vcpus_walk_the_whole_road_and_leave_nothing() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let before = host_state();
    let study = lamp_study("container", "0.5").replace(
        "kind = \"lamp\"",
        "kind = \"lamp\"\nserver = \"event\"\ntuning \
         = \"pureflex\"\nsettings.\"mariadb.innodb_buffer_pool_size\" = \"32MiB\"",
    );
    let run = performed(&place, &study);
    orders_agree(&run, 3);
    assert_eq!(
        in_force(&run, "mariadb.innodb_buffer_pool_size"),
        ("33554432", "33554432")
    );
    assert_eq!(in_force(&run, "mariadb.table_open_cache"), ("1536", "1536"));
    assert_host_as(&before);
}

/// The first process of the guest of the run in `place`.
fn supervisor(place: &Place) -> Option<u32> {
    let run = fs::read_dir(place.runs())
        .ok()?
        .flatten()
        .next()?
        .file_name()
        .to_string_lossy()
        .into_owned();
    let label = format!("ROOKERY_RUN={}", run.rsplit('-').next()?);
    fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
        let pid: u32 = entry.file_name().to_string_lossy().parse().ok()?;
        let environ = fs::read(entry.path().join("environ")).ok()?;
        let command = fs::read(entry.path().join("cmdline")).ok()?;
        let labelled = environ
            .split(|byte| *byte == 0)
            .any(|variable| variable == label.as_bytes());
        (labelled && text(&command).contains("supervise")).then_some(pid)
    })
}

#[test]
fn a_killed_lamp_guest_has_every_order_that_its_users_were_told_of() {
    if !lamp_tests() {
        return;
    }
    let place = Place::among_others();
    let study = lamp_study("bare", "1")
        .replace("guests = [1, 2]", "guests = 1")
        .replace("steady = \"1s\"", "steady = \"6s\"");
    let study = place.study("lamp.toml", &study);
    let mut child = place
        .rookery(&["run", &study, "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("rookery starts");
    let events = BufReader::new(child.stdout.take().expect("piped"))
        .lines()
        .map_while(Result::ok);
    let (mut told, mut victim) = (String::new(), None);
    for event in events {
        if victim.is_none() && event.contains("\"steady\"") {
            victim = supervisor(&place);
            let pid = victim
                .expect("a guest under load has a supervisor")
                .to_string();
            assert!(
                Command::new("kill")
                    .args(["-9", &pid])
                    .status()
                    .expect("kill")
                    .success()
            );
        }
        told += &format!("{event}\n");
    }
    child.wait().expect("rookery ends");
    assert!(victim.is_some(), "no guest came under load: {told}");
    let run = place.export();
    assert_eq!(run["trials"][0]["status"], "failed", "{told}");
    let audit = &run["audits"][0];
    assert_eq!(audit["killed"], true, "{audit}\n{told}");
    let number = |key: &str| audit[key].as_u64().expect(key);
    assert!(number("acknowledged") > 0, "it died under load: {audit}");
    let possible = number("acknowledged")..=number("acknowledged") + number("unanswered");
    assert!(possible.contains(&number("found")), "{audit}");
}

#[test]
fn guests_come_up_answer_and_go_in_a_rehearsal() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let before = host_state();
    let study = place.study("lamp.toml", &lamp_study("container", "0.5"));
    for database in [&[][..], &["--without-database"]] {
        let args = [&["rehearse", study.as_str(), "--json"], database].concat();
        let output = place.rookery(&args).output().expect("rookery starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        // Each round is one JSON object, over several lines.
        let rounds =
            serde_json::Deserializer::from_slice(&output.stdout).into_iter::<serde_json::Value>();
        let rounds: Vec<serde_json::Value> = rounds.collect::<Result<_, _>>().expect("JSON");
        assert_eq!(
            rounds
                .iter()
                .map(|round| round["guests"].clone())
                .collect::<Vec<_>>(),
            [1, 2]
        );
        for round in rounds {
            assert!(
                round["memory_mib"]
                    .as_f64()
                    .is_some_and(|memory| memory > 1.0),
                "{round}"
            );
        }
    }
    assert_host_as(&before);
    let kept: Vec<_> = fs::read_dir(place.runs())
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(kept, ["rehearsal.log"], "nothing but the log is kept");
}
