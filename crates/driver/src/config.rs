//! What the driver is told.

use std::{borrow::Cow, net::SocketAddr, path::PathBuf, time::Duration};

use rookery_stats::Pacing;
use rookery_workload::dvdstore::{ShopperParams, WordLists};

use crate::load::Load;

/// Phases of a trial; see the load section of a study.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phases {
    /// Users start evenly over this time; each waits one random delay more before its first order.
    pub ramp_up: Duration,
    /// All users run, nothing is measured.
    pub settle: Duration,
    /// The measured window, longer than zero.
    pub steady: Duration,
    /// Load is kept up for its first half; over its second half users stop in start order.
    pub ramp_down: Duration,
    /// How long unfinished operations are awaited after the end.
    pub drain: Duration,
}

impl Phases {
    /// Begin of the measured window, counted from the common start.
    #[must_use]
    pub fn window_start(&self) -> Duration {
        self.ramp_up + self.settle
    }

    /// End of the measured window, counted from the common start.
    #[must_use]
    pub fn window_end(&self) -> Duration {
        self.window_start() + self.steady
    }

    /// When the last user has been told to stop, counted from the common start.
    #[must_use]
    pub fn load_end(&self) -> Duration {
        self.window_end() + self.ramp_down
    }
}

/// What the users of one guest do.
#[derive(Clone, Debug, PartialEq)]
pub enum Script {
    /// Shopping: log in or become a customer, search, buy; operations `login`, `new-customer`, `browse`, `purchase` and the whole `order`.
    DvdStore {
        /// Directory of the pages without slashes, `ds2` by default.
        directory: String,
        /// Suffix of the pages: `php`, `jsp`, ...
        page_type: String,
        /// What a shopper draws.
        shopper: ShopperParams,
    },
    /// One page again and again; the operation `page`.
    Page {
        /// Path and query of the page, beginning with `/`, visible ASCII only.
        path: String,
    },
}

/// The users of one guest.
#[derive(Clone, Debug, PartialEq)]
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

/// The most that a server may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one head: status line and all header lines; at most 65 536.
    pub header_bytes: usize,
    /// Bytes of one body after the chunks are joined.
    pub body_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header_bytes: 32 * 1024,
            body_bytes: 8 * 1024 * 1024,
        }
    }
}

/// One trial of the driver.
#[derive(Clone, Debug)]
pub struct Config {
    /// Users of every guest.
    pub assignments: Vec<Assignment>,
    /// Network namespace that the threads enter, as a path such as `/run/netns/NAME`; `None` = stay.
    pub network: Option<PathBuf>,
    /// CPUs of the driver, one thread each.
    pub cpus: Vec<u32>,
    /// Loop type.
    pub load: Load,
    /// Phases.
    pub phases: Phases,
    /// Think or cycle pacing of users, and of visitors that stay for several acts.
    pub pacing: Pacing,
    /// Mean think time (drawn uniformly from 0 to twice it) or cycle time.
    pub think_time: Duration,
    /// Limit on one request, connecting included; kept to within 50 ms.
    pub timeout: Duration,
    /// The most that a server may send.
    pub limits: Limits,
    /// Words that shoppers search for: those that the databases were loaded with, else their searches find nothing.
    pub words: Cow<'static, WordLists>,
    /// Seed of all random streams.
    pub seed: u64,
    /// Foreign targets that the user named and confirmed; loopback is always allowed, and any address inside `network`.
    pub confirmed_targets: Vec<SocketAddr>,
}
