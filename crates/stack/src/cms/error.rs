//! What can go wrong with the server of content management.

use std::{
    io,
    path::{Path, PathBuf},
};

use rookery_diagnosis::Diagnosis;

use crate::http_server::ServerError;

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
    /// A file, a thread or an address of the server.
    #[error(transparent)]
    Server(#[from] ServerError),
}

impl CmsError {
    /// A step on a file failed.
    pub(super) fn file(path: &Path, step: &'static str) -> impl FnOnce(io::Error) -> Self {
        let failed = ServerError::file(path, step);
        move |source| failed(source).into()
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

impl Diagnosis for CmsError {
    fn code(&self) -> &'static str {
        match self {
            Self::Server(error) => error.code(),
            Self::Exists(_) => "cms::exists",
            Self::Missing(_) => "cms::missing",
            Self::Foreign { .. } => "cms::foreign",
            Self::Database { .. } => "cms::database",
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            Self::Server(error) => error.place(),
            Self::Exists(path)
            | Self::Missing(path)
            | Self::Foreign { path, .. }
            | Self::Database { path, .. } => Some(path.display().to_string()),
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Server(error) => return error.help(),
            Self::Exists(_) => "remove it, or choose another file",
            Self::Missing(_) => {
                "make one first: `rookery app cms --make` does, with this --database"
            }
            Self::Foreign { .. } => "make it anew",
            Self::Database { .. } => {
                "check that the file can be read and written, and the disk has room"
            }
        };
        Some(help.to_owned())
    }
}
