//! The supervisor of a guest: starts its services in order, reaps, forwards stop, restarts nothing.
//!
//! [`run`] reads a services file and stays until everything has ended. It is process 1 in
//! containers, and an ordinary child in bare guests; it is plain synchronous code on one thread,
//! driven by `poll`.
//!
//! * A service is started when the one before it is ready. Readiness is a file, a socket that
//!   accepts, a TCP port that accepts, or a line of output.
//! * What services write goes, line by line and with the service's name before it, to standard
//!   output: the guest's log.
//! * SIGTERM and SIGINT stop the services in reverse order, each by its own signal, with a grace
//!   and then SIGKILL.
//! * A service that ends unasked ends the guest: nothing is restarted, because a restart would hide
//!   a fault in a measurement.
//! * Orphans are reaped; whatever still lives when the last service has ended is killed.
//!
//! As a process group the guest dies at one blow: services stay in the group of the supervisor,
//! those that would leave it by `keep_group`.
//!
//! # The services file
//!
//! ```toml
//! [guest]
//! user_namespace = true      # started by root: enter a user namespace first, so that no service believes to be root
//! secrets = "/conf/secrets"  # files with the values of variables that all services have
//! ends_when_done = true      # the guest makes something: it ends when its oneshots are done
//! ipc_namespace = true       # shared memory of its own, where that is allowed: none is left behind
//!
//! [[service]]
//! name = "initialise"
//! command = ["/bin/sh", "/conf/initialise.sh"]
//! oneshot = true             # must end with exit code 0 before the next one starts
//! creates = "/data/mysql"    # skipped where this exists
//!
//! [[service]]
//! name = "mariadb"
//! command = ["/usr/sbin/mariadbd", "--defaults-file=/conf/mariadb.cnf"]
//! environment = { MALLOC_ARENA_MAX = "2" }
//! ready = "socket:/data/mysql.sock"
//! ready_within_ms = 60000
//! stop_signal = "TERM"
//! grace_ms = 30000
//! ```
//!
//! # Exit codes of `rookery supervise`
//!
//! | code | meaning |
//! |---|---|
//! | 0 | stopped as asked, every service within its grace |
//! | 2 | the services file cannot be read or is wrong |
//! | 4 | this host forbids what the services need (user namespaces) |
//! | 5 | a service could not be started, was not ready in time, ended unasked, or had to be killed |

mod conductor;
mod group;
mod namespace;
mod output;
mod process;
mod ready;
mod secrets;
mod services;
mod signals;

use rookery_diagnosis::Diagnosis;
use std::{io, path::Path};

pub use services::{Ready, Service, Services, ServicesError, StopWith};

/// Why a guest ended otherwise than by an asked and orderly stop.
#[derive(Debug, thiserror::Error)]
pub enum SuperviseError {
    /// The services file is wrong.
    #[error(transparent)]
    Services(#[from] ServicesError),
    /// Root may not run the services, and no user namespace can be had.
    #[error(
        "services must not run as root, and a user namespace cannot be entered: \
    {reason}"
    )]
    Namespace {
        /// What the kernel said.
        reason: io::Error,
    },
    /// The supervisor's own means failed.
    #[error("the supervisor cannot {what}: {reason}")]
    System {
        /// What was attempted.
        what: &'static str,
        /// What the kernel said.
        reason: io::Error,
    },
    /// A service did not do its part; the reason was also written to the log.
    #[error("service {service}: {what}")]
    Service {
        /// Name of the service.
        service: String,
        /// What happened.
        what: String,
        /// What to do.
        help: &'static str,
    },
}

impl Diagnosis for SuperviseError {
    fn code(&self) -> &'static str {
        match self {
            Self::Services(_) => "supervise::services",
            Self::Namespace { .. } => "supervise::namespace",
            Self::System { .. } => "supervise::system",
            Self::Service { .. } => "supervise::service",
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Services(error) => return error.help(),
            Self::Namespace { .. } => {
                "run rookery as a plain user, use container guests, or allow \
                                       user namespaces \
    (`sysctl user.max_user_namespaces=10000`, `sysctl \
    kernel.apparmor_restrict_unprivileged_userns=0`)"
                    .to_owned()
            }
            Self::System { .. } => "look whether the guest's limits (processes, open files, \
                                    memory) are too \
    tight"
                .to_owned(),
            Self::Service { help, .. } => (*help).to_owned(),
        };
        Some(help)
    }
}

/// Run the services of the file at `path` until they are asked to stop.
///
/// Takes over the process: handlers of SIGTERM, SIGINT and SIGCHLD, and every child that ends. Call
/// it on the only thread of a process.
///
/// # Errors
/// Everything but an asked, orderly stop. By then no service is left.
pub fn run(path: &Path) -> Result<(), SuperviseError> {
    let services = Services::read(path)?;
    if services.guest.user_namespace {
        namespace::leave_root().map_err(|reason| SuperviseError::Namespace { reason })?;
    }
    if services.guest.ipc_namespace {
        // Who may not have one shares the host's, as every other process does.
        let _ = namespace::own_ipc();
    }
    conductor::Conductor::new(&services)?.run()
}
