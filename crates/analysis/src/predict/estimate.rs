//! Fits of the queueing models to readings: what counters do not tell is estimated from throughput
//! (closed loads) or response time (open ones).

use crate::mean::mean;
use crate::predict::{
    calibrate::Calibration,
    error::PredictError,
    reading::{Offer, Reading, Readings},
    structure::Structure,
};

/// Rounds that settle the residual delay; each changes it by less than the queueing at the lowest
/// load.
const ROUNDS: usize = 4;
/// A parameter is searched to this share of itself.
const PRECISION: f64 = 5e-4;
/// Where no trial comes nearer to the ceiling than this, throughput does not show where it is.
const LEAST_PRESSURE: f64 = 0.7;
/// A hidden queue must make the sum of squares smaller by this factor.
const WORTH: f64 = 0.7;
/// The hidden queue below this share of all demands is none.
const LEAST_HIDDEN: f64 = 0.02;

/// What is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Free {
    /// Nothing: counters tell the demand.
    Nothing,
    /// The size of the CPU demand; counters, where there are any, tell how it grows with guests.
    Scale,
    /// The demand at a queue that no counter shows.
    Hidden,
}

/// Means of trials at one layout and load.
#[derive(Debug)]
struct Lot<'a> {
    first: &'a Reading,
    x: f64,
    response_s: f64,
    trials: f64,
}

/// Fit a model; `near` is a fit to similar readings, around which the search stays.
///
/// # Errors
/// When the readings do not carry it.
pub(crate) fn fit(
    free: Free,
    readings: &Readings,
    near: Option<&Structure>,
) -> Result<Structure, PredictError> {
    if readings.all.is_empty() {
        return Err(PredictError::NoTrials);
    }
    let calibration = Calibration::fit(&readings.all);
    let lots: Vec<Lot<'_>> = readings.lots().into_iter().map(lot).collect();
    let mut structure = Structure {
        scale: 1.0,
        hidden_s: 0.0,
        residual_s: 0.0,
        offer: readings.offer,
        calibration: calibration.as_ref().ok().cloned(),
    };
    match free {
        Free::Nothing => {
            calibration?;
            settle(&mut structure, &lots)?;
        }
        Free::Scale => fit_scale(&mut structure, &lots, near)?,
        Free::Hidden => {
            calibration?;
            fit_hidden(&mut structure, &lots, near)?;
        }
    }
    Ok(structure)
}

fn lot<'a>(readings: &'a [Reading]) -> Lot<'a> {
    let over = |value: fn(&Reading) -> f64| {
        readings.iter().map(value).sum::<f64>() / readings.len() as f64
    };
    Lot {
        first: &readings[0],
        x: over(|reading| reading.x),
        response_s: over(|reading| reading.response_s),
        trials: readings.len() as f64,
    }
}

/// The residual delay: response time at the lowest load of a layout less what its stations take
/// there; the mean over layouts.
fn settle(structure: &mut Structure, lots: &[Lot<'_>]) -> Result<(), PredictError> {
    let lowest = lots
        .iter()
        .map(|lot| lot.first.load_per_core())
        .fold(f64::INFINITY, f64::min);
    let low = || {
        lots.iter()
            .filter(|lot| lot.first.load_per_core() <= lowest * 1.001)
    };
    structure.residual_s = 0.0;
    for _ in 0..ROUNDS {
        let rest = low().map(|lot| {
            let state = structure.at(&lot.first.shape, lot.first.load)?;
            Some((structure.residual_s + lot.response_s - state.response_s).max(0.0))
        });
        let rest: Option<Vec<f64>> = rest.collect();
        structure.residual_s = rest
            .as_deref()
            .and_then(mean)
            .ok_or(PredictError::Unsolvable)?;
    }
    Ok(())
}

/// Sum over trials of squared logarithms of measured over expected, with the residual delay
/// settled; infinite where there is no solution.
fn misfit(structure: &mut Structure, lots: &[Lot<'_>]) -> f64 {
    if settle(structure, lots).is_err() {
        return f64::INFINITY;
    }
    let open = matches!(structure.offer, Offer::Open { .. });
    let by_shape = lots.chunk_by(|a, b| a.first.shape.same(&b.first.shape));
    let mut sum = 0.0;
    for lots in by_shape {
        let loads: Vec<f64> = lots.iter().map(|lot| lot.first.load).collect();
        let Some(states) = structure.solve(&lots[0].first.shape, &loads) else {
            return f64::INFINITY;
        };
        for (lot, state) in lots.iter().zip(states) {
            // Throughput of an open load is its rate; response time tells more.
            let ratio = if open {
                lot.response_s / state.response_s
            } else {
                lot.x / state.x
            };
            sum += lot.trials * ratio.ln().powi(2);
        }
    }
    sum
}

fn fit_scale(
    structure: &mut Structure,
    lots: &[Lot<'_>],
    near: Option<&Structure>,
) -> Result<(), PredictError> {
    // The demand with which the largest throughput fills all cores: it cannot be much larger.
    let guess = || {
        let of = |lot: &Lot<'_>| {
            lot.first.shape.capacity() / (lot.x * structure.demand_s(lot.first.shape.guests))
        };
        lots.iter().map(of).fold(f64::INFINITY, f64::min)
    };
    // A closed load is measured near its ceiling or refused below; an open one may be far from it.
    let far = if matches!(structure.offer, Offer::Open { .. }) {
        100.0
    } else {
        8.0
    };
    let (centre, factor) = near.map_or_else(|| (guess(), far), |near| (near.scale, 1.25));
    let mut trial = structure.clone();
    let best = minimum(centre / factor, centre * factor.min(1.5), |scale| {
        trial.scale = scale;
        misfit(&mut trial, lots)
    });
    structure.scale = best;
    if !misfit(structure, lots).is_finite() {
        return Err(PredictError::Unsolvable);
    }
    let pressure = lots
        .iter()
        .filter_map(|lot| Some(structure.at(&lot.first.shape, lot.first.load)?.pressure));
    let most = pressure.fold(0.0, f64::max);
    let closed = matches!(structure.offer, Offer::Closed { .. });
    if closed && near.is_none() && most < LEAST_PRESSURE {
        return Err(PredictError::FarFromCeiling { share: most });
    }
    Ok(())
}

fn fit_hidden(
    structure: &mut Structure,
    lots: &[Lot<'_>],
    near: Option<&Structure>,
) -> Result<(), PredictError> {
    let without = misfit(structure, lots);
    let most = lots
        .iter()
        .map(|lot| f64::from(lot.first.shape.guests) / lot.x)
        .fold(f64::INFINITY, f64::min);
    let (low, high) = near.map_or((1e-3 * most, 1.5 * most), |near| {
        (near.hidden_s / 1.25, near.hidden_s * 1.25)
    });
    let mut trial = structure.clone();
    structure.hidden_s = minimum(low, high, |hidden| {
        trial.hidden_s = hidden;
        misfit(&mut trial, lots)
    });
    let with = misfit(structure, lots);
    let share =
        structure.hidden_s / (structure.hidden_s + structure.demand_s(lots[0].first.shape.guests));
    if near.is_none() && (!with.is_finite() || with > WORTH * without || share < LEAST_HIDDEN) {
        return Err(PredictError::NoHiddenQueue);
    }
    Ok(())
}

/// The place of the smallest value between `low` and `high`, both > 0: a coarse look, then the
/// golden section, both in logarithms.
fn minimum(low: f64, high: f64, mut value: impl FnMut(f64) -> f64) -> f64 {
    const STEPS: usize = 8;
    let (low, high) = (low.ln(), high.ln());
    let mut at = |log: f64| value(log.exp());
    let step = (high - low) / STEPS as f64;
    let place = |i: usize| low + step * i as f64;
    let values: Vec<f64> = (0..=STEPS).map(|i| at(place(i))).collect();
    let best = (0..=STEPS)
        .min_by(|a, b| values[*a].total_cmp(&values[*b]))
        .unwrap_or(0);
    let (mut left, mut right) = (place(best.saturating_sub(1)), place((best + 1).min(STEPS)));
    let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
    let (mut a, mut b) = (
        right - golden * (right - left),
        left + golden * (right - left),
    );
    let (mut of_a, mut of_b) = (at(a), at(b));
    while right - left > PRECISION {
        if of_a < of_b {
            (right, b, of_b) = (b, a, of_a);
            a = right - golden * (right - left);
            of_a = at(a);
        } else {
            (left, a, of_a) = (a, b, of_b);
            b = left + golden * (right - left);
            of_b = at(b);
        }
    }
    f64::midpoint(left, right).exp()
}

#[cfg(test)]
mod tests {
    use super::minimum;

    #[test]
    fn a_minimum_is_found_wherever_it_lies() {
        for place in [0.11, 0.5, 3.0, 9.0] {
            let found = minimum(0.1, 10.0, |x: f64| (x / place).ln().powi(2));
            assert!((found / place - 1.0).abs() < 1e-3, "{found} {place}");
        }
        // At an end.
        assert!(minimum(0.1, 10.0, |x| x) < 0.1001);
    }
}
