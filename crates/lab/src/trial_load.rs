//! The load of a trial, whatever its users do and wherever they are driven from.

use std::{sync::atomic::AtomicBool, time::Instant};

use rookery_driver::{Phases, Progress};
use rookery_host::RunId;
use rookery_stats::Measurement;
use rookery_store::Tuning;

use crate::{
    elsewhere::NumberedDriver,
    error::{Failure, LabError},
};

/// The load of one trial, ready to be put on.
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

    /// The same users, driven from other machines for guests of `run`.
    ///
    /// # Errors
    /// When these users cannot be driven from there.
    fn driven_from<'d>(
        self: Box<Self>,
        _run: &'d RunId,
        _drivers: &'d [NumberedDriver<'d>],
    ) -> Result<Box<dyn TrialLoad + 'd>, LabError> {
        Err(LabError::NotDrivenElsewhere {
            what: "terminals on databases",
            help: "users over HTTP can; drive these from this host",
        })
    }

    /// What is known of those who drove it, once they have.
    fn facts(&self) -> Vec<Tuning> {
        Vec::new()
    }
}
