//! Emulated users at work, and the driver's accusations against itself.
//!
//! [`run`] executes one trial of a [`Config`] and yields a [`Measurement`](rookery_stats::Measurement); [`faults`] says whether the
//! driver itself was at fault, which makes the trial void.
//!
//! Each driver CPU has one thread with a runtime of its own. Users are plain `async` functions that never leave their thread; buffers,
//! recorders and random streams belong to the thread too, and are merged after the end. No lock, channel or atomic lies on the way of
//! a request.

mod alarm;
mod arrival;
mod check;
mod clock;
mod config;
pub mod crew;
mod desk;
mod error;
mod fault;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod http;
mod load;
mod record;
mod register;
mod run;
mod script;
mod site;
mod thread;
mod user;
mod virtual_time;
mod worker;

pub use config::{Assignment, Config, Limits, Phases, Script};
pub use error::DriverError;
pub use load::{Arrivals, Load, OpenLoad, Precision, Profile, Step, Visit};
pub use record::OrderTally;
pub use rookery_stats::faults::faults;
pub use run::{Phase, Progress, run, run_with_tallies};
pub use virtual_time::{Page, Request, System, play};
