//! Whether a trial was in steady state: where its warm-up ended (MSER-5), and whether it drifted.
//!
//! Fixed phases decide what is measured, so that trials can be compared; this only judges.
//! [`judge`] takes the seconds of settling and window together and gives a list of [`Finding`]s: a
//! finding that is [`serious`](Finding::serious) voids the trial, the others are warnings. The
//! parts ([`Mser5`], [`Drift`], [`halves_differ`]) can be used by themselves. [`steady_from`] says
//! the same of a trial that is to show how long others must settle.
//!
//! MSER-5: White, "An effective truncation heuristic for bias reduction in simulation output",
//! Simulation 69 (1997) 323; White, Cobb, Spratt, WSC 2000.

use rookery_cast::truncate_u32;

use crate::{effective_count, t_975};

/// Values per group of MSER-5.
const GROUP: usize = 5;
/// Groups that always remain after the cut.
const REMAIN: usize = 5;
/// Fewest groups that are judged: with fewer, chance alone places the cut.
const FEWEST_GROUPS: usize = 10;
/// A change of the means of two halves, or over the window, that matters.
const HALVES_LIMIT: f64 = 0.02;
/// Fewest groups of a half that tell its scatter.
const FEWEST_OF_HALF: usize = 4;
/// Standard errors beyond which the means of two halves differ.
const HALVES_ERRORS: f64 = 2.0;
/// What lies before a cut that MSER-5 chose differs beyond so many half-widths of a 95 % interval:
/// the choice itself seeks out a difference.
const CUT_HALF_WIDTHS: f64 = 2.0;
/// A drift over the window that matters, as a share of the mean.
const DRIFT_LIMIT: f64 = 0.05;
/// From this change of a rate between the halves of a window on there was no steady state.
const APART_LIMIT: f64 = 0.2;
/// Fewest seconds whose halves are compared.
const FEWEST_SECONDS: usize = 4;
/// Standard deviations of a difference of counts that chance does not reach.
const CHANCE_ERRORS: f64 = 4.0;
/// Seconds of one point of the drift test.
const STRETCH: usize = 10;
/// A warm-up that takes more than this share of the window is serious.
const SERIOUS_SHARE: f64 = 0.1;

/// Where the begin of a series stops pulling its mean away.
#[derive(Clone, Debug, PartialEq)]
pub struct Mser5 {
    /// Means of consecutive groups of five values; a remainder at the end is left out.
    pub groups: Vec<f64>,
    /// MSER(d) for d = 0, 1, ... groups cut off: sum of squares around the mean of the rest, over
    /// the squared number of groups in the rest.
    pub statistic: Vec<f64>,
    /// d*: the smallest d of the smallest statistic.
    pub cut: usize,
}

impl Mser5 {
    /// Of a series of equal time steps; `None` below ten groups (50 values), or when a value is not
    /// finite.
    ///
    /// d runs from 0 until five groups remain.
    #[must_use]
    pub fn from_series(series: &[f64]) -> Option<Self> {
        let groups = group_means(series, GROUP)?;
        if groups.len() < FEWEST_GROUPS {
            return None;
        }
        let mut statistic: Vec<f64> = (0..=groups.len() - REMAIN)
            .map(|d| marginal_error(&groups[d..]))
            .collect();
        // Differences that rounding alone makes are ties.
        let noise = 1e-12 * groups.iter().map(|group| group * group).fold(0.0, f64::max);
        statistic
            .iter_mut()
            .filter(|value| **value < noise)
            .for_each(|value| *value = 0.0);
        let cut = smallest(&statistic);
        Some(Self {
            groups,
            statistic,
            cut,
        })
    }

    /// How many values to leave out at the begin: 5 d*.
    #[must_use]
    pub fn truncate(&self) -> usize {
        GROUP * self.cut
    }

    /// The best cut before the middle of the series, in groups.
    fn early_cut(&self) -> usize {
        smallest(&self.statistic[..(self.groups.len() / 2).min(self.statistic.len())])
    }

    /// Whether a steady state was reached: d* lies before the middle of the series.
    #[must_use]
    pub fn settled(&self) -> bool {
        self.cut < self.groups.len() / 2
    }
}

/// A straight line through means of ten seconds: how much the series changed from the begin to the
/// end of the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Slope times length of the window, as a share of the mean.
    pub change: f64,
    /// 95 % interval of the change, from the residuals of the stretches.
    pub interval: (f64, f64),
}

impl Drift {
    /// Of the seconds of a window; `None` below four stretches of ten seconds, for a mean of 0, or
    /// when a value is not finite.
    #[must_use]
    pub fn from_series(series: &[f64]) -> Option<Self> {
        let means = group_means(series, STRETCH)?;
        let n = means.len();
        if n < 4 {
            return None;
        }
        let mean = means.iter().sum::<f64>() / n as f64;
        let middle = (n - 1) as f64 / 2.0;
        let place = |index: usize| index as f64 - middle;
        let spread: f64 = (0..n).map(|index| place(index).powi(2)).sum();
        let slope = means
            .iter()
            .enumerate()
            .map(|(index, value)| place(index) * value)
            .sum::<f64>()
            / spread;
        let residuals = means
            .iter()
            .enumerate()
            .map(|(index, value)| (value - mean - slope * place(index)).powi(2));
        let error = (residuals.sum::<f64>() / (n - 2) as f64 / spread).sqrt();
        let half = t_975(u32::try_from(n - 2).ok()?)? * error;
        let scale = n as f64 / mean.abs();
        let (low, high) = ((slope - half) * scale, (slope + half) * scale);
        scale.is_finite().then_some(Self {
            change: slope * scale,
            interval: (low, high),
        })
    }

    /// Whether it matters: a change of more than 5 % whose interval leaves 0 out.
    #[must_use]
    pub fn matters(&self) -> bool {
        self.change.abs() > DRIFT_LIMIT && (self.interval.0 > 0.0 || self.interval.1 < 0.0)
    }
}

/// The relative change from the first half of a series to the second, where it is more than 2 % and
/// more than two standard errors (from means of five seconds, at least four in a half); else
/// `None`.
#[must_use]
pub fn halves_differ(series: &[f64]) -> Option<f64> {
    let (first, second) = series.split_at(series.len() / 2);
    let (first, second) = (group_means(first, GROUP)?, group_means(second, GROUP)?);
    if first.len() < FEWEST_OF_HALF {
        return None;
    }
    let ((a, variance_a), (b, variance_b)) = (moments(&first)?, moments(&second)?);
    let error = (variance_a? / first.len() as f64 + variance_b? / second.len() as f64).sqrt();
    differs(a, b, HALVES_ERRORS * error)
}

/// The relative change of a rate from the first half of a window to the second, where it is more
/// than a fifth and more than chance; `counts` are those of each second, of which at least four are
/// needed. However short a window is, this is no steady state.
#[must_use]
pub fn halves_apart(counts: &[f64]) -> Option<f64> {
    if counts.len() < FEWEST_SECONDS || counts.iter().any(|count| !count.is_finite()) {
        return None;
    }
    // Of an odd number the one in the middle is left out: halves of equal length.
    let half = counts.len() / 2;
    let first: f64 = counts[..half].iter().sum();
    let second: f64 = counts[counts.len() - half..].iter().sum();
    let apart = (second - first).abs();
    let chance = CHANCE_ERRORS * (first + second).sqrt();
    (first > 0.0 && apart > APART_LIMIT * first && apart > chance).then(|| (second - first) / first)
}

/// What can be wrong with a steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Finding {
    /// The series never settled: the cut lies beyond the middle.
    NeverSettled(Quantity),
    /// The warm-up reached into the window.
    WarmUpTooShort {
        /// In which series.
        quantity: Quantity,
        /// Seconds of the window that belong to the warm-up.
        seconds: usize,
        /// The same as a share of the window.
        share: f64,
    },
    /// The halves of the window lie too far apart.
    HalvesApart {
        /// Change from the first to the second, as a share of the first.
        change: f64,
    },
    /// The window drifted.
    Drifted {
        /// In which series.
        quantity: Quantity,
        /// Change over the window, as a share of the mean.
        change: f64,
    },
}

/// Of which series a finding speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Throughput per second.
    Throughput,
    /// Mean response time per second.
    Response,
}

impl Finding {
    /// Whether it voids the trial: no steady state, or a warm-up in more than a tenth of the
    /// window.
    #[must_use]
    pub fn serious(&self) -> bool {
        match self {
            Self::NeverSettled(_) | Self::HalvesApart { .. } => true,
            Self::WarmUpTooShort { share, .. } => *share > SERIOUS_SHARE,
            Self::Drifted { .. } => false,
        }
    }

    /// In words, with what the user can do.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::NeverSettled(quantity) => {
                format!(
                    "{} never settled: take a longer settle and steady phase",
                    quantity.name()
                )
            }
            Self::WarmUpTooShort {
                quantity,
                seconds,
                share,
            } => {
                let (name, share) = (quantity.name(), 100.0 * share);
                format!(
                    "warm-up too short: {name} settled {seconds} s ({share:.0} %) into the window: \
                     take a longer settle phase"
                )
            }
            Self::HalvesApart { change } => {
                let (change, limit) = (100.0 * change, 100.0 * APART_LIMIT);
                format!(
                    "throughput changed by {change:+.0} % from the first half of the window to the \
                     second (limit {limit:.0} %): take a longer settle phase"
                )
            }
            Self::Drifted { quantity, change } => {
                let (name, change) = (quantity.name(), 100.0 * change);
                format!(
                    "{name} drifted by {change:+.1} % over the window (a cache that fills, a \
                     checkpoint, a leak?)"
                )
            }
        }
    }
}

impl Quantity {
    fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Response => "response time",
        }
    }
}

/// From where on a series is steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteadyFrom {
    /// After so many of its values.
    Value(usize),
    /// Nowhere: it never settled, or drifts over what is left of it.
    Nowhere,
}

/// From where on a series of seconds, which begins when all users run, is steady: behind the cut of
/// MSER-5, where what lies before it differs from what lies after by more than chance makes it, and
/// without a drift that matters. A series too short for MSER-5 is taken as steady.
#[must_use]
pub fn steady_from(series: &[f64]) -> SteadyFrom {
    let Some(mser) = Mser5::from_series(series) else {
        return SteadyFrom::Value(0);
    };
    let early = GROUP * mser.early_cut();
    let late = mser.truncate();
    if !mser.settled() && cut_matters(&series[early..late], &series[late..]).is_some() {
        return SteadyFrom::Nowhere;
    }
    let cut = match cut_matters(&series[..early], &series[early..]) {
        Some(_) => early,
        None => 0,
    };
    match Drift::from_series(&series[cut..]) {
        Some(drift) if drift.matters() => SteadyFrom::Nowhere,
        _ => SteadyFrom::Value(cut),
    }
}

/// Judge one series of seconds, of which the first `settle` lie before the window. Empty = nothing
/// found, or too short to judge.
///
/// A flat but noisy series has its smallest MSER anywhere: a cut counts only where what lies before
/// it differs from what lies after by more than 2 % and by more than two half-widths of a 95 %
/// interval, neighbours' likeness taken into account. Seconds without a value of the quantity (no
/// answer came) do not belong in the series.
#[must_use]
pub fn judge(quantity: Quantity, series: &[f64], settle: usize) -> Vec<Finding> {
    let window = series.get(settle..).unwrap_or_default();
    let mut findings: Vec<Finding> = warm_up(quantity, series, settle).into_iter().collect();
    let drift = Drift::from_series(window)
        .filter(Drift::matters)
        .map(|drift| drift.change);
    if let Some(change) = drift.or_else(|| halves_differ(window)) {
        findings.push(Finding::Drifted { quantity, change });
    }
    findings
}

fn warm_up(quantity: Quantity, series: &[f64], settle: usize) -> Option<Finding> {
    let mser = Mser5::from_series(series)?;
    let early = GROUP * mser.early_cut();
    if !mser.settled()
        && cut_matters(&series[early..mser.truncate()], &series[mser.truncate()..]).is_some()
    {
        return Some(Finding::NeverSettled(quantity));
    }
    let seconds = early.checked_sub(settle).filter(|seconds| *seconds > 0)?;
    cut_matters(&series[settle..early], &series[early..]).map(|_| Finding::WarmUpTooShort {
        quantity,
        seconds,
        share: seconds as f64 / (series.len() - settle) as f64,
    })
}

/// Relative change from what lies before a cut to what lies after it, where it matters and is no
/// chance. The scatter is that of the part after: before it, the warm-up itself scatters.
fn cut_matters(before: &[f64], after: &[f64]) -> Option<f64> {
    let (before, after) = (group_means(before, GROUP)?, group_means(after, GROUP)?);
    let (a, (b, variance)) = (moments(&before)?.0, moments(&after)?);
    let weight = 1.0 / before.len() as f64 + 1.0 / after.len() as f64;
    // Neighbouring groups of a system near saturation are alike: there are fewer independent ones
    // than counted.
    let independent = effective_count(&level(&after)).clamp(2.0, after.len() as f64);
    let weight = weight * after.len() as f64 / independent;
    let t = t_975(truncate_u32(independent) - 1)?;
    differs(a, b, CUT_HALF_WIDTHS * t * (variance? * weight).sqrt())
}

/// What is left of values when their straight line is taken away: a climb must not pass for the
/// likeness of neighbours.
fn level(values: &[f64]) -> Vec<f64> {
    let n = values.len() as f64;
    let (mean, middle) = (values.iter().sum::<f64>() / n, (n - 1.0) / 2.0);
    let place = |index: usize| index as f64 - middle;
    let spread: f64 = (0..values.len()).map(|index| place(index).powi(2)).sum();
    let slope = values
        .iter()
        .enumerate()
        .map(|(index, value)| place(index) * value)
        .sum::<f64>()
        / spread;
    values
        .iter()
        .enumerate()
        .map(|(index, value)| value - mean - slope * place(index))
        .collect()
}

/// The relative change from `first` to `second`, where it exceeds 2 % and `reach`.
fn differs(first: f64, second: f64, reach: f64) -> Option<f64> {
    let change = (second - first).abs();
    (change > HALVES_LIMIT * first.abs() && change > reach && first != 0.0)
        .then(|| (second - first) / first.abs())
}

/// Means of whole groups; `None` when a value is not finite.
fn group_means(series: &[f64], length: usize) -> Option<Vec<f64>> {
    let finite = series.iter().all(|value| value.is_finite());
    finite.then(|| {
        series
            .chunks_exact(length)
            .map(|group| group.iter().sum::<f64>() / length as f64)
            .collect()
    })
}

/// Mean and, from two values on, sample variance.
fn moments(values: &[f64]) -> Option<(f64, Option<f64>)> {
    let n = values.len();
    let mean = values.iter().sum::<f64>() / n as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (n > 0).then(|| (mean, (n > 1).then(|| squares / (n - 1) as f64)))
}

/// Place of the smallest value, the first of equals.
fn smallest(values: &[f64]) -> usize {
    (1..values.len()).fold(0, |best, d| if values[d] < values[best] { d } else { best })
}

fn marginal_error(rest: &[f64]) -> f64 {
    let n = rest.len() as f64;
    let mean = rest.iter().sum::<f64>() / n;
    rest.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n * n)
}

#[cfg(test)]
mod tests;
