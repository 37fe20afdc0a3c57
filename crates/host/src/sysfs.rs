//! `/sys` as a network namespace has it: below `class/net` are the interfaces of that namespace
//! alone.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::fd::{AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

/// The `/sys` of the network namespace of the thread that opened it. It is mounted at no place, so
/// that nobody else finds it, and is gone with this value.
#[derive(Debug)]
pub struct NamespaceSysfs(OwnedFd);

impl NamespaceSysfs {
    /// That of the calling thread's network namespace.
    ///
    /// # Errors
    /// When the caller is not root, or the kernel is older than 5.2.
    pub fn open() -> io::Result<Self> {
        let context = fsopen("sysfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        let flags = MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, flags)?;
        Ok(Self(mount))
    }

    /// Text of a file, by its path below `/sys`.
    ///
    /// # Errors
    /// When it cannot be read, with its path.
    pub fn read(&self, file: &str) -> io::Result<String> {
        fs::read_to_string(self.path(file)).map_err(|error| at("reading", file, &error))
    }

    /// Writes a value to a file in one call, as the kernel wants it. The file is never made.
    ///
    /// # Errors
    /// When the kernel refuses the value, with the path and its words.
    pub fn write(&self, file: &str, value: &str) -> io::Result<()> {
        let opened = OpenOptions::new().write(true).open(self.path(file));
        let written = opened.and_then(|mut opened| opened.write_all(value.as_bytes()));
        written.map_err(|error| at(&format!("writing `{value}` to"), file, &error))
    }

    /// Names in a directory, in their order.
    ///
    /// # Errors
    /// When it cannot be read, with its path.
    pub fn names(&self, directory: &str) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(self.path(directory));
        let entries = entries.map_err(|error| at("reading", directory, &error))?;
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
        Ok(names)
    }

    /// Where this process finds a file of it.
    fn path(&self, file: &str) -> PathBuf {
        let mount = format!("/proc/self/fd/{}", self.0.as_raw_fd());
        Path::new(&mount).join(file)
    }
}

/// The error with what was done to which file; its kind stays.
fn at(deed: &str, file: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{deed} /sys/{file}: {error}"))
}
