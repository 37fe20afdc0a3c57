//! How far two sides lie apart in one metric, and how surely.
//!
//! The sample is one number per trial, on a scale where changes add up: the logarithm of a
//! throughput or a time, percentage points of errors. Trials of a run are repeats of its points,
//! and a *round* is the n-th repeat of every point: trials of one round ran within minutes of each
//! other and share what the machine did then. The unit is the trial, never the single response, and
//! trials of a round are not independent:
//!
//! * change = mean over points of (mean of the repeats in the new run - mean of the repeats in the
//!   base);
//! * its variance has two parts: the scatter of the trials of each point about their mean, as if
//!   they were independent, and what all points of a round share. Degrees of freedom after
//!   Satterthwaite and Welch (Biometrika 34 (1947) 28), but over several points no more than the
//!   rounds have. At a single point this is Welch's t.
//!
//! **What two runs cannot show.** A machine may be slower this afternoon than it was this morning,
//! and then all trials of a run agree on a change that has nothing to do with what was changed.
//! With one run a side this variance cannot be measured, only inferred from what is seen *within*
//! the runs: swings that all points of a round share. Slow noise of machines is nearer to 1/f than
//! to independence, and of 1/f noise the difference of two neighbouring averages has the same
//! variance however long the averages are (Allan, Proc. IEEE 54 (1966) 221). So the shared swing is
//! taken not to average out over the rounds of a run: its variance, estimated by the mean
//! covariance between points of a round, counts for each run as if it held a single round. Scatter
//! that points do not share does average out. In a run of a single point the two cannot be told
//! apart, and nothing is added.
//!
//! **Several runs a side** show it directly. With four degrees of freedom or more between runs
//! (three runs a side) the unit is the run and nothing else counts; below, the larger of both
//! variances is taken.
//!
//! **One point** of several is treated alike, with the swings seen at all of them. Where it has too
//! few repeats of its own (less than four degrees of freedom) its variance is at least that pooled
//! over all points.
//!
//! The simulations in the tests hold these choices to their promises.

use std::collections::BTreeMap;

use rookery_cast::truncate_u32;
use rookery_stats::{t_975, two_sided_p};

use crate::mean::mean;

/// From so many degrees of freedom on, a variance is trusted alone.
const TRUSTED_DF: f64 = 4.0;

/// One trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    /// The matched point, 0, 1, 2, ...
    pub(super) point: usize,
    /// The n-th repeat.
    pub(super) round: u32,
    /// Its value, on a scale where changes add up.
    pub(super) value: f64,
}

/// The trials of one run.
pub(super) type Lot = Vec<Sample>;

/// The runs of both sides.
#[derive(Clone, Debug, Default)]
pub(super) struct Sides {
    pub(super) base: Vec<Lot>,
    pub(super) new: Vec<Lot>,
}

/// The change from the base to the new side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    /// New less base.
    pub(super) change: f64,
    /// Its standard error.
    pub(super) standard_error: f64,
    /// Degrees of freedom of the standard error, at least 1.
    pub(super) df: f64,
    /// 95 % interval of the change.
    pub(super) interval: (f64, f64),
    /// Probability of a change at least so far from none by chance alone.
    pub(super) p: f64,
}

/// A change with an estimate of it, or without one because trials are too few.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Change {
    /// New less base; `None` where a side has no value.
    pub(super) value: Option<f64>,
    /// `None` when the repeats carry no interval.
    pub(super) estimate: Option<Estimate>,
}

/// The change over some points together. Points that lack a value in any run are left out. The
/// variance is at least `floor`: what is known of it beforehand.
pub(super) fn change(sides: &Sides, points: &[usize], floor: f64) -> Change {
    let points = in_all_runs(sides, points);
    let (Some(base), Some(new)) = (
        mean_of_runs(&sides.base, &points),
        mean_of_runs(&sides.new, &points),
    ) else {
        return Change {
            value: None,
            estimate: None,
        };
    };
    let value = new - base;
    let estimate = variance(sides, &points)
        .and_then(|(variance, df)| with_interval(value, variance.max(floor), df));
    Change {
        value: Some(value),
        estimate,
    }
}

/// The mean of one side over the runs and points that [`change`] uses.
pub(super) fn level(sides: &Sides, side: &[Lot], points: &[usize]) -> Option<f64> {
    mean_of_runs(side, &in_all_runs(sides, points))
}

/// Points that every run has a value of.
pub(super) fn in_all_runs(sides: &Sides, points: &[usize]) -> Vec<usize> {
    let has = |lot: &Lot, point: usize| lot.iter().any(|sample| sample.point == point);
    let runs = || sides.base.iter().chain(&sides.new);
    points
        .iter()
        .copied()
        .filter(|point| runs().all(|lot| has(lot, *point)))
        .collect()
}

/// Repeats of a point, the fewest of any run.
pub(super) fn fewest_repeats(sides: &Sides, points: &[usize]) -> u32 {
    let points = in_all_runs(sides, points);
    let of_run = |lot: &Lot| counts(lot, &points).into_values().min().unwrap_or(0);
    let fewest = sides.base.iter().chain(&sides.new).map(of_run).min();
    fewest.map_or(0, |count| u32::try_from(count).unwrap_or(u32::MAX))
}

fn with_interval(value: f64, variance: f64, df: f64) -> Option<Estimate> {
    let standard_error = variance.sqrt();
    let half = between_df(df, t_975)? * standard_error;
    let p = match (standard_error > 0.0, value == 0.0) {
        (true, _) => between_df(df, |df| two_sided_p(value / standard_error, df))?,
        (false, equal) => f64::from(u8::from(equal)),
    };
    Some(Estimate {
        change: value,
        standard_error,
        df,
        interval: (value - half, value + half),
        p,
    })
}

/// A function of whole degrees of freedom at any number of them, at least 1: straight in 1/df
/// between its neighbours.
fn between_df(df: f64, of: impl Fn(u32) -> Option<f64>) -> Option<f64> {
    let df = df.clamp(1.0, 1000.0);
    let low = df.floor();
    let (at_low, at_high) = (of(truncate_u32(low))?, of(truncate_u32(low) + 1)?);
    let share = (1.0 / low - 1.0 / df) / (1.0 / low - 1.0 / (low + 1.0));
    Some(at_low + share * (at_high - at_low))
}

/// The variance of the change and its degrees of freedom; `None` when the repeats show none.
fn variance(sides: &Sides, points: &[usize]) -> Option<Part> {
    let within = within_runs(sides, points);
    match (between_runs(sides, points), within) {
        (Some((between, df)), _) if df >= TRUSTED_DF => Some((between, df)),
        (Some((between, df)), Some((within, df_within))) => {
            if between > within {
                // Both say something of it: degrees of freedom add.
                Some((between, df + df_within))
            } else {
                Some((within, df_within))
            }
        }
        (Some(between), None) => Some(between),
        (None, within) => within,
    }
}

/// From the scatter of whole runs on each side, pooled.
fn between_runs(sides: &Sides, points: &[usize]) -> Option<Part> {
    let (mut squares, mut df, mut weight) = (0.0, 0.0, 0.0);
    for side in [&sides.base, &sides.new] {
        let means: Vec<f64> = side
            .iter()
            .filter_map(|lot| mean_of_points(lot, points))
            .collect();
        squares += squares_about_mean(&means);
        df += means.len() as f64 - 1.0;
        weight += 1.0 / means.len() as f64;
    }
    (df > 0.0).then(|| (squares / df * weight, df))
}

/// A variance with its degrees of freedom.
type Part = (f64, f64);

/// From the scatter of trials within the runs, and the swings that points share.
fn within_runs(sides: &Sides, points: &[usize]) -> Option<Part> {
    let own = own_scatter(sides, points);
    let single = match own {
        Some((_, df)) if df >= TRUSTED_DF || points.len() > 1 => own?,
        _ => at_least_pooled(own, pooled(sides, points))?,
    };
    let parts = [single, shared_part(sides, points)];
    let df = welch_df(&parts);
    // Of a mean over points, what they share is the larger part, known no better than the rounds
    // are many even where it seems to be nothing.
    let most = if points.len() > 1 { parts[1].1 } else { df };
    Some((parts[0].0 + parts[1].0, df.min(most)))
}

/// From the scatter of every point about its own mean, as if nothing were shared; `None` when a run
/// repeats nothing.
fn own_scatter(sides: &Sides, points: &[usize]) -> Option<Part> {
    let alone = deviation(sides, points).powi(2);
    let mut parts = Vec::new();
    for (lot, weight) in weighted_runs(sides) {
        let before = parts.len();
        let mut unrepeated = 0.0;
        for values in by_point(lot, Some(points)).values() {
            let (count, weight) = (values.len() as f64, weight / (points.len() as f64).powi(2));
            if values.len() > 1 {
                parts.push((
                    weight * squares_about_mean(values) / (count - 1.0) / count,
                    count - 1.0,
                ));
            } else {
                // Taken to scatter as those that were repeated.
                unrepeated += weight * alone;
            }
        }
        let repeated = parts
            .get_mut(before..)
            .filter(|repeated| !repeated.is_empty())?;
        let share = unrepeated / repeated.len() as f64;
        repeated.iter_mut().for_each(|part| part.0 += share);
    }
    Some((
        parts.iter().map(|(variance, _)| variance).sum(),
        welch_df(&parts),
    ))
}

/// What the swings that all points of a round share add to the variance of the change: their whole
/// variance for each run, less what the scatter of single points holds of it.
fn shared_part(sides: &Sides, points: &[usize]) -> Part {
    let swing = shared_swing(sides);
    let (mut weights, mut df) = (0.0, 0.0);
    for (lot, weight) in weighted_runs(sides) {
        let held: f64 = counts(lot, points)
            .values()
            .map(|count| 1.0 / *count as f64)
            .sum();
        weights += weight * (1.0 - held / (points.len() as f64).powi(2));
        df += residuals(lot, None).len() as f64 - 1.0;
    }
    (swing * weights, df.max(1.0))
}

/// Every run with the weight of its variance in that of the change: 1 / (runs of its side)^2.
fn weighted_runs(sides: &Sides) -> impl Iterator<Item = (&Lot, f64)> {
    let weighted = |side: &'_ [Lot]| 1.0 / (side.len() as f64).powi(2);
    let (base, new) = (weighted(&sides.base), weighted(&sides.new));
    let of_base = sides.base.iter().map(move |lot| (lot, base));
    of_base.chain(sides.new.iter().map(move |lot| (lot, new)))
}

/// Variance of what all points of a round have in common: the mean covariance between points of one
/// round, over all runs; never negative.
fn shared_swing(sides: &Sides) -> f64 {
    let (mut products, mut pairs) = (0.0, 0.0);
    for round in sides
        .base
        .iter()
        .chain(&sides.new)
        .flat_map(|lot| residuals(lot, None).into_values())
    {
        let (sum, squares) = round.iter().fold((0.0, 0.0), |(sum, squares), (_, value)| {
            (sum + value, squares + value * value)
        });
        products += sum * sum - squares;
        pairs += (round.len() * (round.len() - 1)) as f64;
    }
    if pairs > 0.0 {
        (products / pairs).max(0.0)
    } else {
        0.0
    }
}

/// Variance and degrees of freedom of a point's change from the scatter of all points, as if they
/// scattered alike.
fn pooled(sides: &Sides, points: &[usize]) -> Option<Part> {
    let (mut squares, mut df) = (0.0, 0.0);
    for lot in sides.base.iter().chain(&sides.new) {
        for values in by_point(lot, None).values() {
            squares += squares_about_mean(values);
            df += values.len() as f64 - 1.0;
        }
    }
    let mut weights = 0.0;
    for (lot, weight) in weighted_runs(sides) {
        let of_run: f64 = counts(lot, points)
            .values()
            .map(|count| 1.0 / *count as f64)
            .sum();
        weights += weight * of_run / (points.len() as f64).powi(2);
    }
    (df >= TRUSTED_DF).then(|| (squares / df * weights, df))
}

/// The larger of both variances, with its own degrees of freedom.
fn at_least_pooled(own: Option<Part>, pooled: Option<Part>) -> Option<Part> {
    match (own, pooled) {
        (Some(own), Some(pooled)) if own.0 > pooled.0 => Some(own),
        (own, pooled) => pooled.or(own),
    }
}

/// Degrees of freedom of a sum of variances, each with its own (Satterthwaite, Welch); the sum of
/// all where nothing scatters.
fn welch_df(parts: &[Part]) -> f64 {
    let sum: f64 = parts.iter().map(|(variance, _)| variance).sum();
    let below: f64 = parts
        .iter()
        .map(|(variance, df)| variance * variance / df)
        .sum();
    if below > 0.0 {
        sum * sum / below
    } else {
        parts.iter().map(|(_, df)| df).sum()
    }
}

/// Standard deviation of one trial of a point, over all points and runs; 0 where no point was
/// repeated.
fn deviation(sides: &Sides, points: &[usize]) -> f64 {
    let (mut squares, mut df) = (0.0, 0.0);
    for lot in sides.base.iter().chain(&sides.new) {
        for values in by_point(lot, Some(points)).values() {
            squares += squares_about_mean(values);
            df += values.len() as f64 - 1.0;
        }
    }
    if df > 0.0 {
        f64::sqrt(squares / df)
    } else {
        0.0
    }
}

fn mean_of_runs(side: &[Lot], points: &[usize]) -> Option<f64> {
    let means: Option<Vec<f64>> = side.iter().map(|lot| mean_of_points(lot, points)).collect();
    mean(&means?)
}

fn mean_of_points(lot: &Lot, points: &[usize]) -> Option<f64> {
    let by_point = by_point(lot, Some(points));
    let means: Option<Vec<f64>> = points
        .iter()
        .map(|point| mean(by_point.get(point)?))
        .collect();
    mean(&means?)
}

fn chosen(sample: &Sample, points: Option<&[usize]>) -> bool {
    points.is_none_or(|points| points.contains(&sample.point))
}

fn by_point(lot: &Lot, points: Option<&[usize]>) -> BTreeMap<usize, Vec<f64>> {
    let mut values: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for sample in lot.iter().filter(|sample| chosen(sample, points)) {
        values.entry(sample.point).or_default().push(sample.value);
    }
    values
}

fn counts(lot: &Lot, points: &[usize]) -> BTreeMap<usize, usize> {
    by_point(lot, Some(points))
        .into_iter()
        .map(|(point, values)| (point, values.len()))
        .collect()
}

/// What each trial lies off the mean of its point in this run, round by round, as much larger as
/// the mean of n repeats is nearer to them than the truth: sqrt(n / (n - 1)). Points that were not
/// repeated lie off nothing and are left out.
fn residuals(lot: &Lot, points: Option<&[usize]>) -> BTreeMap<u32, Vec<(usize, f64)>> {
    let by_point = by_point(lot, points);
    let mut rounds: BTreeMap<u32, Vec<(usize, f64)>> = BTreeMap::new();
    for sample in lot.iter().filter(|sample| chosen(sample, points)) {
        let own = &by_point[&sample.point];
        if let Some(centre) = mean(own).filter(|_| own.len() > 1) {
            let count = own.len() as f64;
            let residual = (sample.value - centre) * (count / (count - 1.0)).sqrt();
            rounds
                .entry(sample.round)
                .or_default()
                .push((sample.point, residual));
        }
    }
    rounds
}

fn squares_about_mean(values: &[f64]) -> f64 {
    mean(values).map_or(0.0, |centre| {
        values.iter().map(|value| (value - centre).powi(2)).sum()
    })
}

#[cfg(test)]
mod tests;
