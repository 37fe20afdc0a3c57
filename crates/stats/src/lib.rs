//! Histograms, measurements, self-checks and verdicts: pure data and arithmetic.
//!
//! [`Measurement`] is what one trial of the driver yields; [`qos::judge`] turns it into a verdict; [`Summary`], [`Ratio`]
//! and [`Fairness`] say what several repeats or guests tell together, [`Effect`] what a change of one factor is worth.

mod detectable;
mod effect;
mod error_class;
pub mod faults;
mod histogram;
mod measurement;
pub mod qos;
mod random;
mod student;
mod summary;
mod throughput;

pub use detectable::{POWER, detectable_between, detectable_paired, pairs_for, reach, repeats_for};
pub use effect::{Alias, Basis, Change, Contrast, Design, Effect, Goal, Observation, effect, holm, interaction};
pub use error_class::ErrorClass;
pub use histogram::{BlobError, Latencies};
pub use measurement::{
    DriverQuality, ErrorExample, ErrorTally, GuestMeasurement, Measurement, Mode, OperationMeasurement, Pacing, ResourceSample,
    SecondSample, ShopCounters, Window,
};
pub use student::t_975;
pub use summary::{Fairness, Ratio, Spread, Summary};
pub use throughput::ORDER;
