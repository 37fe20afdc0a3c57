//! Web workloads as data: their commands.

pub(crate) mod drive;
mod target;
