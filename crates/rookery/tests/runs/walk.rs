//! The whole road on bare guests: from a study file to a report, without root.

use crate::common::{Place, code, measured, metric, text, tiny_study, went_to_its_end};

#[test]
fn a_study_becomes_a_report_whose_numbers_agree_with_the_store() {
    let place = Place::among_others();
    let (told, run) = place.done("tiny.toml", &tiny_study("bare", "1", ""));
    assert!(!told.contains('\u{1b}'), "no control characters in a pipe");

    let html_path = told
        .lines()
        .find_map(|line| line.strip_prefix("report: "))
        .expect("the path of the report is printed");
    let html = std::fs::read_to_string(html_path).expect("the report is there");
    assert!(html.contains("tiny"), "the title stands in the report");

    let trials = run["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 2);
    for trial in trials {
        assert!(measured(trial), "{trial}");
    }
    let html_numbers = html.replace([',', '\u{202f}', ' '], "");
    for guest in run["guests"].as_array().expect("guests") {
        let orders = metric(&run, guest, "n_overall");
        assert!(orders > 0.0, "{guest}");
        assert!(
            html_numbers.contains(&orders.to_string()),
            "the report names the {orders} orders of {guest}"
        );
    }
    let audits = run["audits"].as_array().expect("audits");
    assert_eq!(audits.len(), 3, "one guest and two guests");
    for audit in audits {
        assert_eq!(audit["found"], audit["acknowledged"], "{audit}");
        assert!(
            audit["acknowledged"]
                .as_u64()
                .is_some_and(|orders| orders > 0),
            "{audit}"
        );
    }
}

#[test]
fn events_are_json_lines() {
    let place = Place::among_others();
    let study = place.study(
        "tiny.toml",
        &tiny_study("bare", "1", "").replace("[1, 2]", "1"),
    );
    let output = place
        .rookery(&["run", &study, "--json"])
        .output()
        .expect("rookery starts");
    assert!(went_to_its_end(&output), "{}", text(&output.stderr));
    let events: Vec<serde_json::Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("every line is JSON"))
        .collect();
    let names: Vec<&str> = events
        .iter()
        .filter_map(|event| event["event"].as_str())
        .collect();
    assert_eq!(names.first(), Some(&"run-started"));
    assert!(names.ends_with(&["run-ended", "report"]), "{names:?}");
    for expected in [
        "template",
        "trial-started",
        "guests-ready",
        "load",
        "trial-ended",
    ] {
        assert!(names.contains(&expected), "{expected} in {names:?}");
    }
}

#[test]
fn quiet_prints_the_report_alone() {
    let place = Place::among_others();
    let study = place.study(
        "tiny.toml",
        &tiny_study("bare", "1", "").replace("[1, 2]", "1"),
    );
    let output = place
        .rookery(&["run", &study, "--quiet"])
        .output()
        .expect("rookery starts");
    assert!(went_to_its_end(&output));
    assert_eq!(text(&output.stderr), "");
    let out = text(&output.stdout);
    assert_eq!(out.lines().count(), 1, "{out}");
    assert!(out.trim_end().ends_with("report.html"), "{out}");
}

#[test]
fn a_stored_run_is_reported_and_exported_again() {
    let place = Place::among_others();
    let study = place.study(
        "tiny.toml",
        &tiny_study("bare", "1", "").replace("[1, 2]", "1"),
    );
    assert!(went_to_its_end(
        &place
            .rookery(&["run", &study, "-q"])
            .output()
            .expect("rookery starts")
    ));

    let again = place.dir.path().join("again.html");
    let output = place
        .rookery(&["report", "latest", "--html", &again.display().to_string()])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let first = std::fs::read_to_string(rookery_html(&place)).expect("the first report");
    assert_eq!(
        first,
        std::fs::read_to_string(again).expect("the second report"),
        "same store, same report"
    );

    let csv = place.dir.path().join("csv");
    let output = place
        .rookery(&[
            "export",
            "latest",
            "--format",
            "csv",
            "--out",
            &csv.display().to_string(),
        ])
        .output()
        .expect("starts");
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let trials = std::fs::read_to_string(csv.join("trials.csv")).expect("trials.csv");
    assert_eq!(
        trials.lines().count(),
        2,
        "a header and one trial:\n{trials}"
    );
}

fn rookery_html(place: &Place) -> std::path::PathBuf {
    let run = std::fs::read_dir(place.runs())
        .expect("runs")
        .next()
        .expect("a run")
        .expect("readable")
        .path();
    run.join("report.html")
}
