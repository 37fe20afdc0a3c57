//! The directory of this user that outlives processes: who holds what of this host, and what must
//! be put back.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rustix::fs::FlockOperation;

/// How long the lock is waited for: longer than any clean-up takes, so that only a holder that
/// stands still (stopped by a signal, or waiting for a dead disk) makes others give up.
const PATIENCE: Duration = Duration::from_secs(180);
/// Time between two looks at a lock that somebody else holds.
const PAUSE: Duration = Duration::from_millis(20);

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

    /// Make the directory and wait for its lock, for three minutes at most. It may be removed by
    /// the holder before us, so look twice.
    ///
    /// # Errors
    /// When it cannot be made, others may write to it, or another process keeps the lock.
    pub fn lock(&self) -> io::Result<StateLock> {
        self.lock_within(PATIENCE)
    }

    fn lock_within(&self, patience: Duration) -> io::Result<StateLock> {
        let deadline = Instant::now() + patience;
        loop {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&self.base)?;
            let directory = match File::open(&self.base) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened?,
            };
            let held = directory.metadata()?;
            match rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive) {
                Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < deadline => {
                    thread::sleep(PAUSE);
                    continue;
                }
                Err(rustix::io::Errno::WOULDBLOCK) => return Err(still_locked(&held, patience)),
                locked => locked?,
            }
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

/// The error of a lock that another process keeps, with its number where the kernel tells it.
fn still_locked(directory: &fs::Metadata, patience: Duration) -> io::Error {
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let holder = match holder(&locks, directory.ino()) {
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    };
    io::Error::new(
        io::ErrorKind::TimedOut,
        format!(
            "{holder} has held its lock for {} s; let that process go on (`kill -CONT`) or end it, \
             and try again",
            patience.as_secs()
        ),
    )
}

/// Who holds the lock of the file with this inode number, by the lines of `/proc/locks`: number,
/// `FLOCK`, mode, access, process, `major:minor:inode`, range. Lines of those that wait have `->`
/// after the number. Processes of other PID namespaces have no positive number.
fn holder(locks: &str, inode: u64) -> Option<u32> {
    locks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, _, pid, file, ..] = fields[..] else {
            return None;
        };
        let found = file.rsplit(':').next()?.parse::<u64>().ok()?;
        (found == inode).then(|| pid.parse().ok()).flatten()
    })
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
    fn a_lock_that_another_keeps_is_given_up_with_its_holder() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let state = StateDir::at(&directory.path().join("state"));
        let _lock = state.lock().expect("lock");
        let error = state
            .lock_within(Duration::from_millis(30))
            .expect_err("held by us");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let told = error.to_string();
        assert!(
            told.starts_with(&format!("process {} has held", std::process::id())),
            "{told}"
        );
    }

    #[test]
    fn holders_are_read_from_the_kernels_list() {
        let locks = "1: POSIX  ADVISORY  WRITE 10 fd:00:7 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 11 00:19:7 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 12 00:19:7 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE -1 00:19:8 0 EOF\n";
        assert_eq!(holder(locks, 7), Some(11));
        assert_eq!(holder(locks, 8), None);
        assert_eq!(holder("", 7), None);
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
