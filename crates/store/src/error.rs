//! What can go wrong with a store.

use std::path::PathBuf;

/// Why a run could not be stored or read: what, where and how to mend.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A new run would overwrite an old one.
    #[error("{}: there is a run already\n  mend: choose another directory, or continue that run with --resume", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// There is no such file.
    #[error("{}: there is no run here\n  mend: give the directory of a run, the one that holds run.sqlite", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{}: not the store of a run: {what}\n  mend: give the run.sqlite that `rookery run` wrote", path.display())]
    NotARun {
        /// The file.
        path: PathBuf,
        /// How it differs.
        what: String,
    },
    /// The file is of another version.
    #[error(
        "{}: written by {} Rookery (schema {found}; this one reads {known})\n  mend: read it with that version of Rookery",
        path.display(),
        if found > known { "a newer" } else { "an older" }
    )]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// The database refused.
    #[error("{}: {step} failed: {source}\n  mend: check that the disk has space and that nobody else writes to this run", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What was attempted.
        step: &'static str,
        /// The database's words.
        source: rusqlite::Error,
    },
    /// What was read cannot be right.
    #[error("{}: table {table} is damaged: {what}\n  mend: restore the file from a copy, or run the study again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The table.
        table: &'static str,
        /// What is wrong.
        what: String,
    },
    /// A step that the state of the trial does not allow.
    #[error("{}: trial {trial} {what}", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// The trial.
        trial: u32,
        /// Why not.
        what: String,
    },
    /// A file of an export could not be written.
    #[error("cannot write {}: {source}\n  mend: choose a directory that may be written, with --out", path.display())]
    Export {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
}
