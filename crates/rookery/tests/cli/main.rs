//! Tests of the command line that perform no trial: files, plans, forecasts, refusals, and guests'
//! supervisors. They run beside each other.

#[path = "../common/mod.rs"]
mod common;

mod big;
mod data;
mod demo_lab;
mod fit;
mod gates;
mod hostile;
mod live;
mod orderentry;
mod plan;
mod refusals;
mod runs;
mod supervise;
mod try_out;
mod width;

/// Nothing here disturbs what runs beside it.
const ONE_AT_A_TIME: bool = false;
