//! What ends a run early. Errors within a trial are data and do not.

use std::{io, path::Path};

use rookery_driver::DriverError;
use rookery_guest::GuestError;
use rookery_oltp::OltpError;
use rookery_store::StoreError;

/// Why a run could not go on.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The host lacks something.
    #[error("{0}")]
    HostNotReady(String),
    /// The study names host settings that there are not.
    #[error(
        "there is no profile `{name}` of host settings\n  mend: `settings` in [host] takes none, {known}; `rookery host` shows what they do"
    )]
    UnknownProfile {
        /// What the study names.
        name: String,
        /// What there is.
        known: String,
    },
    /// A setting that the study asks for cannot be made.
    #[error("{point}: {what}")]
    Setting {
        /// The point in words.
        point: String,
        /// What is wrong, with its mend.
        what: String,
    },
    /// Templates or the lab itself failed.
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// The driver could not even start.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// Terminals could not even start.
    #[error(transparent)]
    Terminals(#[from] OltpError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file of the run failed.
    #[error(
        "cannot {what} {path}: {reason}\n  mend: check that the directory exists, is yours and has room"
    )]
    File {
        /// What was attempted.
        what: &'static str,
        /// Where.
        path: String,
        /// The system's words.
        reason: String,
    },
    /// There is no such run.
    #[error(
        "there is no run `{name}` in {base}\n  mend: name the directory of a run, its id, or `latest`; `--runs DIR` says where runs are kept"
    )]
    NoRun {
        /// What was asked for.
        name: String,
        /// Where it was looked for.
        base: String,
    },
    /// Another controller is at work.
    #[error("another process is at work on the run in {directory}\n  mend: wait for it, or end it")]
    Busy {
        /// The run's directory.
        directory: String,
    },
    /// Guests did not come up or answer in a rehearsal.
    #[error("{point}: {what}")]
    Rehearsal {
        /// The point in words.
        point: String,
        /// What happened.
        what: String,
    },
    /// The system refused what it must not refuse.
    #[error("{0}")]
    Internal(String),
}

impl LabError {
    pub(crate) fn file(what: &'static str, path: &Path, error: &io::Error) -> Self {
        Self::File {
            what,
            path: path.display().to_string(),
            reason: error.to_string(),
        }
    }
}
