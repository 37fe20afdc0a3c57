//! Paths of sockets may have 107 bytes, those of guests' directories are often longer: an open
//! directory has a short name.

use std::{
    fs::File,
    io,
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
};

/// An open directory.
#[derive(Debug)]
pub(crate) struct ShortPath(File);

impl ShortPath {
    pub(crate) fn open(directory: &Path) -> io::Result<Self> {
        File::open(directory).map(Self)
    }

    /// A short path to the directory itself, as long as `self` lives.
    pub(crate) fn directory(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
    }

    /// A short path to `name` in the directory, as long as `self` lives.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.directory().join(name)
    }
}

/// A short path to a socket, which holds as long as the directory given with it is open.
///
/// # Errors
/// When it is no path of a file, or its directory cannot be opened.
pub(crate) fn short_socket(path: &Path) -> io::Result<(ShortPath, PathBuf)> {
    let (Some(directory), Some(name)) = (
        path.parent(),
        path.file_name().and_then(|name| name.to_str()),
    ) else {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the path names no socket",
        ));
    };
    let open = ShortPath::open(directory)?;
    let short = open.join(name);
    Ok((open, short))
}
