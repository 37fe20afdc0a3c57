//! Series that are steady, and series that are not.

use proptest::prelude::*;
use rookery_workload::random::{RandomSource as _, SplitMix64};

use super::*;

#[test]
fn halves_that_lie_a_fifth_apart_are_no_steady_state() {
    // Requests of an order-entry trial whose database warmed up within the window.
    let climbing = [
        200.0, 140.0, 208.0, 218.0, 198.0, 188.0, 253.0, 205.0, 271.0, 284.0,
    ];
    let change = halves_apart(&climbing).expect("apart");
    assert!((change - 237.0 / 964.0).abs() < 1e-9, "{change}");
    assert!(Finding::HalvesApart { change }.serious());
    // Chance alone, a level rate, and too few seconds.
    assert_eq!(halves_apart(&[5.0, 4.0, 8.0, 6.0]), None);
    assert_eq!(halves_apart(&[200.0, 210.0, 190.0, 205.0, 215.0]), None);
    assert_eq!(halves_apart(&[100.0, 100.0, 900.0]), None);
}

#[test]
fn the_worked_example_comes_out() {
    let series = [
        12, 25, 33, 41, 48, 55, 58, 63, 66, 70, 71, 69, 74, 72, 75, 73, 70, 76, 74, 71, 73, 75, 72,
        74, 70, 73, 76, 72, 74, 73, 71, 75, 74, 72, 73, 70, 74, 76, 72, 73, 75, 71, 73, 74, 72, 76,
        70, 73, 74, 72,
    ];
    let series: Vec<f64> = series.into_iter().map(f64::from).collect();
    let found = Mser5::from_series(&series).expect("50 values");
    let groups = [31.8, 62.4, 72.2, 72.8, 72.8, 73.6, 73.0, 73.0, 73.0, 73.0];
    let statistic = [
        15.363_04,
        1.228_422_496_570_64,
        0.016_171_875,
        0.008_862_973_760_932_87,
        0.010_370_370_370_370_2,
        0.011_52,
    ];
    let near = |found: &[f64], known: &[f64]| {
        found.len() == known.len() && found.iter().zip(known).all(|(a, b)| (a - b).abs() < 1e-9)
    };
    assert!(
        near(&found.groups, &groups) && near(&found.statistic, &statistic),
        "{found:?}"
    );
    assert_eq!(
        (found.cut, found.truncate(), found.settled()),
        (3, 15, true)
    );
    let rest = &series[found.truncate()..];
    assert!((rest.iter().sum::<f64>() / rest.len() as f64 - 73.028_571_428_571_4).abs() < 1e-9);
}

#[test]
fn a_falling_start_is_cut_off() {
    let falling = (0..30).map(|i| 100.0 - 2.0 * f64::from(i));
    let series: Vec<f64> = falling
        .chain((0..120).map(|i| 40.0 + f64::from(7 * i % 11)))
        .collect();
    let found = Mser5::from_series(&series).expect("150 values");
    assert_eq!(
        (found.groups.len(), found.cut, found.truncate()),
        (30, 5, 25)
    );
    assert!(
        (found.statistic[5] - 0.024_100).abs() < 5e-7 && found.settled(),
        "{}",
        found.statistic[5]
    );
}

#[test]
fn a_climb_never_settles() {
    let series: Vec<f64> = (0..100).map(f64::from).collect();
    let found = Mser5::from_series(&series).expect("100 values");
    assert_eq!(
        (found.groups.len(), found.cut, found.settled()),
        (20, 15, false)
    );
    assert!(
        judge(Quantity::Response, &series, 0).contains(&Finding::NeverSettled(Quantity::Response))
    );
}

#[test]
fn short_or_broken_series_are_not_judged() {
    assert_eq!(Mser5::from_series(&[1.0; 49]), None);
    assert_eq!(Mser5::from_series(&[f64::NAN; 80]), None);
    assert_eq!(Drift::from_series(&[1.0; 39]), None);
    assert_eq!(Drift::from_series(&[0.0; 80]), None);
    assert_eq!(judge(Quantity::Throughput, &[3.0; 20], 30), Vec::new());
    assert_eq!(judge(Quantity::Throughput, &[], 0), Vec::new());
    assert_eq!(judge(Quantity::Throughput, &[5.0; 100], 10), Vec::new());
}

#[test]
fn a_line_drifts_by_its_rise() {
    let series: Vec<f64> = (0..100).map(|i| 100.0 + 0.2 * f64::from(i)).collect();
    let drift = Drift::from_series(&series).expect("ten stretches");
    // 0.2 per second over 100 s, as a share of the mean of 109.9.
    assert!(
        (drift.change - 20.0 / 109.9).abs() < 1e-9 && drift.matters(),
        "{drift:?}"
    );
    let falling: Vec<f64> = series.iter().rev().copied().collect();
    let drift = Drift::from_series(&falling).expect("ten stretches");
    assert!(drift.matters() && drift.change < 0.0);
    let slight: Vec<f64> = (0..100).map(|i| 100.0 + 0.04 * f64::from(i)).collect();
    assert!(
        !Drift::from_series(&slight)
            .expect("ten stretches")
            .matters(),
        "4 % is none"
    );
    assert!((halves_differ(&series).expect("a step") - 10.0 / 104.9).abs() < 1e-9);
}

fn noisy(
    stream: &mut SplitMix64,
    level: impl Fn(usize) -> f64,
    length: usize,
    deviation: f64,
) -> Vec<f64> {
    (0..length)
        .map(|i| level(i) * (1.0 + deviation * stream.normal()))
        .collect()
}

#[test]
fn a_slow_start_is_found_and_a_flat_series_seldom_accused() {
    let mut stream = SplitMix64::new(3);
    let warming = |i: usize| 100.0 * (1.0 - 0.6 * (-(i as f64) / 12.0).exp());
    let (mut found, mut accused, mut minor) = (0, 0, 0);
    for _ in 0..1_000 {
        let slow = judge(
            Quantity::Throughput,
            &noisy(&mut stream, warming, 90, 0.03),
            10,
        );
        found += u32::from(slow.iter().any(Finding::serious));
        let flat = judge(
            Quantity::Throughput,
            &noisy(&mut stream, |_| 100.0, 90, 0.03),
            10,
        );
        accused += u32::from(flat.iter().any(Finding::serious));
        minor += u32::from(!flat.is_empty());
        let long = judge(
            Quantity::Throughput,
            &noisy(&mut stream, warming, 200, 0.03),
            60,
        );
        accused += u32::from(long.iter().any(Finding::serious));
    }
    assert!(found >= 950, "{found} of 1000 slow starts");
    assert!(
        accused <= 20 && minor <= 30,
        "of 2000 steady ones {accused} accused, of 1000 {minor} warned of"
    );
}

/// Series of one system in steady state, each with its own noise: its share of serious findings.
fn accused(deviation: f64, likeness: f64, length: usize) -> f64 {
    let mut stream = SplitMix64::new(17);
    let runs = 1_000;
    let serious = (0..runs).filter(|_| {
        let mut state = stream.normal();
        let series: Vec<f64> = (0..length)
            .map(|_| {
                state = likeness * state + (1.0 - likeness * likeness).sqrt() * stream.normal();
                (100.0 * (1.0 + deviation * state)).max(0.0)
            })
            .collect();
        judge(Quantity::Throughput, &series, 10)
            .iter()
            .any(Finding::serious)
    });
    serious.count() as f64 / f64::from(runs)
}

#[test]
fn noise_is_no_warm_up() {
    // Deviation of a second, correlation with the second before, seconds, and the largest share
    // that may be accused.
    let cases = [
        (0.03, 0.0, 70, 0.01),
        (0.3, 0.0, 70, 0.02),
        (0.3, 0.5, 70, 0.02),
        (0.3, 0.8, 70, 0.05),
        (0.1, 0.9, 130, 0.15),
        (0.5, 0.0, 310, 0.01),
    ];
    for (deviation, likeness, length, most) in cases {
        let share = accused(deviation, likeness, length);
        assert!(
            share <= most,
            "deviation {deviation}, likeness {likeness}, {length} s: {share} accused"
        );
    }
}

#[test]
fn findings_say_what_to_do() {
    let step: Vec<f64> = (0..100)
        .map(|i| {
            if i < 30 {
                50.0
            } else {
                100.0 + f64::from(i % 3)
            }
        })
        .collect();
    let sentences: Vec<String> = judge(Quantity::Throughput, &step, 10)
        .iter()
        .map(Finding::sentence)
        .collect();
    insta::assert_snapshot!(sentences.join("\n"), @r"
    warm-up too short: throughput settled 20 s (22 %) into the window: take a longer settle phase
    throughput drifted by +59.7 % over the window (a cache that fills, a checkpoint, a leak?)
    ");
    insta::assert_snapshot!(Finding::NeverSettled(Quantity::Response).sentence(), @"response time \
        never settled: take a longer settle and steady phase");
}

proptest! {
    #[test]
    fn the_cut_knows_no_unit(series in prop::collection::vec(1.0..100.0f64, 50..200), scale in 0.01..100.0f64) {
        let plain = Mser5::from_series(&series).expect("50 values");
        let scaled: Vec<f64> = series.iter().map(|value| value * scale).collect();
        let scaled = Mser5::from_series(&scaled).expect("50 values");
        prop_assert_eq!(plain.cut, scaled.cut);
        prop_assert!(plain.truncate() + 25 <= series.len());
        prop_assert!(plain.statistic.iter().all(|value| *value >= plain.statistic[plain.cut]));
    }

    #[test]
    fn drift_turns_with_time(series in prop::collection::vec(1.0..100.0f64, 40..200)) {
        let whole = series.len() / 10 * 10;
        let forth = Drift::from_series(&series[..whole]).expect("stretches");
        let back: Vec<f64> = series[..whole].iter().rev().copied().collect();
        let back = Drift::from_series(&back).expect("stretches");
        prop_assert!((forth.change + back.change).abs() < 1e-9);
        prop_assert!(forth.interval.0 <= forth.change && forth.change <= forth.interval.1);
    }
}
