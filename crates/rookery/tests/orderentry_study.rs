//! Order entry as a study, with the real program: bare MariaDB and PostgreSQL guests, a container, and a server that is killed in its trial.

mod common;

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use common::{Place, measured, root_tests, text, went_to_its_end};
use serde_json::Value;

/// A study of a few seconds on a test database.
fn tiny(stack: &str, guest: &str, guests: u32) -> String {
    format!(
        r#"
title = "tiny order entry"

[workload]
kind = "orderentry"
profile = "mini"
warehouses = 2

[load]
users = 3
ramp_up = "200ms"
settle = "300ms"
steady = "2s"
repeats = 1

[stack]
kind = "{stack}"

[guest]
kind = "{guest}"
memory = "384MiB"
ready_within = "1min"

[host]
overcommit = 2

[[layout]]
name = "all"
guests = {guests}
"#
    )
}

fn database_tests() -> bool {
    if std::env::var_os("ROOKERY_SKIP_DATABASE_TESTS").is_some_and(|value| value == "1") {
        eprintln!("SKIPPED on request: ROOKERY_SKIP_DATABASE_TESTS=1");
        return false;
    }
    true
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("{key}: {value}"))
}

/// Every guest committed something, its database holds what terminals were told, and every condition holds.
fn assert_audits(run: &Value, guests: usize) {
    let audits = run["audits"].as_array().expect("audits");
    assert_eq!(audits.len(), guests, "{audits:?}");
    for audit in audits {
        assert_eq!(audit["consistent"], 1, "{audit}");
        assert_eq!(number(audit, "orders_in_database"), number(audit, "orders_acknowledged"), "{audit}");
        assert!(number(audit, "orders_acknowledged") > 0, "{audit}");
    }
}

fn runs_to_its_end(stack: &str, guest: &str, guests: u32) {
    let place = Place::new();
    let study = place.study("tiny.toml", &tiny(stack, guest, guests));
    let output = place.rookery(&["run", &study]).output().expect("rookery starts");
    let told = format!("{}\n{}", text(&output.stdout), text(&output.stderr));
    assert!(went_to_its_end(&output), "{told}");
    let run = place.export();
    assert!(measured(&run["trials"][0]), "{told}");
    assert_audits(&run, guests as usize);
    let counters = run["guests"][0]["orderentry_json"].as_str().expect("counters of order entry");
    let counters: Value = serde_json::from_str(counters).expect("JSON");
    assert!(counters["nopm"].as_f64().is_some_and(|nopm| nopm > 0.0), "{counters}");
    assert!(number(&counters["database"], "logical_reads") > 0, "{counters}");
    let settings = run["tunings"].to_string();
    for name in ["orderentry.isolation", "orderentry.server", "orderentry.statements"] {
        assert!(settings.contains(name), "{name}");
    }
}

#[test]
fn bare_guests_of_mariadb_run_and_one_that_is_killed_loses_no_order() {
    if database_tests() {
        runs_to_its_end("mariadb", "bare", 2);
        // The template is there by now: the only servers of the second run are those of its guests.
        killed_in_its_trial();
    }
}

#[test]
fn a_bare_guest_of_postgresql_runs() {
    if database_tests() {
        runs_to_its_end("postgresql", "bare", 1);
    }
}

#[test]
fn a_container_of_postgresql_runs() {
    if database_tests() && root_tests() {
        runs_to_its_end("postgresql", "container", 1);
    }
}

/// Servers of the run with this id, by label and name.
fn servers(run: &str) -> Vec<u32> {
    let label = format!("ROOKERY_RUN={run}");
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let server = processes.filter_map(|entry| {
        let pid: u32 = entry.file_name().to_string_lossy().parse().ok()?;
        let environ = fs::read(entry.path().join("environ")).ok()?;
        let name = fs::read_to_string(entry.path().join("comm")).ok()?;
        let labelled = environ.split(|byte| *byte == 0).any(|variable| variable == label.as_bytes());
        (labelled && name.trim() == "mariadbd").then_some(pid)
    });
    server.collect()
}

fn killed_in_its_trial() {
    let place = Place::new();
    let study = place.study(
        "killed.toml",
        &tiny("mariadb", "bare", 1).replace("steady = \"2s\"", "steady = \"20s\""),
    );
    let mut child = place
        .rookery(&["run", &study, "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("rookery starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let (mut run, mut killed) = (String::new(), 0);
    for line in lines.by_ref() {
        let Ok(event) = serde_json::from_str::<Value>(&line.expect("a line")) else {
            continue;
        };
        if event["event"] == "run-started" {
            run = event["run"].as_str().expect("the id of the run").to_owned();
        }
        if event["event"] == "load" && event["elapsed_s"].as_f64().is_some_and(|elapsed| elapsed > 1.0) {
            let victims = servers(&run);
            assert_eq!(victims.len(), 1, "one server of the one guest: {victims:?}");
            let pid = victims[0].to_string();
            assert!(Command::new("kill").args(["-9", &pid]).status().expect("kill").success());
            killed += 1;
            break;
        }
    }
    lines.for_each(drop);
    child.wait().expect("rookery ends");
    assert_eq!(killed, 1, "there was a load to be killed in");
    let run = place.export();
    assert_eq!(run["trials"][0]["status"], "failed", "{}", run["trials"]);
    assert!(run["reasons"].to_string().contains("died under load"), "{}", run["reasons"]);
    let audit = &run["audits"][0];
    assert_eq!(
        (&audit["killed"], &audit["consistent"]),
        (&Value::from(1), &Value::from(1)),
        "{audit}"
    );
    let (told, found) = (number(audit, "orders_acknowledged"), number(audit, "orders_in_database"));
    assert!(told > 0 && (told..=told + number(audit, "unanswered")).contains(&found), "{audit}");
}
