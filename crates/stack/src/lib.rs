//! What goes into guests: the embedded application server on SQLite, and LAMP from distribution packages.

pub mod dvdstore_files;
pub mod embedded;
pub mod lamp;
