//! A study that asks what its storage can do: measured once before its trials, also when that was
//! interrupted, and drawn into its report.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::common::{Place, code, measured, text, tiny_study, went_to_its_end};

/// What is kept beside the one run of a place.
fn ceilings(place: &Place) -> PathBuf {
    let runs: Vec<_> = fs::read_dir(place.runs())
        .expect("runs")
        .flatten()
        .collect();
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs[0].path().join("storage.json")
}

#[test]
fn the_ceiling_that_a_study_asks_for_is_measured_before_its_trials() {
    let place = Place::new();
    let asked =
        tiny_study("bare", "1", "").replace("[host]", "[storage]\nceiling = \"on\"\n\n[host]");
    let study = place.study("asked.toml", &asked.replace("[1, 2]", "1"));
    let mut child = place
        .rookery(&["run", &study, "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("rookery starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped"))
        .lines()
        .map_while(Result::ok);
    let first = lines
        .by_ref()
        .find(|line| line.contains("ceiling of the storage"))
        .expect("it is told");
    assert!(
        first.contains("1 of 8: random reads of 4 KiB, depth 4: "),
        "{first}"
    );
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .expect("kill")
            .success()
    );
    let rest: Vec<String> = lines.collect();
    assert!(
        !rest.iter().any(|line| line.contains("trial-started")),
        "no trial begins: {rest:?}"
    );
    assert_eq!(child.wait().expect("rookery ends").code(), Some(130));
    assert!(!ceilings(&place).exists(), "half a ceiling is none");

    let resumed = place
        .rookery(&["run", "--resume", "asked.toml"])
        .output()
        .expect("rookery starts");
    assert!(
        went_to_its_end(&resumed),
        "{}\n{}",
        text(&resumed.stdout),
        text(&resumed.stderr)
    );
    assert!(
        place.export()["trials"]
            .as_array()
            .is_some_and(|trials| trials.iter().all(measured))
    );
    let kept: serde_json::Value =
        serde_json::from_slice(&fs::read(ceilings(&place)).expect("kept")).expect("JSON");
    assert_eq!(kept.as_array().map(Vec::len), Some(1), "one pool: {kept}");
    assert_eq!(kept[0]["pool"], "the directory of runs");
    assert_eq!(kept[0]["points"].as_array().map(Vec::len), Some(8));
    let html =
        fs::read_to_string(ceilings(&place).with_file_name("report.html")).expect("a report");
    // How it stands to the requests of the guests is drawn where the kernel counted any; what was
    // measured, always.
    assert!(
        html.contains("id=\"storage-sweep\"") && html.contains("the directory of runs (fio-"),
        "what was measured is drawn"
    );
}

#[test]
fn a_study_that_asks_for_its_ceiling_needs_fio() {
    let place = Place::new();
    let asked =
        tiny_study("bare", "1", "").replace("[host]", "[storage]\nceiling = \"on\"\n\n[host]");
    let study = place.study("asked.toml", &asked);
    let done = place
        .rookery(&["run", &study])
        .env("PATH", place.dir.path())
        .output()
        .expect("rookery starts");
    assert_eq!(code(&done), 4, "{}", text(&done.stderr));
    assert!(
        text(&done.stderr).contains("help: apt install fio"),
        "{}",
        text(&done.stderr)
    );
    assert!(!place.runs().exists(), "no run was begun");
}
