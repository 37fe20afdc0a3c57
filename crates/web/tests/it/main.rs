//! Trials over HTTP against servers of the tests' own.

mod common;
mod errors;
mod network;
mod open;
mod trial;
