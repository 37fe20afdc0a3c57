//! The LAMP stack: Linux, Apache, MariaDB and PHP from distribution packages, in every guest.

mod config;
mod load;
pub mod root;
mod schema;
mod software;
pub mod sql;
mod tuning;

pub use config::{DIRECTORY, HEALTH_PATH, Options, PORT, Server, Service, builder, guest, initialise};
pub use load::{LoadError, load, settle};
pub use schema::SETTINGS as SCHEMA_SETTINGS;
pub use software::{LampError, PhpVersion, Software};
pub use tuning::{Component, Gone, Setting, Tuned, TuningError, describe};
