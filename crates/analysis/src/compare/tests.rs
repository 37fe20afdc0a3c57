//! Whole comparisons of runs made in memory: their study and plan are real, their numbers follow a
//! formula.

use rookery_stats::{
    DriverQuality, GuestMeasurement, Measurement, Mode, OperationMeasurement, Pacing,
    ResourceSample, Window,
};
use rookery_store::{
    Outcome, TrialRecord, Tuning,
    fixture::{header, host_facts},
};
use rookery_workload::{Counters, dvdstore::ShopCounters, random::GOLDEN_GAMMA};

use super::*;
use crate::fixture;

const STUDY: &str = r#"
title = "compared"
seed = 7
[workload]
kind = "dvdstore"
database = "1MB per guest"
think_time = "250ms"
[load]
users = [100, 200]
repeats = 4
[guest]
kind = "bare"
memory = "128MiB per guest"
[[layout]]
name = "one"
guests = 1
vcpus = 1
"#;

/// What a run is like.
struct Like<'a> {
    study: &'a str,
    /// Response times and CPU per order are so many times larger, throughput as many times smaller.
    slow: f64,
    /// Moves the scatter of trials, so that two runs are not the same.
    seed: u64,
    errors: u64,
    /// In force.
    setting: &'a str,
}

const PLAIN: Like<'_> = Like {
    study: STUDY,
    slow: 1.0,
    seed: 1,
    errors: 0,
    setting: "ON",
};

fn run(like: &Like<'_>) -> Run {
    let mut header = header("compared.toml", like.study, host_facts());
    header.run_id = format!("r{}", like.seed);
    header.created_at = format!("2026-01-02T03:04:{:02}Z", like.seed);
    header.host.versions = vec![("sqlite".to_owned(), "3.50.4".to_owned())];
    fixture::run(header, |_, point, trial| {
        // Between -1 and 1 %, without a pattern between runs.
        let mixed = (u64::from(trial.id) * 2_654_435_761)
            .wrapping_add(like.seed * 40_503)
            .wrapping_mul(GOLDEN_GAMMA)
            >> 40;
        let wobble = 1.0 + 0.02 * (mixed as f64 / (1u64 << 24) as f64 - 0.5);
        record(like, point.load() as u32, like.slow * wobble)
    })
}

fn record(like: &Like<'_>, users: u32, slow: f64) -> TrialRecord {
    let window = Window {
        start_s: 2.0,
        end_s: 12.0,
    };
    let operation = |name: &str, ms: f64, errors: u64| {
        let count = (f64::from(users) * 30.0 / slow) as u64;
        let mut operation = OperationMeasurement::empty(name);
        for k in 0..200 {
            operation
                .service
                .record_us((1000.0 * ms * slow * (0.5 + f64::from(k) / 200.0)) as u64);
        }
        (
            operation.started,
            operation.completed,
            operation.succeeded,
            operation.failed,
        ) = (count + errors, count, count, errors);
        operation
    };
    let resource = |subject: &str, at_s: f64, cpu_cores: f64| ResourceSample {
        subject: subject.to_owned(),
        at_s,
        cpu_cores,
        memory_bytes: 1 << 26,
        io: None,
        parts: None,
        throttled_cores: None,
        memory: None,
    };
    let samples = (0..14).flat_map(|second| {
        let at = f64::from(second);
        [
            resource("g1", at, 0.8),
            resource("driver", at, 0.1),
            resource("host", at, 0.95),
        ]
    });
    TrialRecord {
        outcome: Outcome::Done,
        reasons: Vec::new(),
        measurement: Some(Measurement {
            mode: Mode::Closed,
            pacing: Pacing::Think,
            window,
            guests: vec![GuestMeasurement {
                guest: "g1".to_owned(),
                users,
                operations: vec![
                    operation("login", 5.0, like.errors),
                    operation("purchase", 20.0, 0),
                    operation("order", 60.0, 0),
                ],
                series: Vec::new(),
                errors: Vec::new(),
                counters: Counters::Dvdstore(ShopCounters::default()),
                busy_s: 0.0,
                idle_s: 0.0,
                drawn_delay_mean_s: None,
                actual_delay_mean_s: None,
            }],
            driver: DriverQuality {
                cpu_us_per_request: 40.0,
                ..DriverQuality::default()
            },
            aborted: None,
        }),
        verdict: None,
        further: Vec::new(),
        resources: samples.collect(),
        machines: Vec::new(),
        other_programs: Vec::new(),
        kernel: Vec::new(),
        audits: Vec::new(),
        logs: Vec::new(),
        outputs: Vec::new(),
        tunings: vec![Tuning {
            guest: "g1".to_owned(),
            name: "sync".to_owned(),
            asked: String::new(),
            effective: like.setting.to_owned(),
            at_end: like.setting.to_owned(),
        }],
        loads: Vec::new(),
        ready_s: 0.1,
    }
}

fn compared(base: &Like<'_>, new: &Like<'_>) -> Comparison {
    compare(&[run(base)], &[run(new)], &Options::default()).expect("two runs")
}

fn of(comparison: &Comparison, metric: Metric) -> &Finding {
    comparison.of(metric).expect("every metric is there")
}

#[test]
fn two_runs_of_one_study_show_no_difference() {
    let comparison = compared(&PLAIN, &Like { seed: 2, ..PLAIN });
    for finding in &comparison.overall {
        assert!(
            matches!(
                finding.verdict,
                Verdict::NoneSeen { .. } | Verdict::NoneThatMatters
            ),
            "{finding:?}"
        );
        assert!(
            finding.detectable.is_some_and(|share| share < 0.1),
            "{finding:?}"
        );
    }
    assert_eq!((comparison.points.len(), comparison.overall_points), (2, 2));
    assert_eq!(
        (comparison.differences, comparison.left_out),
        (vec![], vec![])
    );
    assert_eq!(comparison.machine.driver_cpu_per_request, Some(0.0));
    assert!((comparison.machine.other_cores_base.expect("samples") - 0.05).abs() < 1e-9);
}

#[test]
fn a_slow_down_is_worse_in_every_metric_and_the_way_back_better() {
    let slow = Like {
        slow: 1.1,
        seed: 2,
        ..PLAIN
    };
    let (there, back) = (compared(&PLAIN, &slow), compared(&slow, &PLAIN));
    for metric in Metric::OF_USERS
        .into_iter()
        .filter(|metric| *metric != Metric::Errors)
    {
        let (one, other) = (of(&there, metric), of(&back, metric));
        assert_eq!(
            (one.verdict, other.verdict),
            (Verdict::Worse, Verdict::Better),
            "{metric:?}"
        );
        let expected = if metric == Metric::Throughput {
            1.0 / 1.1
        } else {
            1.1
        };
        let ratio = 1.0 + one.change.expect("a change");
        assert!((ratio - expected).abs() < 0.02, "{metric:?}: {ratio}");
        assert!(
            (ratio * (1.0 + other.change.expect("a change")) - 1.0).abs() < 1e-9,
            "A to B is the inverse of B to A"
        );
        let (low, high) = one.interval.expect("repeats");
        assert!(low < ratio - 1.0 && ratio - 1.0 < high);
    }
    assert!(there.got_worse() && !back.got_worse());
    // 0.8 cores and 30 orders a second for each of 100 and 200 users: 600 and 300 ms, geometric
    // mean 424.
    let cpu = of(&there, Metric::CpuPerUnit).base.expect("cpu");
    assert!(
        (cpu - 1000.0 * 0.8 / (3.0 * f64::sqrt(100.0 * 200.0))).abs() < 0.02,
        "{cpu}"
    );
}

#[test]
fn a_change_below_what_is_ignored_is_none() {
    let slow = run(&Like {
        slow: 1.05,
        seed: 2,
        ..PLAIN
    });
    let generous = Options { ignore: 0.15 };
    let comparison = compare(&[run(&PLAIN)], &[slow], &generous).expect("two runs");
    assert_eq!(
        of(&comparison, Metric::Throughput).verdict,
        Verdict::NoneThatMatters
    );
    assert!(!comparison.got_worse());
}

#[test]
fn errors_are_compared_as_differences_of_shares() {
    let comparison = compared(
        &PLAIN,
        &Like {
            errors: 200,
            seed: 2,
            ..PLAIN
        },
    );
    let errors = of(&comparison, Metric::Errors);
    assert_eq!(errors.verdict, Verdict::Worse, "{errors:?}");
    // 200 of 6200 and of 12200 requests, two operations beside the order.
    let expected = f64::midpoint(200.0 / 6_200.0, 200.0 / 12_200.0);
    assert!(
        (errors.change.expect("a change") - expected).abs() < 0.001,
        "{errors:?}"
    );
    assert!(comparison.got_worse());
    // No error in a few thousand requests is no certainty.
    let none = compared(&PLAIN, &Like { seed: 2, ..PLAIN });
    let (low, high) = of(&none, Metric::Errors).interval.expect("counts");
    assert!(low < 0.0 && high > 0.0, "{low} {high}");
}

#[test]
fn what_means_something_else_is_not_compared() {
    let longer = STUDY.replace("250ms", "500ms");
    let comparison = compared(
        &PLAIN,
        &Like {
            study: &longer,
            seed: 2,
            ..PLAIN
        },
    );
    assert!(comparison.points.is_empty() && comparison.leaves_open() && !comparison.got_worse());
    let [left, _] = &comparison.left_out[..] else {
        panic!("{:?}", comparison.left_out)
    };
    assert_eq!(
        left.because,
        WhyLeftOut::Incomparable {
            what: "think time",
            base: "0.25 s (think)".to_owned(),
            new: "0.5 s (think)".to_owned()
        }
    );
}

#[test]
fn points_are_matched_by_what_they_are() {
    let other = STUDY.replace("[100, 200]", "[200, 300, 400]");
    let comparison = compared(
        &PLAIN,
        &Like {
            study: &other,
            seed: 2,
            ..PLAIN
        },
    );
    let matched: Vec<&str> = comparison
        .points
        .iter()
        .map(|point| point.label.as_str())
        .collect();
    assert_eq!(matched, ["1 x 1 vCPU, 200 users"]);
    let left: Vec<&WhyLeftOut> = comparison
        .left_out
        .iter()
        .map(|left| &left.because)
        .collect();
    assert_eq!(
        left,
        [
            &WhyLeftOut::OnlyInBase,
            &WhyLeftOut::OnlyInNew,
            &WhyLeftOut::OnlyInNew
        ]
    );
    assert!(of(&comparison, Metric::Throughput).interval.is_some());
    assert!(
        comparison.leaves_open(),
        "a point of the base has no counterpart"
    );
}

#[test]
fn what_else_differs_is_listed() {
    let other = STUDY.replace("seed = 7", "seed = 8");
    let mut new = run(&Like {
        study: &other,
        setting: "OFF",
        seed: 2,
        ..PLAIN
    });
    new.header.host.kernel = "6.2.0".to_owned();
    new.header
        .host
        .versions
        .push(("runc".to_owned(), "1.1".to_owned()));
    new.trials[0].row.status = TrialStatus::Void;
    let comparison = compare(&[run(&PLAIN)], &[new], &Options::default()).expect("two runs");
    let told: Vec<String> = comparison
        .differences
        .iter()
        .map(|difference| {
            format!(
                "{}: {} / {}",
                difference.what,
                difference.base.join(", "),
                difference.new.join(", ")
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "kernel: 6.1.0 / 6.2.0",
            "version of runc: not there / 1.1",
            "study: seed = 7 / seed = 8",
            "setting sync: ON / OFF",
            "trials: 8 done, 0 void, 0 failed, 0 not run / 7 done, 1 void, 0 failed, 0 not run",
        ]
    );
}

#[test]
fn a_point_whose_guests_fail_is_lost_and_one_that_is_void_is_open() {
    for (status, lost) in [(TrialStatus::Failed, true), (TrialStatus::Void, false)] {
        let mut new = run(&Like { seed: 2, ..PLAIN });
        let point = new.header.plan.points[1].id;
        for trial in new
            .trials
            .iter_mut()
            .filter(|trial| trial.row.trial.point == point)
        {
            trial.row.status = status;
        }
        let comparison = compare(&[run(&PLAIN)], &[new], &Options::default()).expect("two runs");
        assert_eq!(
            comparison
                .points
                .iter()
                .map(|point| point.lost)
                .collect::<Vec<_>>(),
            [false, lost]
        );
        assert_eq!(
            (
                comparison.got_worse(),
                comparison.leaves_open(),
                comparison.overall_points
            ),
            (lost, true, 1)
        );
        assert_eq!(
            comparison.points[1].findings[0].verdict,
            Verdict::CannotBeSaid {
                because: Unsaid::NoValue
            }
        );
    }
}

#[test]
fn single_repeats_say_how_many_are_needed() {
    let single = STUDY.replace("repeats = 4", "repeats = 1");
    let comparison = compared(
        &Like {
            study: &single,
            ..PLAIN
        },
        &Like {
            study: &single,
            slow: 1.5,
            seed: 2,
            ..PLAIN
        },
    );
    let throughput = of(&comparison, Metric::Throughput);
    assert_eq!(
        throughput.verdict,
        Verdict::CannotBeSaid {
            because: Unsaid::TooFew { repeats: 3 }
        }
    );
    assert!(throughput.change.is_some_and(|change| change < -0.3) && throughput.interval.is_none());
    assert!(!comparison.got_worse() && comparison.leaves_open());
}

#[test]
fn several_runs_a_side_are_told_to_alternate() {
    let runs = |seeds: [u64; 3]| seeds.map(|seed| run(&Like { seed, ..PLAIN })).to_vec();
    let compared = |base: [u64; 3], new: [u64; 3]| {
        compare(&runs(base), &runs(new), &Options::default()).expect("six runs")
    };
    assert!(compared([1, 2, 3], [4, 5, 6]).not_alternating);
    let alternating = compared([1, 3, 5], [2, 4, 6]);
    assert!(!alternating.not_alternating && !alternating.got_worse());
    assert!(
        !super::tests::compared(&PLAIN, &Like { seed: 2, ..PLAIN }).not_alternating,
        "two runs cannot"
    );
}

#[test]
fn a_comparison_needs_two_sides_and_a_share() {
    let one = [run(&PLAIN)];
    assert_eq!(
        compare(&one, &[], &Options::default()).err(),
        Some(CompareError::NoRun)
    );
    assert_eq!(
        compare(&one, &one, &Options { ignore: f64::NAN }).err(),
        Some(CompareError::Ignore)
    );
}
