//! The configuration of one trial.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use rookery_driver::{DriverError, Load, Phases, Secrets};
use rookery_stats::Pacing;
use rookery_workload::DelayDistribution;
use serde::{Deserialize, Serialize};

use crate::{http::Limits, workloads::Script};

/// The users of one guest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// Name of the guest in results.
    pub guest: String,
    /// Where its pages are.
    pub target: SocketAddr,
    /// Number of users; does not count in an open load.
    pub users: u32,
    /// What they do.
    pub script: Script,
}

/// One trial of the driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// Users of every guest.
    pub assignments: Vec<Assignment>,
    /// Network namespace that the threads enter, as a path such as `/run/rookery/netns/NAME`;
    /// `None` = stay.
    pub network: Option<PathBuf>,
    /// CPUs of the driver, one thread each.
    pub cpus: Vec<u32>,
    /// Loop type.
    pub load: Load,
    /// Phases.
    pub phases: Phases,
    /// Think or cycle pacing of users, and of visitors that stay for several acts.
    pub pacing: Pacing,
    /// Mean think time or cycle time.
    pub think_time: Duration,
    /// How think times scatter about their mean.
    pub think_distribution: DelayDistribution,
    /// Limit on one request, connecting included; kept to within 50 ms.
    pub timeout: Duration,
    /// The most that a server may send.
    pub limits: Limits,
    /// Seed of all random streams.
    pub seed: u64,
    /// Foreign targets that the user named and confirmed; loopback is always allowed, and any
    /// address inside `network`.
    pub confirmed_targets: Vec<SocketAddr>,
}

impl Config {
    /// It with the values of secret columns, which no other copy has, and what must be masked for
    /// it.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn revealed(&self) -> Result<(Self, Secrets), DriverError> {
        let (mut config, mut secrets) = (self.clone(), Secrets::default());
        for assignment in &mut config.assignments {
            secrets.reveal(assignment.script.feeders())?;
        }
        Ok((config, secrets))
    }
}
