//! Samplers of host, guests and databases, and the watch over guests under load.
//!
//! [`Samplers`] is the principal type: made from a [`SamplerConfig`] and the guests of a trial, it
//! puts the load on while its threads look on, and gives [`Observations`]. Configuration and
//! observations are plain data; a [`LoadState`] has what everything uses at the moment.

mod affinity;
mod clocks;
mod config;
mod cpu_distance;
mod cpu_speed;
mod databases;
mod deaths;
mod driver_programs;
mod host;
mod kernel;
mod machines;
mod placement;
mod programs;
mod sampler;
mod samplers;
mod schedule;

pub use affinity::cpu_mask;
pub use config::SamplerConfig;
pub use cpu_distance::cpu_distances;
pub use cpu_speed::cpu_speeds;
pub use databases::DatabaseLook;
pub use deaths::{GuestDeath, StorageLoss};
pub use driver_programs::DriverPrograms;
pub use programs::look_around;
pub use samplers::{Observations, Samplers};
pub use schedule::{LoadSchedule, LoadState};
