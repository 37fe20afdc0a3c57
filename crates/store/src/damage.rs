//! What is wrong with the contents of a stored run.

use crate::{cells::CellError, plan_check::PlanFault};

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
    /// A row counts what no kernel counter is.
    #[error("{counter:?} is no counter of a kernel")]
    UnknownCounter {
        /// Its name.
        counter: String,
    },
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
