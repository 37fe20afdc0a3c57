//! What emulated users do: operations, page contracts, data generators.
//!
//! Each workload has a room of its own; [`WorkloadKind`] is their registry. What generic code needs
//! to know of a workload it finds in its [`WorkloadInfo`] and in its [`Counters`].
//!
//! Everything here is pure: it reads no clock and does no I/O. A generator writes into a buffer
//! that the caller owns, a page is rendered into one, a response is judged from bytes.

#![cfg_attr(
    test,
    allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        reason = "tests cast numbers of their own"
    )
)]

pub mod cms;
pub mod data_driven;
mod delay;
mod digits;
pub mod dvdstore;
pub mod http;
mod info;
mod kind;
mod metric;
pub mod netstream;
mod number;
pub mod orderentry;
mod proof;
pub mod random;
mod rates;
mod registry;
pub mod sample;
pub mod sql;
mod streams;
pub mod web2005;
mod window;

pub use delay::{CUT as DELAY_CUT, DelayDistribution, RandomDelay};
pub use info::{
    Clients, DriverRole, MixShare, OperationInfo, OperationRole, UnitOfWork, WorkloadInfo,
};
pub use kind::WorkloadKind;
pub use metric::{Better, Metric, MetricValue};
pub use proof::{FoundRow, Proof, ProofRow};
pub use rates::UnitRates;
pub use registry::{Counters, DifferentWorkloads};
pub use streams::UserDelays;
pub use window::Window;
