//! The order-entry workload on real databases: MariaDB, MySQL, PostgreSQL, and SQLite behind a
//! server of our own.
//!
//! A [`Target`] says where a database is. [`load`] fills it from a population, [`verify`] checks
//! the consistency conditions, and [`drive`] puts terminals on it and gives the figures with the
//! ledger check. [`DbSession`] is a terminal's connection. The functions block; each brings its own
//! runtime, and its threads end with it.
//!
//! [`run_statements`] is the same for a workload whose statements are data; [`set_up`] makes its
//! tables and [`count_records`] looks into them.

#![cfg_attr(
    test,
    allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        reason = "tests cast numbers of their own"
    )
)]

mod acid;
mod data_driven;
mod database;
mod drive;
mod error;
pub mod fence;
#[doc(hidden)]
pub mod fuzzing;
mod limits;
mod load;
mod look;
mod mysql;
#[cfg(feature = "odbc")]
mod odbc;
mod options;
mod postgres;
mod session;
mod short_path;
mod socket;
pub mod sqlite;
mod statements;
mod stopping;
mod target;
mod tls;
pub mod trial;
mod verify;

pub use acid::{Acid, AcidRow, Seen, acid};
pub use data_driven::{StatementsConfig, StatementsGuest, count_records, run_statements, set_up};
pub use database::Database;
pub use drive::{DriveOptions, Latencies, Report, drive, drive_and_tell};
pub use error::{ClientError, OltpError, TargetProblem};
pub use limits::{MessageRefusal, Patience};
pub use load::{Loaded, load};
pub use look::{Server, ledger, next_orders, server, verify_within};
pub use options::{LoadOptions, Progress, SessionOptions};
pub use session::DbSession;
pub use statements::Statements;
pub use target::Target;
pub use tls::TlsError;
pub use verify::{Check, Verification, loaded, verify};

/// A runtime of one thread.
fn runtime() -> Result<tokio::runtime::Runtime, OltpError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(OltpError::Runtime)
}
