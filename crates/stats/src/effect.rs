//! What a change of one factor is worth: the ratio of a metric at one level to that at another,
//! with its interval.
//!
//! [`effect`] and [`interaction`] work on the logarithms of the values, so an effect is a ratio and
//! A against B is the inverse of B against A. Trials of one block ran back to back and differ in
//! factor levels alone: within a block like is compared with like, and each block gives one
//! difference, however many pairs it holds, because the pairs of one block are not independent. The
//! interval is Student's over the blocks:
//!
//! ratio = exp(mean l), interval = exp(mean l -+ t(0.975, n-1) s / sqrt(n)), l = one mean log ratio
//! per block.
//!
//! Assumption: the log ratios of blocks are independent and roughly normal. Blocks of several
//! layouts are taken as draws of one population, so layouts that react differently widen the
//! interval.

mod design;
mod verdict;

pub use design::{Alias, Design};
pub use verdict::{Change, Goal, holm};

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    detectable::{pairs_for, reach},
    student::{t_975, two_sided_p},
};

/// One trial of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// Trials of equal block differ in factor levels alone and ran back to back.
    pub block: u32,
    /// Trials of equal stratum are repeats of the same things, but for the factors: blocks of one
    /// layout.
    pub stratum: u32,
    /// The level of each factor.
    pub levels: Vec<u32>,
    /// The metric; only finite values above 0 can be compared.
    pub value: f64,
}

/// One level of one factor against the first, or the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contrast {
    /// Index of the factor.
    pub factor: usize,
    /// The level that it is compared with.
    pub reference: u32,
    /// The level of which the effect is asked.
    pub level: u32,
}

/// What an effect rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Differences within blocks between trials that differ in this factor alone.
    Pairs,
    /// Differences within whole blocks of a screening design, in which other factors are balanced.
    Contrasts,
    /// Means of the levels over all blocks of equal stratum, because trials that are missing left
    /// too few whole pairs.
    Means,
}

/// A ratio of two levels with what can be said of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// The metric at the level over the metric at the reference.
    pub ratio: f64,
    /// 95 % interval of the ratio; `None` where a single block carries none.
    pub interval: Option<(f64, f64)>,
    /// Probability of a ratio at least so far from 1 by chance alone; `None` without an interval.
    pub p: Option<f64>,
    /// Independent differences that it rests on: blocks, or for [`Basis::Means`] the degrees of
    /// freedom plus one.
    pub count: u32,
    /// What it rests on.
    pub basis: Basis,
    /// Standard error of the log ratio; `None` without an interval.
    pub standard_error: Option<f64>,
}

/// From this ratio of the ends of an interval on, the repeats say nothing of an effect: from a half
/// to twice as much.
const TELLS: f64 = 4.0;

impl Effect {
    /// The interval, where it is narrow enough to say something; `None` where there is none, or
    /// where it would reach from a half to twice as much.
    #[must_use]
    pub fn telling(&self) -> Option<(f64, f64)> {
        self.interval
            .filter(|(low, high)| *low > 0.0 && high / low <= TELLS)
    }

    /// About how many more pairs of trials would find a change of `share`; `None` where their
    /// scatter is not known, or none of a thousand would.
    #[must_use]
    pub fn more_for(&self, share: f64) -> Option<u32> {
        let deviation = self.standard_error? * f64::from(self.count).sqrt();
        let needed = pairs_for(deviation, share.ln_1p())?;
        Some(needed.saturating_sub(self.count).max(1))
    }
}

/// The effect of a contrast; `None` when no block, and no stratum, shows both levels.
///
/// ```
/// use rookery_stats::{Contrast, Design, Observation, effect};
/// let design = Design::new(vec![vec![0], vec![1]]);
/// let before = [102.1, 99.8, 101.5, 100.7, 98.9, 101.0];
/// let after = [106.0, 104.9, 105.1, 106.8, 103.2, 105.5];
/// let trials = |level: u32, values: [f64; 6]| {
///     (0..).zip(values).map(move |(block, value)| Observation { block, stratum: 0, levels: vec![level], value })
/// };
/// let trials: Vec<_> = trials(0, before).chain(trials(1, after)).collect();
/// let effect = effect(&trials, &design, Contrast { factor: 0, reference: 0, level: 1 }).unwrap();
/// let (low, high) = effect.interval.unwrap();
/// assert!((effect.ratio - 1.045_529_609).abs() < 1e-9 && (low - 1.036_005_668).abs() < 1e-6 && (high - 1.055_141_103).abs() < 1e-6);
/// ```
#[must_use]
pub fn effect(observations: &[Observation], design: &Design, contrast: Contrast) -> Option<Effect> {
    let usable = usable(observations);
    let blocks = by_block(&usable);
    let (differences, basis): (Vec<f64>, Basis) = if design.has_pairs(contrast) {
        (
            blocks
                .values()
                .filter_map(|block| pair_difference(block, contrast))
                .collect(),
            Basis::Pairs,
        )
    } else {
        let whole = blocks.values().filter(|block| design.is_whole(block));
        (
            whole
                .filter_map(|block| mean_difference(block, contrast))
                .collect(),
            Basis::Contrasts,
        )
    };
    match (differences.len(), basis) {
        (0 | 1, Basis::Pairs) => {
            of_means(&usable, contrast).or_else(|| of_differences(&differences, basis))
        }
        _ => of_differences(&differences, basis),
    }
}

/// Whether two factors multiply each other's effects: the ratio of `first` at the level of
/// `second`, over the same ratio at the reference of `second`. Interval as for [`effect`]; `None`
/// when no block shows all four corners.
#[must_use]
pub fn interaction(
    observations: &[Observation],
    first: Contrast,
    second: Contrast,
) -> Option<Effect> {
    if first.factor == second.factor {
        return None;
    }
    let usable = usable(observations);
    let of_block = |block: &Vec<&Observation>| {
        let at = |level: u32| {
            let side: Vec<&Observation> = block
                .iter()
                .copied()
                .filter(|trial| trial.level(second.factor) == Some(level))
                .collect();
            pair_differences(&side, first)
        };
        let (above, below) = (at(second.level), at(second.reference));
        // Corners are matched in the levels of all further factors.
        let quads = above.iter().filter_map(|(rest, difference)| {
            let same = |other: &[u32]| {
                rest.iter()
                    .zip(other)
                    .enumerate()
                    .all(|(index, (a, b))| index == second.factor || a == b)
            };
            below
                .iter()
                .find(|(other, _)| same(other))
                .map(|(_, reference)| difference - reference)
        });
        mean(&quads.collect::<Vec<f64>>())
    };
    let differences: Vec<f64> = by_block(&usable).values().filter_map(of_block).collect();
    of_differences(&differences, Basis::Pairs)
}

impl Observation {
    fn level(&self, factor: usize) -> Option<u32> {
        self.levels.get(factor).copied()
    }

    fn log(&self) -> f64 {
        self.value.ln()
    }
}

impl Effect {
    /// The smallest change of the true ratio, as a share of 1, that a study of this many blocks and
    /// this scatter finds in four of five cases: exp(reach(df) se) - 1 (see
    /// [`reach`](crate::reach)), with the standard error that was observed. `None` without an
    /// interval.
    #[must_use]
    pub fn detectable(&self) -> Option<f64> {
        Some((reach(self.count.checked_sub(1)?)? * self.standard_error?).exp() - 1.0)
    }

    /// Whether the interval leaves 1 out.
    #[must_use]
    pub fn excludes_one(&self) -> bool {
        self.interval
            .is_some_and(|(low, high)| low > 1.0 || high < 1.0)
    }
}

fn usable(observations: &[Observation]) -> Vec<&Observation> {
    observations
        .iter()
        .filter(|trial| trial.value.is_finite() && trial.value > 0.0)
        .collect()
}

fn by_block<'a>(observations: &[&'a Observation]) -> BTreeMap<u32, Vec<&'a Observation>> {
    let mut blocks: BTreeMap<u32, Vec<&Observation>> = BTreeMap::new();
    for trial in observations {
        blocks.entry(trial.block).or_default().push(trial);
    }
    blocks
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Log ratios of all pairs of a block that differ in this factor alone, each with the levels of its
/// trial.
fn pair_differences<'a>(block: &[&'a Observation], contrast: Contrast) -> Vec<(&'a [u32], f64)> {
    let at = |level: u32| {
        block
            .iter()
            .copied()
            .filter(move |trial| trial.level(contrast.factor) == Some(level))
    };
    let matched = |one: &Observation, other: &Observation| {
        let levels = one.levels.iter().zip(&other.levels).enumerate();
        one.levels.len() == other.levels.len()
            && levels
                .into_iter()
                .all(|(index, (a, b))| index == contrast.factor || a == b)
    };
    at(contrast.level)
        .filter_map(|trial| {
            let partner = at(contrast.reference).find(|other| matched(trial, other))?;
            Some((trial.levels.as_slice(), trial.log() - partner.log()))
        })
        .collect()
}

fn pair_difference(block: &Vec<&Observation>, contrast: Contrast) -> Option<f64> {
    let differences: Vec<f64> = pair_differences(block, contrast)
        .into_iter()
        .map(|(_, difference)| difference)
        .collect();
    mean(&differences)
}

fn logs_at(trials: &[&Observation], factor: usize, level: u32) -> Vec<f64> {
    let at = trials
        .iter()
        .filter(|trial| trial.level(factor) == Some(level));
    at.map(|trial| trial.log()).collect()
}

fn mean_difference(block: &Vec<&Observation>, contrast: Contrast) -> Option<f64> {
    let at = |level| mean(&logs_at(block, contrast.factor, level));
    Some(at(contrast.level)? - at(contrast.reference)?)
}

/// The effect that independent differences carry.
fn of_differences(differences: &[f64], basis: Basis) -> Option<Effect> {
    let centre = mean(differences)?;
    let count = u32::try_from(differences.len()).ok()?;
    let squares: f64 = differences
        .iter()
        .map(|value| (value - centre).powi(2))
        .sum();
    let df = count - 1;
    let standard_error = (df > 0).then(|| (squares / f64::from(df) / f64::from(count)).sqrt());
    Some(with_interval(centre, standard_error, df, basis))
}

/// The effect from means of levels, cell by cell (equal stratum and equal other levels), with a
/// variance pooled over all cells.
fn of_means(usable: &[&Observation], contrast: Contrast) -> Option<Effect> {
    let mut cells: BTreeMap<(u32, Vec<u32>), Vec<&Observation>> = BTreeMap::new();
    for trial in usable {
        let mut rest = trial.levels.clone();
        if let Some(own) = rest.get_mut(contrast.factor) {
            *own = 0;
        }
        cells.entry((trial.stratum, rest)).or_default().push(trial);
    }
    let (mut differences, mut squares, mut df, mut weight) = (Vec::new(), 0.0, 0, 0.0);
    for cell in cells.values() {
        let sides =
            [contrast.level, contrast.reference].map(|level| logs_at(cell, contrast.factor, level));
        let [Some(above), Some(below)] = [mean(&sides[0]), mean(&sides[1])] else {
            continue;
        };
        differences.push(above - below);
        for (side, centre) in sides.iter().zip([above, below]) {
            squares += side
                .iter()
                .map(|value| (value - centre).powi(2))
                .sum::<f64>();
            df += u32::try_from(side.len()).ok()? - 1;
            weight += 1.0 / side.len() as f64;
        }
    }
    let centre = mean(&differences)?;
    let standard_error =
        (df > 0).then(|| (squares / f64::from(df) * weight).sqrt() / differences.len() as f64);
    // Without spread in any cell the single pair says as much.
    standard_error.map(|error| with_interval(centre, Some(error), df, Basis::Means))
}

fn with_interval(centre: f64, standard_error: Option<f64>, df: u32, basis: Basis) -> Effect {
    let half = standard_error.zip(t_975(df)).map(|(error, t)| t * error);
    let p = standard_error.and_then(|error| match (error > 0.0, centre == 0.0) {
        (true, _) => two_sided_p(centre / error, df),
        (false, equal) => Some(if equal { 1.0 } else { 0.0 }),
    });
    Effect {
        ratio: centre.exp(),
        interval: half.map(|half| ((centre - half).exp(), (centre + half).exp())),
        p,
        count: df + 1,
        basis,
        standard_error,
    }
}

#[cfg(test)]
mod tests;
