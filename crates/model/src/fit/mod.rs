//! Fitting scaling laws to measurements, with their uncertainty, and choosing between them.
//!
//! [`judge`] does it all: it fits every candidate, refuses what the data cannot carry, and chooses
//! by the error on the held-out largest loads.

mod bootstrap;
mod choose;
mod closed;
mod data;
mod goodness;
mod levenberg;
mod options;
mod transform;
mod trust;
mod usl;

pub use bootstrap::Bootstrap;
pub use choose::{Baselines, Candidate, Fitted, HeldOut, Judgement, Model, judge};
pub use closed::{ClosedFit, fit_closed};
pub use data::{DataError, Exclusion, Load, Observation, Observations, Weights};
pub use goodness::{FTest, Goodness, PredictionError, lack_of_fit, nested_f_test};
pub use options::Options;
pub use transform::{TransformFit, fit_transform};
pub use trust::{Finding, Rule, Severity};
pub use usl::{Family, Interval, Prediction, UslFit, fit_usl};
