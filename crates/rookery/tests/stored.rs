//! Stored runs that were moved, altered, or that nobody listens to.

mod common;

use std::{
    fs,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::Stdio,
};

use common::{Place, code, measured, text, tiny_study, went_to_its_end};

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
    let place = Place::new();
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
    let id = run["run"]["run_id"].as_str().expect("an id");
    assert!(!text(&left.stdout).contains(id), "{}", text(&left.stdout));
}

#[test]
fn a_run_keeps_its_id_when_its_directory_is_renamed() {
    let place = Place::new();
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
    let place = Place::new();
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
        assert!(err.contains("damaged") && err.contains("mend"), "{err}");
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
    let place = Place::new();
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
