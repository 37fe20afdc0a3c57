//! Emulated users over HTTP, on the engine of load.
//!
//! [`run`] executes one trial of a [`Config`] and yields a
//! [`Measurement`](rookery_stats::Measurement); [`play`] does so in virtual time. What users do is
//! a [`Script`]: one of the [`workloads`].

#![cfg_attr(
    test,
    allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        reason = "tests cast numbers of their own"
    )
)]

mod browser;
mod check;
mod client;
mod config;
#[doc(hidden)]
pub mod fuzzing;
mod http;
mod merge;
mod part;
mod register;
mod run;
#[cfg(test)]
mod simulation;
mod site;
mod target;
mod thread;
mod user;
mod virtual_time;
mod worker;
pub mod workloads;

pub use config::{Assignment, Config};
pub use http::Limits;
pub use merge::{ForeignRecording, Recording, merge};
pub use part::Part;
pub use run::{run, run_part, run_with_tallies};
pub use virtual_time::play;
pub use workloads::Script;
