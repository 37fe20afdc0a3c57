//! Labs and drivers on other machines, as a run sees them.

use std::{
    net::IpAddr,
    path::Path,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use rookery_diagnosis::ErrorFields;
use rookery_guest::Tunnel;
use rookery_host::RunId;
use rookery_store::{HostClock, HostDescription, RunHeader, TrialRecord};
use rookery_web::{Config, Part, Recording};

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

/// The part of a load that a driver on another machine is to carry.
#[derive(Clone, Copy)]
pub struct PartOrder<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The whole load, with the CPUs of this driver.
    pub config: &'a Config,
    /// The driver's part of it.
    pub part: Part,
    /// When the users begin.
    pub start: Instant,
    /// How the guests are reached, as the driver sees it; nothing where they are on a network that
    /// the driver's machine is on too.
    pub tunnel: Option<Tunnel>,
    /// Whether the load is to end.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// What came of a part of a load.
#[derive(Debug)]
pub struct DrivenPart {
    /// What was recorded.
    pub recording: Recording,
    /// The clock of the machine meanwhile.
    pub clock: Option<HostClock>,
}

/// A driver on another machine, which carries a part of one load at a time.
pub trait RemoteDriver: Sync {
    /// Its name, which no other of the fleet has.
    fn name(&self) -> &str;

    /// The machine, as far as it is lent.
    fn host(&self) -> &HostDescription;

    /// The address of this machine on the way there, and that of the other machine.
    ///
    /// # Errors
    /// When no way is known.
    fn addresses(&self) -> Result<(IpAddr, IpAddr), RemoteError>;

    /// Carry a part of a load from its start to its end.
    ///
    /// # Errors
    /// When the machine is lost meanwhile, or cannot carry the load.
    fn drive(&self, order: &PartOrder<'_>) -> Result<DrivenPart, RemoteError>;

    /// How long it may go on with its load after it was lost.
    fn lease(&self) -> Duration;
}

/// A driver of a run.
#[derive(Clone, Copy)]
pub(crate) struct NumberedDriver<'a> {
    /// Its place among all drivers of the run. Its tunnels have it, so that one whose end a lost
    /// driver still has leads nowhere.
    pub(crate) number: u8,
    /// The driver.
    pub(crate) remote: &'a dyn RemoteDriver,
}

/// Where the trials of a run are performed.
#[derive(Clone, Copy)]
pub enum Labs<'a> {
    /// On this machine, one after another.
    Here,
    /// The guests on this machine, their users on other machines; at least one.
    DrivenFrom(&'a [&'a dyn RemoteDriver]),
    /// On other machines, side by side; at least one.
    Elsewhere(&'a [&'a dyn RemoteLab]),
}

impl<'a> Labs<'a> {
    /// The drivers on other machines; none where users are driven from where the guests are.
    pub(crate) fn drivers(self) -> &'a [&'a dyn RemoteDriver] {
        match self {
            Self::DrivenFrom(drivers) => drivers,
            Self::Here | Self::Elsewhere(_) => &[],
        }
    }

    /// The same with their numbers.
    pub(crate) fn numbered_drivers(self) -> Vec<NumberedDriver<'a>> {
        let drivers = (0..=u8::MAX).zip(self.drivers());
        drivers
            .map(|(number, remote)| NumberedDriver {
                number,
                remote: *remote,
            })
            .collect()
    }
}
