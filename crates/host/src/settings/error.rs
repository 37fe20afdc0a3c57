//! Why host settings cannot be changed or put back at all; what one setting refuses is no error but told with it.

use std::{io, path::PathBuf};

/// Host settings cannot be changed or put back.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The state directory cannot be made or locked.
    #[error("cannot lock {}: {source}\n  mend: see who may write there; nothing was changed", path.display())]
    Lock {
        /// Directory.
        path: PathBuf,
        /// Reason.
        source: io::Error,
    },
    /// The journal cannot be read or written.
    #[error("cannot keep the journal of host settings {}: {source}\n  mend: make room there, then `rookery host revert`", path.display())]
    Journal {
        /// File.
        path: PathBuf,
        /// Reason.
        source: io::Error,
    },
    /// The journal is none.
    #[error(
        "the journal of host settings {} is damaged: {reason}\n  mend: it lists what was changed with the values before; put them back by \
         hand, then remove it",
        path.display()
    )]
    Invalid {
        /// File.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Somebody else holds settings.
    #[error("{who}\n  mend: {mend}")]
    Busy {
        /// Who, in words.
        who: String,
        /// What to do.
        mend: &'static str,
    },
    /// Something could not be put back; the journal still knows of it.
    #[error("not all host settings could be put back:{}\n  mend: `rookery host revert` tries again", .0.iter().map(|line| format!("\n  {line}")).collect::<String>())]
    NotRestored(
        /// Each with the reason.
        Vec<String>,
    ),
    /// A signal came; everything is as before.
    #[error("interrupted; all host settings are as before")]
    Interrupted,
    /// This process cannot be named.
    #[error("{0}\n  mend: mount /proc")]
    Unnamed(io::Error),
}
