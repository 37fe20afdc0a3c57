//! Lots of points ranked by a metric, each compared with the one before it.
//!
//! Where the CPUs of driver and guests were not equally far apart in all trials of a lot, trials of
//! equal distance are compared with each other: the distance is a block that nobody laid out.

use std::collections::BTreeSet;

use rookery_cast::count_u32;
use rookery_stats::{Contrast, Design, Effect, Observation, effect};

use crate::{cpu_distance::CpuDistances, mean::mean, points::PointSummary};

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

/// The values of a lot, each with the stratum that its trial is in.
struct Lot {
    number: usize,
    values: Vec<(u32, f64)>,
}

/// The lots of points that have values of this metric, the largest first. The trials of all points
/// of a lot count alike.
#[must_use]
pub fn ranking(
    lots: &[Vec<&PointSummary>],
    metric: &str,
    distances: Option<&CpuDistances>,
) -> Vec<Ranked> {
    let strata = distances.filter(|distances| differ_within_a_lot(lots, distances));
    let lot = |(number, points): (usize, &Vec<&PointSummary>)| {
        let metrics = points.iter().flat_map(|point| &point.metrics);
        let trials = metrics
            .filter(|own| own.name == metric)
            .flat_map(|own| &own.trials);
        let values = trials.filter_map(|own| {
            let stratum = match strata {
                Some(distances) => count_u32(distances.class_of(own.trial)?),
                None => 0,
            };
            Some((stratum, own.value))
        });
        let values: Vec<(u32, f64)> = values.collect();
        (!values.is_empty()).then_some(Lot { number, values })
    };
    let mut lots: Vec<Lot> = lots.iter().enumerate().filter_map(lot).collect();
    let common = common_strata(&lots);
    lots.sort_by(|one, other| other.level(&common).total_cmp(&one.level(&common)));
    let previous = std::iter::once(None).chain(lots.iter().map(Some));
    let ranked = lots.iter().zip(previous).map(|(lot, previous)| Ranked {
        lot: lot.number,
        mean: lot.mean(),
        to_previous: previous.and_then(|previous| lot.against(previous)),
    });
    ranked.collect()
}

/// Whether trials of one lot had several distances: then these are no matter of its points.
fn differ_within_a_lot(lots: &[Vec<&PointSummary>], distances: &CpuDistances) -> bool {
    lots.iter().any(|points| {
        let trials = points.iter().flat_map(|point| &point.trials);
        let classes = trials.filter_map(|rate| distances.class_of(rate.trial));
        classes.collect::<BTreeSet<usize>>().len() > 1
    })
}

/// The strata in which every lot has values.
fn common_strata(lots: &[Lot]) -> BTreeSet<u32> {
    let of = |lot: &Lot| -> BTreeSet<u32> { lot.values.iter().map(|value| value.0).collect() };
    let all = lots.iter().map(of);
    all.reduce(|common, own| &common & &own).unwrap_or_default()
}

impl Lot {
    fn mean(&self) -> f64 {
        let values: Vec<f64> = self.values.iter().map(|value| value.1).collect();
        mean(&values).unwrap_or(f64::NAN)
    }

    /// Mean of the means of these strata: a lot is no smaller for having had more trials in a
    /// slow one. The plain mean where there are none.
    fn level(&self, strata: &BTreeSet<u32>) -> f64 {
        let of_stratum = |stratum: &u32| {
            let own = self.values.iter().filter(|value| value.0 == *stratum);
            mean(&own.map(|value| value.1).collect::<Vec<f64>>())
        };
        let means: Vec<f64> = strata.iter().filter_map(of_stratum).collect();
        mean(&means).unwrap_or_else(|| self.mean())
    }

    /// This one over another, among values of equal stratum.
    fn against(&self, other: &Lot) -> Option<Effect> {
        const THIS: u32 = 1;
        const OTHER: u32 = 0;
        let sides = [(OTHER, other), (THIS, self)];
        let values = sides
            .iter()
            .flat_map(|(side, lot)| lot.values.iter().map(move |value| (*side, value)));
        // A block each: nothing ran as a pair.
        let observations = (0..).zip(values).map(|(block, (side, value))| Observation {
            block,
            stratum: value.0,
            levels: vec![side],
            value: value.1,
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
    fn trials_of_equal_distance_are_compared() {
        // A tenth more in each stratum, hidden by how often each was in the slow one.
        let more = lot(&[(0, 110.0), (1, 55.0), (1, 55.2), (1, 54.8)]);
        let less = lot(&[(0, 100.0), (0, 100.2), (0, 99.8), (1, 50.0)]);
        assert!(more.mean() < less.mean());
        let strata = common_strata(&[lot(&more.values), lot(&less.values)]);
        assert!(more.level(&strata) > less.level(&strata));
        let found = less.against(&more).expect("both have both");
        assert!((found.ratio - 1.0 / 1.1).abs() < 0.001, "{found:?}");
        assert!(found.excludes_one());
        let together = |lot: &Lot| Lot {
            number: 0,
            values: lot.values.iter().map(|value| (0, value.1)).collect(),
        };
        let mixed = together(&less).against(&together(&more));
        assert!(mixed.is_some_and(|found| !found.excludes_one()));
    }

    #[test]
    fn lots_without_a_common_stratum_are_not_compared() {
        let (one, other) = (lot(&[(0, 1.0), (0, 1.1)]), lot(&[(1, 2.0), (1, 2.1)]));
        assert_eq!(one.against(&other), None);
        let none = common_strata(&[lot(&one.values), lot(&other.values)]);
        assert!(none.is_empty());
        assert_eq!(other.level(&none), 2.05);
    }

    #[test]
    fn single_trials_make_no_order() {
        assert_eq!(lot(&[(0, 1.0)]).against(&lot(&[(0, 9.0)])), None);
    }
}
