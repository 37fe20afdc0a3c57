//! Why host settings cannot be changed or put back at all; what one setting refuses is no error but
//! told with it.

use std::{io, path::PathBuf};

use rookery_diagnosis::Diagnosis;

/// Host settings cannot be changed or put back.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The state directory cannot be made or locked.
    #[error("cannot lock {}: {source}", path.display())]
    Lock {
        /// Directory.
        path: PathBuf,
        /// Reason.
        source: io::Error,
    },
    /// The journal cannot be read or written.
    #[error("cannot keep the journal of host settings {}: {source}", path.display())]
    Journal {
        /// File.
        path: PathBuf,
        /// Reason.
        source: io::Error,
    },
    /// The journal is none.
    #[error(
        "the journal of host settings {} is damaged: {reason}",
        path.display()
    )]
    Invalid {
        /// File.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Somebody else holds settings.
    #[error("{who}")]
    Busy {
        /// Who, in words.
        who: String,
        /// What to do.
        help: &'static str,
    },
    /// Something could not be put back; the journal still knows of it.
    #[error("not all host settings could be put back:{}", .0.iter().map(|line| format!("\n  {line}")).collect::<String>())]
    NotRestored(
        /// Each with the reason.
        Vec<String>,
    ),
    /// A signal came; everything is as before.
    #[error("interrupted; all host settings are as before")]
    Interrupted,
    /// This process cannot be named.
    #[error("{0}")]
    Unnamed(io::Error),
}

impl Diagnosis for SettingsError {
    fn code(&self) -> &'static str {
        match self {
            Self::Lock { .. } => "host::settings-locked",
            Self::Journal { .. } => "host::settings-journal",
            Self::Invalid { .. } => "host::settings-journal-damaged",
            Self::Busy { .. } => "host::settings-busy",
            Self::NotRestored(_) => "host::settings-not-restored",
            Self::Interrupted => "host::interrupted",
            Self::Unnamed(_) => "host::no-proc",
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Lock { .. } => "see who may write there; nothing was changed",
            Self::Journal { .. } => "make room there, then `rookery host revert`",
            Self::Invalid { .. } => {
                "it lists what was changed with the values before; put them back by hand, then \
                 remove it"
            }
            Self::Busy { help, .. } => help,
            Self::NotRestored(_) => "`rookery host revert` tries again",
            Self::Interrupted => return None,
            Self::Unnamed(_) => "mount /proc",
        };
        Some(help.to_owned())
    }
}
