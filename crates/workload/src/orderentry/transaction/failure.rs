//! Why an attempt did not complete.

use thiserror::Error;

use crate::orderentry::sql::Statement;

/// An answer that no correctly loaded and consistent database gives. It stops the run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Bug {
    /// A row that must exist does not.
    #[error("{0:?} found no row: the database is not the one that was loaded")]
    MissingRow(Statement),
    /// A statement changed more or fewer rows than it must.
    #[error(
        "{statement:?} changed {changed} rows instead of {expected}: the database is not consistent"
    )]
    Changed {
        /// The statement.
        statement: Statement,
        /// Rows that it changed.
        changed: u64,
        /// Rows that it must change.
        expected: u64,
    },
    /// A column that is not there, or is of another type.
    #[error("column {index} of an answer is not {wanted}: the schema is another one")]
    Column {
        /// The column, counted from 0.
        index: usize,
        /// What it must be.
        wanted: &'static str,
    },
    /// The session answered fewer calls than it was sent.
    #[error("call {0} of a flight has no answer: the client's session is at fault")]
    NoAnswer(usize),
    /// The unused item exists, or a used one does not.
    #[error(
        "{found} of {expected} items of an order exist: the database is not the one that was loaded"
    )]
    Items {
        /// Items that exist.
        found: usize,
        /// Items that must exist.
        expected: usize,
    },
}

/// Why an attempt did not complete.
#[derive(Debug)]
pub enum Failure<E> {
    /// The client's error.
    Session {
        /// The error.
        error: E,
        /// Whether a COMMIT was under way, so that a lost connection leaves the outcome unknown.
        committing: bool,
    },
    /// Another delivery took the order first. To be rolled back and tried again.
    LostRace,
    /// Something that must not happen.
    Bug(Bug),
}

impl<E> From<Bug> for Failure<E> {
    fn from(bug: Bug) -> Self {
        Self::Bug(bug)
    }
}
