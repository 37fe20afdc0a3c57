//! The section of runs whose guests counted operations.

use rookery_workload::{Counters, cms::CmsMatrix};

use super::*;
use crate::tests::fixture;

/// What a guest counted: ten thousand operations as the matrix draws them, and some failures.
fn counted() -> CmsCounters {
    let matrix = CmsMatrix::default();
    let mut counters = CmsCounters::new(&matrix);
    counters.window_s = 100.0;
    counters.users = 50;
    let shares = matrix.stationary();
    for operation in CmsOperation::ALL {
        let ended = 10_000.0 * shares[operation.index()];
        let count = &mut counters.operations[operation.index()];
        count.completed = rookery_cast::truncate_u64(ended.round());
        count.response_us = 20_000 * count.completed;
        for next in CmsOperation::ALL {
            let steps = ended * matrix.rows()[operation.index()][next.index()];
            counters.steps.transitions[operation.index()][next.index()] =
                rookery_cast::truncate_u64(steps.round());
        }
    }
    counters.failed(CmsOperation::Logout, "submit", "status 403", true);
    counters.failed(CmsOperation::UserLogin, "submit", "status 500", false);
    counters
}

/// The stored run of the tests, whose measured trials counted this instead.
fn run_with(counters: &CmsCounters) -> Run {
    let mut run = Run::read(&fixture::complete().store).expect("a whole store");
    for trial in &mut run.trials {
        let measurement = trial
            .record
            .as_mut()
            .and_then(|record| record.measurement.as_mut());
        for guest in measurement.into_iter().flat_map(|all| &mut all.guests) {
            guest.counters = Counters::Cms(counters.clone());
        }
    }
    run
}

#[test]
fn operations_add_up_to_all_of_them() {
    let run = run_with(&counted());
    let section = section(&run).expect("windows");
    let rows = &section.parts[0].table.rows;
    assert_eq!(rows.len(), 9 * windows::<CmsCounters>(&run).len());
    let completed = |row: &Vec<String>| row[2].parse::<u64>().expect("a count");
    let sum: u64 = rows[..8].iter().map(completed).sum();
    assert_eq!(
        (rows[8][1].as_str(), completed(&rows[8])),
        ("operation", sum)
    );
    let names: Vec<&str> = section.parts.iter().map(|part| part.heading).collect();
    assert_eq!(
        names,
        ["", "Failures by class", "The matrix that was walked"]
    );
}

#[test]
fn failures_that_follow_from_others_stand_behind() {
    let run = run_with(&counted());
    let windows = windows::<CmsCounters>(&run);
    let rows = failures(&windows).rows;
    let shown: Vec<_> = rows[..2]
        .iter()
        .map(|row| (row[1].as_str(), row[4].as_str()))
        .collect();
    assert_eq!(
        shown,
        [("user-login", "primary"), ("logout", "consequential")]
    );
}

#[test]
fn a_row_that_the_matrix_does_not_give_is_said() {
    let remark = |counters: &CmsCounters| brief(&run_with(counters)).remarks[0].clone();
    assert!(remark(&counted()).starts_with("Operations followed each other"));
    let mut off = counted();
    let row = &mut off.steps.transitions[CmsOperation::UserLogin.index()];
    row[CmsOperation::Logout.index()] *= 2;
    assert!(
        remark(&off).contains("after: user-login"),
        "{}",
        remark(&off)
    );
    let mut never = counted();
    let row = &mut never.steps.transitions[CmsOperation::Logout.index()];
    row[CmsOperation::Logout.index()] = 1;
    assert!(remark(&never).contains("after: logout"));
}
