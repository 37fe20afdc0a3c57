//! Tests of verdicts.

use super::*;
use rookery_workload::{
    Counters,
    dvdstore::{ORDER, ShopCounters},
};

use crate::{DriverQuality, Mode, Window};

fn operation(
    name: &str,
    latencies_ms: impl IntoIterator<Item = u64>,
    failed: u64,
) -> OperationMeasurement {
    let mut operation = OperationMeasurement::empty(name);
    for ms in latencies_ms {
        operation.service.record_us(1000 * ms);
        operation.response.record_us(3000 * ms);
    }
    operation.succeeded = operation.service.count();
    operation.completed = operation.succeeded;
    operation.failed = failed;
    operation.started = operation.succeeded + failed;
    operation
}

fn guest(name: &str, operations: Vec<OperationMeasurement>) -> GuestMeasurement {
    GuestMeasurement {
        guest: name.to_owned(),
        users: 1,
        operations,
        series: Vec::new(),
        errors: Vec::new(),
        counters: Counters::Dvdstore(ShopCounters::default()),
        busy_s: 0.0,
        idle_s: 0.0,
        drawn_delay_mean_s: None,
        actual_delay_mean_s: None,
    }
}

fn measurement(pacing: Pacing, guests: Vec<GuestMeasurement>) -> Measurement {
    Measurement {
        mode: Mode::Closed,
        pacing,
        window: Window {
            start_s: 0.0,
            end_s: 60.0,
        },
        guests,
        driver: DriverQuality::default(),
        aborted: None,
    }
}

fn p95(operation: Option<&str>, limit_ms: u64) -> Qos {
    Qos {
        percentiles: vec![PercentileLimit {
            operation: operation.map(str::to_owned),
            percentile: 95.0,
            limit_us: 1000 * limit_ms,
        }],
        error_ratio: Some(0.01),
        min_operations: 20,
    }
}

fn table(verdict: &Verdict) -> String {
    let mut text = format!("{}\n", verdict.sentence());
    for rule in &verdict.rules {
        let marginal = if rule.marginal { ", marginal" } else { "" };
        text += &format!(
            "{}: {:?} of {} = {:?}{marginal}\n",
            rule.text(),
            rule.value,
            rule.samples,
            rule.outcome
        );
    }
    text
}

#[test]
fn every_request_of_every_guest_is_judged_but_not_the_order() {
    let fast = guest(
        "g1",
        vec![
            operation("login", 1..=100, 0),
            operation(ORDER, 1000..=1100, 0),
        ],
    );
    let slow = guest("g2", vec![operation("login", 101..=200, 2)]);
    let verdict = judge(
        &p95(None, 150),
        &measurement(Pacing::Think, vec![fast, slow]),
    );
    insta::assert_snapshot!(table(&verdict), @"
    failed: g2 login errors <= 1 %
    g1 login p95 <= 150 ms: Some(95039.0) of 100 = Passed
    g1 login errors <= 1 %: Some(0.0) of 100 = Passed, marginal
    g1 all requests errors <= 1 %: Some(0.0) of 100 = Passed, marginal
    g2 login p95 <= 150 ms: Some(195071.0) of 100 = Failed
    g2 login errors <= 1 %: Some(0.0196078431372549) of 102 = Failed, marginal
    g2 all requests errors <= 1 %: Some(0.0196078431372549) of 102 = Failed, marginal
    ");
}

#[test]
fn cycle_pacing_is_judged_from_the_intended_start() {
    let trial = |pacing| {
        measurement(
            pacing,
            vec![guest("g1", vec![operation("login", 1..=100, 0)])],
        )
    };
    assert!(judge(&p95(None, 150), &trial(Pacing::Think)).passed);
    assert!(judge(&p95(None, 150), &trial(Pacing::Cycle)).failed());
}

#[test]
fn too_few_operations_are_not_judged_and_said_so() {
    let few = operation("new-customer", [1, 2, 3], 0);
    let many = operation("login", 1..=100, 0);
    let trial = measurement(Pacing::Think, vec![guest("g1", vec![many, few.clone()])]);
    let verdict = judge(&p95(None, 150), &trial);
    assert_eq!(
        verdict.sentence(),
        "passed (1 of 5 rules not judged: too few operations)"
    );
    assert!(
        !judge(&p95(Some("new-customer"), 150), &trial).passed,
        "a named operation must be judged"
    );
    assert!(
        !judge(&p95(Some("purchase"), 150), &trial).passed,
        "a named operation must exist"
    );
    let only_few = measurement(Pacing::Think, vec![guest("g1", vec![few])]);
    assert_eq!(
        judge(&p95(None, 150), &only_few).sentence(),
        "not judged (1 of 3 rules not judged: too few operations)"
    );
}

#[test]
fn a_silent_guest_does_not_pass() {
    let silent = || {
        measurement(
            Pacing::Think,
            vec![
                guest("g1", vec![operation("login", 1..=100, 0)]),
                guest("g2", Vec::new()),
            ],
        )
    };
    assert!(!judge(&p95(None, 150), &silent()).passed);
    assert!(
        !judge(&Qos::default(), &silent()).passed,
        "without rules nothing is passed"
    );
    assert!(!judge(&p95(None, 150), &measurement(Pacing::Think, Vec::new())).passed);
}

#[test]
fn unfinished_operations_are_slower_than_all_others() {
    let mut login = operation("login", 1..=100, 0);
    login.unfinished = 10;
    let verdict = judge(
        &p95(None, 1_000_000),
        &measurement(Pacing::Think, vec![guest("g1", vec![login])]),
    );
    assert_eq!(
        (verdict.rules[0].value, verdict.rules[0].outcome),
        (None, RuleOutcome::Failed)
    );
    assert_eq!(verdict.binding, Some(0));
}

#[test]
fn a_percentile_near_its_limit_is_marginal() {
    let verdict = |limit| {
        judge(
            &p95(None, limit),
            &measurement(
                Pacing::Think,
                vec![guest("g1", vec![operation("login", 1..=100, 0)])],
            ),
        )
    };
    let marginal: Vec<u64> = (80..=110)
        .filter(|limit| verdict(*limit).rules[0].marginal)
        .collect();
    assert_eq!((marginal.first(), marginal.last()), (Some(&92), Some(&100)));
}
