//! `rookery demo-lab`: an ordinary stored run, which says everywhere that it is simulated.

use std::{fs, path::PathBuf};

use crate::common::{Place, code, text};

#[test]
fn the_demonstration_ends_with_a_report_that_says_what_it_is() {
    let place = Place::new();
    let output = place
        .rookery(&["-vv", "demo-lab"])
        .env_remove("HOME")
        .output()
        .expect("rookery starts");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(code(&output), 0, "{err}");
    assert!(err.contains("simulated: no guest runs"), "{err}");
    assert!(out.contains("simulated: nothing was measured"), "{out}");
    let report = PathBuf::from(
        out.lines()
            .find_map(|line| line.strip_prefix("report: "))
            .expect("a path"),
    );
    let html = fs::read_to_string(report).expect("the report");
    assert!(
        html.contains("simulated, 9 CPUs") && html.contains("every number was computed"),
        "the report says it too"
    );
    let log = place.run_log();
    for said in [&log, &err] {
        assert!(said.contains(r#""event":"trial-started""#), "{said}");
        assert!(said.chars().all(|c| c == '\n' || !c.is_control()));
    }
    let run = place.export();
    let trials = run["trials"].as_array().expect("trials");
    assert!(
        trials.len() >= 33 && trials.iter().all(|trial| trial["status"] == "done"),
        "{trials:?}"
    );
    let again = place
        .rookery(&["report", "latest"])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&again), 0, "{}", text(&again.stderr));
    let tables = text(&again.stdout);
    assert!(
        tables.contains("simulated: no guest ran and nothing was measured")
            && tables.contains("share of one big"),
        "{tables}"
    );
}

#[test]
fn the_study_is_handed_out_once() {
    let place = Place::new();
    let hand_out = || {
        place
            .rookery(&["demo-lab", "--study", "mine.toml"])
            .output()
            .expect("rookery starts")
    };
    let first = hand_out();
    assert_eq!(code(&first), 0, "{}", text(&first.stderr));
    let checked = place
        .rookery(&["check", "mine.toml"])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&checked), 0, "{}", text(&checked.stderr));
    let second = hand_out();
    assert!(
        code(&second) == 2 && text(&second.stderr).contains("remove this one first"),
        "{}",
        text(&second.stderr)
    );
    let printed = place
        .rookery(&["demo-lab", "--study", "-"])
        .output()
        .expect("rookery starts");
    let written = fs::read_to_string(place.dir.path().join("mine.toml")).expect("written");
    assert_eq!(text(&printed.stdout).trim_end(), written.trim_end());
}
