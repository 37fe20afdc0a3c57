//! Network namespaces by name.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    thread,
};

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

/// Where `ip netns` looks for names.
pub const NETNS_DIR: &str = "/run/netns";

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
/// Done with system calls: `ip netns add` would leave `/run/netns` mounted on itself, and costs a
/// process per guest.
///
/// # Errors
/// When the name is taken, the caller is not root, or `work` fails.
pub fn make_netns<T: Send>(
    name: &str,
    work: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    std::fs::create_dir_all(NETNS_DIR)?;
    let path = netns_path(name);
    File::create_new(&path)?;
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

/// Remove a named network namespace; the interfaces inside vanish with its last user. Absent is
/// fine.
///
/// # Errors
/// When the name cannot be removed.
pub fn remove_netns(name: &str) -> io::Result<()> {
    let path = netns_path(name);
    match rustix::mount::unmount(&path, rustix::mount::UnmountFlags::DETACH) {
        // INVAL: the name was made, but not yet mounted on.
        Ok(()) | Err(rustix::io::Errno::NOENT | rustix::io::Errno::INVAL) => {}
        Err(error) => return Err(error.into()),
    }
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Names of all named network namespaces.
///
/// # Errors
/// When the directory of names exists but cannot be read.
pub fn netns_names() -> io::Result<Vec<String>> {
    match std::fs::read_dir(NETNS_DIR) {
        Ok(entries) => Ok(entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
