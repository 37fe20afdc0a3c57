//! Bare guests: a process group on an own loopback address. Needs no root and nothing installed.
//!
//! CPU affinity is in force; limits on CPU time, memory and processes are not (they need control
//! groups), and a guest's user is the caller. Nothing of it outlives its processes, which all kinds
//! label: it has no sweep of its own.

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
