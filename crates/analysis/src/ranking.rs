//! Lots of points ranked by a metric, each compared with the one before it.
//!
//! Trials of equal repeat ran in one round through all points, so that what changed on the host from
//! round to round is on both sides of a comparison: rounds are the blocks of [`effect`], and a lot
//! has one value in each, the geometric mean of its trials there.

use std::collections::{BTreeMap, BTreeSet};

use rookery_stats::{Contrast, Design, Effect, Observation, effect};

use crate::{mean::mean, points::PointSummary};

/// A lot in its place among others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// Which of the lots that were ranked.
    pub lot: usize,
    /// Mean of the metric over its trials.
    pub mean: f64,
    /// The metric over that of the lot before it; `None` of the first one, and where their trials
    /// carry no comparison.
    pub to_previous: Option<Effect>,
}

/// The values of a lot, each with the round that its trial is of.
struct Lot {
    number: usize,
    values: Vec<(u32, f64)>,
}

/// The lots of points that have values of this metric above zero, the largest first. The trials of
/// all points of a lot count alike.
#[must_use]
pub fn ranking(lots: &[Vec<&PointSummary>], metric: &str) -> Vec<Ranked> {
    let lot = |(number, points): (usize, &Vec<&PointSummary>)| {
        let values: Vec<(u32, f64)> = points
            .iter()
            .flat_map(|point| of_rounds(point, metric))
            .collect();
        (!values.is_empty()).then_some(Lot { number, values })
    };
    let mut lots: Vec<Lot> = lots.iter().enumerate().filter_map(lot).collect();
    let common = common_rounds(&lots);
    lots.sort_by(|one, other| other.level(&common).total_cmp(&one.level(&common)));
    let previous = std::iter::once(None).chain(lots.iter().map(Some));
    let ranked = lots.iter().zip(previous).map(|(lot, previous)| Ranked {
        lot: lot.number,
        mean: lot.mean(),
        to_previous: previous.and_then(|previous| lot.against(previous)),
    });
    ranked.collect()
}

/// The values of a point that have a logarithm, each with its round.
fn of_rounds(point: &PointSummary, metric: &str) -> Vec<(u32, f64)> {
    let rounds: BTreeMap<u32, u32> = point
        .trials
        .iter()
        .map(|rate| (rate.trial, rate.repeat))
        .collect();
    let own = point.metrics.iter().filter(|own| own.name == metric);
    own.flat_map(|own| &own.trials)
        .filter(|trial| trial.value.is_finite() && trial.value > 0.0)
        .filter_map(|trial| Some((*rounds.get(&trial.trial)?, trial.value)))
        .collect()
}

/// The rounds in which every lot has values.
fn common_rounds(lots: &[Lot]) -> BTreeSet<u32> {
    let of = |lot: &Lot| -> BTreeSet<u32> { lot.values.iter().map(|value| value.0).collect() };
    let all = lots.iter().map(of);
    all.reduce(|common, own| &common & &own).unwrap_or_default()
}

impl Lot {
    fn mean(&self) -> f64 {
        let values: Vec<f64> = self.values.iter().map(|value| value.1).collect();
        mean(&values).unwrap_or(f64::NAN)
    }

    /// The mean logarithm in each round.
    fn rounds(&self) -> BTreeMap<u32, f64> {
        let mut logs: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (round, value) in &self.values {
            logs.entry(*round).or_default().push(value.ln());
        }
        let means = logs.into_iter();
        means
            .filter_map(|(round, logs)| Some((round, mean(&logs)?)))
            .collect()
    }

    /// Mean logarithm over these rounds, so that a lot is no smaller for having had trials in a slow
    /// one that others did not have; over its own where there are none.
    fn level(&self, rounds: &BTreeSet<u32>) -> f64 {
        let own = self.rounds();
        let common: Vec<f64> = rounds
            .iter()
            .filter_map(|round| own.get(round).copied())
            .collect();
        let all = || mean(&own.values().copied().collect::<Vec<f64>>());
        mean(&common).or_else(all).unwrap_or(f64::NAN)
    }

    /// This one over another, round by round.
    fn against(&self, other: &Lot) -> Option<Effect> {
        const THIS: u32 = 1;
        const OTHER: u32 = 0;
        let sides = [(OTHER, other.rounds()), (THIS, self.rounds())];
        let observations = sides.iter().flat_map(|(side, rounds)| {
            rounds.iter().map(|(round, log)| Observation {
                block: *round,
                stratum: 0,
                levels: vec![*side],
                value: log.exp(),
            })
        });
        let observations: Vec<Observation> = observations.collect();
        let contrast = Contrast {
            factor: 0,
            reference: OTHER,
            level: THIS,
        };
        effect(
            &observations,
            &Design::new([vec![OTHER], vec![THIS]]),
            contrast,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lot(values: &[(u32, f64)]) -> Lot {
        Lot {
            number: 0,
            values: values.to_vec(),
        }
    }

    #[test]
    fn trials_of_one_round_are_compared() {
        // A tenth less in each round, beside which rounds differ by half.
        let more = lot(&[(1, 110.0), (2, 55.0), (3, 82.2)]);
        let less = lot(&[(1, 100.0), (2, 50.1), (3, 74.7)]);
        let found = less.against(&more).expect("both have all");
        assert!((found.ratio - 1.0 / 1.1).abs() < 0.001, "{found:?}");
        assert!(found.excludes_one() && found.count == 3);
    }

    #[test]
    fn a_lot_of_several_points_has_one_value_in_a_round() {
        let several = lot(&[(1, 100.0), (1, 400.0), (2, 100.0), (2, 400.0)]);
        let one = lot(&[(1, 100.0), (2, 100.0)]);
        let found = several.against(&one).expect("both have both");
        assert!((found.ratio - 2.0).abs() < 1e-9 && found.count == 2);
        assert_eq!(several.mean(), 250.0);
    }

    #[test]
    fn a_slow_round_of_one_lot_alone_makes_it_no_smaller() {
        let (one, other) = (lot(&[(1, 100.0), (2, 10.0)]), lot(&[(1, 90.0), (3, 90.0)]));
        let common = common_rounds(&[lot(&one.values), lot(&other.values)]);
        assert!(one.level(&common) > other.level(&common));
        assert!(one.level(&BTreeSet::new()) < other.level(&BTreeSet::new()));
    }

    #[test]
    fn a_single_round_makes_no_order() {
        let found = lot(&[(1, 1.0)]).against(&lot(&[(1, 9.0)]));
        assert_eq!(found.and_then(|found| found.interval), None);
    }
}
