//! The workloads' own commands: the one place of this crate that names all of them.

pub(crate) mod sample;
