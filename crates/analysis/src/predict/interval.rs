//! How wrong a prediction may be: trials drawn again, the scatter of one run, and the error that
//! the model made where it could be checked.
//!
//! The three are independent, and are added as squares of logarithms: x exp(-+ sqrt(b^2 + r^2 +
//! e^2)). b reaches from the prediction to the 2.5 and 97.5 percentiles of refits to resampled
//! trials; r is 1.96 times the scatter of repeats; e is t(0.975) times the root mean square of the
//! model's errors, on the held-out loads for what lies outside of the measured, on the fitted loads
//! for what lies inside.

use rookery_cast::truncate_usize;
use rookery_stats::t_975;
use rookery_workload::random::{RandomSource as _, SplitMix64};
use serde::Serialize;

use crate::predict::{
    candidates::{Candidates, Method},
    choose::{Choice, Trialled},
    reading::{Reading, Readings},
    shape::Shape,
    structure::{State, Structure},
};

/// Draws of the bootstrap.
pub const DRAWS: usize = 200;
/// The 97.5 % quantile of the normal distribution.
pub(crate) const SPREAD_OF_TWO: f64 = 1.959_964;
/// Scatter of repeats where nothing is repeated.
const UNKNOWN_SCATTER: f64 = 0.03;
/// Error of the model where it could not be checked.
const UNKNOWN_ERROR: f64 = 0.1;

/// A predicted number with its 95 % interval for one new run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ranged {
    /// The expectation.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Ranged {
    /// `value` with both ends moved away by a factor of at least 1, as logarithms of (lower,
    /// upper).
    #[must_use]
    pub fn spread(value: f64, (low, high): (f64, f64)) -> Self {
        Self {
            value,
            low: value * (-low).exp(),
            high: value * high.exp(),
        }
    }

    /// Multiplied by a factor with its own spread (a logarithm).
    #[must_use]
    pub fn times(self, factor: f64, spread: f64) -> Self {
        let reach = |end: f64| (end / self.value).ln().hypot(spread);
        Self::spread(self.value * factor, (reach(self.low), reach(self.high)))
    }

    /// In another unit.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            low: self.low * factor,
            high: self.high * factor,
        }
    }

    /// Whether a value lies inside.
    #[must_use]
    pub fn holds(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// Refits to resampled trials, and the errors of the model.
#[derive(Clone, Debug)]
pub struct Uncertainty {
    /// Refits; empty for laws.
    draws: Vec<Structure>,
    /// Scatter of one run's throughput, a standard deviation of logarithms.
    scatter: f64,
    /// Errors of throughput and response time outside of the measured.
    outside: Errors,
    /// The same inside.
    inside: Errors,
}

/// t(0.975) times root mean square errors, of logarithms.
#[derive(Clone, Copy, Debug)]
struct Errors {
    throughput: f64,
    response: f64,
}

impl Errors {
    fn from_trialled(trialled: &Trialled, parameters: usize) -> Self {
        Self {
            throughput: reach(&trialled.throughput, parameters).unwrap_or(UNKNOWN_ERROR),
            response: reach(&trialled.response, parameters).unwrap_or(3.0 * UNKNOWN_ERROR),
        }
    }
}

/// `None` with fewer than two pairs more than parameters.
fn reach(pairs: &[(f64, f64)], parameters: usize) -> Option<f64> {
    let df = pairs.len().checked_sub(parameters).filter(|df| *df > 1)?;
    let squares: f64 = pairs
        .iter()
        .map(|(measured, predicted)| (predicted / measured).ln().powi(2))
        .sum();
    Some(t_975(u32::try_from(df).ok()?)? * (squares / df as f64).sqrt())
        .filter(|reach| reach.is_finite())
}

impl Uncertainty {
    /// Of a chosen method, with `draws` refits from this seed.
    #[must_use]
    pub fn resample(
        readings: &Readings,
        candidates: &Candidates,
        choice: &Choice,
        draws: usize,
        seed: u64,
    ) -> Self {
        let fitted = Trialled::score(choice.method, candidates, readings);
        let inside = fitted.map_or(
            Errors {
                throughput: UNKNOWN_ERROR,
                response: 3.0 * UNKNOWN_ERROR,
            },
            |fitted| Errors::from_trialled(&fitted, 2),
        );
        let outside = choice
            .trialled
            .as_ref()
            .map_or(inside, |trialled| Errors::from_trialled(trialled, 0));
        Self {
            draws: candidates.structure(choice.method).map_or_else(
                |_| Vec::new(),
                |near| refits(readings, choice.method, near, draws, seed),
            ),
            scatter: readings.variation().unwrap_or(UNKNOWN_SCATTER),
            // Where a model was off outside, it is not trusted to be off less than it is inside.
            outside: Errors {
                throughput: outside.throughput.max(inside.throughput),
                response: outside.response.max(inside.response),
            },
            inside,
        }
    }

    /// The intervals of throughput and mean response time of a state.
    #[must_use]
    pub fn around(
        &self,
        shape: &Shape,
        load: f64,
        state: &State,
        inside: bool,
    ) -> (Ranged, Ranged) {
        let drawn: Vec<State> = self
            .draws
            .iter()
            .filter_map(|draw| draw.at(shape, load))
            .collect();
        let errors = if inside { self.inside } else { self.outside };
        let ends = |value: f64, of: fn(&State) -> f64, error: f64| {
            let (low, high) = percentiles(drawn.iter().map(of).collect()).unwrap_or((value, value));
            let rest = (SPREAD_OF_TWO * self.scatter).hypot(error);
            let end = |ln: f64| ln.max(0.0).hypot(rest);
            Ranged::spread(value, (end((value / low).ln()), end((high / value).ln())))
        };
        (
            ends(state.x, |state| state.x, errors.throughput),
            ends(state.response_s, |state| state.response_s, errors.response),
        )
    }

    /// The interval of a law's throughput.
    #[must_use]
    pub fn of_law(&self, value: f64, inside: bool) -> Ranged {
        let errors = if inside { self.inside } else { self.outside };
        let end = (SPREAD_OF_TWO * self.scatter).hypot(errors.throughput);
        Ranged::spread(value, (end, end))
    }
}

fn refits(
    readings: &Readings,
    method: Method,
    near: &Structure,
    draws: usize,
    seed: u64,
) -> Vec<Structure> {
    let mut stream = SplitMix64::new(seed);
    let lots: Vec<&[Reading]> = readings.lots();
    // Three repeats of every load carry their own scatter; else trials of all loads are drawn
    // together.
    let by_lot = lots.iter().all(|lot| lot.len() >= 3);
    let pools: Vec<&[Reading]> = if by_lot { lots } else { vec![&readings.all] };
    let draw = |_| {
        let mut drawn: Vec<Reading> = pools
            .iter()
            .flat_map(|pool| {
                (0..pool.len())
                    .map(|_| pool[stream.index(pool.len())].clone())
                    .collect::<Vec<_>>()
            })
            .collect();
        if !by_lot {
            drawn.sort_by_key(|reading| {
                readings
                    .all
                    .iter()
                    .position(|known| known.trial == reading.trial)
            });
        }
        Candidates::refit(method, &readings.with(drawn), near)
    };
    (0..draws).filter_map(draw).collect()
}

fn percentiles(mut values: Vec<f64>) -> Option<(f64, f64)> {
    values.retain(|value| value.is_finite());
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let at = |p: f64| values[truncate_usize((p * last as f64).round())];
    Some((at(0.025), at(0.975)))
}
