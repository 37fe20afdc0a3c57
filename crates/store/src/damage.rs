//! What is wrong with the contents of a stored run.

use rookery_stats::BlobError;
use rusqlite::types::Type;

use crate::plan_check::PlanFault;

/// How the contents of a table cannot be right.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// A column holds what it cannot hold.
    #[error(transparent)]
    Cell(#[from] CellError),
    /// The plan, the study or the search contradicts itself.
    #[error(transparent)]
    Plan(#[from] PlanFault),
    /// The database cannot read it.
    #[error(transparent)]
    Database(#[from] rusqlite::Error),
    /// A table that must have a row has none.
    #[error("it is empty")]
    Empty,
    /// The trials of the table are not those of the plan.
    #[error("it does not hold the trials of the plan")]
    OtherTrials,
    /// A trial that the plan does not have.
    #[error("trial {trial} is not in the plan")]
    UnplannedTrial {
        /// The trial.
        trial: u32,
    },
    /// A verdict is bound by a rule that it does not have.
    #[error("binding_rule names a rule that is not there")]
    UnknownRule,
    /// A row refers to another that is missing.
    #[error("a row of {table} refers to one that is not there")]
    Reference {
        /// The table of the row.
        table: String,
    },
    /// The label of the run is none.
    #[error("run_id: {reason}")]
    Label {
        /// Why not.
        reason: String,
    },
    /// The study goes beyond the bounds of the grammar.
    #[error("its study is not one that a study file could hold")]
    Study,
}

/// What is wrong with one column of a row.
#[derive(Debug, thiserror::Error)]
pub enum CellError {
    /// The row has no such column, or the database cannot read it.
    #[error("{column}: {source}")]
    Unreadable {
        /// The column.
        column: String,
        /// The database's words.
        source: rusqlite::Error,
    },
    /// A value that must be there is NULL.
    #[error("{column} is missing")]
    Missing {
        /// The column.
        column: String,
    },
    /// The value is of another type.
    #[error("{column} is not {expected} but {found}")]
    Type {
        /// The column.
        column: String,
        /// What belongs there.
        expected: &'static str,
        /// What is there.
        found: Type,
    },
    /// Text in another encoding.
    #[error("{column} is not UTF-8 text")]
    NotUtf8 {
        /// The column.
        column: String,
    },
    /// A number that no run can have.
    #[error("{column} is out of range: {value}")]
    OutOfRange {
        /// The column.
        column: String,
        /// The number.
        value: i64,
    },
    /// A flag that is neither set nor not set.
    #[error("{column} is neither 0 nor 1 but {value}")]
    Flag {
        /// The column.
        column: String,
        /// The number.
        value: u64,
    },
    /// A document, or a name of a list, that cannot be read.
    #[error("{column}: {source}")]
    Json {
        /// The column.
        column: String,
        /// What the reader says.
        source: serde_json::Error,
    },
    /// A document with a number that no run can have.
    #[error("{column} holds a number that is out of range")]
    Number {
        /// The column.
        column: String,
    },
    /// A list of CPUs with something else in it.
    #[error("{column}: `{text}` is not a CPU")]
    Cpu {
        /// The column.
        column: String,
        /// What is there.
        text: String,
    },
    /// A histogram that cannot be read.
    #[error("{column}: {source}")]
    Histogram {
        /// The column.
        column: String,
        /// What is wrong with it.
        source: BlobError,
    },
}
