//! Files that are reached without following a symbolic link anywhere on the way.
//!
//! The directory of a run may lie below one that belongs to somebody who is not root, while root
//! writes: nobody shall have us write to, or show, a file of another. Paths must be given as
//! [`std::fs::canonicalize`] gives them.

use std::{
    fs::File,
    io::{self, Write as _},
    path::Path,
};

use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, openat2, unlinkat},
    io::Errno,
};

/// Mode of a new file.
const MODE: u32 = 0o644;

/// A new empty file; what is there of that name, a link too, is replaced.
///
/// # Errors
/// When the directory cannot be written to, or is reached through a symbolic link.
pub fn replace(path: &Path) -> io::Result<File> {
    if let (Some(directory), Some(name)) = (path.parent(), path.file_name()) {
        let directory = open(directory, OFlags::PATH | OFlags::DIRECTORY)?;
        match unlinkat(directory, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(named(path, error)),
        }
    }
    open(path, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)
}

/// [`replace`] a file by one of this content.
///
/// # Errors
/// As there, or when the disk refuses.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    replace(path)?.write_all(content)
}

/// The file, to write at its end; made when it is not there.
///
/// # Errors
/// When it is a symbolic link, or is reached through one.
pub fn append(path: &Path) -> io::Result<File> {
    open(path, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE)
}

/// The file, to read it.
///
/// # Errors
/// When it is not there, is a symbolic link, or is reached through one.
pub fn read(path: &Path) -> io::Result<File> {
    open(path, OFlags::RDONLY)
}

/// Open with the path in the error.
fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let mode = if flags.contains(OFlags::CREATE) {
        Mode::from_raw_mode(MODE)
    } else {
        Mode::empty()
    };
    let flags = flags | OFlags::CLOEXEC;
    openat2(CWD, path, flags, mode, ResolveFlags::NO_SYMLINKS)
        .map(File::from)
        .map_err(|error| named(path, error))
}

fn named(path: &Path, error: Errno) -> io::Error {
    let error = io::Error::from(error);
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn no_file_is_reached_through_a_link() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let home = directory
            .path()
            .canonicalize()
            .expect("a path without links");
        let (victim, log) = (home.join("victim"), home.join("run.log"));
        fs::write(&victim, "precious\n").expect("written");
        symlink(&victim, &log).expect("linked");
        assert!(append(&log).is_err() && read(&log).is_err());
        write(&log, b"own\n").expect("replaced");
        append(&log).expect("a file of its own");
        assert_eq!(fs::read_to_string(&victim).expect("read"), "precious\n");

        let (logs, real) = (home.join("logs"), home.join("real"));
        fs::create_dir(&real).expect("made");
        symlink(&real, &logs).expect("linked");
        assert!(append(&logs.join("g1.log")).is_err());
        assert!(replace(&logs.join("g1.log")).is_err());
        assert_eq!(fs::read_dir(&real).expect("read").count(), 0);
    }
}
