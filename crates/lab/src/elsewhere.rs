//! Labs on other machines, as a run sees them.

use std::{path::Path, sync::atomic::AtomicBool};

use rookery_diagnosis::ErrorFields;
use rookery_store::{HostClock, HostDescription, RunHeader, TrialRecord};

/// A trial that another machine is to perform.
#[derive(Clone, Copy, Debug)]
pub struct TrialOrder<'a> {
    /// The run that it belongs to, with its plan.
    pub header: &'a RunHeader,
    /// Its number in the plan.
    pub trial: u32,
    /// Directory for files that are needed meanwhile.
    pub scratch: &'a Path,
    /// Set when the user wants no more.
    pub stop: &'a AtomicBool,
}

/// A lab on another machine, which performs one trial at a time.
pub trait RemoteLab: Sync {
    /// Its name, which no other of the fleet has.
    fn name(&self) -> &str;

    /// The machine, as far as it is lent.
    fn host(&self) -> &HostDescription;

    /// Perform a trial.
    ///
    /// # Errors
    /// When the machine is lost meanwhile, or cannot perform the trial.
    fn perform(&self, order: TrialOrder<'_>) -> Result<RemoteEnd, RemoteError>;
}

/// How a trial on another machine ended.
#[derive(Debug)]
pub enum RemoteEnd {
    /// It was performed, well or not.
    Ended {
        /// What it yielded.
        record: Box<TrialRecord>,
        /// The clock of the machine meanwhile.
        clock: Option<HostClock>,
    },
    /// The user stopped it.
    Stopped,
}

/// Why a trial was not performed.
#[derive(Debug)]
pub enum RemoteError {
    /// The machine does not answer any more.
    Lost {
        /// Why, in words.
        reason: String,
    },
    /// The machine cannot perform any trial.
    Refused(Box<ErrorFields>),
}

/// Where the trials of a run are performed.
#[derive(Clone, Copy)]
pub enum Labs<'a> {
    /// On this machine, one after another.
    Here,
    /// On other machines, side by side; at least one.
    Elsewhere(&'a [&'a dyn RemoteLab]),
}
