//! What fuzz targets reach of the inside of this crate.

pub use crate::sqlite::frames::{Frames, read as sqlite_frames};
