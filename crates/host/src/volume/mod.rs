//! Volumes: files that loop devices make block devices of, with a file system of our choosing.
//!
//! [`VolumeSpec`] says what is wanted, [`loops`](loops::loops) finds what is attached, [`in_force`]
//! reads back what a mounted volume really is. Nothing here touches a device that is not a loop
//! device of a file that the caller names.

pub mod loops;
mod options;

pub use options::{AccessTimes, FileSystem, InForce, JournalMode, MountedBy, VolumeSpec, in_force};
