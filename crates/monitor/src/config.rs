//! What is sampled, as plain data.

use std::time::Duration;

use rookery_stack::DatabaseProbe;
use serde::{Deserialize, Serialize};

use crate::LoadSchedule;

/// What is sampled beside the load of a trial, and from where. Plain data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SamplerConfig {
    /// CPUs of the sampling threads: the driver's. Empty = anywhere.
    pub cpus: Vec<u32>,
    /// Time between two samples of resources, at least 20 ms.
    pub interval: Duration,
    /// The course of the load.
    pub schedule: LoadSchedule,
    /// Databases that are asked about themselves, one for each guest in their order; empty = none.
    pub databases: Vec<DatabaseProbe>,
}
