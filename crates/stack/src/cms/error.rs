//! What can go wrong with the server of content management.

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use rookery_diagnosis::Diagnosis;

use crate::http_server::ListenError;

/// An error of loading, serving or counting.
#[derive(Debug, thiserror::Error)]
pub enum CmsError {
    /// The database file is there already.
    #[error("{path} exists already", path = .0.display())]
    Exists(PathBuf),
    /// There is no database file.
    #[error("there is no database at {path}", path = .0.display())]
    Missing(PathBuf),
    /// The file is not a database of this server, or of another version of it.
    #[error("{path} is no database of content management: {what}", path = path.display())]
    Foreign {
        /// The database file.
        path: PathBuf,
        /// What was found instead.
        what: String,
    },
    /// SQLite refused a step.
    #[error("{path}: {step} failed: {source}", path = path.display())]
    Database {
        /// The database file.
        path: PathBuf,
        /// What was attempted.
        step: &'static str,
        /// SQLite's own words.
        source: rusqlite::Error,
    },
    /// The file system refused a step.
    #[error("{path}: {step} failed: {source}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What was attempted.
        step: &'static str,
        /// The system's own words.
        source: io::Error,
    },
    /// The threads of the server cannot be started.
    #[error("cannot start the server's workers: {0}")]
    Workers(#[source] io::Error),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// The system's own words.
        source: io::Error,
    },
}

impl CmsError {
    /// A step on a file failed.
    pub(super) fn file(path: &Path, step: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File {
            path: path.to_owned(),
            step,
            source,
        }
    }

    /// A step on a database failed.
    pub(super) fn database(
        path: &Path,
        step: &'static str,
    ) -> impl FnOnce(rusqlite::Error) -> Self {
        move |source| Self::Database {
            path: path.to_owned(),
            step,
            source,
        }
    }
}

impl From<ListenError> for CmsError {
    fn from(error: ListenError) -> Self {
        match error {
            ListenError::Workers(source) => Self::Workers(source),
            ListenError::Address { address, source } => Self::Listen { address, source },
        }
    }
}

impl Diagnosis for CmsError {
    fn code(&self) -> &'static str {
        match self {
            Self::Exists(_) => "cms::exists",
            Self::Missing(_) => "cms::missing",
            Self::Foreign { .. } => "cms::foreign",
            Self::Database { .. } => "cms::database",
            Self::File { .. } => "cms::file",
            Self::Workers(_) => "cms::thread",
            Self::Listen { .. } => "cms::listen",
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            Self::Exists(path)
            | Self::Missing(path)
            | Self::Foreign { path, .. }
            | Self::Database { path, .. }
            | Self::File { path, .. } => Some(path.display().to_string()),
            Self::Workers(_) | Self::Listen { .. } => None,
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Exists(_) => "remove it, or choose another file",
            Self::Missing(_) => {
                "make one first: `rookery app cms --make` does, with this \
                                 --database"
            }
            Self::Foreign { .. } => "make it anew",
            Self::Database { .. } | Self::File { .. } => {
                "check that the file can be read and written, and the disk has room"
            }
            Self::Workers(_) => "raise the limit on processes, or give fewer workers",
            Self::Listen { .. } => "choose another address or port",
        };
        Some(help.to_owned())
    }
}
