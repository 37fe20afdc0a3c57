//! What can go wrong with the database of a guest.

use std::{io, path::PathBuf};

use rookery_oltp::OltpError;

use super::Engine;
use crate::lamp::sql::SqlError;

/// What went wrong: what, where, and how to mend it.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// Programs are missing.
    #[error("{engine} is not complete below {root}: {} not found\n  mend: {mend}", missing.join(", "))]
    Missing {
        /// The server.
        engine: Engine,
        /// The root that was searched.
        root: String,
        /// Everything that was not found.
        missing: Vec<String>,
        /// The command that installs it.
        mend: String,
    },
    /// MariaDB said no, or nothing.
    #[error(transparent)]
    Mariadb(#[from] SqlError),
    /// A connection or a statement of the workload's client failed.
    #[error(transparent)]
    Oltp(#[from] OltpError),
    /// The server took too long. The connection is of no use any more.
    #[error(
        "{engine} in {data} did not answer `{statement}` within {seconds} s\n  mend: give the guest more CPU, or look whether another transaction holds its locks",
        data = data.display()
    )]
    Timeout {
        /// The server.
        engine: Engine,
        /// The guest's data directory.
        data: PathBuf,
        /// The statement, cut to a readable length.
        statement: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// An answer that is none.
    #[error("{engine} in {data} answered `{statement}` with {answer}\n  mend: report this as a defect", data = data.display())]
    Answer {
        /// The server.
        engine: Engine,
        /// The guest's data directory.
        data: PathBuf,
        /// The statement, cut to a readable length.
        statement: String,
        /// What came.
        answer: String,
    },
    /// The buffer pool did not get its size.
    #[error("the buffer pool of {engine} in {data} did not become {bytes} bytes large: {what}\n  mend: ask for a size that fits the guest's memory", data = data.display())]
    Pool {
        /// The server.
        engine: Engine,
        /// The guest's data directory.
        data: PathBuf,
        /// What was asked for.
        bytes: u64,
        /// The server's words.
        what: String,
    },
    /// The system gave no runtime, or a file cannot be read.
    #[error("{what}: {source}", what = what.display())]
    Io {
        /// The file.
        what: PathBuf,
        /// The system's words.
        source: io::Error,
    },
}
