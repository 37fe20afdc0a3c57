//! What was seen while a load was on.

use rookery_monitor::Observations;
use rookery_stats::Measurement;
use rookery_store::{ProgramOutput, Tuning};

use crate::trial_load::DriverCpu;

/// What was seen while a load was on.
pub(crate) struct Observed {
    /// By the users of each group that has any, in their order.
    pub(crate) measured: Vec<Measurement>,
    /// Beside them.
    pub(crate) seen: Observations,
    /// A database that did not say what its buffers did: its guest and why, in words.
    pub(crate) silent: Option<String>,
    /// By the same groups: the CPUs from which their users were driven.
    pub(crate) driver_cpus: Vec<Vec<DriverCpu>>,
    /// What is known of drivers on other machines.
    pub(crate) drivers: Vec<Tuning>,
    /// What programs said that measured instead of this driver.
    pub(crate) outputs: Vec<ProgramOutput>,
}
