//! Whole runs of simulated studies.

mod changes;
mod simulated;
