//! What goes into guests: the embedded application server on SQLite.

pub mod dvdstore_files;
pub mod embedded;
