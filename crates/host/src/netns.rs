//! Network namespaces by name.
//!
//! The names are not kept where `ip netns` keeps its own: the first `ip netns add` since the boot
//! mounts `/run/netns` on itself, recursively, and hides every mount that was made there before:
//! they could be unmounted by no path any more.

use std::{
    fs::{DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    thread,
};

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

/// Where the names are.
const NETNS_DIR: &str = "/run/rookery/netns";
/// Where `ip netns` keeps its names, and earlier releases kept ours.
const IP_NETNS_DIR: &str = "/run/netns";

/// Path of a named network namespace.
#[must_use]
pub fn netns_path(name: &str) -> PathBuf {
    Path::new(NETNS_DIR).join(name)
}

/// Move the calling thread into a network namespace, for good.
///
/// # Errors
/// When the namespace is not there or the caller is not root.
pub fn enter_netns(path: &Path) -> io::Result<()> {
    let namespace = File::open(path)?;
    Ok(move_into_link_name_space(
        std::os::fd::AsFd::as_fd(&namespace),
        Some(LinkNameSpaceType::Network),
    )?)
}

/// Run `work` on a thread inside the network namespace at `path`; without a path on a plain thread.
///
/// # Errors
/// When the namespace cannot be entered, or the work panics.
pub fn in_netns<T: Send>(path: Option<&Path>, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    let body = move || {
        path.map_or(Ok(()), enter_netns)?;
        Ok(work())
    };
    thread::scope(|scope| scope.spawn(body).join()).unwrap_or_else(|_| {
        Err(io::Error::other(
            "the work inside the network namespace panicked",
        ))
    })
}

/// Make a named network namespace and run `work` inside it. On an error, of `work` too, nothing is
/// left.
///
/// Done with system calls: `ip netns add` costs a process per guest.
///
/// # Errors
/// When the name is taken, the caller is not root, or `work` fails.
pub fn make_netns<T: Send>(
    name: &str,
    work: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let path = netns_path(name);
    create_name(&path)?;
    let made = thread::scope(|scope| {
        let body = || {
            // SAFETY: only the network namespace of this short-lived thread is unshared; no file
            // descriptor table or memory changes.
            unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }?;
            rustix::mount::mount_bind("/proc/thread-self/ns/net", &path)?;
            work()
        };
        scope.spawn(body).join().unwrap_or_else(|_| {
            Err(io::Error::other(
                "the work inside the network namespace panicked",
            ))
        })
    });
    if made.is_err() {
        let _ = remove_netns(name);
    }
    made
}

/// Run `work` on a thread in a network namespace that has no name, and is gone when the work is
/// done.
///
/// # Errors
/// When the caller is not root, or the work panics.
pub fn in_unnamed_netns<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    let body = move || {
        // SAFETY: only the network namespace of this short-lived thread is unshared; no file
        // descriptor table or memory changes.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }?;
        Ok(work())
    };
    thread::scope(|scope| scope.spawn(body).join()).unwrap_or_else(|_| {
        Err(io::Error::other(
            "the work inside the network namespace panicked",
        ))
    })
}

/// Make the file that a namespace is mounted on. The directory may be removed by the last run that
/// ends meanwhile, so look more than once.
fn create_name(path: &Path) -> io::Result<()> {
    let mut made = Err(io::Error::from(io::ErrorKind::NotFound));
    for _ in 0..NAME_ATTEMPTS {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(NETNS_DIR)?;
        made = File::create_new(path).map(drop);
        if !made
            .as_ref()
            .is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        {
            break;
        }
    }
    made
}

/// How often the directory of names may vanish while a name is made.
const NAME_ATTEMPTS: u32 = 10;

/// Remove a named network namespace; the interfaces inside vanish with its last user. Absent is
/// fine.
///
/// # Errors
/// When the name cannot be removed.
pub fn remove_netns(name: &str) -> io::Result<()> {
    remove_name(&netns_path(name))?;
    // A run of an earlier release may have left it.
    remove_name(&Path::new(IP_NETNS_DIR).join(name))
}

fn remove_name(path: &Path) -> io::Result<()> {
    match rustix::mount::unmount(path, rustix::mount::UnmountFlags::DETACH) {
        // INVAL: the name was made, but not yet mounted on.
        Ok(()) | Err(rustix::io::Errno::NOENT | rustix::io::Errno::INVAL) => {}
        Err(error) => return Err(error.into()),
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Names of all network namespaces that may be ours, those that earlier releases made included.
///
/// # Errors
/// When a directory of names exists but cannot be read.
pub fn netns_names() -> io::Result<Vec<String>> {
    let mut names = names_in(NETNS_DIR)?;
    names.extend(names_in(IP_NETNS_DIR)?);
    Ok(names)
}

fn names_in(directory: &str) -> io::Result<Vec<String>> {
    match std::fs::read_dir(directory) {
        Ok(entries) => Ok(entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Remove the directories of names as far as nothing is in them. Where `ip netns` has made its own
/// a mount point, that one stays.
pub fn remove_empty_netns_dirs() {
    for directory in [NETNS_DIR, IP_NETNS_DIR] {
        let _ = std::fs::remove_dir(directory);
    }
}
