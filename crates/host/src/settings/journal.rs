//! The journal: what host settings were before Rookery changed them, on disk before the change is
//! made.
//!
//! One file holds a stack of layers. The lowest may be a profile that was applied until it is
//! reverted; above it may be that of whoever holds settings for a time. Layers are taken off from
//! the top, and the changes of a layer from the last to the first: each value is put back into the
//! very state in which it was found.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::PathBuf,
};

use serde::{Deserialize, Serialize};

use super::{error::SettingsError, knob::Scope};
use crate::{Controller, Host, RunId, StateDir};

const VERSION: u32 = 1;
/// Largest journal that is read, bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The whole journal.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Journal {
    version: u32,
    /// The boot in which it was written: another boot has forgotten all changes itself.
    pub(crate) boot: String,
    /// Lowest first.
    pub(crate) layers: Vec<Layer>,
}

/// What one owner changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Layer {
    /// Name of the profile.
    pub(crate) profile: String,
    /// Who changes; when it is dead and the layer not kept, anyone puts it back.
    pub(crate) owner: Controller,
    /// The run that holds it.
    pub(crate) run: Option<RunId>,
    /// All changes are made, and stay until they are reverted.
    pub(crate) kept: bool,
    /// The network and the IPC namespace of the changes: those of the thread that made them.
    pub(crate) namespaces: (String, String),
    /// In the order in which they were made.
    pub(crate) changes: Vec<Change>,
}

/// One change of one knob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Change {
    /// The knob.
    pub(crate) knob: String,
    /// Its device; empty when it has none.
    pub(crate) device: String,
    /// Whether the value belongs to a namespace.
    pub(crate) scope: SavedScope,
    /// What is written back, in this order.
    pub(crate) files: Vec<Saved>,
}

/// [`Scope`] as far as restoring needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SavedScope {
    Host,
    Network,
    Ipc,
}

/// A file as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Saved {
    /// Path without the leading slash.
    pub(crate) path: String,
    /// Its value.
    pub(crate) value: String,
    /// Whether the file shows words that are offered.
    pub(crate) words: bool,
}

impl From<Scope> for SavedScope {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Host | Scope::Process => Self::Host,
            Scope::Network => Self::Network,
            Scope::Ipc => Self::Ipc,
        }
    }
}

impl Layer {
    /// Nobody is left who would put it back.
    pub(crate) fn is_abandoned(&self) -> bool {
        !self.kept && !self.owner.may_live()
    }

    /// Who it is, in words.
    pub(crate) fn title(&self) -> String {
        match &self.run {
            Some(run) => format!("run {run} holds profile {}", self.profile),
            None if self.kept => format!("profile {} is applied", self.profile),
            None => format!(
                "process {} holds profile {}",
                self.owner.identity.pid, self.profile
            ),
        }
    }
}

/// Where the journal is kept.
#[derive(Clone, Debug)]
pub(crate) struct JournalFile(PathBuf);

impl JournalFile {
    pub(crate) fn in_dir(state: &StateDir) -> Self {
        Self(state.path().join("host-settings.json"))
    }

    pub(crate) fn exists(&self) -> bool {
        self.0.exists()
    }

    /// Read it; an empty journal of `boot` when there is none.
    pub(crate) fn load(&self, boot: &str) -> Result<Journal, SettingsError> {
        let invalid = |reason: String| SettingsError::Invalid {
            path: self.0.clone(),
            reason,
        };
        let size = match fs::metadata(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Journal {
                    version: VERSION,
                    boot: boot.to_owned(),
                    layers: Vec::new(),
                });
            }
            found => found.map_err(|error| self.failed(error))?.len(),
        };
        if size > MAX_BYTES {
            return Err(invalid(format!("it has {size} bytes")));
        }
        let bytes = fs::read(&self.0).map_err(|error| self.failed(error))?;
        let journal: Journal =
            serde_json::from_slice(&bytes).map_err(|error| invalid(error.to_string()))?;
        if journal.version != VERSION {
            return Err(invalid(format!(
                "its version is {}, not {VERSION}",
                journal.version
            )));
        }
        let files = journal
            .layers
            .iter()
            .flat_map(|layer| &layer.changes)
            .flat_map(|change| &change.files);
        if let Some(stranger) = files.into_iter().find(|saved| !saved.is_plausible()) {
            return Err(invalid(format!(
                "it tells of `{}`, which is no host setting",
                stranger.path.escape_debug()
            )));
        }
        Ok(journal)
    }

    /// Write it whole, durably; an empty one is removed.
    pub(crate) fn save(&self, journal: &Journal, host: &dyn Host) -> Result<(), SettingsError> {
        self.save_whole(journal, host)
            .map_err(|error| self.failed(error))
    }

    fn save_whole(&self, journal: &Journal, host: &dyn Host) -> io::Result<()> {
        host.step("journal host settings")?;
        let directory = self
            .0
            .parent()
            .ok_or_else(|| io::Error::other("it has no directory"))?;
        if journal.layers.is_empty() {
            match fs::remove_file(&self.0) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        } else {
            let part = self.0.with_extension("part");
            let mut file = File::create(&part)?;
            file.write_all(&serde_json::to_vec(journal)?)?;
            file.sync_all()?;
            fs::rename(&part, &self.0)?;
        }
        File::open(directory)?.sync_all()
    }

    fn failed(&self, source: io::Error) -> SettingsError {
        SettingsError::Journal {
            path: self.0.clone(),
            source,
        }
    }
}

impl Saved {
    /// Whether this can have been written by us: a file of the kernel's settings, with a value of
    /// one line.
    fn is_plausible(&self) -> bool {
        let inside = ["proc/sys/", "sys/"]
            .iter()
            .any(|root| self.path.starts_with(root));
        let straight = self
            .path
            .split('/')
            .all(|part| !["", ".", ".."].contains(&part));
        inside
            && straight
            && !self.path.contains('\0')
            && self.value.len() <= 4096
            && !self.value.contains(['\0', '\n'])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Identity, RealHost};

    fn journal(path: &str) -> Journal {
        Journal {
            version: VERSION,
            boot: "b".to_owned(),
            layers: vec![Layer {
                profile: "p".to_owned(),
                owner: Controller {
                    identity: Identity {
                        pid: 1,
                        start_ticks: 2,
                    },
                    pid_namespace: 3,
                },
                run: None,
                kept: true,
                namespaces: (String::new(), String::new()),
                changes: vec![Change {
                    knob: "vm.swappiness".to_owned(),
                    device: String::new(),
                    scope: SavedScope::Host,
                    files: vec![Saved {
                        path: path.to_owned(),
                        value: "60".to_owned(),
                        words: false,
                    }],
                }],
            }],
        }
    }

    #[test]
    fn what_is_saved_is_loaded_and_an_empty_journal_is_no_file() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let file = JournalFile::in_dir(&StateDir::at(directory.path()));
        let mut journal = journal("proc/sys/vm/swappiness");
        file.save(&journal, &RealHost).expect("saved");
        assert_eq!(file.load("other").expect("loaded"), journal);
        journal.layers.clear();
        file.save(&journal, &RealHost).expect("saved");
        file.save(&journal, &RealHost).expect("again");
        assert_eq!(fs::read_dir(directory.path()).expect("readable").count(), 0);
        assert_eq!(file.load("b").expect("empty").layers, []);
    }

    #[test]
    fn a_journal_that_reaches_elsewhere_is_refused() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let file = JournalFile::in_dir(&StateDir::at(directory.path()));
        for path in [
            "etc/passwd",
            "proc/sys/../../etc/passwd",
            "/proc/sys/vm/swappiness",
            "sys//x",
            "proc/1/mem",
        ] {
            file.save(&journal(path), &RealHost).expect("saved");
            let error = file.load("b").expect_err("refused").to_string();
            assert!(error.contains("no host setting"), "{error}");
        }
    }

    #[test]
    fn damaged_journals_are_refused_whole() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let file = JournalFile::in_dir(&StateDir::at(directory.path()));
        file.save(&journal("proc/sys/vm/swappiness"), &RealHost)
            .expect("saved");
        let whole = fs::read(&file.0).expect("read");
        for length in 0..whole.len() {
            fs::write(&file.0, &whole[..length]).expect("cut");
            assert!(file.load("b").is_err(), "cut at {length}");
        }
        fs::write(
            &file.0,
            String::from_utf8_lossy(&whole).replace("\"version\":1", "\"version\":2"),
        )
        .expect("written");
        assert!(
            file.load("b")
                .expect_err("refused")
                .to_string()
                .contains("version is 2")
        );
    }
}
