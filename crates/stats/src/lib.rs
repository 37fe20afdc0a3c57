//! Histograms, measurements, self-checks and verdicts: pure data and arithmetic.
//!
//! [`Measurement`] is what one trial of the driver yields; [`qos::judge`] turns it into a verdict;
//! [`Summary`], [`Ratio`] and [`Fairness`] say what several repeats or guests tell together,
//! [`Effect`] what a change of one factor is worth.
//!
//! Within a trial, [`checks`] tells what [`faults`] cannot see in a measurement alone, [`steady`]
//! judges the steady state, [`BatchMeans`] gives an interval to the mean of its seconds,
//! [`PercentilePoint`] bounds to its percentiles. Between trials, [`adaptive`] says when there are
//! enough repeats, [`Bootstrap`] and [`Shift`] compare lots of them, and
//! [`detectable_paired`] and its kin say which change could have been seen. Over many runs,
//! [`change_points`] says where a level changed.

#![cfg_attr(
    test,
    allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        reason = "tests cast numbers of their own"
    )
)]

pub mod adaptive;
mod batch;
mod bootstrap;
mod change_points;
pub mod checks;
mod database_load;
mod detectable;
mod effect;
mod error_class;
pub mod faults;
mod guest_interrupts;
mod guest_link;
mod histogram;
mod kernel_count;
mod machine;
mod measurement;
mod multiple;
mod omission;
mod other_work;
pub mod pilot;
pub mod qos;
mod rank;
mod shift;
pub mod steady;
mod student;
mod summary;
mod throughput;
pub mod trial_checks;
mod units;
mod workloads;

pub use batch::{BatchMeans, autocorrelation, effective_count};
pub use bootstrap::Bootstrap;
pub use change_points::{ChangePoint, change_points};
pub use database_load::DatabaseLoad;
pub use detectable::{POWER, detectable_between, detectable_paired, pairs_for, reach, repeats_for};
pub use effect::{
    Alias, Basis, Change, Contrast, Design, Effect, Goal, Observation, effect, holm, interaction,
};
pub use error_class::ErrorClass;
pub use guest_interrupts::interrupt_remarks;
pub use guest_link::{GuestLink, PacketSizes, link_remarks};
pub use histogram::{BlobError, Latencies};
pub use kernel_count::{KernelCount, KernelCounter, kernel_remarks};
pub use machine::{MachineInside, MachineLook, MachineOutside};
pub use measurement::{
    ArrivalCounts, CpuParts, DriverQuality, ErrorExample, ErrorTally, GuestMeasurement, IoRates,
    Measurement, MemoryRates, Mode, OperationMeasurement, Pacing, PressureShares, ReclaimRates,
    ResourceSample, SecondSample,
};
pub use multiple::benjamini_hochberg;
pub use omission::{HiddenFreeze, hidden_freezes};
pub use other_work::{
    HostSize, OtherProgram, OtherWork, Surroundings, busy_host, mean_in_window, other_work,
};
pub use rank::{PercentilePoint, RankBounds, fewest_for_upper_bound};
pub use rookery_workload::Window;
pub use shift::Shift;
pub use student::{t_975, two_sided_p};
pub use summary::{Fairness, Ratio, Spread, Summary, WIDEST};
