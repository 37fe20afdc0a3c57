//! The store of one run: a single SQLite file, `run.sqlite`, in the run directory.
//!
//! [`Store`] is the principal type. A trial is journaled with [`Store::begin_trial`] before
//! anything is touched and with [`Store::end_trial`], in one transaction with all its numbers, when
//! it has ended: whatever was reported as done survives `kill -9`. What is read back is checked,
//! because a run may come from elsewhere.
//!
//! The tables are described in [`schema`]; people may query them with `sqlite3 run.sqlite`.

mod cells;
mod connection;
mod damage;
mod error;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
mod fleet;
#[cfg(test)]
mod formula;
mod host_scope;
mod insert;
mod journal;
mod links;
mod machines;
mod metrics;
mod migrations;
mod model;
mod open;
mod plan_check;
mod pools;
mod read;
mod rows;
pub mod schema;
mod store_file;
mod study_files;
#[cfg(test)]
mod tests;
mod upgrade;
mod whole_file;
mod workloads;
mod write;

pub use cells::CellError;
pub use damage::Damage;
pub use error::StoreError;
pub use fleet::{FleetHost, HostClock, TrialHost};
pub use host_scope::{at_host, is_of_guest, split_host};
pub use journal::Store;
pub use links::guest_links;
pub use model::{
    Attempt, AuditRow, GroupRecord, GuestAudit, GuestLog, HostDescription, LoadPlace, LoadRecord,
    Note, OUT_OF_MEMORY, Outcome, ProgramOutput, Reason, RunHeader, TrialRecord, TrialRow,
    TrialStatus, Tuning,
};
pub use plan_check::{Entry, PlanFault};
pub use pools::{PoolRound, PoolSizing};
pub use rows::{Cell, CellKind};
pub use study_files::StudyFile;
