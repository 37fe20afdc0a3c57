//! Storage of guests: volumes that Rookery makes itself, limits on I/O, memory nodes, and reading
//! all of it back.
//!
//! A [`Volume`] is one or several files that loop devices make block devices of, below the run's
//! directory, or listed there and lying elsewhere. Their names carry the run's label, so that
//! clean-up finds the devices even when nothing else is left. It may also be a block device of the
//! host, which the run's directory lists.
//! A guest that is made with a [`Provision`] keeps its data there.

mod ability;
mod copies;
mod device_record;
mod fault;
mod in_force;
mod moves;
mod names;
mod provision;
mod roles;
mod traces;
mod view;
mod volume;

pub(crate) use ability::{IoLimiter, StorageAbility, foreign_tier, missing};
pub(crate) use copies::unmount_copies;
pub(crate) use device_record::{device_traces, records};
pub use fault::{VolumeFault, VolumeLook};
pub(crate) use fault::{device_fault, file_system_fault};
pub use in_force::InForce;
pub(crate) use in_force::{io_readings, node_reading, role_readings};
pub use moves::RoleMove;
pub(crate) use moves::{RoleEnds, fill_role};
pub(crate) use names::volumes;
pub(crate) use provision::{ProvidedVolumes, Store};
pub use provision::{Provision, RoleProvision};
pub use roles::RoleDirectory;
pub(crate) use roles::{make_roles, role_place};
pub(crate) use traces::{mounted_by_runs, traces};
pub(crate) use view::View;
pub(crate) use volume::remove_listed;
pub use volume::{Volume, VolumeDevice};
