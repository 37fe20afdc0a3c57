//! Bare guests: a process group on an own loopback address. Needs no root and nothing installed.
//!
//! CPU affinity is in force, and for root, by a control group, whole CPUs and memory; limits on CPU
//! time and processes are not, and a guest's user is the caller. Processes and control groups are
//! what all kinds label: it has no sweep of its own.

mod control;
mod group_usage;
mod guest;
mod lab;

use crate::storage::{IoLimiter, StorageAbility};
pub(super) use lab::BareGuests;

/// What storage bare guests can have.
pub(super) const STORAGE: StorageAbility = StorageAbility {
    keeps_data: true,
    io_limits: IoLimiter::Nothing,
};
