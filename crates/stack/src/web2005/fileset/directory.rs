//! Directories of a set, held open: the kernel looks up a file by its name alone, not by its path.

use std::{io, os::fd::OwnedFd, path::Path};

use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, unlinkat},
    io::Errno,
};

use super::FilesetError;

/// Mode of directories, before the mask of this process.
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o777);
/// Mode of files, which no one may change.
const FILE_MODE: Mode = Mode::from_raw_mode(0o444);

/// The root of a set.
pub(super) struct Root<'p> {
    fd: OwnedFd,
    path: &'p Path,
}

/// A directory of files.
pub(super) struct Directory(OwnedFd);

impl<'p> Root<'p> {
    /// Opens the directory `path`, which exists.
    pub(super) fn open(path: &'p Path) -> Result<Self, FilesetError> {
        let fd = openat(
            CWD,
            path,
            OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map_err(|error| FilesetError::write(path)(error.into()))?;
        Ok(Self { fd, path })
    }

    /// Opens a directory below the root, and makes it and what is above it where they do not exist.
    pub(super) fn make(&self, below: &str) -> Result<Directory, FilesetError> {
        self.make_all(below)
            .and_then(|()| {
                openat(
                    &self.fd,
                    below,
                    OFlags::DIRECTORY | OFlags::CLOEXEC,
                    Mode::empty(),
                )
            })
            .map(Directory)
            .map_err(|error| self.failure(below, error.into()))
    }

    /// What cannot be written at a path below the root.
    pub(super) fn failure(&self, below: &str, source: io::Error) -> FilesetError {
        FilesetError::write(&self.path.join(below))(source)
    }

    fn make_all(&self, below: &str) -> Result<(), Errno> {
        match mkdirat(&self.fd, below, DIRECTORY_MODE) {
            // What is no directory cannot be opened as one.
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(Errno::NOENT) => {
                let (above, _) = below.rsplit_once('/').ok_or(Errno::NOENT)?;
                self.make_all(above)?;
                self.make_all(below)
            }
            Err(error) => Err(error),
        }
    }
}

impl Directory {
    /// A new, empty file in place of any other of this name.
    pub(super) fn create(&self, name: &str) -> Result<OwnedFd, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        match openat(&self.0, name, flags, FILE_MODE) {
            // Only an interrupted writing left one; it may be a link to elsewhere.
            Err(Errno::EXIST) => {
                unlinkat(&self.0, name, AtFlags::empty())?;
                openat(&self.0, name, flags, FILE_MODE)
            }
            made => made,
        }
    }
}
