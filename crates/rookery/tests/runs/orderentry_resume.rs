//! Ctrl-C in a study of order entry, while its buffer pool is sized and in its trial: the run goes
//! on where it was, and its report is whole.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use crate::common::{
    Place, measured,
    orderentry::{assert_audits, database_tests, number, servers, tiny},
    text, went_to_its_end,
};
use serde_json::Value;

/// Runs `rookery ARGS` until `when` is true of an event, interrupts it, and gives the id of the
/// run. Its exit tells of the interruption.
fn interrupted(place: &Place, args: &[&str], when: impl Fn(&[Value]) -> bool) -> String {
    let mut child = place
        .rookery(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("rookery starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped"))
        .lines()
        .map_while(Result::ok);
    let mut events: Vec<Value> = Vec::new();
    for line in lines.by_ref() {
        events.extend(serde_json::from_str::<Value>(&line).ok());
        if when(&events) {
            break;
        }
    }
    assert!(when(&events), "the moment came: {events:?}");
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .expect("kill")
            .success()
    );
    lines.for_each(drop);
    let output = child.wait_with_output().expect("rookery ends");
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    events[0]["run"]
        .as_str()
        .expect("the id of the run")
        .to_owned()
}

/// Whether this is a second of load, and a trial had begun before it.
fn load(events: &[Value], in_trial: bool) -> bool {
    let began = events.iter().any(|event| event["event"] == "trial-started");
    events.last().is_some_and(|event| event["event"] == "load") && began == in_trial
}

/// Whether the calibration was told, with what it measured.
fn a_pool_was_tried(events: &[Value]) -> bool {
    let mut tried = events.iter().filter(|event| event["event"] == "pool-tried");
    tried.any(|event| {
        number(event, "bytes") > 0
            && event["hit"]
                .as_f64()
                .is_some_and(|hit| hit > 0.0 && hit <= 1.0)
    })
}

#[test]
fn a_study_that_is_interrupted_while_it_sizes_the_pool_and_in_its_trial_goes_on() {
    if !database_tests() {
        return;
    }
    let place = Place::among_others();
    let sized = tiny("mariadb", "bare", 1).replace("profile =", "hit_target = 0.9\nprofile =");
    let study = place.study("sized.toml", &sized);
    let run = interrupted(&place, &["run", &study, "--json"], |events| {
        load(events, false)
    });
    assert_eq!(servers(&run, "mariadbd"), [0; 0], "its servers are gone");
    let resume = ["run", "--resume", "sized.toml", "--json"];
    let again = interrupted(&place, &resume, |events| {
        load(events, true) && a_pool_was_tried(events)
    });
    assert_eq!(
        (&again, servers(&run, "mariadbd")),
        (&run, vec![]),
        "the same run, and its servers are gone"
    );

    let done = place
        .rookery(&["run", "--resume", "sized.toml"])
        .output()
        .expect("rookery starts");
    let told = format!("{}\n{}", text(&done.stdout), text(&done.stderr));
    assert!(went_to_its_end(&done), "{told}");
    let run = place.export();
    let trials = run["trials"].as_array().expect("trials");
    assert!(trials.len() == 1 && measured(&trials[0]), "{trials:?}");
    assert_audits(&run, 1);
    assert_eq!(
        run["pools"].as_array().map(Vec::len),
        Some(1),
        "{}",
        run["pools"]
    );
    assert!(
        number(&run["pools"][0], "pool_bytes") > 0,
        "{}",
        run["pools"]
    );
    let reports = fs::read_dir(place.runs())
        .expect("runs")
        .flatten()
        .map(|run| run.path().join("report.html"));
    let html: Vec<String> = reports
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect();
    assert_eq!(html.len(), 1);
    for word in ["nopm by the database", "asked for", "interrupted"] {
        assert!(html[0].contains(word), "{word}");
    }
}
