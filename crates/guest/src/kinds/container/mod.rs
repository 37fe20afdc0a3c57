//! Container guests: an OCI bundle on an overlay clone of the template, run by runc, in an own
//! network namespace on the lab's bridge.

mod config;
mod guest;
mod lab;
mod needs;
mod seccomp;
mod sweep;

use crate::storage::{IoLimiter, StorageAbility};
pub(super) use lab::ContainerGuests;
pub(super) use needs::missing;
pub(super) use sweep::Sweep;

/// What storage containers can have.
pub(super) const STORAGE: StorageAbility = StorageAbility {
    keeps_data: true,
    io_limits: IoLimiter::ControlGroup,
};

/// Name of the directory, below the registry's, that holds runc's state of each run.
const STATE: &str = "runc";
