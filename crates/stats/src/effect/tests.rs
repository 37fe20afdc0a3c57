//! Effects by hand, by law and by simulation.

use proptest::prelude::*;
use rookery_workload::random::{RandomSource as _, SplitMix64};

use super::*;

fn contrast(factor: usize) -> Contrast {
    Contrast {
        factor,
        reference: 0,
        level: 1,
    }
}

fn trial(block: u32, stratum: u32, levels: &[u32], value: f64) -> Observation {
    Observation {
        block,
        stratum,
        levels: levels.to_vec(),
        value,
    }
}

/// All combinations of `factors` factors of two levels.
fn full(factors: u32) -> Vec<Vec<u32>> {
    (0..1u32 << factors)
        .map(|run| (0..factors).map(|factor| run >> factor & 1).collect())
        .collect()
}

/// Studies by formula: every block has its own height, every run its own noise of `sigma`, and
/// `log` says what levels do.
fn study(
    stream: &mut SplitMix64,
    runs: &[Vec<u32>],
    blocks: u32,
    sigma: f64,
    log: impl Fn(&[u32]) -> f64,
) -> Vec<Observation> {
    let mut all = Vec::new();
    for block in 0..blocks {
        let height = 5.0 + 0.3 * stream.normal();
        for run in runs {
            all.push(trial(
                block,
                0,
                run,
                (height + log(run) + sigma * stream.normal()).exp(),
            ));
        }
    }
    all
}

#[test]
fn the_interval_covers_the_truth_in_nineteen_of_twenty_studies() {
    let (mut stream, design) = (SplitMix64::new(1), Design::new(full(1)));
    let truth = 1.1f64;
    let covers = |stream: &mut SplitMix64, blocks: u32| {
        let trials = study(stream, &full(1), blocks, 0.05, |levels| {
            f64::from(levels[0]) * truth.ln()
        });
        let (low, high) = effect(&trials, &design, contrast(0))
            .and_then(|e| e.interval)
            .expect("an interval");
        (low..=high).contains(&truth)
    };
    for blocks in [2, 3, 5, 10] {
        let covered = (0..2_000).filter(|_| covers(&mut stream, blocks)).count();
        // 2000 draws at 95 %: standard deviation 9.7.
        assert!(
            (1_865..=1_935).contains(&covered),
            "{blocks} blocks: {covered} of 2000"
        );
    }
}

#[test]
fn a_placebo_is_called_an_effect_in_at_most_one_of_twenty_studies() {
    let (mut stream, design) = (SplitMix64::new(2), Design::new(full(3)));
    let mut alarms = 0;
    for _ in 0..1_000 {
        let trials = study(&mut stream, &full(3), 3, 0.03, |_| 0.0);
        let p: Vec<f64> = (0..3)
            .filter_map(|factor| effect(&trials, &design, contrast(factor))?.p)
            .collect();
        alarms += usize::from(holm(&p).iter().any(|p| *p < 0.05));
    }
    assert!((20..=70).contains(&alarms), "{alarms} of 1000 families");
}

#[test]
fn a_planted_effect_is_found_beside_a_placebo() {
    let mut stream = SplitMix64::new(3);
    let design = Design::new(full(2));
    let trials = study(&mut stream, &full(2), 4, 0.02, |levels| {
        0.2 * f64::from(levels[1])
    });
    let [placebo, planted] =
        [0, 1].map(|factor| effect(&trials, &design, contrast(factor)).expect("an effect"));
    let p = holm(&[placebo.p.expect("p"), planted.p.expect("p")]);
    assert_eq!(planted.change(Goal::Higher, Some(p[1])), Change::Better);
    assert_eq!(planted.change(Goal::Lower, Some(p[1])), Change::Worse);
    assert!(
        matches!(placebo.change(Goal::Higher, Some(p[0])), Change::NoEffectSeen { less_than } if less_than < 0.1),
        "{placebo:?}"
    );
    assert!(
        (planted.ratio - 0.2f64.exp()).abs() < 0.03
            && planted.basis == Basis::Pairs
            && planted.count == 4
    );
}

#[test]
fn the_detectable_change_is_found_in_four_of_five_studies() {
    let (mut stream, design) = (SplitMix64::new(4), Design::new(full(1)));
    // The true standard error of a mean of n differences of two runs is sigma sqrt(2 / n).
    let (blocks, sigma) = (6, 0.03);
    let exact = Effect {
        ratio: 1.0,
        interval: Some((0.9, 1.1)),
        p: Some(1.0),
        count: blocks,
        basis: Basis::Pairs,
        standard_error: Some(sigma * (2.0 / f64::from(blocks)).sqrt()),
    };
    let change = exact.detectable().expect("an interval");
    let found = (0..1_000)
        .filter(|_| {
            let trials = study(&mut stream, &full(1), blocks, sigma, |levels| {
                f64::from(levels[0]) * (1.0 + change).ln()
            });
            effect(&trials, &design, contrast(0)).is_some_and(|effect| effect.excludes_one())
        })
        .count();
    // The formula with t(0.8) instead of the noncentral t is a little on the safe side.
    assert!((770..=880).contains(&found), "{found} of 1000");
}

#[test]
fn pairs_of_one_block_count_once() {
    let mut stream = SplitMix64::new(5);
    let trials = study(&mut stream, &full(3), 2, 0.02, |_| 0.0);
    let effect = effect(&trials, &Design::new(full(3)), contrast(0)).expect("an effect");
    assert_eq!(
        (effect.count, effect.basis),
        (2, Basis::Pairs),
        "eight pairs, two blocks"
    );
}

#[test]
fn one_pair_has_an_effect_and_no_interval() {
    let trials = [trial(1, 0, &[0], 100.0), trial(1, 0, &[1], 123.0)];
    let effect = effect(&trials, &Design::new(full(1)), contrast(0)).expect("an effect");
    assert!((effect.ratio - 1.23).abs() < 1e-12);
    assert_eq!(
        (effect.interval, effect.p, effect.detectable()),
        (None, None, None)
    );
    assert_eq!(effect.change(Goal::Higher, effect.p), Change::NoInterval);
}

#[test]
fn broken_pairs_fall_back_to_means_within_a_stratum() {
    // Every block lost one of its two trials; the strata stand far apart, which must not matter.
    let mut trials = Vec::new();
    for (stratum, height) in [(0, 100.0), (1, 1000.0)] {
        for repeat in 0..4 {
            let level = repeat % 2;
            let wobble = if repeat < 2 { 1.0 } else { 1.02 };
            let factor = if level == 1 { 1.2 } else { 1.0 };
            trials.push(trial(
                10 * stratum + repeat,
                stratum,
                &[level],
                height * wobble * factor,
            ));
        }
    }
    let design = Design::new(full(1));
    let found = effect(&trials, &design, contrast(0)).expect("an effect");
    assert!((found.ratio - 1.2).abs() < 1e-9, "{found:?}");
    assert_eq!(
        (found.basis, found.count),
        (Basis::Means, 5),
        "four cells of two values: 4 degrees of freedom"
    );
    assert!(found.excludes_one());
    // Two whole pairs are enough to do without.
    trials.push(trial(0, 0, &[1], 119.0));
    trials.push(trial(11, 1, &[0], 1010.0));
    assert_eq!(
        effect(&trials, &design, contrast(0)).map(|effect| effect.basis),
        Some(Basis::Pairs)
    );
    // A stratum without one of the levels says nothing.
    let one_sided: Vec<Observation> = trials
        .into_iter()
        .filter(|trial| trial.levels[0] == 0)
        .collect();
    assert_eq!(effect(&one_sided, &design, contrast(0)), None);
}

#[test]
fn values_without_a_logarithm_are_left_out() {
    let mut trials = study(&mut SplitMix64::new(6), &full(1), 3, 0.01, |_| 0.0);
    trials[0].value = 0.0;
    trials[2].value = f64::NAN;
    let effect = effect(&trials, &Design::new(full(1)), contrast(0)).expect("an effect");
    assert!(effect.ratio.is_finite());
    assert_eq!(effect.basis, Basis::Means, "one whole pair is left");
}

#[test]
fn a_screening_design_gives_main_effects_and_names_its_aliases() {
    // The half of 2^3 with C = A B.
    let runs: Vec<Vec<u32>> = full(2)
        .into_iter()
        .map(|run| vec![run[0], run[1], 1 - (run[0] ^ run[1])])
        .collect();
    let design = Design::new(runs.clone());
    let trials = study(&mut SplitMix64::new(7), &runs, 5, 0.01, |levels| {
        0.1 * f64::from(levels[0]) - 0.05 * f64::from(levels[2])
    });
    let found: Vec<Effect> = (0..3)
        .filter_map(|factor| effect(&trials, &design, contrast(factor)))
        .collect();
    assert!(
        found
            .iter()
            .all(|effect| effect.basis == Basis::Contrasts && effect.count == 5),
        "{found:?}"
    );
    for (effect, truth) in found.iter().zip([0.1f64, 0.0, -0.05]) {
        let (low, high) = effect.interval.expect("an interval");
        assert!(
            (low * 0.99..=high * 1.01).contains(&truth.exp()),
            "{effect:?}"
        );
    }
    let aliases = design.aliases(2);
    assert_eq!(aliases.len(), 1);
    assert_eq!((aliases[0].factors, aliases[0].share), ((0, 1), 1.0));
    assert!(
        Design::new(full(3)).aliases(2).is_empty(),
        "a full design confuses nothing"
    );
    // A block that lost a run is unbalanced and left out.
    let torn: Vec<Observation> = trials.into_iter().skip(1).collect();
    assert_eq!(
        effect(&torn, &design, contrast(0)).map(|effect| effect.count),
        Some(4)
    );
}

#[test]
fn an_interaction_is_a_ratio_of_ratios() {
    let both =
        |levels: &[u32]| f64::from(levels[0] * levels[1]) * 0.15 + f64::from(levels[0]) * 0.1;
    let trials = study(&mut SplitMix64::new(8), &full(3), 4, 0.01, both);
    let found =
        |first, second| interaction(&trials, contrast(first), contrast(second)).expect("an effect");
    assert!(found(0, 1).excludes_one() && (found(0, 1).ratio - 0.15f64.exp()).abs() < 0.03);
    assert!(
        (found(0, 1).ratio - found(1, 0).ratio).abs() < 1e-9,
        "which comes first does not matter"
    );
    assert!((found(0, 2).ratio - 1.0).abs() < 0.03);
    assert_eq!(interaction(&trials, contrast(1), contrast(1)), None);
}

#[test]
fn holm_is_that_of_the_worked_example() {
    let adjusted = holm(&[0.030, 0.001, 0.012, 0.010, 0.200]);
    let expected = [0.06, 0.005, 0.04, 0.04, 0.2];
    assert!(
        adjusted
            .iter()
            .zip(expected)
            .all(|(a, b)| (a - b).abs() < 1e-12),
        "{adjusted:?}"
    );
    assert_eq!(holm(&[]), Vec::<f64>::new());
    assert_eq!(holm(&[0.7, 0.8]), [1.0, 1.0]);
}

#[test]
fn words_follow_from_the_interval() {
    let with = |ratio: f64, low: f64, high: f64| Effect {
        ratio,
        interval: Some((low, high)),
        p: Some(0.5),
        count: 3,
        basis: Basis::Pairs,
        standard_error: Some(0.01),
    };
    assert_eq!(
        with(1.1, 1.05, 1.15).change(Goal::Higher, Some(0.06)),
        Change::PerhapsChance
    );
    assert_eq!(
        with(0.9, 0.85, 0.95).change(Goal::Lower, Some(0.01)),
        Change::Better
    );
    assert_eq!(
        with(1.1, 0.6, 1.6).change(Goal::Higher, Some(0.9)),
        Change::Undecided
    );
    // Times are not known to 0.1 %, however sure the interval is.
    assert_eq!(
        with(1.0005, 1.0002, 1.0008).change(Goal::Lower, Some(0.001)),
        Change::NoEffectSeen { less_than: 0.001 }
    );
    assert_eq!(
        with(1.0, 1.0, 1.0).change(Goal::Lower, Some(1.0)),
        Change::NoEffectSeen { less_than: 0.001 }
    );
    let Change::NoEffectSeen { less_than } = with(1.01, 0.97, 1.06).change(Goal::Higher, Some(0.9))
    else {
        panic!("the interval holds 1");
    };
    assert!((less_than - 0.06).abs() < 1e-12);
}

proptest! {
    /// A against B is the inverse of B against A, interval included.
    #[test]
    fn the_effect_is_antisymmetric(values in prop::collection::vec((1.0f64..1e6, 1.0f64..1e6), 1..8)) {
        let pairs = |swap: bool| -> Vec<Observation> {
            (0..).zip(&values).flat_map(|(block, (a, b))| {
                [trial(block, 0, &[u32::from(swap)], *a), trial(block, 0, &[u32::from(!swap)], *b)]
            }).collect()
        };
        let design = Design::new(full(1));
        let of = |swap| effect(&pairs(swap), &design, contrast(0)).expect("an effect");
        let (one, other) = (of(false), of(true));
        prop_assert!((one.ratio * other.ratio - 1.0).abs() < 1e-9);
        if let (Some((low, high)), Some((low_other, high_other))) = (one.interval, other.interval) {
            prop_assert!((low * high_other - 1.0).abs() < 1e-6 && (high * low_other - 1.0).abs() < 1e-6);
            prop_assert!(low <= one.ratio && one.ratio <= high);
        }
    }

    /// The unit of the metric does not matter, nor how high a block stands.
    #[test]
    fn the_effect_is_free_of_scale(values in prop::collection::vec((1.0f64..1e4, 1.0f64..1e4, 0.01f64..100.0), 2..8), unit in 0.001f64..1000.0) {
        let pairs = |scaled: bool| -> Vec<Observation> {
            (0..).zip(&values).flat_map(|(block, (a, b, height))| {
                let scale = if scaled { unit * height } else { 1.0 };
                [trial(block, 0, &[0], a * scale), trial(block, 0, &[1], b * scale)]
            }).collect()
        };
        let design = Design::new(full(1));
        let of = |scaled| effect(&pairs(scaled), &design, contrast(0)).expect("an effect");
        let (plain, scaled) = (of(false), of(true));
        prop_assert!((plain.ratio / scaled.ratio - 1.0).abs() < 1e-9);
        let ((low, high), (low_scaled, high_scaled)) = (plain.interval.expect("two \
            blocks"), scaled.interval.expect("two blocks"));
        prop_assert!((low.ln() - low_scaled.ln()).abs() < 1e-6 && (high.ln() - high_scaled.ln()).abs() < 1e-6);
    }
}
