//! Which runs hold resources of this host: one small file per run, written before anything else is made.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

use rookery_host::{Identity, RunId};
use serde::{Deserialize, Serialize};

use crate::{GuestError, Kind};

/// What is known of a run that may hold resources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// The run.
    pub run: RunId,
    /// The process that conducts it.
    pub controller: Identity,
    /// Its directory of guests.
    pub dir: PathBuf,
    /// Kind of its guests.
    pub kind: Kind,
}

impl Registration {
    /// Whether its controller lives.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.controller.is_alive()
    }
}

/// The directory of registrations.
#[derive(Clone, Debug)]
pub(crate) struct Registry {
    base: PathBuf,
}

/// Held while registrations are changed or a clean-up runs.
pub(crate) struct Locked {
    _directory: File,
}

impl Registry {
    /// The registry of this user: `/run/rookery` for root, else below `$XDG_RUNTIME_DIR` or `/tmp`.
    pub(crate) fn of_user() -> Self {
        let user = rustix::process::geteuid();
        let base = match std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty()) {
            _ if user.is_root() => PathBuf::from("/run/rookery"),
            Some(dir) => Path::new(&dir).join("rookery"),
            None => PathBuf::from(format!("/tmp/rookery-{}", user.as_raw())),
        };
        Self { base }
    }

    #[cfg(test)]
    pub(crate) fn at(base: &Path) -> Self {
        Self { base: base.to_owned() }
    }

    /// runc's state of a run.
    pub(crate) fn runc_root(&self, run: &RunId) -> PathBuf {
        self.runc_roots().join(run.as_str())
    }

    /// Parent of the runs' runc states.
    pub(crate) fn runc_roots(&self) -> PathBuf {
        self.base.join("runc")
    }

    fn runs(&self) -> PathBuf {
        self.base.join("runs")
    }

    fn file(&self, run: &RunId) -> PathBuf {
        self.runs().join(format!("{run}.json"))
    }

    /// Wait for the lock. The directory itself is locked; it may be removed by the holder before us, so look twice.
    pub(crate) fn lock(&self) -> Result<Locked, GuestError> {
        let fail = |error: io::Error| step("lock the registry", &self.base, &error);
        loop {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.base).map_err(fail)?;
            let directory = match File::open(&self.base) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened.map_err(fail)?,
            };
            rustix::fs::flock(&directory, rustix::fs::FlockOperation::LockExclusive).map_err(|error| fail(error.into()))?;
            let held = directory.metadata().map_err(fail)?;
            // In a shared directory such as /tmp somebody else could have made it, to make us delete things.
            if held.uid() != rustix::process::geteuid().as_raw() || held.mode() & 0o022 != 0 {
                return Err(fail(io::Error::other(
                    "it belongs to another user or others may write to it; remove it, or set XDG_RUNTIME_DIR",
                )));
            }
            if fs::metadata(&self.base).is_ok_and(|named| (named.dev(), named.ino()) == (held.dev(), held.ino())) {
                return Ok(Locked { _directory: directory });
            }
        }
    }

    /// All registrations; unreadable files are left out (they cannot be ours: ours are renamed into place whole).
    pub(crate) fn read(&self) -> Vec<Registration> {
        let entries = fs::read_dir(self.runs()).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| serde_json::from_slice(&fs::read(entry.path()).ok()?).ok())
            .collect()
    }

    /// Write a registration. The caller holds the lock and has made sure that the run has no living controller.
    pub(crate) fn write(&self, _lock: &Locked, registration: &Registration) -> Result<(), GuestError> {
        let path = self.file(&registration.run);
        let part = path.with_extension("part");
        let text = serde_json::to_vec(registration).map_err(io::Error::from);
        let write = |text: Vec<u8>| {
            fs::create_dir_all(self.runs())
                .and_then(|()| fs::write(&part, text))
                .and_then(|()| fs::rename(&part, &path))
        };
        text.and_then(write).map_err(|error| step("register the run", &path, &error))
    }

    /// Remove a registration, and the registry itself when it was the last. Absent is fine.
    pub(crate) fn remove(&self, _lock: &Locked, run: &RunId) -> Result<(), GuestError> {
        let path = self.file(run);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(step("remove the registration", &path, &error)),
            _ => Ok(()),
        }
    }

    /// Remove the registry's directories as far as they are empty.
    pub(crate) fn tidy(&self, _lock: &Locked) {
        for directory in [self.runc_roots(), self.runs(), self.base.clone()] {
            let _ = fs::remove_dir(directory);
        }
    }
}

fn step(step: &'static str, path: &Path, error: &io::Error) -> GuestError {
    GuestError::Step {
        guest: "lab".to_owned(),
        step,
        what: format!("{}: {error}", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registration(run: &str) -> Registration {
        Registration {
            run: RunId::try_from(run.to_owned()).expect("valid"),
            controller: Identity::own().expect("own"),
            dir: PathBuf::from("/nonexistent"),
            kind: Kind::Bare,
        }
    }

    #[test]
    fn what_is_written_is_read_until_it_is_removed() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let registry = Registry::at(&directory.path().join("registry"));
        let entry = registration("one");
        let lock = registry.lock().expect("lock");
        registry.write(&lock, &entry).expect("written");
        fs::write(registry.runs().join("bad.json"), "{").expect("written");
        assert_eq!(registry.read(), std::slice::from_ref(&entry));
        assert!(entry.is_alive());
        fs::remove_file(registry.runs().join("bad.json")).expect("removed");
        registry.remove(&lock, &entry.run).expect("removed");
        registry.remove(&lock, &entry.run).expect("again");
        registry.tidy(&lock);
        assert!(!registry.base.exists());
    }

    #[test]
    fn a_directory_that_others_may_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().expect("temporary directory");
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).expect("mode");
        assert!(Registry::at(directory.path()).lock().is_err());
    }

    #[test]
    fn the_lock_excludes_and_survives_removal_of_the_directory() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let registry = Registry::at(&directory.path().join("registry"));
        let lock = registry.lock().expect("lock");
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _lock = registry.lock().expect("lock");
                assert!(registry.base.exists());
                sender.send(()).expect("receiver lives");
            });
            assert!(receiver.recv_timeout(std::time::Duration::from_millis(20)).is_err(), "held by us");
            registry.tidy(&lock);
            drop(lock);
        });
        receiver.recv().expect("got the lock");
    }
}
