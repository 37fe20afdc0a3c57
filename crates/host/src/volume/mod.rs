//! Volumes: files that loop devices make block devices of, or block devices of the host, with a
//! file system of our choosing.
//!
//! [`VolumeSpec`] says what is wanted, [`loops`](loops::loops) finds what is attached,
//! [`devices`] takes a device of the host, [`in_force`] reads back what a mounted volume really is.
//! Nothing here touches a device that is neither a loop device of a file that the caller names, nor
//! one that the caller names and that holds nothing of others.

pub mod devices;
pub mod loops;
mod options;

pub use options::{
    AccessTimes, DeviceSource, FileSystem, InForce, JournalMode, MountedBy, VolumeSpec, in_force,
};
