//! What can go wrong with the embedded stack: what and where.

use std::{io, path::PathBuf};

use rookery_diagnosis::Diagnosis;

use crate::http_server::ServerError;

/// An error of loading, serving or auditing.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// The database file is there already.
    #[error("{path} exists already", path = .0.display())]
    Exists(PathBuf),
    /// There is no database file.
    #[error("there is no database at {path}", path = .0.display())]
    Missing(PathBuf),
    /// The file is not a database of this stack, or of another version of it.
    #[error("{path} is not a DVD Store database of this version: {what}", path = path.display())]
    Foreign {
        /// The database file.
        path: PathBuf,
        /// What was found instead.
        what: String,
    },
    /// The tables do not hold what the database says it was loaded with.
    #[error("{path}: db_size does not match the loaded row counts: {what}", path = path.display())]
    SizeMismatch {
        /// The database file.
        path: PathBuf,
        /// Table, expected and found.
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
        /// The file or directory.
        path: PathBuf,
        /// What was attempted.
        step: &'static str,
        /// The system's own words.
        source: io::Error,
    },
    /// A thread or an address of the server.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The thread that writes cannot be started.
    #[error("cannot start the server's writer: {0}")]
    Writer(#[source] io::Error),
    /// The writer thread ended by a bug of ours.
    #[error("the writer thread of {path} ended unexpectedly; committed orders are safe", path = .0.display())]
    WriterLost(PathBuf),
}

impl Diagnosis for EmbeddedError {
    fn code(&self) -> &'static str {
        match self {
            Self::Exists(_) => "embedded::exists",
            Self::Missing(_) => "embedded::missing",
            Self::Foreign { .. } => "embedded::foreign",
            Self::SizeMismatch { .. } => "embedded::size-mismatch",
            Self::Database { .. } => "embedded::database",
            Self::File { .. } => "embedded::file",
            Self::Server(error) => error.code(),
            Self::Writer(_) => "embedded::thread",
            Self::WriterLost(_) => "embedded::writer-lost",
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Exists(_) => "remove it, or choose another file".to_owned(),
            Self::Missing(_) => "load one there first: `rookery app dvdstore --size 10MB` does, \
                                 with this --database"
                .to_owned(),
            Self::Foreign { .. } => "load it anew".to_owned(),
            Self::SizeMismatch { .. } => "load the database anew".to_owned(),
            Self::Database { .. } => "check that the file is a database that you may write, and \
                                      that its disk has room"
                .to_owned(),
            Self::Server(error) => return error.help(),
            Self::WriterLost(_) => "report this as a defect".to_owned(),
            _ => return None,
        };
        Some(help)
    }
}

/// Adds path and step to an error of SQLite.
pub(crate) trait DatabaseContext<T> {
    fn at(self, path: &std::path::Path, step: &'static str) -> Result<T, EmbeddedError>;
}

impl<T> DatabaseContext<T> for Result<T, rusqlite::Error> {
    fn at(self, path: &std::path::Path, step: &'static str) -> Result<T, EmbeddedError> {
        self.map_err(|source| EmbeddedError::Database {
            path: path.to_owned(),
            step,
            source,
        })
    }
}
