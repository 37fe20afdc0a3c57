//! DVD Store: its load files, its embedded server, and the driver against a store that runs.

pub(crate) mod app;
pub(crate) mod data;
pub(crate) mod drive;
mod words;
