//! The load of a trial, whatever its users do and wherever they are driven from.

use std::{sync::atomic::AtomicBool, time::Instant};

use rookery_driver::{Phases, Progress};
use rookery_monitor::DriverPrograms;
use rookery_stats::Measurement;
use rookery_store::{ProgramOutput, Tuning};
use rookery_web::Config;

use crate::error::Failure;

/// What came of the loads of a trial.
pub(crate) struct Driven {
    /// Of each group that has users, in their order.
    pub(crate) measured: Vec<Measurement>,
    /// What is known of those who drove them on other machines.
    pub(crate) facts: Vec<Tuning>,
    /// What programs said that measured instead of this driver.
    pub(crate) outputs: Vec<ProgramOutput>,
}

/// A CPU from which users are driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DriverCpu {
    /// Place of its driver among those of the trial; 0 where this machine drives.
    pub(crate) driver: usize,
    /// Its number there.
    pub(crate) cpu: u32,
}

/// The load of one group of a trial, ready to be put on from this machine.
pub(crate) trait TrialLoad: Sync {
    /// CPUs of the driver.
    fn cpus(&self) -> &[u32];

    /// Its phases.
    fn phases(&self) -> &Phases;

    /// Put it on. `start` gives the common start of all users, when all are ready.
    ///
    /// # Errors
    /// When no load was put on.
    fn drive(
        &self,
        start: &(dyn Fn() -> Instant + Sync),
        stop: &AtomicBool,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Measurement, Failure>;

    /// The programs that put it on instead of threads of this process, where it is such a load.
    fn programs(&self) -> Option<DriverPrograms> {
        None
    }

    /// What those programs said, once it was put on.
    fn outputs(&self) -> Vec<ProgramOutput> {
        Vec::new()
    }

    /// What its users do, where they are users over HTTP, who can be driven from other machines.
    fn web_users(self: Box<Self>) -> Option<Config> {
        None
    }
}
