//! The hosts file: which machines there are, and how they are reached.
//!
//! ```toml
//! ssh_config = "ssh.conf"      # read by ssh instead of the user's own
//!
//! [nats]                       # messages go over this server, not over ssh
//! url = "tls://bus.example.org:4222"
//! credentials = "fleet.nk"     # the seed of an nkey, or JWT and seed
//! ca = "ca.pem"                # certificates that sign the server's
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

mod problem;
mod read;

use std::{collections::BTreeSet, path::PathBuf};

use rookery_guest::WayKind;

pub use self::problem::{HostsProblem, HostsProblems};
use crate::bus::NatsAddress;

/// Most hosts of a file.
pub const MOST_HOSTS: usize = 256;
/// The port of ssh.
pub const SSH_PORT: u16 = 22;

/// The machines of a hosts file, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostsFile {
    /// What ssh reads instead of the user's own configuration.
    pub ssh_config: Option<PathBuf>,
    /// The server that messages go over; they go over ssh where there is none.
    pub nats: Option<NatsEntry>,
    /// The hosts, with names that differ.
    pub hosts: Vec<HostEntry>,
}

/// A NATS server, and the files that belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatsEntry {
    /// Where it is, for the controller and for every host.
    pub address: NatsAddress,
    /// A file with the seed of an nkey, or with a JWT and a seed.
    pub credentials: Option<PathBuf>,
    /// A file of certificates as PEM, one of which signs the server's.
    pub ca: Option<PathBuf>,
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
