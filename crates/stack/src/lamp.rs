//! The LAMP stack: Linux, Apache, MariaDB and PHP from distribution packages, in every guest.

mod load;
pub mod root;
mod schema;
pub mod sql;

pub use load::{LoadError, load, settle};
pub use schema::SETTINGS as SCHEMA_SETTINGS;
