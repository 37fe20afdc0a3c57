//! Statements as data through the whole laboratory: on each database, with what was acknowledged
//! found again, and a study whose statements the database refuses.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::TcpListener,
    process::{Command, Stdio},
    thread::sleep,
    time::Duration,
};

use rookery_testkit::truth;
use serde_json::Value;

use crate::{
    common::{
        Place, code, metric,
        orderentry::{database_tests, number},
        text,
    },
    drive::App,
};

const STATEMENTS: &str = r#"
setup = [
  "CREATE TABLE notes (id INTEGER PRIMARY KEY, title VARCHAR(40), size DOUBLE PRECISION)",
  "CREATE TABLE copies (note INTEGER NOT NULL, title VARCHAR(40), maker VARCHAR(60))",
  "INSERT INTO notes (id, title, size) VALUES (1, 'one''s', 0.5), (2, 'zwölf; $', 1.5)",
  "INSERT INTO copies (note, title, maker) VALUES (1, 'before', 'setup')",
]

[[workload.feeder]]
name = "id"
range = "1..2"

[[workload.feeder]]
name = "maker"
values = ["x'); DROP TABLE copies; --", "ü"]

[[workload.operation]]
name = "read"
statement = [{ sql = "SELECT title, size FROM notes WHERE id = ${id}", rows = 1 }]
next = { copy = 1.0 }

[[workload.operation]]
name = "copy"
transaction = true
counts = "copies"
next = { read = 0.5, end = 0.5 }

[[workload.operation.statement]]
sql = "SELECT id, title FROM notes WHERE id = ${id}"
values = ["${id}"]
capture = { title = 2 }

[[workload.operation.statement]]
sql = "INSERT INTO copies (note, title, maker) VALUES (${id}, ${title}, ${maker})"
rows = 1

[[workload.audit]]
counts = "copies"
sql = "SELECT count(*) FROM copies WHERE maker IN ('setup', 'ü', 'x''); DROP TABLE copies; --')"
initial = 1
"#;

/// A study of these statements for a few seconds.
fn study(stack: &str, statements: &str) -> String {
    format!(
        r#"
title = "own statements"

[workload]
kind = "sql"
think_time = "10ms"
{statements}

[load]
users = 3
ramp_up = "200ms"
settle = "300ms"
steady = "2s"
repeats = 1
retry_void = 0

[qos.copy]
p95 = "5s"

[stack]
kind = "{stack}"

[guest]
kind = "bare"
memory = "384MiB"

[host]
overcommit = 2
other_work = 1

[[layout]]
name = "one"
guests = 1
"#
    )
}

fn runs_to_its_end(stack: &str) {
    let place = Place::among_others();
    let (_, run) = place.done("own.toml", &study(stack, STATEMENTS));
    let audits = run["audits"].as_array().expect("audits");
    assert_eq!(audits.len(), 1, "{audits:?}");
    assert_eq!(audits[0]["consistent"], true, "{}", audits[0]);
    let (found, told) = (
        number(&audits[0], "found"),
        number(&audits[0], "acknowledged"),
    );
    assert!(told > 0 && found == told, "{}", audits[0]);
    let of_guest = |name: &str| metric(&run, &run["guests"][0], name);
    for name in ["operations_per_minute", "rows", "transactions", "sessions"] {
        assert!(of_guest(name) > 0.0, "{name}");
    }
    let errors = run["errors"].as_array().map_or(0, Vec::len);
    assert_eq!(errors, 0, "{}", run["errors"]);
    let settings = run["tunings"].to_string();
    assert!(settings.contains("sql.server"), "{settings}");
}

#[test]
fn statements_on_sqlite_run_and_are_audited() {
    runs_to_its_end("sqlite");
}

#[test]
fn statements_on_mariadb_run_and_are_audited() {
    if database_tests() {
        runs_to_its_end("mariadb");
    }
}

#[test]
fn statements_on_postgresql_run_and_are_audited() {
    if database_tests() {
        runs_to_its_end("postgresql");
    }
}

/// What a run of these statements on SQLite says, which does not end well.
fn refused(from: &str, to: &str) -> (i32, String) {
    let statements = STATEMENTS.replace(from, to);
    assert_ne!(statements, STATEMENTS, "{from} is there");
    let place = Place::among_others();
    let study = place.study("own.toml", &study("sqlite", &statements));
    let output = place
        .rookery(&["run", &study])
        .output()
        .expect("rookery starts");
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    (code(&output), said)
}

#[test]
fn visitors_arrive_at_a_database_and_leave() {
    // On a busy machine more may be there than are allowed.
    let place = Place::overloaded();
    let load = "model = \"partly-open\"\nrate = 30\nacts = 2\nmax_in_flight = 6";
    let study = study("sqlite", STATEMENTS)
        .replace("users = 3", load)
        .replace("[qos.copy]\np95 = \"5s\"\n", "");
    let (_, run) = place.done("own.toml", &study);
    let measurement = &run["measurements"][0];
    assert_eq!(measurement["load_model"], "partly-open", "{measurement}");
    let drawn = measurement["arrivals_drawn"].as_u64();
    assert!(drawn > Some(0), "{measurement}");
    let audit = &run["audits"][0];
    assert_eq!(audit["consistent"], true, "{audit}");
    assert!(number(audit, "acknowledged") > 0, "{audit}");
    assert_eq!(number(audit, "found"), number(audit, "acknowledged"));
}

#[test]
fn a_count_that_nobody_was_told_of_fails_the_trial() {
    let (code, said) = refused("initial = 1", "initial = 0");
    assert_ne!(code, 0, "{said}");
    assert!(said.contains("copies"), "{said}");
}

#[test]
fn what_the_database_refuses_is_said_with_the_statement() {
    let (code, said) = refused("CREATE TABLE copies", "CREATE TABEL copies");
    assert_ne!(code, 0, "{said}");
    assert!(said.contains("CREATE TABEL copies"), "{said}");
    let (code, said) = refused("SELECT id, title FROM", "SELECT id, titel FROM");
    assert_ne!(code, 0, "{said}");
    assert!(said.contains("titel"), "{said}");
}

/// An empty database that runs, with its address.
fn running_database(place: &Place) -> (App, String) {
    let port = TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a free port")
        .port();
    let data = place.dir.path().join("database");
    fs::create_dir(&data).expect("made");
    let data = data.display().to_string();
    let listen = format!("127.0.0.1:{port}");
    let args = ["app", "orderentry", "--data", &data, "--listen", &listen];
    let mut child = place
        .rookery(&args)
        .stderr(Stdio::piped())
        .spawn()
        .expect("rookery starts");
    let stderr = child.stderr.take().expect("piped");
    let mut lines = BufReader::new(stderr).lines();
    assert!(
        lines.any(|line| line.is_ok_and(|line| line.starts_with("serving"))),
        "the database says that it serves"
    );
    (App(child), format!("sqlite+oe://{listen}/"))
}

/// The statements as a workload file.
fn workload_file(place: &Place) -> String {
    let file = place.dir.path().join("notes.toml");
    let statements = STATEMENTS.replace("[[workload.", "[[");
    fs::write(&file, format!("think_time = \"10ms\"\n{statements}")).expect("written");
    file.display().to_string()
}

#[test]
fn arrivals_see_a_database_that_stands_still_for_a_second() {
    let place = Place::new();
    let (database, target) = running_database(&place);
    let file = workload_file(&place);
    let mut args = vec!["drive", "sql", "--workload", &file, "--target", &target];
    args.extend(["--setup", "--json", "--open", "50", "--arrivals", "uniform"]);
    args.extend(["--ramp-up", "100ms", "--settle", "100ms", "--seconds", "8"]);
    let mut command = place.rookery(&args);
    let driving = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let signal = |name: &str| {
        let victim = database.0.id().to_string();
        let sent = Command::new("kill").args([name, &victim]).status();
        assert!(sent.expect("kill").success());
    };
    sleep(Duration::from_secs(3));
    signal("-STOP");
    sleep(Duration::from_secs(1));
    signal("-CONT");
    let output = driving.wait_with_output().expect("it ends");
    assert!([0, 6].contains(&code(&output)), "{}", text(&output.stdout));
    let value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let arrivals = &value["driver"]["arrivals"];
    assert_eq!(arrivals["drawn"], 400, "{arrivals}");
    assert_eq!(arrivals["started"], 400, "{arrivals}");
    let operations = value["guests"][0]["operations"].as_array().expect("rows");
    let any = operations.iter().find(|row| row["name"] == "operation");
    let response = &any.expect("any operation")["response_us"];
    assert_eq!(response["count"], 400, "{response}");
    for (percentile, p) in [("p95", 95.0), ("p99", 99.0)] {
        let (second, window) = (Duration::from_secs(1), Duration::from_secs(8));
        let least = truth(Duration::ZERO, 1, second, window, p).as_micros() as f64;
        let seen = response[percentile].as_f64().expect("a number");
        assert!(
            seen >= 0.97 * least,
            "{percentile}: {seen} us instead of {least} us"
        );
    }
}

#[test]
fn a_database_that_runs_already_is_driven_by_a_workload_file() {
    let place = Place::among_others();
    let (_database, target) = running_database(&place);
    let file = workload_file(&place);
    let drive = |more: &[&str]| {
        let mut args = vec![
            "drive",
            "sql",
            "--workload",
            &file,
            "--target",
            &target,
            "--users",
            "2",
            "--seconds",
            "1",
            "--ramp-up",
            "100ms",
            "--settle",
            "100ms",
        ];
        args.extend(more);
        place.rookery(&args).output().expect("rookery starts")
    };
    let refused = drive(&[]);
    assert_ne!(code(&refused), 0, "there are no tables yet");
    // Void runs end with 6, on a busy machine.
    let measured = |output: &std::process::Output| {
        assert!([0, 6].contains(&code(output)), "{}", text(&output.stderr));
    };
    for more in [&["--setup", "--json"][..], &["--json"]] {
        let output = drive(more);
        measured(&output);
        let value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let audit = &value["audits"][0];
        assert_eq!(audit["what"], "copies");
        assert_eq!(audit["consistent"], true, "{audit}");
        assert!(audit["acknowledged"].as_u64() > Some(0), "{audit}");
        assert_eq!(audit["found"], audit["acknowledged"], "{audit}");
    }
    let output = drive(&[]);
    measured(&output);
    let told = text(&output.stdout);
    assert!(
        told.contains("copies: ")
            && told.contains(" found")
            && told.contains("2 users, closed loop"),
        "{told}"
    );
}
