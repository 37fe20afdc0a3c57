//! What the driver is told.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use rookery_stats::Pacing;
use rookery_workload::dvdstore::ShopperParams;

/// Phases of a trial; see the load section of a study.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phases {
    /// Users start evenly over this time, each with one initial random delay.
    pub ramp_up: Duration,
    /// All users run, nothing is measured.
    pub settle: Duration,
    /// The measured window.
    pub steady: Duration,
    /// Load is kept up, then users stop in start order.
    pub ramp_down: Duration,
    /// How long unfinished operations are awaited after the end.
    pub drain: Duration,
}

/// The users of one guest.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// Name of the guest in results.
    pub guest: String,
    /// Where its pages are.
    pub target: SocketAddr,
    /// Directory of the pages without slashes, `ds2` by default.
    pub directory: String,
    /// Suffix of the pages: `php`, `jsp`, ...
    pub page_type: String,
    /// Number of users.
    pub users: u32,
    /// What they do.
    pub shopper: ShopperParams,
}

/// One trial of the driver.
#[derive(Clone, Debug)]
pub struct Config {
    /// Users of every guest.
    pub assignments: Vec<Assignment>,
    /// Network namespace that the threads enter; `None` = stay.
    pub network: Option<PathBuf>,
    /// CPUs of the driver, one thread each.
    pub cpus: Vec<u32>,
    /// Phases.
    pub phases: Phases,
    /// Think or cycle pacing.
    pub pacing: Pacing,
    /// Mean think time (drawn uniformly from 0 to twice it) or cycle time.
    pub think_time: Duration,
    /// Limit on one request, connecting included.
    pub timeout: Duration,
    /// Seed of all random streams.
    pub seed: u64,
    /// Foreign targets that the user named and confirmed; loopback is always allowed, and any address inside `network`.
    pub confirmed_targets: Vec<SocketAddr>,
}
