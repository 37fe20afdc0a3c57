//! Other machines: a hosts file, agents that are reached by ssh, and the messages between them and
//! the controller.
//!
//! [`Fleet`] is the principal type: the hosts of a [`HostsFile`] with what is done on all of them.
//! [`RemoteAgent`] is one agent as the controller sees it; [`Agent`] is the other end, the process
//! that runs on the host (`rookery agent`). Both speak over a [`bus::Bus`]: their ssh, or a NATS
//! server that the hosts file names.

mod agent;
pub mod bus;
mod carry;
mod checks;
mod clock;
mod error;
mod fleet;
mod guests_trial;
mod hosts;
mod local_driver;
mod message;
mod own_server;
mod probe;
mod relay;
mod remote;
mod roles;
mod ssh;

pub use agent::{Agent, AgentEnd, AgentError, LOG_FILE, dial};
pub use bus::{NatsAddress, NatsError, make_key};
pub use carry::CarryError;
pub use checks::Lent;
pub use clock::{ClockOffset, RoundTrip};
pub use error::{FleetError, HostError, HostFault};
pub use fleet::{Fleet, HostLogs, HostState, HostStatus, Removed, ServerStatus};
pub use hosts::{
    HostEntry, HostsFile, HostsProblem, HostsProblems, MOST_HOSTS, NatsEntry, OwnServer,
    RunningServer, SSH_PORT,
};
pub use local_driver::LocalDriver;
pub use message::{Build, Hello, KindCheck, LEASE};
pub use own_server::ServeError;
pub use remote::RemoteAgent;
pub use roles::{SeenHosts, expect_one_role};
