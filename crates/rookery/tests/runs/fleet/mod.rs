//! `rookery fleet` on pretend hosts.

mod clocks;
mod drivers;
mod fixture;
mod groups;
mod guests;
mod hosts;
mod nats;
mod served;
mod spread;

use std::fs;

use serde_json::Value;

use crate::common::{Place, assert_host_as, code, host_state, root_tests, stripped_program, text};
use hosts::PretendHosts;

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("JSON")
}

#[test]
fn a_fleet_comes_up_is_shown_and_leaves_nothing() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let before = host_state();
    {
        let hosts = PretendHosts::new(&place, 2);
        let through_the_other = hosts.jump(0);
        let file = hosts.file(&[hosts.entry(0, ""), hosts.entry(1, &through_the_other)]);

        let absent = hosts.rookery(&["fleet", "status", &file]);
        assert_eq!(code(&absent), 4, "{}", text(&absent.stderr));
        assert_eq!(text(&absent.stdout).matches("not up").count(), 2);

        let up = hosts.rookery(&["fleet", "up", &file]);
        let table = text(&up.stdout);
        assert_eq!(code(&up), 0, "{}", text(&up.stderr));
        assert_eq!(table.matches("ready").count(), 2, "{table}");
        assert_eq!(table.matches("copied").count(), 2, "{table}");
        for number in 0..2 {
            let program = fs::read(hosts.directory(number).join("rookery")).expect("copied");
            let own = fs::read(stripped_program()).expect("this program");
            assert!(program == own, "another program was copied");
        }
        the_clock_has_a_bound(&hosts, &file);

        let logs = hosts.rookery(&["fleet", "logs", &file]);
        assert_eq!(code(&logs), 0, "{}", text(&logs.stderr));
        for host in ["a: ", "b: "] {
            let told = text(&logs.stdout);
            let of_host = told.lines().filter(|line| line.starts_with(host));
            assert!(
                of_host
                    .clone()
                    .any(|line| line.contains("the agent begins")),
                "{told}"
            );
        }

        let down = hosts.rookery(&["fleet", "down", &file]);
        assert_eq!(code(&down), 0, "{}", text(&down.stderr));
        for number in 0..2 {
            assert!(!hosts.directory(number).exists(), "{}", text(&down.stdout));
        }
        let again = hosts.rookery(&["fleet", "down", &file]);
        assert_eq!(code(&again), 0, "{}", text(&again.stderr));
        assert_eq!(text(&again.stdout).matches("no program").count(), 2);
    }
    assert_host_as(&before);
}

/// A second `up` copies nothing; each clock is known within a bound, and all are one clock here.
fn the_clock_has_a_bound(hosts: &PretendHosts<'_>, file: &str) {
    let up = hosts.rookery(&["fleet", "up", file, "--json"]);
    assert_eq!(code(&up), 0, "{}", text(&up.stderr));
    let up = json(&up.stdout);
    for host in up.as_array().expect("hosts") {
        assert_eq!(host["copied"], false, "{host}");
        assert_eq!(host["agent"]["busy"], false, "{host}");
        let number = |key: &str| host["clock"][key].as_i64().expect("a number");
        assert!(
            number("bound_us") >= 0 && host["clock"]["stepped"] == false,
            "{host}"
        );
        assert!(number("offset_us").abs() <= number("bound_us"), "{host}");
    }
}

#[test]
fn what_stands_against_a_host_is_said_before_any_is_touched() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let hosts = PretendHosts::new(&place, 3);
    hosts.forget_key(1);
    let unreachable = hosts.entry(2, "").replace("port = 2203", "port = 2299");
    let file = hosts.file(&[hosts.entry(0, ""), hosts.entry(1, ""), unreachable]);
    let refused = hosts.rookery(&["fleet", "up", &file, "--json"]);
    assert_eq!(code(&refused), 4, "{}", text(&refused.stderr));
    let refused = json(&refused.stderr);
    let codes: Vec<&str> = refused["errors"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|e| e["code"].as_str())
        .collect();
    assert_eq!(
        codes,
        ["fleet::host-key", "fleet::unreachable"],
        "{refused}"
    );
    for error in refused["errors"].as_array().into_iter().flatten() {
        assert!(
            error["help"].is_string() && error["place"].is_string(),
            "{error}"
        );
    }
    for number in 0..3 {
        assert!(!hosts.directory(number).exists(), "{refused}");
    }

    let file = hosts.file(&["[[host]]\nname = \"a b\"\naddress = \"x\"\n".to_owned()]);
    let wrong = hosts.rookery(&["fleet", "up", &file]);
    assert_eq!(code(&wrong), 2);
    let words = text(&wrong.stderr);
    assert!(
        words.contains("HOSTS.toml:3") && words.contains("help:"),
        "{words}"
    );
}

#[test]
fn another_program_is_replaced_and_a_foreign_directory_is_not() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let hosts = PretendHosts::new(&place, 2);
    let file = hosts.file_of_all();
    let directory = hosts.directory(0);
    fs::create_dir(&directory).expect("made");
    fs::write(
        directory.join("rookery"),
        "#!/bin/sh\necho no such agent >&2\nexit 3\n",
    )
    .expect("written");
    // What is there is no directory.
    fs::write(hosts.directory(1), "mine").expect("written");
    let status = hosts.rookery(&["fleet", "status", &file, "--json"]);
    assert_eq!(code(&status), 4);
    let found = json(&status.stdout);
    let codes: Vec<&Value> = found["errors"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|error| &error["code"])
        .collect();
    assert_eq!(codes, ["fleet::agent", "fleet::directory"], "{found}");

    let up = hosts.rookery(&["fleet", "up", &file]);
    assert_eq!(code(&up), 4, "{}", text(&up.stdout));
    let program = fs::read_to_string(directory.join("rookery")).expect("there");
    assert!(program.contains("no such agent"), "nothing was touched");

    fs::remove_file(hosts.directory(1)).expect("removed");
    let up = hosts.rookery(&["fleet", "up", &file]);
    assert_eq!(code(&up), 0, "{}", text(&up.stderr));
    let down = hosts.rookery(&["fleet", "down", &file]);
    assert_eq!(code(&down), 0, "{}", text(&down.stderr));
    assert!(!directory.exists());
}

#[test]
fn a_user_who_is_not_root_has_an_agent_and_may_not_ask_for_root() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let hosts = PretendHosts::new(&place, 1);
    let plain = hosts.entry_of_lab(0, "memory_mib = 300");
    let refused = hosts.file(&[format!("{plain}sudo = true\n")]);
    let refused = hosts.rookery(&["fleet", "up", &refused]);
    let words = text(&refused.stderr);
    assert_eq!(code(&refused), 4, "{words}");
    assert!(
        words.contains("error[fleet::sudo]") && words.contains("NOPASSWD"),
        "{words}"
    );
    assert!(!hosts.directory(0).join("rookery").exists());

    let file = hosts.file(&[plain]);
    let up = hosts.rookery(&["fleet", "up", &file, "--json"]);
    assert_eq!(code(&up), 0, "{}", text(&up.stderr));
    let agent = &json(&up.stdout)[0]["agent"];
    assert_eq!(agent["root"], false);
    assert_eq!(agent["host"]["facts"]["memory_mib"], 300);
    let lacks: Vec<bool> = agent["kinds"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|kind| kind["lacks"].is_null())
        .collect();
    assert_eq!(lacks[..2], [true, false], "bare guests alone: {agent}");
    let down = hosts.rookery(&["fleet", "down", &file]);
    assert_eq!(code(&down), 0, "{}", text(&down.stderr));
    // Its parent is not the user's, so that the directory itself cannot be removed.
    let left = fs::read_dir(hosts.directory(0)).map_or(0, |entries| entries.count());
    assert_eq!(left, 0, "{}", text(&down.stdout));
}
