//! Labs and drivers on other machines, as a run sees them.

use std::{
    net::IpAddr,
    path::Path,
    time::{Duration, Instant},
};

use rookery_diagnosis::ErrorFields;
use rookery_guest::{Way, WayKind};
use rookery_host::RunId;
use rookery_store::{HostClock, HostDescription, RunHeader, TrialRecord};
use rookery_web::{Config, Part, Recording};
use serde::{Deserialize, Serialize};

use crate::{
    common_start::{FAR_START_DELAY, Party},
    error::LabError,
};

/// Until the start of users that are driven from here.
const START_DELAY: Duration = Duration::from_millis(200);

/// A trial that another machine is to perform.
#[derive(Clone, Copy)]
pub struct TrialOrder<'a> {
    /// The run that it belongs to, with its plan.
    pub header: &'a RunHeader,
    /// Its number in the plan.
    pub trial: u32,
    /// Guests of the trial on other machines whose numbers are before those of this one.
    pub guests_before: u32,
    /// Those who drive its users; none where the machine does so itself.
    pub drivers: &'a [&'a dyn RemoteDriver],
    /// When users begin who are driven from other machines.
    pub start: &'a Party<'a>,
    /// Directory for files that are needed meanwhile.
    pub scratch: &'a Path,
    /// Whether the trial is to end.
    pub stop: &'a (dyn Fn() -> bool + Sync),
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
        /// How long after the start that it was told its users began, by what is known of the
        /// clocks at the end, microseconds; nothing where it was not told one.
        late_us: Option<i64>,
        /// Drivers that were lost meanwhile.
        lost: Vec<LostDriver>,
    },
    /// The user stopped it.
    Stopped,
    /// The machine's disk is full: others may have room.
    DiskFull {
        /// What could not be done, in words.
        words: String,
        /// Drivers that were lost meanwhile.
        lost: Vec<LostDriver>,
    },
}

/// Who decides when the users of a trial begin.
pub trait StartDecision: Sync {
    /// The start, which lies a little ahead; all users are ready. Now where the trial is to end.
    fn decide(&self) -> Instant;
}

/// A driver that does not answer any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostDriver {
    /// Its name.
    pub host: String,
    /// Why, in words.
    pub reason: String,
}

impl LostDriver {
    /// What is noted of it, where others go on without it.
    pub(crate) fn note(&self, left: &[&str]) -> String {
        let Self { host, reason } = self;
        format!(
            "the driver on host {host} was lost ({reason}): users are driven from {} alone from \
             there on",
            left.join(", ")
        )
    }
}

impl From<LostDriver> for LabError {
    fn from(LostDriver { host, reason }: LostDriver) -> Self {
        Self::DriverLost { host, reason }
    }
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

/// The part of the load of one group of guests that a driver on another machine is to carry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupPart {
    /// The label of the lab that has the guests.
    pub lab: RunId,
    /// The whole load of the group, with the CPUs of this driver.
    pub config: Config,
    /// The driver's part of it.
    pub part: Part,
    /// How the guests are reached, as the driver sees it; nothing where they are on a network that
    /// the driver's machine is on too.
    pub way: Option<Way>,
}

/// What a driver on another machine is to carry of the load of a trial.
#[derive(Clone, Copy)]
pub struct PartOrder<'a> {
    /// Its part of each group that it loads.
    pub groups: &'a [GroupPart],
    /// When the users of all begin.
    pub start: Instant,
    /// Whether the load is to end.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// What came of a part of a load.
#[derive(Debug)]
pub struct DrivenPart {
    /// What was recorded of each group.
    pub recordings: Vec<Recording>,
    /// By how much its start lay after the one that was asked for, by what is known of the clocks
    /// at the end, microseconds; below 0 it lay before.
    pub start_shift_us: i64,
    /// The clock of the machine meanwhile.
    pub clock: Option<HostClock>,
}

/// A driver on another machine than the guests, which carries a part of one load at a time.
pub trait RemoteDriver: Sync {
    /// Its name, which no other of the fleet has.
    fn name(&self) -> &str;

    /// The machine, as far as it is lent.
    fn host(&self) -> &HostDescription;

    /// Its address as the machine of the guests reaches it, whose own is `guests`: that of loopback
    /// where it is this machine.
    ///
    /// # Errors
    /// When no way is known.
    fn address(&self, guests: IpAddr) -> Result<IpAddr, RemoteError>;

    /// How packets travel between it and the guests.
    fn way(&self) -> WayKind;

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
    /// Its place among all drivers of the run. Its ways have it, so that one whose end a lost
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
    /// The same for a controller on another machine, of whose trial this is all, or a part.
    PartOf {
        /// Those who drive the users; at least one.
        drivers: &'a [&'a dyn RemoteDriver],
        /// The controller.
        start: &'a dyn StartDecision,
        /// Guests of the trial on other machines whose numbers are before those of this one.
        guests_before: u32,
    },
    /// The guests on other machines.
    Elsewhere {
        /// The machines; at least one.
        labs: &'a [&'a dyn RemoteLab],
        /// Those who drive the users of one trial at a time. Where there are none each machine
        /// drives those of its own guests, and trials are performed side by side.
        drivers: &'a [&'a dyn RemoteDriver],
    },
}

impl<'a> Labs<'a> {
    /// The drivers on other machines than the guests; none where users are driven from where the
    /// guests are.
    pub(crate) fn drivers(self) -> &'a [&'a dyn RemoteDriver] {
        match self {
            Self::DrivenFrom(drivers)
            | Self::PartOf { drivers, .. }
            | Self::Elsewhere { drivers, .. } => drivers,
            Self::Here => &[],
        }
    }

    /// The machines that groups of guests may name as their hosts.
    pub(crate) fn guest_hosts(self) -> Vec<&'a str> {
        match self {
            Self::Elsewhere { labs, drivers } if !drivers.is_empty() => {
                labs.iter().map(|lab| lab.name()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// When users begin who are all ready now: every thread of every driver must be up by then.
    pub(crate) fn start(self) -> Instant {
        match self {
            Self::PartOf { start, .. } => start.decide(),
            Self::DrivenFrom(_) => Instant::now() + FAR_START_DELAY,
            Self::Here | Self::Elsewhere { .. } => Instant::now() + START_DELAY,
        }
    }

    /// Guests of a trial on other machines whose numbers are before those of this one.
    pub(crate) fn guests_before(self) -> usize {
        match self {
            Self::PartOf { guests_before, .. } => guests_before as usize,
            Self::Here | Self::DrivenFrom(_) | Self::Elsewhere { .. } => 0,
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
