//! Virtual machines: a libvirt of the lab's own, inside the lab's network namespace (or that of the
//! host, where a shape says so), and QEMU below it.
//!
//! [`VmShape`](rookery_study::vm_shape::VmShape) is what a machine looks like; [`Accelerator`] what
//! executes it. Every guest boots the same read-only system (its kernel given directly) and has a
//! disk of its own, a clone of an image made from the template's layers. The guest's program runs
//! there in the very root that a container would have, so that both kinds differ in nothing but the
//! machine between.
//!
//! All of libvirt's files lie in the run's own directory of state, every emulator carries the run's
//! label in its environment and lies in the run's control group: a clean-up finds them as it finds
//! everything else.

mod accel;
mod agent;
mod base;
mod building;
mod clone;
mod cloud;
mod commands;
mod connection;
mod counters;
mod disk;
mod document;
mod domain;
mod events;
pub(crate) mod fuzzing;
mod guest;
mod image;
mod initrd;
mod interfaces;
mod lab;
mod libvirtd;
mod looks;
mod memory_kills;
mod merge;
mod needs;
mod network;
mod pins;
mod plug;
mod pool;
mod relay;
mod role_disks;
mod role_mounts;
mod seed;
mod serials;
mod shared;
mod swap;
mod sweep;
mod virsh;
mod xml;

use crate::storage::{IoLimiter, StorageAbility};
pub use accel::{Accelerator, AcceleratorChoice, choose_accelerator};
pub use agent::{AgentError, vm_agent};
pub(super) use lab::{VmGuests, check_shape};
pub(super) use needs::missing;
pub use pins::{GuestPins, audit_pins, pin_table};
pub(super) use sweep::Sweep;

/// What storage machines can have.
pub(super) const STORAGE: StorageAbility = StorageAbility {
    keeps_data: true,
    io_limits: IoLimiter::Emulator,
};
