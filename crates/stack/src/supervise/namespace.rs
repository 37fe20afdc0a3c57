//! A user namespace in which the caller is a plain user.
//!
//! Apache and MariaDB behave differently, or refuse, when they find themselves to be root. In a
//! namespace that maps the caller to the user of Debian's web server they are plain users, while
//! every file keeps its owner outside.

use std::{fs, io};

use rustix::{
    process::{getegid, geteuid},
    thread::{UnshareFlags, unshare_unsafe},
};

/// `www-data` of Debian: the user that guests see.
const INNER_ID: u32 = 33;

/// Where the caller is root: enter a user namespace in which it is not. Call it on the only thread
/// of the process.
pub(super) fn leave_root() -> io::Result<()> {
    if !geteuid().is_root() {
        return Ok(());
    }
    enter_user_namespace(INNER_ID, INNER_ID)
}

/// Enter a namespace of shared memory of our own; a plain user gets it together with a user
/// namespace in which he is himself.
pub(super) fn own_ipc() -> io::Result<()> {
    // SAFETY: file descriptors stay shared (no `FILES`), and we hold no shared memory.
    if unsafe { unshare_unsafe(UnshareFlags::NEWIPC) }.is_ok() {
        return Ok(());
    }
    enter_user_namespace(geteuid().as_raw(), getegid().as_raw())?;
    // SAFETY: as above.
    unsafe { unshare_unsafe(UnshareFlags::NEWIPC) }.map_err(io::Error::from)
}

/// Enter a user namespace in which the caller has these numbers.
fn enter_user_namespace(inner_user: u32, inner_group: u32) -> io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    // SAFETY: file descriptors stay shared (no `FILES`); the kernel itself refuses a new user
    // namespace to a process of several threads.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER) }?;
    // Without this the kernel does not let a process write its own group map.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{inner_user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{inner_group} {group} 1"))
}
