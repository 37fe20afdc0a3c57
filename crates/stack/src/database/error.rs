//! What can go wrong with the database of a guest.

use rookery_diagnosis::Diagnosis;
use std::{io, path::PathBuf};

use rookery_oltp::OltpError;

use super::Engine;
use crate::lamp::sql::SqlError;

/// What went wrong: what and where.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// Programs are missing.
    #[error("{engine} is not complete below {root}: {} not found", missing.join(", "))]
    Missing {
        /// The server.
        engine: Engine,
        /// The root that was searched.
        root: String,
        /// Everything that was not found.
        missing: Vec<String>,
        /// The command that installs it.
        help: String,
    },
    /// MariaDB said no, or nothing.
    #[error(transparent)]
    Mariadb(#[from] SqlError),
    /// A connection or a statement of the workload's client failed.
    #[error(transparent)]
    Oltp(#[from] OltpError),
    /// The server took too long. The connection is of no use any more.
    #[error("{engine} in {data} did not answer `{statement}` within {seconds} s", data = data.display())]
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
    #[error("{engine} in {data} answered `{statement}` with {answer}", data = data.display())]
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
    #[error("the buffer pool of {engine} in {data} did not become {bytes} bytes large: \
    {what}", data = data.display())]
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

impl Diagnosis for DatabaseError {
    fn code(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "database::missing",
            Self::Mariadb(_) => "database::mariadb",
            Self::Oltp(_) => "database::oltp",
            Self::Timeout { .. } => "database::timeout",
            Self::Answer { .. } => "database::answer",
            Self::Pool { .. } => "database::pool",
            Self::Io { .. } => "database::io",
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Missing { help, .. } => (*help).to_owned(),
            Self::Mariadb(error) => return error.help(),
            Self::Oltp(error) => return error.help(),
            Self::Timeout { .. } => "give the guest more CPU, or look whether another transaction \
                                     holds its locks"
                .to_owned(),
            Self::Answer { .. } => "report this as a defect".to_owned(),
            Self::Pool { .. } => "ask for a size that fits the guest's memory".to_owned(),
            _ => return None,
        };
        Some(help)
    }
}
