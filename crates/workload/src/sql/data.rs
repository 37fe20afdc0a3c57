//! What a study or a workload file says, checked.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::StatementText;
use crate::{
    RandomDelay,
    data_driven::{
        Course, Feeder, FeederPlaces, MOST_OPERATIONS, OnFailure, RecordCount, Template,
        UnknownValue, Walk, check_values, mean_delay, records_of, value_names,
    },
};

/// Most statements of one operation.
pub const MOST_STATEMENTS: usize = 64;

/// A database workload as a user wrote it down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SqlWorkload {
    /// What makes and fills the tables, once for all guests.
    pub setup: Vec<String>,
    /// Its operations.
    pub operations: Vec<SqlOperation>,
    /// Where values come from.
    #[serde(default)]
    pub feeders: Vec<Feeder>,
    /// Which operation follows which.
    pub walk: Walk,
    /// The operation that every session begins with, once.
    #[serde(default)]
    pub login: Option<usize>,
    /// What a failure does to the session.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// The pause between two sessions; `None` = as after any operation.
    #[serde(default)]
    pub session_pause: Option<RandomDelay>,
    /// Attempts of an operation after the first, where the database undid it.
    pub retries: u32,
    /// What is counted in the database after the load.
    #[serde(default)]
    pub audits: Vec<RowAudit>,
}

/// One operation: statements one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SqlOperation {
    /// Its name in tables.
    pub name: String,
    /// Its statements.
    pub statements: Vec<SqlStatement>,
    /// They are one transaction; else each is its own.
    pub transaction: bool,
    /// The pause after it, or the length of its cycle.
    pub delay: RandomDelay,
    /// Limit on the whole operation; `None` = that of the load.
    #[serde(default)]
    pub timeout: Option<Duration>,
    /// The kind of record of which a success makes one more, for the audit.
    #[serde(default)]
    pub counts: Option<String>,
}

/// One statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SqlStatement {
    /// Its text.
    pub text: StatementText,
    /// What its answer must be.
    #[serde(default)]
    pub checks: RowChecks,
    /// Values that are taken from the first row.
    #[serde(default)]
    pub captures: Vec<RowCapture>,
}

/// What an answer must be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RowChecks {
    /// The fewest rows that it answers with, or changes where it answers with none.
    #[serde(default)]
    pub min_rows: Option<u64>,
    /// The most.
    #[serde(default)]
    pub max_rows: Option<u64>,
    /// The columns of the first row, from the first column on.
    #[serde(default)]
    pub values: Vec<Template>,
}

/// A value that is taken from the first row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowCapture {
    /// Its name.
    pub name: String,
    /// The column, counted from 1.
    pub column: u16,
}

/// What is counted in the database after the load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowAudit {
    /// The kind of record, as operations count it.
    pub counts: String,
    /// A statement that answers with one number.
    pub statement: String,
    /// The number that it gives before the load.
    pub initial: u64,
}

/// What is wrong with a workload as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SqlWorkloadFault {
    /// An operation uses a value that nothing gives.
    #[error(transparent)]
    UnknownValue(#[from] UnknownValue),
    /// There are no operations, or too many.
    #[error("there are {0} operations, where 1 to {MOST_OPERATIONS} are possible")]
    Operations(usize),
    /// Operations count what no audit looks for.
    #[error("`{operation}` counts {what}, which no audit looks for in the database")]
    NotAudited {
        /// The operation.
        operation: String,
        /// What it counts.
        what: String,
    },
    /// An audit looks for what nothing counts.
    #[error("no operation counts {what}, so that nothing can be compared with the audit")]
    NotCounted {
        /// The place of the audit.
        audit: usize,
        /// What it looks for.
        what: String,
    },
}

impl SqlOperation {
    /// The names of all values that its statements and checks use.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.statements.iter().flat_map(|statement| {
            let values = statement.checks.values.iter();
            statement
                .text
                .names()
                .chain(values.flat_map(Template::names))
        })
    }
}

impl SqlWorkload {
    /// The names of all values, by place.
    #[must_use]
    pub fn values(&self) -> Vec<String> {
        let statements = self.operations.iter().flat_map(|op| &op.statements);
        let captures = statements.flat_map(|statement| &statement.captures);
        value_names(&self.feeders, captures.map(|capture| capture.name.as_str()))
    }

    /// Every kind of record that an operation counts, each once.
    #[must_use]
    pub fn records(&self) -> Vec<RecordCount> {
        let operations = self.operations.iter();
        records_of(operations.filter_map(|operation| operation.counts.as_deref()))
    }

    /// What decides how users go through it, with the feeders of sessions.
    #[must_use]
    pub fn course<'w>(&'w self, of_session: &'w FeederPlaces) -> Course<'w> {
        Course {
            walk: &self.walk,
            login: self.login,
            on_failure: self.on_failure,
            session_pause: self.session_pause,
            feeders: &self.feeders,
            of_session,
        }
    }

    /// The mean of the delays of all operations: the longest random delay before the first.
    #[must_use]
    pub fn mean_delay(&self) -> Duration {
        mean_delay(self.operations.iter().map(|operation| operation.delay))
    }

    /// What cannot be seen in one operation alone.
    ///
    /// # Errors
    /// The first fault.
    pub fn check(&self) -> Result<(), SqlWorkloadFault> {
        if !(1..=MOST_OPERATIONS).contains(&self.operations.len()) {
            return Err(SqlWorkloadFault::Operations(self.operations.len()));
        }
        let known = self.values();
        for operation in &self.operations {
            check_values(&operation.name, operation.names(), &known)?;
        }
        self.check_audits()
    }

    fn check_audits(&self) -> Result<(), SqlWorkloadFault> {
        for operation in &self.operations {
            let Some(what) = &operation.counts else {
                continue;
            };
            if !self.audits.iter().any(|audit| audit.counts == *what) {
                return Err(SqlWorkloadFault::NotAudited {
                    operation: operation.name.clone(),
                    what: what.clone(),
                });
            }
        }
        let counted = self.records();
        for (index, audit) in self.audits.iter().enumerate() {
            if !counted.iter().any(|record| record.what == audit.counts) {
                return Err(SqlWorkloadFault::NotCounted {
                    audit: index,
                    what: audit.counts.clone(),
                });
            }
        }
        Ok(())
    }
}
