//! What stored runs say, beyond what each trial says of itself: how two runs compare, what a search has found, which demands the
//! measurements show, what follows for layouts and loads that were not run, and how far to trust it.
//!
//! Everything here reads stored runs and computes; it touches no guest and knows no clock.

pub mod compare;
pub mod cpu;
mod identity;
pub mod io;
pub mod layers;
mod mean;
pub mod predict;
mod run;
pub mod search;
pub mod trust;
mod window;

pub use run::{Run, TrialData};
