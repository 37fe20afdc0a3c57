//! The netstream workload: its server.

pub(crate) mod app;
