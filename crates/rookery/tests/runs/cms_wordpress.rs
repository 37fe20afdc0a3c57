//! WordPress of the distribution, which nobody here wrote, as a guest: the study that comes with
//! Rookery, shortened.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::common::{Place, long_tests, processes_of, root_tests};

fn studies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies")
}

/// A place with the files of the study.
fn place_with_files() -> Place {
    let place = Place::among_others();
    let beside = place.dir.path().join("wordpress");
    fs::create_dir(&beside).expect("made");
    for file in fs::read_dir(studies().join("wordpress")).expect("files") {
        let file = file.expect("a file");
        fs::copy(file.path(), beside.join(file.file_name())).expect("copied");
    }
    place
}

/// The same, and the study with one short point.
fn place() -> (Place, String) {
    let place = place_with_files();
    let text = fs::read_to_string(studies().join("wordpress.toml")).expect("the study");
    let mut short = text.clone();
    for (from, to) in [
        ("users = [\"2 per guest\", \"6 per guest\"]", "users = 3"),
        ("settle = \"5s\"", "settle = \"2s\""),
        ("steady = \"20s\"", "steady = \"8s\""),
        // So short a trial has fewer operations than a limit is judged by.
        ("errors = 0.001", "errors = 0.001\nmin_operations = 10"),
        ("[guest]", "[host]\nother_work = 1\n\n[guest]"),
    ] {
        assert!(short.contains(from), "{from}");
        short = short.replace(from, to);
    }
    (place, short)
}

fn comments(run: &Value) -> (u64, u64) {
    let audit = &run["audits"][0];
    let number = |key: &str| {
        audit[key]
            .as_u64()
            .unwrap_or_else(|| panic!("{key}: {audit}"))
    };
    (number("acknowledged"), number("found"))
}

#[test]
fn every_comment_that_users_were_told_of_is_there() {
    if !root_tests() {
        return;
    }
    let (place, study) = place();
    let (_, run) = place.done("wordpress.toml", &study);
    let (told, found) = comments(&run);
    assert!(told > 0, "users comment: {}", run["audits"]);
    assert_eq!(told, found, "{}", run["audits"]);
    assert_eq!(run["audits"][0]["consistent"], true, "{}", run["audits"]);
}

/// Its database is killed in the midst of it.
#[test]
fn no_comment_is_lost_by_a_kill() {
    if !root_tests() {
        return;
    }
    let (place, study) = place();
    let (mut child, mut events) =
        place.under_load(&study.replace("steady = \"8s\"", "steady = \"20s\""));
    let later = events.find(|event| event.contains("\"load\"") && elapsed(event) > 8.0);
    assert!(later.is_some(), "the load goes on");
    let all = processes_of(&child, "mariadbd");
    assert_eq!(all.len(), 1, "one database of the one guest: {all:?}");
    let killed = Command::new("kill")
        .args(["-9", &all[0].to_string()])
        .status();
    assert!(killed.expect("kill").success());
    events.for_each(drop);
    child.wait().expect("rookery ends");
    let run = place.export();
    assert_eq!(run["trials"][0]["status"], "failed", "{}", run["trials"]);
    let (told, found) = comments(&run);
    assert_eq!(run["audits"][0]["killed"], true, "{}", run["audits"]);
    assert!(told > 0 && found >= told, "{}", run["audits"]);
}

fn elapsed(event: &str) -> f64 {
    let event: Value = serde_json::from_str(event).unwrap_or_default();
    event["elapsed_s"].as_f64().unwrap_or(0.0)
}

/// The functional baseline of content management: four users for 30 s, 0.2 s between operations.
fn content_management(contract: &str) -> String {
    let text = fs::read_to_string(studies().join("cms-wordpress.toml")).expect("the study");
    let mut short = text;
    for (from, to) in [
        (
            "contract = \"wordpress\"",
            format!("contract = \"{contract}\""),
        ),
        (
            "users = [\"2 per guest\", \"4 per guest\"]",
            "users = 4".to_owned(),
        ),
        (
            "think_time = \"1s\"",
            "pacing = \"think\"\nthink_time = \"200ms\"".to_owned(),
        ),
        (
            "[guest]",
            "[qos]\nerrors = 0.001\noperation = { p90 = \"4s\" }\n\n[host]\nother_work = 1\n\n[guest]"
                .to_owned(),
        ),
    ] {
        assert!(short.contains(from), "{from}");
        short = short.replacen(from, &to, 1);
    }
    short
}

fn users_of_a_mix_fail_nothing(contract: &str) {
    let place = place_with_files();
    let (_, run) = place.done("mix.toml", &content_management(contract));
    assert_eq!(
        run["errors"].as_array().map(Vec::len),
        Some(0),
        "{}",
        run["errors"]
    );
    assert_eq!(run["audits"][0]["consistent"], true, "{}", run["audits"]);
    for row in run["proofs"].as_array().expect("proofs") {
        assert_eq!(row["acknowledged"], row["found"], "{contract}: {row}");
    }
}

#[test]
fn users_of_a_markov_mix_fail_nothing_and_what_they_created_is_there() {
    if root_tests() {
        users_of_a_mix_fail_nothing("wordpress");
    }
}

#[test]
fn users_who_fill_in_forms_fail_nothing_and_what_they_created_is_there() {
    if long_tests() {
        users_of_a_mix_fail_nothing("wordpress-forms");
    }
}
