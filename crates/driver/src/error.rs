//! Why the driver did not run at all. Failures of requests are data and stand in the measurement.

use std::{io, net::SocketAddr, path::PathBuf};

use rookery_diagnosis::Diagnosis;

/// Why no load was applied.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// A target that is neither loopback nor inside the lab's network nor confirmed.
    #[error(
        "{target} (guest `{guest}`) is neither a loopback address nor in the lab's own network; \
         nothing was sent"
    )]
    ForeignTarget {
        /// Guest of the assignment.
        guest: String,
        /// The refused address.
        target: SocketAddr,
    },
    /// A configuration that cannot work.
    #[error("{what}")]
    Config {
        /// What is wrong.
        what: String,
        /// What to write instead.
        help: &'static str,
    },
    /// Fewer file descriptors than users.
    #[error("{users} users need {needed} open files, but this process may open only {limit}")]
    Descriptors {
        /// Users of all guests.
        users: u64,
        /// Descriptors that are needed.
        needed: u64,
        /// The hard limit.
        limit: u64,
    },
    /// A driver thread could not be pinned.
    #[error("cannot pin a driver thread to CPU {cpu}")]
    Pin {
        /// The CPU.
        cpu: u32,
        /// What the kernel said.
        source: io::Error,
    },
    /// The network namespace could not be entered.
    #[error("cannot enter the network namespace {}", path.display())]
    Network {
        /// Path of the namespace.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The kernel refused a thread, an event queue or the like.
    #[error("cannot start a driver thread")]
    Start(#[source] io::Error),
    /// A bug of the driver.
    #[error("a driver thread panicked; the trial has no result")]
    Panicked,
}

impl Diagnosis for DriverError {
    fn code(&self) -> &'static str {
        match self {
            Self::ForeignTarget { .. } => "driver::foreign-target",
            Self::Config { .. } => "driver::config",
            Self::Descriptors { .. } => "driver::descriptors",
            Self::Pin { .. } => "driver::pin",
            Self::Network { .. } => "driver::network",
            Self::Start(_) => "driver::start",
            Self::Panicked => "driver::internal",
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::ForeignTarget { .. } => {
                "if you may load this system, confirm it: `--confirm-target ADDRESS`"
            }
            Self::Config { help, .. } => help,
            Self::Descriptors { .. } => {
                "raise the hard limit (ulimit -Hn, LimitNOFILE=) or take fewer users"
            }
            Self::Pin { .. } => "choose a CPU that this process may use (taskset -p $$)",
            Self::Network { .. } => "the namespace must exist, and entering it needs root",
            Self::Start(_) => "free memory, processes or file descriptors and try again",
            Self::Panicked => "please report it",
        };
        Some(help.to_owned())
    }
}
