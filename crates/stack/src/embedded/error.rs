//! What can go wrong with the embedded stack: what, where and how to mend.

use std::{io, net::SocketAddr, path::PathBuf};

/// An error of loading, serving or auditing.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// The database file is there already.
    #[error("{path} exists already\n  mend: remove it, or choose another file", path = .0.display())]
    Exists(PathBuf),
    /// There is no database file.
    #[error("there is no database at {path}\n  mend: load one there first: `rookery app dvdstore --size 10MB` does, with this --database", path = .0.display())]
    Missing(PathBuf),
    /// The file is not a database of this stack, or of another version of it.
    #[error("{path} is not a DVD Store database of this version: {what}\n  mend: load it anew", path = path.display())]
    Foreign {
        /// The database file.
        path: PathBuf,
        /// What was found instead.
        what: String,
    },
    /// The tables do not hold what the database says it was loaded with.
    #[error("{path}: db_size does not match the loaded row counts: {what}\n  mend: load the database anew", path = path.display())]
    SizeMismatch {
        /// The database file.
        path: PathBuf,
        /// Table, expected and found.
        what: String,
    },
    /// SQLite refused a step.
    #[error("{path}: {step} failed: {source}\n  mend: check that the file is a database that you may write, and that its disk has room", path = path.display())]
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
    /// The address cannot be listened on.
    #[error(
        "cannot listen on {address}: {source}\n  mend: choose a free port of an address of this machine"
    )]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// The system's own words.
        source: io::Error,
    },
    /// A thread of the server could not be started.
    #[error("cannot start the server's {what}: {source}")]
    Thread {
        /// Which one.
        what: &'static str,
        /// The system's own words.
        source: io::Error,
    },
    /// The writer thread ended by a bug of ours.
    #[error("the writer thread of {path} ended unexpectedly; committed orders are safe\n  mend: report this as a defect", path = .0.display())]
    WriterLost(PathBuf),
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
