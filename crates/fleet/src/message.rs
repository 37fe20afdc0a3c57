//! The messages between a controller and an agent. They are JSON; what an older build does not know
//! of an answer it leaves out.

use std::{net::IpAddr, time::Duration};

use rookery_diagnosis::ErrorFields;
use rookery_guest::WayKind;
use rookery_lab::GroupPart;
use rookery_store::{HostDescription, RunHeader};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    bus::{Bus, BusError, Frame, Session},
    clock::ClockOffset,
    own_server::ServerFiles,
};

/// An agent that hears nothing for so long ends the load, removes its guests and ends itself.
pub const LEASE: Duration = Duration::from_secs(10);

/// What a controller asks of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case")]
pub(crate) enum Order {
    /// Speak over this session from now on. It comes once, before all others, over ssh alone.
    Dial(Box<Session>),
    /// Tell who you are.
    Hello,
    /// Tell the time; every order extends the lease.
    Ping {
        /// Number of the question.
        number: u64,
    },
    /// Give the end of your log.
    Log {
        /// Most bytes of it.
        most: u64,
    },
    /// Start a NATS server, unless it runs.
    Serve {
        /// Its files; those that are there where there are none.
        files: Option<Box<ServerFiles>>,
    },
    /// Give the end of its log.
    ServerLog {
        /// Most bytes of it.
        most: u64,
    },
    /// Remove what earlier runs left on this host and the NATS server, then the program and its
    /// directory.
    Remove,
    /// Perform a trial of this run.
    Trial {
        /// The run with its plan.
        header: Box<RunHeader>,
        /// The number of the trial.
        trial: u32,
        /// Those who drive its users, through the controller; none where the agent does so itself.
        drivers: Vec<DriverPlace>,
        /// Guests of the trial on other hosts whose numbers are before those of this one.
        guests_before: u32,
    },
    /// The users of the trial that are driven through the controller begin then.
    Begin {
        /// When, by the agent's clock, microseconds since 1970.
        start_us: i64,
    },
    /// Carry a part of the load of a trial.
    Drive(Box<DriveOrder>),
    /// A driver has carried a part of the load of the agent's trial, or has not. The body is what
    /// it recorded of each group, as JSON.
    Carried {
        /// Name of the driver.
        driver: String,
        /// How it ended.
        end: CarriedEnd,
    },
    /// End the load of the trial that is performed.
    Stop,
}

/// A driver as the agent of the guests knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct DriverPlace {
    /// Its name.
    pub(crate) name: String,
    /// Its machine.
    pub(crate) host: HostDescription,
    /// Its address as the guests' host reaches it.
    pub(crate) address: IpAddr,
    /// How packets travel between the two.
    pub(crate) way: WayKind,
}

/// How a driver's part of a load ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "carried", rename_all = "kebab-case")]
pub(crate) enum CarriedEnd {
    /// It was carried.
    Recorded {
        /// The driver's clock against that of the guests' host.
        clock: Option<ClockOffset>,
        /// By how much its start lay after the one that was asked for, microseconds.
        start_shift_us: i64,
    },
    /// The driver is lost.
    Lost {
        /// Why, in words.
        reason: String,
    },
    /// The driver cannot carry it.
    Refused(Box<ErrorFields>),
}

/// What an agent is to carry of the load of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct DriveOrder {
    /// Its part of each group of guests that it loads.
    pub(crate) groups: Vec<GroupPart>,
    /// When users begin by the agent's clock, microseconds since 1970.
    pub(crate) start_us: i64,
}

/// What an agent answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// It is connected, and speaks over the session from now on.
    Dialed,
    /// Who it is.
    Hello(Box<Hello>),
    /// The time.
    Pong {
        /// Number of the question.
        number: u64,
        /// The time there, microseconds since 1970.
        time_us: i64,
    },
    /// The end of a log is the body.
    Log,
    /// The NATS server runs.
    Serving {
        /// The number of its process.
        process: u32,
    },
    /// What was removed, in words; the agent ends.
    Removed {
        /// Guests, networks and mounts of earlier runs, and a NATS server.
        things: Vec<String>,
    },
    /// A trial was performed, well or not; the body is the store that holds its record.
    TrialEnded,
    /// A trial was stopped.
    TrialStopped,
    /// A trial could not be performed for want of room on the disk.
    DiskFull {
        /// What could not be done, in words.
        words: String,
    },
    /// All is ready for the users of the trial: when do they begin?
    Ready,
    /// One of the trial's drivers is to carry a part of its load; the start is by the agent's
    /// clock.
    Carry {
        /// Name of the driver.
        driver: String,
        /// The part.
        order: Box<DriveOrder>,
    },
    /// One of the trial's drivers is to end its part.
    EndPart {
        /// Name of the driver.
        driver: String,
    },
    /// A part of a load was carried; the body is what was recorded of each group, as JSON.
    Driven,
    /// Another controller has the agent of this host.
    Busy,
    /// It cannot do it.
    Refused(Box<ErrorFields>),
}

/// A build of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Version.
    pub version: String,
    /// SHA-256 of the program's file, in hexadecimal digits.
    pub digest: String,
}

impl std::fmt::Display for Build {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits: String = self.digest.chars().take(12).collect();
        write!(f, "{} ({digits})", self.version)
    }
}

/// Who an agent is, and what its host can do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// Its build.
    pub build: Build,
    /// The host, as far as it is lent.
    pub host: HostDescription,
    /// Whether it runs as root.
    pub root: bool,
    /// Whether each kind of guest can be made there.
    pub kinds: Vec<KindCheck>,
    /// What earlier agents left there and this one removed, in words.
    pub cleaned: Vec<String>,
    /// Whether another controller has the agent of this host.
    pub busy: bool,
    /// The process of the NATS server that was started there, where it runs.
    pub server: Option<u32>,
}

/// Whether a kind of guest can be made on a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindCheck {
    /// The kind: `bare`, `container`, `vm`.
    pub kind: String,
    /// What it lacks; nothing where the kind can be made.
    pub lacks: Option<String>,
}

/// Send a message with bytes that go with it.
///
/// # Errors
/// When the connection is closed or the message too long.
pub(crate) fn send(bus: &dyn Bus, message: &impl Serialize, body: Vec<u8>) -> Result<(), BusError> {
    let head = serde_json::to_vec(message)
        .map_err(|error| BusError::Failed(std::io::Error::other(error)))?;
    bus.send(Frame { head, body })
}

/// The message of a frame.
///
/// # Errors
/// When it is none.
pub(crate) fn read<T: DeserializeOwned>(frame: &Frame) -> Result<T, BusError> {
    serde_json::from_slice(&frame.head)
        .map_err(|error| BusError::Failed(std::io::Error::other(error)))
}
