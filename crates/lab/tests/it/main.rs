//! Whole runs of simulated studies.

mod changes;
mod links;
mod simulated;
