//! Void trials and the budget of a wish.

use std::sync::Mutex;

use rookery_store::fixture::{header, host_facts};

use super::*;
use crate::trial::failed;

/// Written times, so that there are no pilots: three trials of one point are planned at once.
const STUDY: &str = r#"
title = "a wish"
workload = { kind = "dvdstore", database = "1MB", think_time = "1s" }
qos = { p95 = "2s" }
stack = { kind = "simulated", cpu_demand = "8ms" }
guest = { kind = "fake" }
layout = [{ name = "one", guests = 1, vcpus = 1 }]

[load]
users = 20
ramp_up = "2s"
settle = "4s"
steady = "20s"
precision = { throughput = "2%", within = "1h" }
"#;

/// A store whose budget carries so many trials, and no more.
fn store_for(trials: u32) -> (tempfile::TempDir, Store) {
    let mut header = header("wish.toml", STUDY, host_facts());
    let budget = header.plan.trial_time(1) * trials;
    header.plan.wish.as_mut().expect("a wish").budget = budget;
    assert_eq!(header.plan.trials.len(), 3);
    let dir = tempfile::tempdir().expect("a directory");
    let store = Store::create(dir.path().join("run.sqlite"), &header).expect("a new store");
    (dir, store)
}

/// Ends a trial as void, without a measurement: it counts as long as it was planned.
fn make_void(store: &Store, trial: u32) -> Trial {
    let mut record = failed("the driver was late", 0.0);
    record.outcome = rookery_store::Outcome::Void;
    store.begin_trial(trial, &now()).expect("planned");
    store.end_trial(trial, &now(), &record).expect("begun");
    let rows = store.trials().expect("readable").into_iter();
    rows.map(|row| row.trial)
        .find(|planned| planned.id == trial)
        .expect("planned")
}

#[test]
fn void_trials_are_run_again_only_while_the_budget_of_a_wish_carries_it() {
    let (_dir, mut store) = store_for(4);
    let remarks = Mutex::new(Vec::new());
    let listener = |event: &Event| {
        if let Event::Remark { text } = event {
            remarks.lock().expect("no panic").push(text.clone());
        }
    };
    // One has ended, two are planned: there is room for a fourth, and then for none.
    let first = make_void(&store, 1);
    let again = retry(&mut store, &first, &listener).expect("readable");
    assert_eq!(again.map(|trial| trial.id), Some(4));
    let second = make_void(&store, 2);
    assert_eq!(retry(&mut store, &second, &listener).expect("ok"), None);
    let remarks = remarks.into_inner().expect("no panic");
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    assert!(remarks[0].contains("trial 2 was void"), "{remarks:?}");
    assert_eq!(store.notes().expect("readable").len(), 1);

    // Nor at the end of what was planned, and the run is whole.
    for trial in [3, 4] {
        make_void(&store, trial);
    }
    let mut growth = Growth::new(&listener_of_nothing);
    assert!(!growth.grow(&mut store).expect("readable"));
    assert!(complete(&store).expect("readable"));
}

fn listener_of_nothing(_: &Event) {}

#[test]
fn without_a_wish_only_the_number_of_attempts_counts() {
    let text = STUDY.replace("precision = { throughput = \"2%\", within = \"1h\" }", "");
    let header = header("plain.toml", &text, host_facts());
    let dir = tempfile::tempdir().expect("a directory");
    let mut store = Store::create(dir.path().join("run.sqlite"), &header).expect("a new store");
    for trial in 1..=3 {
        let void = make_void(&store, trial);
        let again = retry(&mut store, &void, &listener_of_nothing).expect("readable");
        assert!(again.is_some(), "trial {trial}");
    }
}
