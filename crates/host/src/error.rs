//! What this machine refuses, and what to do about it.

use std::{
    error::Error,
    io,
    path::{Path, PathBuf},
};

use rookery_diagnosis::Diagnosis;

use crate::command::CommandError;

/// A change or a question that this machine refuses.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// It cannot do this, or must not.
    #[error("{what}")]
    Refused {
        /// What it refuses, and why.
        what: String,
        /// What to do.
        help: String,
    },
    /// The system refused something at a path.
    #[error("{}: {source}", path.display())]
    Path {
        /// Where.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A command, a library call or another step refused, and there is something to do about it.
    #[error("{source}")]
    Cause {
        /// The reason.
        source: Box<dyn Error + Send + Sync>,
        /// What to do.
        help: String,
    },
}

impl HostError {
    /// A refusal, and what to do about it.
    pub fn refused(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Refused {
            what: what.into(),
            help: help.into(),
        }
    }

    /// An error with the path that it is about.
    pub fn at(path: &Path, source: io::Error) -> Self {
        Self::Path {
            path: path.to_owned(),
            source,
        }
    }

    /// An error of another's, and what to do about it.
    pub fn because(
        source: impl Into<Box<dyn Error + Send + Sync>>,
        help: impl Into<String>,
    ) -> Self {
        Self::Cause {
            source: source.into(),
            help: help.into(),
        }
    }
}

impl From<HostError> for io::Error {
    fn from(error: HostError) -> Self {
        let kind = match &error {
            HostError::Path { source, .. } => source.kind(),
            HostError::Refused { .. } | HostError::Cause { .. } => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

impl From<CommandError> for io::Error {
    fn from(error: CommandError) -> Self {
        Self::other(error)
    }
}

impl Diagnosis for HostError {
    fn code(&self) -> &'static str {
        match self {
            Self::Refused { .. } | Self::Cause { .. } => "host::refused",
            Self::Path { .. } => "host::path",
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::Refused { help, .. } | Self::Cause { help, .. } => Some(help.clone()),
            Self::Path { source, .. } => help_of(source),
        }
    }
}

/// What `error`, or what caused it, says is to be done; `None` where none of them says anything.
/// Errors of this crate say it, also those inside an [`io::Error`].
#[must_use]
pub fn help_of(error: &(dyn Error + 'static)) -> Option<String> {
    let own = if let Some(error) = error.downcast_ref::<HostError>() {
        error.help()
    } else if let Some(error) = error.downcast_ref::<CommandError>() {
        error.help()
    } else {
        // The source of an `io::Error` is that of the error inside, and not the error inside.
        error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
            .and_then(|inside| help_of(inside))
    };
    own.or_else(|| error.source().and_then(help_of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_is_found_through_io_errors_and_paths() {
        let refused = HostError::refused("no", "do something");
        let inside: io::Error = HostError::at(Path::new("/x"), refused.into()).into();
        assert_eq!(inside.to_string(), "/x: no");
        assert_eq!(help_of(&inside).as_deref(), Some("do something"));
        assert_eq!(help_of(&io::Error::other("no")), None);
    }
}
