//! What can go wrong with a store.

use std::path::{Path, PathBuf};

use rookery_diagnosis::Diagnosis;

use crate::damage::Damage;

/// Why a run could not be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A new run would overwrite an old one.
    #[error("there is a run already")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// There is no such file.
    #[error("there is no run here")]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("not the store of a run: {what}")]
    NotARun {
        /// The file.
        path: PathBuf,
        /// How it differs.
        what: String,
    },
    /// The file is of a version that is not known.
    #[error(
        "written by {} Rookery (schema {found}; this one reads {})",
        if found > newest { "a newer" } else { "an older" },
        if oldest == newest { newest.to_string() } else { format!("{oldest} to {newest}") }
    )]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The oldest schema that is read.
        oldest: i64,
        /// Ours.
        newest: i64,
    },
    /// The store of a new run could not be written.
    #[error("the store of the run cannot be made: {source}")]
    Create {
        /// The store.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The copy that is kept of a store of an older version could not be written.
    #[error("a copy of the store as it was cannot be kept: {source}")]
    Backup {
        /// The copy.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The file was deleted, moved or replaced while it was open.
    #[error("{step} is not possible: the store was deleted or moved away")]
    Gone {
        /// Where it was.
        path: PathBuf,
        /// What was attempted.
        step: &'static str,
    },
    /// The database refused.
    #[error("{step} failed: {source}")]
    Database {
        /// The file.
        path: PathBuf,
        /// What was attempted.
        step: &'static str,
        /// The database's words.
        source: rusqlite::Error,
    },
    /// What was read cannot be right.
    #[error("table {table} is damaged: {source}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The table.
        table: &'static str,
        /// The key of the row, in words; `None` where it is no matter of one row.
        row: Option<String>,
        /// What is wrong.
        source: Box<Damage>,
    },
    /// A step that the state of the trial does not allow.
    #[error("trial {trial} {what}")]
    State {
        /// The file.
        path: PathBuf,
        /// The trial.
        trial: u32,
        /// Why not.
        what: String,
    },
}

impl StoreError {
    fn path(&self) -> &Path {
        match self {
            Self::Exists { path }
            | Self::Missing { path }
            | Self::NotARun { path, .. }
            | Self::OtherVersion { path, .. }
            | Self::Create { path, .. }
            | Self::Backup { path, .. }
            | Self::Database { path, .. }
            | Self::Gone { path, .. }
            | Self::Damaged { path, .. }
            | Self::State { path, .. } => path,
        }
    }
}

impl Diagnosis for StoreError {
    fn code(&self) -> &'static str {
        match self {
            Self::Exists { .. } => "store::exists",
            Self::Missing { .. } => "store::missing",
            Self::NotARun { .. } => "store::not-a-run",
            Self::OtherVersion { .. } => "store::other-version",
            Self::Create { .. } => "store::create",
            Self::Backup { .. } => "store::backup",
            Self::Gone { .. } => "store::gone",
            Self::Database { .. } => "store::database",
            Self::Damaged { .. } => "store::damaged",
            Self::State { .. } => "store::state",
        }
    }

    fn place(&self) -> Option<String> {
        let path = self.path().display();
        match self {
            Self::Damaged {
                table,
                row: Some(row),
                ..
            } => Some(format!("{path}, {table}: {row}")),
            Self::Damaged { table, .. } => Some(format!("{path}, {table}")),
            _ => Some(path.to_string()),
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Exists { .. } => {
                "choose another directory, or continue that run with `rookery run --resume`"
            }
            Self::Missing { .. } => "name the directory of a run, the one that holds run.sqlite",
            Self::NotARun { .. } => "name the run.sqlite that `rookery run` wrote",
            Self::OtherVersion { .. } => "read it with that version of Rookery",
            Self::Create { .. } => "make the run directory writable, with room for the store",
            Self::Backup { .. } => {
                "make the run directory writable, with room for the copy of the store"
            }
            Self::Gone { .. } => {
                "put the run's directory back to where it was and resume the run, or begin a new \
                 one; the trials since are not stored"
            }
            Self::Database { .. } => {
                "check that the disk has space and that no other process writes to this run"
            }
            Self::Damaged { .. } => "restore the file from a copy, or run the study again",
            Self::State { .. } => return None,
        };
        Some(help.to_owned())
    }
}
