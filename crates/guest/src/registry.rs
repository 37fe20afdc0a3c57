//! Which runs hold resources of this host: one small file per run, written before anything else is
//! made.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rookery_host::{Controller, HostError, RunId, StateDir, StateLock};
use serde::{Deserialize, Serialize};

use crate::{error::GuestError, kind::Kind};

/// What is known of a run that may hold resources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// The run.
    pub run: RunId,
    /// The process that conducts it.
    pub controller: Controller,
    /// Its directory of guests.
    pub dir: PathBuf,
    /// Kind of its guests.
    pub kind: Kind,
}

impl Registration {
    /// Whether its controller lives, or may.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.controller.may_live()
    }
}

/// The registrations of this user's runs, in the directory that outlives processes.
#[derive(Clone, Debug)]
pub(crate) struct Registry {
    state: StateDir,
}

/// Extension of a registration.
const WHOLE: &str = "json";
/// Extension of one that is being written.
const PART: &str = "part";

impl Registry {
    /// The registry of this user.
    pub(crate) fn open() -> Self {
        Self {
            state: StateDir::from_environment(),
        }
    }

    #[cfg(test)]
    pub(crate) fn at(base: &Path) -> Self {
        Self {
            state: StateDir::at(base),
        }
    }

    /// Directory of what one run keeps under the name `part`.
    pub(crate) fn state_dir(&self, part: &str, run: &RunId) -> PathBuf {
        self.state_dirs(part).join(run.as_str())
    }

    /// Parent of what the runs keep under the name `part`.
    pub(crate) fn state_dirs(&self, part: &str) -> PathBuf {
        self.state.path().join(part)
    }

    fn runs(&self) -> PathBuf {
        self.state.path().join("runs")
    }

    fn file(&self, run: &RunId) -> PathBuf {
        self.runs().join(format!("{run}.{WHOLE}"))
    }

    /// Wait for the lock, held while registrations are changed or a clean-up runs.
    pub(crate) fn lock(&self) -> Result<StateLock, GuestError> {
        self.state
            .lock()
            .map_err(|error| step("lock the registry", self.state.path(), error))
    }

    /// All registrations; unreadable files are left out (they cannot be ours: ours are renamed into
    /// place whole).
    pub(crate) fn read(&self) -> Vec<Registration> {
        self.files(WHOLE)
            .filter_map(|path| serde_json::from_slice(&fs::read(path).ok()?).ok())
            .collect()
    }

    fn files(&self, extension: &'static str) -> impl Iterator<Item = PathBuf> {
        let entries = fs::read_dir(self.runs()).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.path())
            .filter(move |path| path.extension().is_some_and(|found| found == extension))
    }

    /// Write a registration. The caller holds the lock and has made sure that the run has no living
    /// controller.
    pub(crate) fn write(
        &self,
        _lock: &StateLock,
        registration: &Registration,
    ) -> Result<(), GuestError> {
        let path = self.file(&registration.run);
        let part = path.with_extension(PART);
        let text = serde_json::to_vec(registration).map_err(io::Error::from);
        let write = |text: Vec<u8>| {
            fs::create_dir_all(self.runs())
                .and_then(|()| fs::write(&part, text))
                .and_then(|()| fs::rename(&part, &path))
        };
        text.and_then(write)
            .map_err(|error| step("register the run", &path, error))
    }

    /// Remove a registration, and the registry itself when it was the last. Absent is fine.
    pub(crate) fn remove(&self, _lock: &StateLock, run: &RunId) -> Result<(), GuestError> {
        let path = self.file(run);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(step("remove the registration", &path, error))
            }
            _ => Ok(()),
        }
    }

    /// Remove the registry's directories as far as they are empty. A half-written registration is
    /// of a controller that died over it: whoever writes holds the lock.
    pub(crate) fn tidy(&self, lock: &StateLock) {
        for part in self.files(PART) {
            let _ = fs::remove_file(part);
        }
        let _ = fs::remove_dir(self.runs());
        self.state.remove_if_empty(lock);
    }
}

fn step(step: &'static str, path: &Path, error: io::Error) -> GuestError {
    GuestError::in_lab(step, HostError::at(path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registration(run: &str) -> Registration {
        Registration {
            run: RunId::try_from(run.to_owned()).expect("valid"),
            controller: Controller::current().expect("own"),
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
        // A controller that died before it renamed.
        let part = registry.file(&entry.run).with_extension(PART);
        fs::write(part, serde_json::to_vec(&entry).expect("JSON")).expect("written");
        assert_eq!(registry.read(), [], "nothing is registered by half");
        registry.tidy(&lock);
        assert!(!registry.state.path().exists());
    }
}
