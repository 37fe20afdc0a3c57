//! The hosts file: which machines there are, and how they are reached.
//!
//! ```toml
//! ssh_config = "ssh.conf"      # read by ssh instead of the user's own
//!
//! [nats]                       # messages go over this server, not over ssh
//! url = "tls://bus.example.org:4222"   # or a list: the servers of a cluster
//! credentials = "fleet.nk"     # the seed of an nkey, or JWT and seed
//! ca = "ca.pem"                # certificates that sign the server's
//!
//! [nats.host]                  # instead of these three: a server that is started
//! name = "b"                   # on this host, which then does nothing else
//! port = 4222
//!
//! [[host]]
//! name = "a"
//! address = "192.0.2.11"
//! user = "lab"
//! port = 22
//! jump = "lab@gate.example.org"
//! sudo = true                  # the agent runs as root
//! cpus = "0-7"                 # CPUs that are lent
//! memory_mib = 16384           # memory that is lent
//! directory = "/srv/rookery"   # where the program and what it makes lie
//! way = "direct"               # how packets of users travel, where not through a tunnel
//! ```

mod nats;
mod problem;
mod read;
mod text;

use std::{collections::BTreeSet, path::PathBuf};

use rookery_guest::WayKind;

pub use self::problem::{HostsProblem, HostsProblems};
use crate::bus::NatsAddress;

/// Most hosts of a file.
pub const MOST_HOSTS: usize = 256;
/// The port of ssh.
pub const SSH_PORT: u16 = 22;
/// What follows the name of a hosts file in that of the file with the keys of its NATS server.
const KEYS: &str = ".keys";

/// The machines of a hosts file, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostsFile {
    /// What ssh reads instead of the user's own configuration.
    pub ssh_config: Option<PathBuf>,
    /// The server that messages go over; they go over ssh where there is none.
    pub nats: Option<NatsEntry>,
    /// The hosts, with names that differ: at least one. That of an own NATS server is not among
    /// them.
    pub hosts: Vec<HostEntry>,
}

/// The NATS server that messages go over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NatsEntry {
    /// It runs already.
    Running(RunningServer),
    /// It is started for this fleet.
    Own(Box<OwnServer>),
}

/// A NATS server or cluster that runs, and the files that belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningServer {
    /// Where its servers are, for the controller and for every host: at least one, and all
    /// encrypted or none.
    pub addresses: Vec<NatsAddress>,
    /// A file with the seed of an nkey, or with a JWT and a seed.
    pub credentials: Option<PathBuf>,
    /// A file of certificates as PEM, one of which signs the server's.
    pub ca: Option<PathBuf>,
}

/// A NATS server that is started for this fleet alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnServer {
    /// Where it runs.
    pub host: HostEntry,
    /// The port that it listens on.
    pub port: u16,
    /// The hosts file, which is locked while the server is started or removed.
    pub(crate) hosts_file: PathBuf,
}

impl OwnServer {
    /// The file with the keys of its users: beside the hosts file.
    pub(crate) fn keys(&self) -> PathBuf {
        let mut name = self.hosts_file.clone().into_os_string();
        name.push(KEYS);
        name.into()
    }
}

/// A machine, and how it is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostEntry {
    /// Its name in messages and reports: letters, digits and dashes.
    pub name: String,
    /// Its address or its name in the network.
    pub address: String,
    /// The user that ssh logs in as; the user of this process, or what ssh's configuration says,
    /// where there is none.
    pub user: Option<String>,
    /// Port of its ssh server.
    pub port: u16,
    /// Hosts that ssh goes through, as its option `-J` takes them.
    pub jump: Option<String>,
    /// Whether the agent runs as root, by `sudo`.
    pub sudo: bool,
    /// The CPUs that are lent; all that the agent may use where there are none.
    pub cpus: Option<BTreeSet<u32>>,
    /// The memory that is lent, MiB; all of it where there is none.
    pub memory_mib: Option<u64>,
    /// Where the program and what it makes lie: absolute.
    pub directory: String,
    /// How packets travel between users and guests, one of which it has.
    pub way: WayKind,
}

impl HostsFile {
    /// Read a hosts file. `file_name` is only used in messages; relative paths lie beside it.
    ///
    /// # Errors
    /// All problems of the file, each with its line and its help.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, HostsProblems> {
        read::parse(file_name, text)
    }

    /// The NATS server that is started for this fleet, where the file asks for one.
    #[must_use]
    pub fn own_server(&self) -> Option<&OwnServer> {
        match &self.nats {
            Some(NatsEntry::Own(own)) => Some(own),
            Some(NatsEntry::Running(_)) | None => None,
        }
    }

    /// All machines: the hosts, and that of an own NATS server.
    pub(crate) fn machines(&self) -> Vec<&HostEntry> {
        let server = self.own_server().map(|own| &own.host);
        self.hosts.iter().chain(server).collect()
    }
}

impl HostEntry {
    /// Where ssh goes: `user@address`, or the address alone.
    #[must_use]
    pub fn destination(&self) -> String {
        match &self.user {
            Some(user) => format!("{user}@{}", self.address),
            None => self.address.clone(),
        }
    }

    /// The host as errors name it: `a (lab@192.0.2.11, port 22)`.
    #[must_use]
    pub fn place(&self) -> String {
        format!(
            "host {} ({}, port {})",
            self.name,
            self.destination(),
            self.port
        )
    }

    /// The program on that host.
    #[must_use]
    pub fn program(&self) -> String {
        format!("{}/rookery", self.directory)
    }
}
