//! Prediction from stored runs: what layouts and loads that were not run would do, and how wrong
//! that may be.
//!
//! [`Readings`] say what trials measured; [`Calibration`] finds demands in them; [`Candidates`] are
//! all models fitted to them; [`Choice`] picks one by its error on held-out loads; [`Holdout`] and
//! [`HeldOutError`] measure that error honestly: what is held out is seen by no fit and no choice.

mod calibrate;
mod candidates;
mod choose;
mod error;
mod estimate;
#[cfg(test)]
pub(crate) mod fixture;
mod forecast;
mod holdout;
mod interval;
mod pack;
mod ratios;
mod reading;
mod scenario;
mod shape;
mod split;
mod structure;
#[cfg(test)]
mod tests;

pub use calibrate::{Calibration, DemandOf, Growth};
pub use candidates::{Candidates, Method};
pub use choose::{Choice, Trialled};
pub use error::PredictError;
pub use forecast::{Forecast, ForecastQuantile, Forecaster, Kept, Numbers, Place};
pub use holdout::{HELD_SHARE, HeldOutError, HeldPoint, Holdout, MethodError, SEED};
pub use interval::{DRAWS, Ranged, Uncertainty};
pub use pack::{Packed, Packing, confirming_study, pack, predicted_knee};
pub use reading::{Offer, PERCENTILES, Quantile, Reading, Readings};
pub use scenario::{Host, shape, study_with};
pub use shape::{Group, Shape};
pub use split::Split;
pub use structure::{Limit, State, Structure};
