//! This machine: topology, commands, cgroups, /proc.

mod run_id;

pub use run_id::RunId;
