//! The LAMP stack: Linux, Apache, MariaDB and PHP from distribution packages, in every guest.

mod audit;
mod config;
mod effective;
mod load;
pub mod pages;
pub mod root;
pub mod schema;
mod software;
pub mod sql;
mod tuning;
mod warm;

pub use audit::{AuditError, audit};
pub use config::{DIRECTORY, HEALTH_PATH, Options, PORT, Server, Service, builder, guest, initialise};
pub use effective::{Effective, PATHS as READ_BACK_PATHS, ReadBack};
pub use load::{LoadError, load, settle};
pub use schema::SETTINGS as SCHEMA_SETTINGS;
pub use software::{LampError, PhpVersion, Software};
pub use tuning::{Component, Gone, Setting, Tuned, TuningError, describe};
pub use warm::{Warmed, warm};
