//! The doors of the fuzz targets, there only when they are built.

pub use crate::sqlite::frames::{Frames, read as sqlite_frames};
