//! The engine of load: what every driver of emulated users stands on, whatever it speaks.
//!
//! A driver has one thread for each of its CPUs. [`run_together`] starts the threads,
//! [`supervise`] carries each through the [`Phases`] of a trial, [`TrialMonitor`] looks at all from
//! outside. Users are plain `async` functions that never leave their thread; buffers,
//! [`Recorder`]s and random streams belong to the thread too, and [`LoadDescription::measurement`]
//! merges them after the end. No lock, channel or atomic lies on the way of a request.
//!
//! Users over HTTP are in `rookery-web`, terminals on databases in `rookery-oltp`.

#![cfg_attr(
    test,
    allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        reason = "tests cast numbers of their own"
    )
)]

mod alarm;
mod arrivals;
mod check;
mod clock;
mod error;
mod fault;
mod load;
mod operation;
mod pacing;
mod phases;
mod record;
mod results;
mod secret;
mod threads;
mod tls;
mod virtual_time;

pub use alarm::{AlarmClock, Alarms};
pub use arrivals::{
    Admission, Arrival, ArrivalQueue, Course, Schedule, Share, Stream, persistence,
};
pub use check::{allow_descriptors, check_open_load};
pub use clock::{Clock, Nanos, Span, nanos, seconds};
pub use error::DriverError;
pub use fault::{EVIDENCE_BYTES, Fault, SubClass};
pub use load::{Arrivals, Load, OpenLoad, Precision, Profile, Visit};
pub use operation::{OperationEntry, OperationId, OperationTable};
pub use pacing::{Failures, Pace};
pub use phases::{Phase, Phases, Progress};
pub use record::{
    ArrivalRecord, FaultCount, GuestLoad, GuestSecond, LoadSecond, Outcome, Pause, Recorder, Timing,
};
pub use results::{DriverRecord, LoadDescription, ThreadResults};
pub use rookery_stats::faults::faults;
pub use secret::{SecretError, SecretFault, Secrets};
pub use threads::{
    CpuUse, LoadEnd, Placement, SWEEP, SecondBoard, ThreadStatus, ThreadTask, ThreadUsers,
    TrialControl, TrialMonitor, UserCounts, local_runtime, run_together, supervise,
};
pub use tls::{AnyCertificate, RootsError, signed_by};
pub use virtual_time::{Played, Request, System, VirtualLoad, VirtualUser, VirtualUsers, play};
