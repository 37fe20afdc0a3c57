//! What stored runs say, in numbers: the analysis of one run, how two runs compare, what a search
//! has found, which demands the measurements show, what follows for layouts and loads that were not
//! run, and how far to trust it.
//!
//! [`Analysis`] is the whole of one run and serialises; [`json_schema`] describes its form.
//! Everything here reads stored runs and computes; it touches no guest and knows no clock. No
//! sentence is made here: words are the report's.

#![cfg_attr(
    test,
    allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        reason = "tests cast numbers of their own"
    )
)]

mod analysis;
pub mod baselines;
pub mod best;
pub mod capacity;
pub mod compare;
pub mod cpu;
pub mod cpu_distance;
pub mod cpu_speed;
pub mod distribution;
pub mod effects;
pub mod estimate;
#[cfg(test)]
mod fixture;
pub mod grouped;
pub mod groups;
pub mod hosts;
mod identity;
pub mod io;
pub mod label;
pub mod ladder;
pub mod layers;
pub mod loads;
mod mean;
mod meaning;
pub mod metrics;
pub mod points;
pub mod predict;
pub mod ranking;
mod reduce;
mod run;
pub mod scaling;
pub mod schema;
pub mod search;
pub mod searches;
pub mod storage;
pub mod tiles;
pub mod timeline;
pub mod trend;
pub mod trust;
mod units;
pub mod weights;
mod window;
pub mod wish;

pub use analysis::{Analysis, FORMAT, RunInfo, TrialCounts, WorkloadSummary, json_schema};
pub use run::{Run, TrialData};
