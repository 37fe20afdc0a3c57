//! Why the driver did not run at all. Failures of requests are data and stand in the measurement.

use std::{io, net::SocketAddr, path::PathBuf};

/// Why no load was applied.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// A target that is neither loopback nor inside the lab's network nor confirmed.
    #[error(
        "driver::foreign-target: {target} (guest `{guest}`) is neither a loopback address nor in the lab's own network; \
         nothing was sent. If you may load this system, confirm the target explicitly"
    )]
    ForeignTarget {
        /// Guest of the assignment.
        guest: String,
        /// The refused address.
        target: SocketAddr,
    },
    /// A configuration that cannot work.
    #[error("driver::config: {what}; {mend}")]
    Config {
        /// What is wrong.
        what: String,
        /// How to mend it.
        mend: &'static str,
    },
    /// Fewer file descriptors than users.
    #[error(
        "driver::descriptors: {users} users need {needed} open files, but this process may open only {limit}; \
         raise the hard limit (ulimit -Hn, LimitNOFILE=) or take fewer users"
    )]
    Descriptors {
        /// Users of all guests.
        users: u64,
        /// Descriptors that are needed.
        needed: u64,
        /// The hard limit.
        limit: u64,
    },
    /// A driver thread could not be pinned.
    #[error(
        "driver::pin: cannot pin a driver thread to CPU {cpu}: {source}; choose a CPU that this process may use (taskset -p $$)"
    )]
    Pin {
        /// The CPU.
        cpu: u32,
        /// What the kernel said.
        source: io::Error,
    },
    /// The network namespace could not be entered.
    #[error("driver::network: cannot enter the network namespace {}: {source}; it must exist, and entering it needs root", path.display())]
    Network {
        /// Path of the namespace.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The kernel refused a thread, an event queue or the like.
    #[error(
        "driver::start: cannot start a driver thread: {0}; free memory, processes or file descriptors and try again"
    )]
    Start(#[source] io::Error),
    /// A bug of the driver.
    #[error(
        "driver::internal: a driver thread panicked; the trial has no result. Please report it"
    )]
    Panicked,
}
