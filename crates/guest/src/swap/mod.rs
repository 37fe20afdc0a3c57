//! Devices to which the memory of guests is swapped: made for a trial, and gone with it.
//!
//! The kernel swaps pages of every process to the areas that it has; which group may have how much
//! there is the matter of control groups. So a [`SwapDevice`] is the host's, as large as all guests
//! together may fill it, and the limit is each guest's. Files carry the run in their names, devices
//! of compressed memory in their labels, and a record tells of a device before it has one.

mod ability;
mod device;
mod in_force;
mod record;
mod traces;

pub(crate) use ability::missing;
pub use device::SwapDevice;
pub(crate) use device::{DeviceContext, swap_files};
pub(crate) use in_force::{SWAP, swap_reading};
pub(crate) use traces::{SwapTrace, swap_traces};

/// Name of the directory, below the registry's, that holds the records of each run.
pub(crate) const STATE: &str = "swap";
