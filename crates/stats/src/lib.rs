//! Histograms, measurements, self-checks and verdicts: pure data and arithmetic.
//!
//! [`Measurement`] is what one trial of the driver yields; [`qos::judge`] turns it into a verdict.

mod error_class;
mod histogram;
mod measurement;
pub mod qos;

pub use error_class::ErrorClass;
pub use histogram::Latencies;
pub use measurement::{
    DriverQuality, ErrorExample, ErrorTally, GuestMeasurement, Measurement, Mode, OperationMeasurement, Pacing, ResourceSample,
    SecondSample, ShopCounters, Window,
};
