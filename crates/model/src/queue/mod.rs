//! Queueing models: closed networks exactly and approximately, bounds, open stations, percentiles.
//!
//! Times in seconds, rates per second, demands in core-seconds or device-seconds per transaction.
//! Assumptions of the closed models (product form): a user does one thing at a time; stations are
//! processor-sharing or delay with any service distribution, or first-come-first-served with
//! exponential service.

mod approximate;
mod bounds;
mod by_size;
mod classes;
mod exact;
mod flow;
mod mva;
mod open;
mod percentile;
mod repairman;
mod station;

pub(crate) use approximate::schweitzer_shared;
pub use approximate::{linearizer, schweitzer, schweitzer_scaled};
pub use bounds::{Range, asymptotic, balanced, knee};
pub use by_size::solve_classes;
pub use classes::{Class, ClassSolution, Method, exact_classes};
pub use exact::{Exact, solve};
pub use flow::{Flow, FlowSolution};
pub use mva::{Solution, mva, seidmann};
pub use open::{
    Multiserver, allen_cunneen, mg1_fcfs_wait, mm1_ps_deviation, mm1_quantile, open_classes,
    ps_response,
};
pub use percentile::{ResponseTimes, repairman_quantile};
pub use repairman::Repairman;
pub use station::{Capacity, ModelError, Station};
