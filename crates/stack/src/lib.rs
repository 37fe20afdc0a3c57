//! What goes into guests: the embedded application server on SQLite.

pub mod embedded;
