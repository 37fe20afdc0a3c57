//! What trials say to a search: good ones, void ones, failed ones, those that were not judged.

use rookery_stats::qos::{Limited, RuleOutcome};
use rookery_store::Reason;

use super::*;
use crate::{
    Run,
    predict::fixture::{World, run, study},
};

/// Three loads, the last far beyond the limit, and a search.
fn searched() -> Run {
    let text = study("1", &[20, 40, 120], 1).replace(
        "repeats = 1",
        "repeats = 1\nsearch = { to = \"500 per host\" }",
    );
    let mut run = run(&text, &World::PLAIN, 1);
    for trial in &mut run.trials {
        let point = run
            .header
            .plan
            .points
            .iter()
            .find(|point| point.id == trial.row.trial.point);
        let too_much = point.expect("a planned point").total_users() > 100;
        if let Some(record) = &mut trial.record {
            record.verdict = Some(verdict(if too_much { 900_000.0 } else { 90_000.0 }));
        }
    }
    run
}

/// A verdict on a 95th percentile of this many microseconds, where 200 ms are allowed.
fn verdict(value_us: f64) -> Verdict {
    let rule = RuleResult {
        guest: "g1".to_owned(),
        operation: Some("purchase".to_owned()),
        limited: Limited::Percentile(95.0),
        limit: 200_000.0,
        value: Some(value_us),
        samples: 1_000,
        outcome: if value_us > 200_000.0 {
            RuleOutcome::Failed
        } else {
            RuleOutcome::Passed
        },
        marginal: false,
    };
    Verdict {
        passed: value_us <= 200_000.0,
        rules: vec![rule],
        binding: Some(0),
    }
}

fn outcomes(run: &Run) -> Vec<(f64, Outcome)> {
    let plan = &run.header.plan;
    let found = found(plan, &plan.searches[0], &run.trials).expect("our own plan");
    let mut tried: Vec<_> = found
        .tried
        .into_iter()
        .map(|tried| (tried.load, tried.outcome))
        .collect();
    tried.sort_by(|a, b| a.0.total_cmp(&b.0));
    tried
}

fn fail() -> Outcome {
    Outcome::Fail {
        rule: "purchase p95 <= 200 ms".to_owned(),
    }
}

#[test]
fn a_ladder_is_learnt_with_the_rule_and_without_the_name_of_the_guest() {
    let run = searched();
    assert_eq!(
        outcomes(&run),
        [
            (20.0, Outcome::Pass),
            (40.0, Outcome::Pass),
            (120.0, fail())
        ]
    );
    let plan = &run.header.plan;
    let (machine, _) = replay(plan, &plan.searches[0], &run.trials).expect("our own plan");
    let probe = machine.next_probe().expect("a search that has only begun");
    assert!((40.0..120.0).contains(&probe.load), "{probe:?}");
}

#[test]
fn a_void_trial_far_beyond_a_limit_says_so_unless_the_driver_was_the_limit() {
    let mut run = searched();
    for trial in &mut run.trials {
        trial.row.status = TrialStatus::Void;
        trial.record.as_mut().expect("a record").reasons = vec![Reason::new(
            "steady-state",
            "no steady state\n  help: longer",
        )];
    }
    let invalid = |reason: &str| Outcome::Invalid {
        reason: reason.to_owned(),
    };
    let unsteady = || invalid("no steady state");
    assert_eq!(
        outcomes(&run),
        [(20.0, unsteady()), (40.0, unsteady()), (120.0, fail())]
    );
    for trial in &mut run.trials {
        let measured = trial
            .record
            .as_mut()
            .and_then(|record| record.measurement.as_mut());
        measured.expect("a measurement").driver.cpu_share = 0.97;
    }
    assert!(
        outcomes(&run)
            .iter()
            .all(|(_, outcome)| *outcome == unsteady())
    );
}

#[test]
fn a_guest_that_dies_under_load_has_too_much_of_it_and_one_that_never_came_up_says_nothing() {
    let mut run = searched();
    for trial in &mut run.trials {
        trial.row.status = TrialStatus::Failed;
        trial.record.as_mut().expect("a record").reasons = vec![Reason::new(
            "guest-died",
            "guest g1 died under load: exit code 9",
        )];
    }
    assert!(
        outcomes(&run)
            .iter()
            .all(|(_, outcome)| outcome.passed() == Some(false))
    );
    for trial in &mut run.trials {
        trial.record.as_mut().expect("a record").measurement = None;
    }
    assert!(
        outcomes(&run)
            .iter()
            .all(|(_, outcome)| outcome.passed().is_none())
    );
    run.trials.iter_mut().for_each(|trial| trial.record = None);
    assert_eq!(outcomes(&run), []);
}

#[test]
fn what_is_confirmed_must_have_been_judged() {
    let mut run = searched();
    for trial in &mut run.trials {
        let unjudged = Verdict {
            passed: false,
            rules: Vec::new(),
            binding: None,
        };
        trial.record.as_mut().expect("a record").verdict = Some(unjudged);
    }
    assert!(
        outcomes(&run)
            .iter()
            .all(|(_, outcome)| *outcome == Outcome::Pass)
    );
    run.trials
        .iter_mut()
        .for_each(|trial| trial.row.trial.purpose = Purpose::Confirm);
    assert!(
        outcomes(&run)
            .iter()
            .all(|(_, outcome)| outcome.passed().is_none())
    );
}

#[test]
fn neighbours_are_expected_to_be_alike_once_they_have_found_something() {
    let text = study("[1, 2]", &[20], 1).replace(
        "repeats = 1",
        "repeats = 1\nsearch = { to = \"500 per host\", confirm = 0 }",
    );
    let mut run = run(&text, &World::PLAIN, 1);
    let expected = |run: &Run| expected(&run.header.plan, 2, &run.trials).expect("our own plan");
    assert_eq!(expected(&run), None, "a ladder alone has found nothing");
    let facts = run.header.host.facts.clone();
    for attempt in 0..20 {
        let plan = &run.header.plan;
        let (machine, _) = replay(plan, &plan.searches[0], &run.trials).expect("our own plan");
        let Some(probe) = machine.next_probe() else {
            break;
        };
        let trial = run
            .header
            .plan
            .add_probe(1, probe.load, Purpose::Approach, attempt, &facts)
            .expect("it fits");
        let mut ended = run.trials[0].clone();
        ended.record.as_mut().expect("a record").verdict =
            Some(verdict(200_000.0 * probe.load / 100.5));
        ended.row.trial = trial;
        run.trials.push(ended);
    }
    let expected = expected(&run).expect("a neighbour");
    assert!(
        (180.0..210.0).contains(&expected.load) && expected.factor == FAR,
        "{expected:?}"
    );
}
