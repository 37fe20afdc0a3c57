//! Parting readings before anything is fitted: what is held out is not seen by any choice.

use rookery_cast::truncate_usize;

use crate::predict::{
    error::PredictError,
    reading::{Reading, Readings},
};

/// Readings to fit, and readings to predict.
#[derive(Clone, Debug)]
pub struct Split {
    /// To fit.
    pub fitted: Readings,
    /// To predict; they are larger.
    pub held: Readings,
}

/// Loads per core that are the same but for rounding to whole users.
const SAME: f64 = 1.02;

impl Split {
    /// Hold out the largest loads: a `share` of all loads, rounded down, but at least one; loads of
    /// layouts are put in order per core.
    ///
    /// # Errors
    /// When fewer than two loads would remain to fit.
    pub fn by_load(readings: &Readings, share: f64) -> Result<Self, PredictError> {
        let levels = levels(&readings.all);
        let held = truncate_usize((levels.len() as f64 * share + 1e-9).floor()).max(1);
        if levels.len() < held + 2 {
            return Err(too_few(levels.len(), held));
        }
        let border = levels[levels.len() - held] / SAME.sqrt();
        Ok(Self::parted(readings, |reading| {
            reading.load_per_core() > border
        }))
    }

    /// As the prediction protocol asks for the choice of a model: at least a quarter of the loads,
    /// and at least two.
    ///
    /// # Errors
    /// As [`Self::by_load`].
    pub fn for_choice(readings: &Readings) -> Result<Self, PredictError> {
        let levels = levels(&readings.all).len();
        let held = levels.div_ceil(4).max(2);
        Self::by_load(readings, (held as f64 + 0.5) / levels.max(1) as f64)
    }

    /// Hold out the layouts with the largest number of guests.
    ///
    /// # Errors
    /// When there is one number of guests only.
    pub fn by_guests(readings: &Readings) -> Result<Self, PredictError> {
        let guests = |reading: &Reading| reading.shape.guests;
        let most = readings.all.iter().map(guests).max().unwrap_or(0);
        if readings.all.iter().all(|reading| guests(reading) == most) {
            return Err(PredictError::OneNumberOfGuests);
        }
        Ok(Self::parted(readings, |reading| guests(reading) == most))
    }

    fn parted(readings: &Readings, held: impl Fn(&Reading) -> bool) -> Self {
        let (above, below) = readings.all.iter().cloned().partition(held);
        Self {
            fitted: readings.with(below),
            held: readings.with(above),
        }
    }
}

fn too_few(levels: usize, held: usize) -> PredictError {
    let needed = held + 2;
    match levels {
        0 => PredictError::NoTrials,
        1 => PredictError::OneLoad { needed },
        measured => PredictError::FewLoads {
            measured,
            needed,
            held,
        },
    }
}

/// Different loads per core, ascending.
fn levels(readings: &[Reading]) -> Vec<f64> {
    let mut all: Vec<f64> = readings.iter().map(Reading::load_per_core).collect();
    all.sort_by(f64::total_cmp);
    let mut levels: Vec<f64> = Vec::new();
    for load in all {
        if levels.last().is_none_or(|last| load > last * SAME) {
            levels.push(load);
        }
    }
    levels
}
