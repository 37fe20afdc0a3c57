//! Removal by open directories and single names: no link is followed.

use std::os::fd::OwnedFd;

use rustix::{
    fs::{AtFlags, Dir, FileType, statat, unlinkat},
    io::{self, Errno},
};

use super::position::open;

/// What `name` is in `at`; `None` where there is nothing.
pub(super) fn kind_of(at: &OwnedFd, name: &[u8]) -> io::Result<Option<FileType>> {
    match statat(at, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes `name` in `at` with all that is in it; what it was.
pub(super) fn remove(at: &OwnedFd, name: &[u8]) -> io::Result<Option<FileType>> {
    let kind = kind_of(at, name)?;
    match kind {
        None => {}
        Some(FileType::Directory) => {
            clear(&open(at, name)?)?;
            unlinkat(at, name, AtFlags::REMOVEDIR)?;
        }
        Some(_) => unlinkat(at, name, AtFlags::empty())?,
    }
    Ok(kind)
}

/// Removes all that is in a directory. No tree is deeper than its limits allow, nor is this.
pub(crate) fn clear(directory: &OwnedFd) -> io::Result<()> {
    // Names are taken first: what a directory lists while it is changed is not certain.
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if !matches!(&name[..], b"." | b"..") {
            names.push(name);
        }
    }
    for name in names {
        remove(directory, &name)?;
    }
    Ok(())
}
