//! Paths of sockets may have 107 bytes, those of guests' directories are often longer: an open directory has a short name.

use std::{
    fs::File,
    io,
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
};

/// An open directory.
#[derive(Debug)]
pub(super) struct ShortPath(File);

impl ShortPath {
    pub(super) fn of(directory: &Path) -> io::Result<Self> {
        File::open(directory).map(Self)
    }

    /// A short path to `name` in the directory, as long as `self` lives.
    pub(super) fn join(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.0.as_raw_fd()))
    }
}
