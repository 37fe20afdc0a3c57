//! Discrete-event simulation of one class of users, where no formula holds: first-come-first-served
//! with unlike service times, limits, quantiles.
//!
//! [`simulate`] plays one replication; [`replicate`] plays several until the interval is narrow
//! enough. Same seed, same events.

mod event_loop;
mod heap;
mod histogram;
mod service;
mod station;

pub use event_loop::{
    Network, Outcome, Population, Replications, SimulationError, replicate, simulate,
};
pub use histogram::TimeHistogram;
pub use service::Times;
pub use station::{Discipline, SimulatedStation};
