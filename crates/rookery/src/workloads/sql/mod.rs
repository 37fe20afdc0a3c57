//! Database workloads as data: their command.

pub(crate) mod drive;
