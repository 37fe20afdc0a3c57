//! The directory of this user that outlives processes: who holds what of this host, and what must
//! be put back.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

/// A directory for what must survive the process that wrote it, with one lock for all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDir {
    base: PathBuf,
}

/// Held while the directory is changed or what it tells of is being cleaned up.
#[derive(Debug)]
pub struct StateLock {
    _directory: File,
}

impl StateDir {
    /// That of this user: `/run/rookery` for root, else below `$XDG_RUNTIME_DIR` or `/tmp`.
    #[must_use]
    pub fn from_environment() -> Self {
        let user = rustix::process::geteuid();
        let base = match std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty()) {
            _ if user.is_root() => PathBuf::from("/run/rookery"),
            Some(dir) => Path::new(&dir).join("rookery"),
            None => PathBuf::from(format!("/tmp/rookery-{}", user.as_raw())),
        };
        Self { base }
    }

    /// Another one.
    #[must_use]
    pub fn at(base: &Path) -> Self {
        Self {
            base: base.to_owned(),
        }
    }

    /// Where it is; it need not exist.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.base
    }

    /// Make the directory and wait for its lock. It may be removed by the holder before us, so look
    /// twice.
    ///
    /// # Errors
    /// When it cannot be made, or others may write to it.
    pub fn lock(&self) -> io::Result<StateLock> {
        loop {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&self.base)?;
            let directory = match File::open(&self.base) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened?,
            };
            rustix::fs::flock(&directory, rustix::fs::FlockOperation::LockExclusive)?;
            let held = directory.metadata()?;
            // In a shared directory such as /tmp somebody else could have made it, to make us
            // delete or write things.
            if held.uid() != rustix::process::geteuid().as_raw() || held.mode() & 0o022 != 0 {
                return Err(io::Error::other(
                    "it belongs to another user or others may write to it; remove it, or set \
                     XDG_RUNTIME_DIR",
                ));
            }
            if fs::metadata(&self.base)
                .is_ok_and(|named| (named.dev(), named.ino()) == (held.dev(), held.ino()))
            {
                return Ok(StateLock {
                    _directory: directory,
                });
            }
        }
    }

    /// Remove the directory if nothing is in it.
    pub fn remove_if_empty(&self, _lock: &StateLock) {
        let _ = fs::remove_dir(&self.base);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_others_may_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().expect("temporary directory");
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).expect("mode");
        assert!(StateDir::at(directory.path()).lock().is_err());
    }

    #[test]
    fn the_lock_excludes_and_survives_removal_of_the_directory() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let state = StateDir::at(&directory.path().join("state"));
        let lock = state.lock().expect("lock");
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _lock = state.lock().expect("lock");
                assert!(state.path().exists());
                sender.send(()).expect("receiver lives");
            });
            assert!(
                receiver
                    .recv_timeout(std::time::Duration::from_millis(20))
                    .is_err(),
                "held by us"
            );
            state.remove_if_empty(&lock);
            drop(lock);
        });
        receiver.recv().expect("got the lock");
    }
}
