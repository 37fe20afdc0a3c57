//! Stored runs that were moved, altered, that nobody listens to, or that an earlier version stored.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::Stdio,
};

use crate::common::{Place, code, measured, text, tiny_study, went_to_its_end};

/// The directory of a small run that has ended.
fn done(place: &Place) -> PathBuf {
    let study = place.study("tiny.toml", &tiny_study("bare", "1", ""));
    let output = place
        .rookery(&["run", &study, "-q"])
        .output()
        .expect("rookery starts");
    assert!(went_to_its_end(&output), "{}", text(&output.stderr));
    let report = text(&output.stdout);
    PathBuf::from(report.trim())
        .parent()
        .expect("the run's directory")
        .to_owned()
}

fn alter(run: &std::path::Path, sql: &str) {
    let store = rusqlite::Connection::open(run.join("run.sqlite")).expect("a store");
    store.execute_batch(sql).expect("valid SQL");
}

#[test]
fn a_run_whose_listener_leaves_goes_on_and_cleans_up() {
    let place = Place::among_others();
    let study = place.study("tiny.toml", &tiny_study("bare", "1", ""));
    let mut child = place
        .rookery(&["run", &study, "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("rookery starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped"))
        .lines()
        .map_while(Result::ok);
    assert!(
        lines.by_ref().any(|line| line.contains("\"guests-ready\"")),
        "guests live"
    );
    drop(lines);
    let output = child.wait_with_output().expect("rookery ends");
    let err = text(&output.stderr);
    assert!(went_to_its_end(&output), "{err}");
    assert_eq!(
        err.matches("cannot be printed").count(),
        1,
        "said once: {err}"
    );
    let run = place.export();
    let trials = run["trials"].as_array().expect("trials");
    assert!(trials.iter().all(measured), "{trials:?}");
    let left = place
        .rookery(&["guests", "--json"])
        .output()
        .expect("rookery starts");
    let id = run["run"][0]["run_id"].as_str().expect("an id");
    assert!(!text(&left.stdout).contains(id), "{}", text(&left.stdout));
}

#[test]
fn a_run_keeps_its_id_when_its_directory_is_renamed() {
    let place = Place::among_others();
    let run = done(&place);
    alter(&run, "UPDATE trials SET status = 'planned' WHERE trial = 2");
    let moved = place.runs().join("my copy");
    fs::rename(&run, &moved).expect("renamed");
    let output = place
        .rookery(&["run", "--resume", &moved.display().to_string(), "--json"])
        .output()
        .expect("rookery starts");
    assert!(went_to_its_end(&output), "{}", text(&output.stderr));
    let id = run
        .display()
        .to_string()
        .rsplit('-')
        .next()
        .expect("an id")
        .to_owned();
    assert!(
        text(&output.stdout).contains(&format!("\"run\":\"{id}\"")),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn a_stored_study_beyond_the_grammar_is_not_performed() {
    let place = Place::among_others();
    let run = done(&place);
    for study in [
        "json_set(study_json, '$.guest.ready_within.secs', 18446744073709551)",
        "json_set(study_json, '$.load.steady.secs', 0, '$.load.steady.nanos', 0)",
    ] {
        alter(&run, "UPDATE trials SET status = 'planned' WHERE trial = 2");
        alter(&run, &format!("UPDATE run SET study_json = {study}"));
        let output = place
            .rookery(&["run", "--resume"])
            .output()
            .expect("rookery starts");
        let err = text(&output.stderr);
        assert_eq!(code(&output), 8, "{err}");
        assert!(err.contains("damaged") && err.contains("help"), "{err}");
        let report = place.rookery(&["report"]).output().expect("rookery starts");
        assert_eq!(
            code(&report),
            0,
            "it can still be read: {}",
            text(&report.stderr)
        );
    }
}

#[test]
fn a_stored_title_does_not_command_the_terminal() {
    let place = Place::among_others();
    let run = done(&place);
    alter(&run, "UPDATE run SET title = char(27) || '[31mred'");
    let output = place
        .rookery(&["run", "--resume"])
        .output()
        .expect("rookery starts");
    assert!(
        text(&output.stderr).contains("[31mred"),
        "{}",
        text(&output.stderr)
    );
    assert!(!text(&output.stderr).contains('\u{1b}') && !text(&output.stdout).contains('\u{1b}'));
}

/// A copy of a run that an earlier version stored (`crates/store/tests/data`).
fn earlier(place: &Place, name: &str, directory: &str) -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/data/v5");
    let run = place.runs().join(directory);
    fs::create_dir_all(&run).expect("a directory");
    fs::copy(data.join(format!("{name}.sqlite")), run.join("run.sqlite")).expect("copied");
    run.display().to_string()
}

/// What a command says of a stored run; it must end well.
fn told(place: &Place, args: &[&str]) -> String {
    let output = place.rookery(args).output().expect("rookery starts");
    assert_eq!(code(&output), 0, "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn runs_of_an_earlier_version_are_reported_exported_and_compared() {
    let place = Place::computing();
    for (name, title, figure) in [
        ("bare", "Bare embedded shops", "15030 (14820 to 15240)"),
        (
            "container",
            "Embedded shops in containers",
            "14700 (14130 to 15270)",
        ),
        ("interrupted", "Killed and interrupted", "14895"),
        (
            "lamp",
            "Two settings of LAMP containers",
            "8430 (8190 to 8670)",
        ),
        ("lamp-bare", "A bare LAMP shop", "11970 (11190 to 12750)"),
        ("layers", "Two layers", "16300 ± 1300"),
        ("layers-vm", "Three layers", "232 (195 to 270)"),
        ("mariadb", "Order entry on MariaDB", "18800 ± 1700"),
        ("open", "Open arrivals", "2595 (2520 to 2670)"),
        ("partly-open", "Partly open arrivals", "4125 (3900 to 4350)"),
        ("pool", "A buffer pool for a hit ratio", "4260"),
        ("postgresql", "Order entry on PostgreSQL", "23790 ± 750"),
        ("search", "A simulated search after a ladder", "3684"),
        ("simulated", "Simulated: scale up and out", "6120 ± 290"),
        ("sqlite", "Order entry on SQLite", "14520 (13680 to 15360)"),
        ("void", "More arrivals than are served", "198.8 ms"),
    ] {
        let run = earlier(&place, name, name);
        let before = fs::read(Path::new(&run).join("run.sqlite")).expect("readable");
        // Groups of three digits are parted by blanks that do not break.
        let report = told(&place, &["report", &run]).replace('\u{a0}', "");
        assert!(
            report.contains(title) && report.contains(figure),
            "{name}: {report}"
        );
        let html = Path::new(&run).join("report.html");
        assert!(fs::metadata(html).expect("a report").len() > 10_000);
        let json = told(&place, &["export", &run, "--format", "json"]);
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert!(json["trials"][0]["status"].is_string());
        let csv = place.dir.path().join(format!("{name}-csv"));
        let csv = csv.display().to_string();
        told(&place, &["export", &run, "--format", "csv", "--out", &csv]);
        if name != "void" {
            let again = earlier(&place, name, "again");
            alter(Path::new(&again), "UPDATE run SET run_id = 'again'");
            told(&place, &["compare", &run, &again]);
        }
        let after = fs::read(Path::new(&run).join("run.sqlite")).expect("readable");
        assert!(
            before == after,
            "{name}: reading leaves the store as it was"
        );
    }
}

#[test]
fn an_interrupted_run_of_an_earlier_version_is_resumed() {
    let place = Place::among_others();
    let run = earlier(&place, "interrupted", "interrupted");
    let output = place
        .rookery(&["run", "--resume", &run, "-q"])
        .output()
        .expect("rookery starts");
    assert!(went_to_its_end(&output), "{}", text(&output.stderr));
    let trials = place.export()["trials"].clone();
    assert!(measured(&trials[2]), "{trials}");
    assert!(Path::new(&run).join("run-v5.sqlite").is_file());
}
