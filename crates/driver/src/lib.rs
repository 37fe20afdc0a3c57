//! Emulated users at work, and the driver's accusations against itself.

mod config;

pub use config::{Assignment, Config, Phases};
