//! Why the load files could not be written.

use std::{io, path::PathBuf};

/// Why the load files could not be written.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// A file of the set is there already.
    #[error("{} exists already; choose another directory, remove the file, or allow files to be replaced", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The directory cannot be made.
    #[error("cannot make the directory {}: {source}; choose a directory that you may write to", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Too little room, found before anything is written.
    #[error(
        "the files need about {} MB but the disk of {} has {} MB free; choose a smaller size, make \
         room, or choose a directory on another disk",
        needed / 1_000_000,
        path.display(),
        free / 1_000_000
    )]
    NoRoom {
        /// The directory.
        path: PathBuf,
        /// Bytes needed.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// The disk became full.
    #[error("the disk is full while writing {}; make room or choose a directory on another disk, then start again", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}; check the permissions and the disk, then start again", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The stop flag was set.
    #[error("stopped; the complete files in {} stay, start again with replacing allowed to write all", path.display())]
    Stopped {
        /// The directory.
        path: PathBuf,
    },
}
