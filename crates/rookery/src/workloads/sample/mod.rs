//! The sample workload: its server.

pub(crate) mod app;
