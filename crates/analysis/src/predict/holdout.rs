//! The error of prediction: fit on a part of the trials, predict the rest, compare.

use rookery_model::fit::PredictionError;
use serde::Serialize;

use crate::{
    Run,
    predict::{
        candidates::{Candidates, Method},
        choose::{Choice, Trialled, over},
        error::PredictError,
        interval::{DRAWS, Ranged, Uncertainty},
        reading::{Reading, Readings},
        split::Split,
    },
};

/// Share of the loads that are held out by default: the upper half.
pub const HELD_SHARE: f64 = 0.5;
/// Seed of the draws.
pub const SEED: u64 = 1;

/// One held-out layout and load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeldPoint {
    /// Its layout.
    pub layout: String,
    /// Users, or arrivals per second.
    pub load: f64,
    /// Measured orders/min, the mean of its trials.
    pub measured: f64,
    /// Its trials.
    pub trials: usize,
    /// Predicted orders/min, with the 95 % interval of one run.
    pub predicted: Ranged,
    /// |predicted - measured| / measured.
    pub error: f64,
    /// Mean order time: measured and predicted, s; `None` by a law.
    pub response_s: Option<(f64, f64)>,
    /// Share of its trials inside the interval.
    pub inside: f64,
}

/// Errors of one way to predict, as shares of the measured throughput.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MethodError {
    /// Its name.
    pub name: &'static str,
    /// Mean absolute error.
    pub mape: Option<f64>,
    /// Largest absolute error.
    pub largest: Option<f64>,
    /// Mean signed error, predicted less measured.
    pub bias: Option<f64>,
    /// Why it says nothing.
    pub refused: Option<PredictError>,
    /// Whether it is the chosen one.
    pub chosen: bool,
    /// Whether it is a naive baseline.
    pub naive: bool,
}

/// A whole hold-out of one variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Holdout {
    /// The variant.
    pub variant: u32,
    /// Its levels; empty in a study without factors.
    pub levels: String,
    /// `users` or `arrivals/s`.
    pub unit: &'static str,
    /// What was held out: `the largest loads` or `the largest number of guests`.
    pub what: &'static str,
    /// Method, chosen from the fitted trials alone.
    pub method: Method,
    /// Why it was chosen.
    pub reason: String,
    /// Layouts and loads that were fitted.
    pub fitted: Vec<(String, f64)>,
    /// The held-out ones.
    pub points: Vec<HeldPoint>,
    /// Every method, and the naive answers.
    pub methods: Vec<MethodError>,
    /// Coefficient of variation of the held-out repeats; `None` without repeats.
    pub variation: Option<f64>,
}

impl Holdout {
    /// Hold out the largest loads of a variant, a `share` of them.
    ///
    /// # Errors
    /// When too few loads were measured, or nothing can be fitted below them.
    pub fn of_loads(
        readings: &Readings,
        share: f64,
        draws: usize,
        seed: u64,
    ) -> Result<Self, PredictError> {
        let split = Split::by_load(readings, share)?;
        Self::at_split(&split, "the largest loads", draws, seed)
    }

    /// Hold out the largest number of guests.
    ///
    /// # Errors
    /// When there is one number of guests, or nothing can be fitted without it.
    pub fn of_guests(readings: &Readings, draws: usize, seed: u64) -> Result<Self, PredictError> {
        let split = Split::by_guests(readings)?;
        Self::at_split(&split, "the largest number of guests", draws, seed)
    }

    fn at_split(
        split: &Split,
        what: &'static str,
        draws: usize,
        seed: u64,
    ) -> Result<Self, PredictError> {
        let candidates = Candidates::fit(&split.fitted);
        let shapes = split.fitted.shapes();
        let new_layouts = split
            .held
            .all
            .iter()
            .any(|reading| !shapes.iter().any(|shape| shape.same(&reading.shape)));
        let choice = Choice::choose(&split.fitted, &candidates, new_layouts)?;
        let uncertainty = Uncertainty::resample(&split.fitted, &candidates, &choice, draws, seed);
        let points: Option<Vec<HeldPoint>> = split
            .held
            .lots()
            .into_iter()
            .map(|lot| point(lot, &candidates, &choice, &uncertainty))
            .collect();
        let points = points.ok_or(PredictError::HeldOutLoad)?;
        let fitted = split
            .fitted
            .lots()
            .iter()
            .map(|lot| (lot[0].shape.label(), lot[0].load))
            .collect();
        Ok(Self {
            variant: split.held.variant,
            levels: split.held.levels.clone(),
            unit: split.held.offer.unit(),
            what,
            method: choice.method,
            reason: choice.reason,
            fitted,
            points,
            methods: methods(split, &candidates, choice.method),
            variation: split.held.variation(),
        })
    }

    /// The error of the chosen method.
    #[must_use]
    pub fn error(&self) -> Option<PredictionError> {
        let pairs: Vec<(f64, f64)> = self
            .points
            .iter()
            .map(|point| (point.measured, point.predicted.value))
            .collect();
        PredictionError::from_pairs(&pairs)
    }

    /// Share of held-out trials inside the intervals.
    #[must_use]
    pub fn inside(&self) -> f64 {
        let trials: usize = self.points.iter().map(|point| point.trials).sum();
        let inside: f64 = self
            .points
            .iter()
            .map(|point| point.inside * point.trials as f64)
            .sum();
        inside / trials.max(1) as f64
    }

    /// Whether the chosen method beats carrying the last value forward.
    #[must_use]
    pub fn beats_last_value(&self) -> bool {
        let of = |wanted: &dyn Fn(&MethodError) -> bool| {
            self.methods
                .iter()
                .find(|method| wanted(method))
                .and_then(|method| method.mape)
        };
        matches!((of(&|method| method.chosen), of(&|method| method.name == LAST)), (Some(chosen), Some(last)) if chosen < last)
    }
}

fn point(
    lot: &[Reading],
    candidates: &Candidates,
    choice: &Choice,
    uncertainty: &Uncertainty,
) -> Option<HeldPoint> {
    let (shape, load) = (&lot[0].shape, lot[0].load);
    let state = candidates.state(choice.method, shape, load);
    let predicted = match &state {
        Some(state) => uncertainty.around(shape, load, state, false).0,
        None => uncertainty.of_law(candidates.throughput(choice.method, shape, load)?, false),
    };
    let measured = over(lot, |reading| reading.x);
    Some(HeldPoint {
        layout: shape.label(),
        load,
        measured: 60.0 * measured,
        trials: lot.len(),
        error: (predicted.value / measured - 1.0).abs(),
        response_s: state.map(|state| (over(lot, |reading| reading.response_s), state.response_s)),
        inside: over(lot, |reading| {
            f64::from(u8::from(predicted.holds(reading.x)))
        }),
        predicted: predicted.scaled(60.0),
    })
}

/// Name of the baseline that repeats the last value.
const LAST: &str = "last value";

fn methods(split: &Split, candidates: &Candidates, chosen: Method) -> Vec<MethodError> {
    let mut all: Vec<MethodError> = Method::ALL
        .into_iter()
        .map(|method| {
            let trialled = Trialled::score(method, candidates, &split.held);
            let refused = candidates.refusal(method);
            let refused = match (refused, &trialled) {
                (None, None) => Some(PredictError::OtherLayout),
                (refused, _) => refused,
            };
            let pairs = trialled
                .filter(|_| refused.is_none())
                .map(|trialled| trialled.throughput);
            row(
                method.name(),
                pairs.as_deref(),
                refused,
                chosen == method,
                false,
            )
        })
        .collect();
    for (name, in_proportion) in [(LAST, false), ("in proportion", true)] {
        let pairs: Option<Vec<(f64, f64)>> = split
            .held
            .lots()
            .iter()
            .map(|lot| {
                Some((
                    over(lot, |reading| reading.x),
                    naive(&split.fitted, &lot[0], in_proportion)?,
                ))
            })
            .collect();
        all.push(row(name, pairs.as_deref(), None, false, true));
    }
    all
}

fn row(
    name: &'static str,
    pairs: Option<&[(f64, f64)]>,
    refused: Option<PredictError>,
    chosen: bool,
    naive: bool,
) -> MethodError {
    let error = pairs.and_then(PredictionError::from_pairs);
    MethodError {
        name,
        mape: error.map(|error| error.mape),
        largest: error.map(|error| error.largest),
        bias: error.map(|error| error.bias),
        refused,
        chosen,
        naive,
    }
}

/// The throughput at the largest fitted load of the same layout; of a new layout, that of any other
/// per core.
fn naive(fitted: &Readings, held: &Reading, in_proportion: bool) -> Option<f64> {
    let same: Vec<&Reading> = fitted.of_shape(&held.shape).collect();
    let pool: Vec<&Reading> = if same.is_empty() {
        fitted.all.iter().collect()
    } else {
        same
    };
    let largest = pool
        .iter()
        .map(|reading| reading.load_per_core())
        .reduce(f64::max)?;
    let last: Vec<f64> = pool
        .iter()
        .filter(|reading| reading.load_per_core() >= largest * 0.99)
        .map(|reading| reading.x / reading.shape.capacity())
        .collect();
    let per_core = crate::mean::mean(&last)?;
    let growth = if in_proportion {
        held.load_per_core() / largest
    } else {
        1.0
    };
    Some(per_core * held.shape.capacity() * growth)
}

/// The held-out error of a run, for its cover.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeldOutError {
    /// Mean absolute error of throughput over all held-out layouts and loads of all variants, as a
    /// share.
    pub mape: f64,
    /// Largest absolute error, as a share.
    pub largest: f64,
    /// Mean signed error, predicted less measured, as a share.
    pub bias: f64,
    /// Share of held-out trials inside their 95 % intervals.
    pub inside: f64,
    /// Coefficient of variation of the held-out repeats: no error below it means anything. `None`
    /// without repeats.
    pub variation: Option<f64>,
    /// Whether the model beats carrying the last measured value forward.
    pub beats_last_value: bool,
    /// Name of the model; of several variants, that of most points.
    pub model: &'static str,
    /// Loads that were fitted, ascending, and their unit.
    pub fitted_loads: Vec<f64>,
    /// Loads that were held out, ascending.
    pub held_out_loads: Vec<f64>,
    /// `users` or `arrivals/s`.
    pub unit: &'static str,
    /// Layouts and loads behind the error.
    pub points: usize,
    /// The hold-out of each variant behind it.
    pub holdouts: Vec<Holdout>,
}

impl HeldOutError {
    /// Fit every variant of a run on the lower half of its loads, predict the upper half.
    ///
    /// # Errors
    /// When there is no such error: too few loads, too few good trials, nothing that could
    /// be fitted.
    pub fn from_run(run: &Run) -> Result<Self, PredictError> {
        let mut reasons = Vec::new();
        let mut holdouts = Vec::new();
        for readings in Readings::from_run(run) {
            match Holdout::of_loads(&readings, HELD_SHARE, DRAWS / 4, SEED) {
                Ok(holdout) => holdouts.push(holdout),
                Err(reason) => reasons.push(reason),
            }
        }
        reasons.dedup();
        Self::over(holdouts).ok_or(PredictError::Variants(reasons))
    }

    fn over(holdouts: Vec<Holdout>) -> Option<Self> {
        let pairs: Vec<(f64, f64)> = holdouts
            .iter()
            .flat_map(|holdout| {
                holdout
                    .points
                    .iter()
                    .map(|point| (point.measured, point.predicted.value))
            })
            .collect();
        let error = PredictionError::from_pairs(&pairs)?;
        let most = holdouts.iter().max_by_key(|holdout| holdout.points.len())?;
        let (model, unit) = (most.method.name(), most.unit);
        let loads = |of: &dyn Fn(&Holdout) -> Vec<f64>| {
            let mut loads: Vec<f64> = holdouts.iter().flat_map(of).collect();
            loads.sort_by(f64::total_cmp);
            loads.dedup();
            loads
        };
        let trials: usize = holdouts
            .iter()
            .flat_map(|holdout| &holdout.points)
            .map(|point| point.trials)
            .sum();
        let inside: f64 = holdouts
            .iter()
            .flat_map(|holdout| &holdout.points)
            .map(|point| point.inside * point.trials as f64)
            .sum();
        let variations: Vec<f64> = holdouts
            .iter()
            .filter_map(|holdout| holdout.variation)
            .collect();
        Some(Self {
            mape: error.mape,
            largest: error.largest,
            bias: error.bias,
            inside: inside / trials.max(1) as f64,
            variation: crate::mean::mean(&variations),
            beats_last_value: holdouts.iter().all(Holdout::beats_last_value),
            model,
            fitted_loads: loads(&|holdout| holdout.fitted.iter().map(|(_, load)| *load).collect()),
            held_out_loads: loads(&|holdout| {
                holdout.points.iter().map(|point| point.load).collect()
            }),
            unit,
            points: pairs.len(),
            holdouts,
        })
    }
}
