//! A mount namespace in which volumes have to be seen as well, as what is mounted on the host later
//! than it began is not seen there; or in which they must not be seen any more.

use std::{fs::File, io, os::fd::AsFd, thread};

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

/// A mount namespace.
#[derive(Debug)]
pub(crate) struct View(File);

impl From<File> for View {
    /// The namespace that this file is of.
    fn from(file: File) -> Self {
        Self(file)
    }
}

impl View {
    /// That of the calling thread.
    ///
    /// # Errors
    /// When there is no `/proc`.
    pub(crate) fn here() -> io::Result<Self> {
        File::open("/proc/thread-self/ns/mnt").map(Self)
    }

    /// Do `work` there, on a thread of its own.
    ///
    /// # Errors
    /// When it cannot be entered, or those of the work.
    pub(crate) fn within<T: Send>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        let body = || {
            // SAFETY: only what this short-lived thread knows of its root and directory is its own
            // from now on; no file descriptor table or memory changes.
            unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS) }?;
            move_into_link_name_space(self.0.as_fd(), Some(LinkNameSpaceType::Mount))?;
            work()
        };
        thread::scope(|scope| scope.spawn(body).join()).unwrap_or_else(|_| {
            Err(io::Error::other(
                "the work inside the mount namespace panicked",
            ))
        })
    }
}
