//! Changes of level: planted ones are found, and few where there are none.

use proptest::prelude::*;

use rookery_stats::change_points;
use rookery_workload::random::{RandomSource as _, SplitMix64};

/// Values of these levels, as many of each, with normal noise.
fn series(levels: &[f64], each: usize, noise: f64, seed: u64) -> Vec<f64> {
    let mut stream = SplitMix64::new(seed);
    levels
        .iter()
        .flat_map(|level| std::iter::repeat_n(*level, each))
        .map(|level| level + noise * stream.normal())
        .collect()
}

fn places(values: &[f64], level: f64) -> Vec<usize> {
    let found = change_points(values, level, 1);
    found.iter().map(|change| change.at).collect()
}

#[test]
fn planted_changes_are_found_where_they_are() {
    for seed in 0..20 {
        let one = series(&[100.0, 110.0], 10, 1.0, seed);
        assert_eq!(places(&one, 0.002), [10], "{one:?}");
        let two = series(&[100.0, 110.0, 100.0], 12, 1.0, seed);
        assert_eq!(places(&two, 0.002), [12, 24], "{two:?}");
    }
}

#[test]
fn small_changes_are_found_near_their_place() {
    let near = (0..40).filter(|seed| {
        let values = series(&[0.0, 1.5], 20, 1.0, *seed);
        let found = places(&values, 0.05);
        found.iter().any(|at| (16..=24).contains(at))
    });
    let near = near.count();
    assert!(near >= 28, "{near} of 40");
}

#[test]
fn a_series_without_a_change_seldom_shows_one() {
    let false_alarms = (0..200)
        .filter(|seed| !places(&series(&[5.0], 16, 1.0, 1_000 + seed), 0.05).is_empty())
        .count();
    // 10 are expected; 20 have a probability of 0.2 %.
    assert!(false_alarms <= 20, "{false_alarms} of 200");
}

#[test]
fn one_value_that_stands_out_is_no_change() {
    let mut values = series(&[10.0], 20, 0.1, 3);
    values[9] = 40.0;
    assert_eq!(places(&values, 0.05), [0; 0]);
}

#[test]
fn nothing_is_said_of_too_little_or_of_no_numbers() {
    assert_eq!(places(&[], 0.05), [0; 0]);
    assert_eq!(places(&[1.0, 1.0, 1.0, 9.0, 9.0, 9.0], 0.05), [0; 0]);
    assert_eq!(places(&[4.0; 30], 0.05), [0; 0]);
    let mut values = series(&[1.0, 9.0], 10, 0.1, 1);
    values[3] = f64::NAN;
    assert_eq!(places(&values, 0.05), [0; 0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn units_do_not_matter(
        values in prop::collection::vec(-10.0..10.0f64, 8..20),
        factor in 0.5..4.0f64,
        offset in -100.0..100.0f64,
    ) {
        let other: Vec<f64> = values.iter().map(|value| offset + factor * value).collect();
        prop_assert_eq!(places(&values, 0.1), places(&other, 0.1));
    }
}
