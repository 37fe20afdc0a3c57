//! Web workloads as data: their commands.

pub(crate) mod check;
pub(crate) mod drive;
pub(crate) mod from_har;
mod search;
pub(crate) mod try_out;
mod try_text;
