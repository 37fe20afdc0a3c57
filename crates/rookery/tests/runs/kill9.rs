//! kill -9 of the controller at random moments: `clean` leaves the host as before, `--resume`
//! completes the run, every trial is there once.
//!
//! `ROOKERY_KILLS` says how many kills (3 by default), within how many milliseconds
//! `ROOKERY_KILL_WITHIN_MS` (4000), and `ROOKERY_KILL_STUDY` names another study than the tiny one.

use std::{
    collections::BTreeSet,
    env, fs,
    process::{Command, Stdio},
    thread::sleep,
    time::Duration,
};

use rookery_workload::random::{RandomSource as _, SplitMix64};

use crate::common::{
    Place, assert_host_as, code, host_state, measured, root_tests, text, tiny_study,
    went_to_its_end,
};

fn number(variable: &str, default: u64) -> u64 {
    env::var(variable)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

/// Conduct the study under kills and require what must hold.
fn survives(study_text: &str) {
    let place = Place::new();
    let before = host_state();
    let study = place.study("tiny.toml", study_text);
    // Random, but the same in every run of the test.
    let mut moments = SplitMix64::new(1);
    let within_ms = number("ROOKERY_KILL_WITHIN_MS", 4000);
    for kill in 0..number("ROOKERY_KILLS", 3) {
        let resumed = place.runs().is_dir()
            && fs::read_dir(place.runs()).is_ok_and(|mut runs| {
                runs.any(|run| run.is_ok_and(|run| run.path().join("run.sqlite").is_file()))
            });
        let args: &[&str] = if resumed {
            &["run", "--resume", "latest", "-q"]
        } else {
            &["run", &study, "-q"]
        };
        let mut child = place
            .rookery(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("rookery starts");
        sleep(Duration::from_millis(moments.below(within_ms)));
        let ended = child.try_wait().expect("waits").is_some();
        if !ended {
            assert!(
                Command::new("kill")
                    .args(["-9", &child.id().to_string()])
                    .status()
                    .expect("kill")
                    .success()
            );
            child.wait().expect("reaped");
        }
        let clean = place.rookery(&["clean"]).output().expect("rookery starts");
        assert_eq!(
            code(&clean),
            0,
            "kill {kill}: {}\n{}",
            text(&clean.stdout),
            text(&clean.stderr)
        );
        let left: Vec<String> = host_state().difference(&before).cloned().collect();
        assert!(
            left.is_empty(),
            "kill {kill} left {left:#?}\nclean said:\n{}",
            text(&clean.stdout)
        );
    }
    let done = place
        .rookery(&["run", "--resume", "latest", "-q"])
        .output()
        .expect("rookery starts");
    assert!(
        went_to_its_end(&done),
        "{}\n{}",
        text(&done.stdout),
        text(&done.stderr)
    );
    let run = place.export();
    let ids: Vec<u64> = run["trials"]
        .as_array()
        .expect("trials")
        .iter()
        .filter_map(|trial| trial["trial"].as_u64())
        .collect();
    let distinct: BTreeSet<u64> = ids.iter().copied().collect();
    assert_eq!(ids.len(), distinct.len(), "every trial once: {ids:?}");
    for trial in run["trials"].as_array().expect("trials") {
        assert!(measured(trial), "{trial}");
    }
    assert_host_as(&before);
}

fn study(kind: &str, vcpus: &str) -> String {
    match env::var("ROOKERY_KILL_STUDY") {
        Ok(path) => fs::read_to_string(path).expect("the study of ROOKERY_KILL_STUDY"),
        Err(_) => tiny_study(kind, vcpus, "").replace("repeats = 1", "repeats = 2"),
    }
}

#[test]
fn a_killed_controller_of_containers_loses_nothing_and_leaves_nothing() {
    if root_tests() {
        survives(&study("container", "0.25"));
    }
}
