//! Database workloads as data: operations of statements, data, mix and delays that a user wrote
//! down.
//!
//! [`SqlWorkload`] is what a study or a workload file says; [`split`] takes a script of statements
//! apart.

mod counters;
mod data;
mod info;
mod script;
mod text;

pub use counters::SqlCounters;
pub use data::{
    MOST_STATEMENTS, RowAudit, RowCapture, RowChecks, SqlOperation, SqlStatement, SqlWorkload,
    SqlWorkloadFault,
};
pub use info::{INFO, OPERATION};
pub use script::{ScriptError, split};
pub use text::{Marks, StatementText, StatementTextError};
