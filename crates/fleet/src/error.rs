//! Why something cannot be done on other machines.

use std::{io, path::PathBuf, time::Duration};

use rookery_diagnosis::{Diagnosis, ErrorFields};

use crate::{
    bus::{BusError, NatsError},
    hosts::HostEntry,
};

/// Why a fleet cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The hosts file cannot be read.
    #[error("the hosts file cannot be read: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// This program cannot be read, to be copied.
    #[error("this program itself cannot be read: {source}")]
    OwnProgram {
        /// The program.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// There is no ssh.
    #[error("there is no `ssh` on this machine")]
    NoSsh,
}

impl Diagnosis for FleetError {
    fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "fleet::hosts-file",
            Self::OwnProgram { .. } => "fleet::own-program",
            Self::NoSsh => "fleet::no-ssh",
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            Self::Unreadable { path, .. } | Self::OwnProgram { path, .. } => {
                Some(path.display().to_string())
            }
            Self::NoSsh => None,
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::Unreadable { .. } => Some("name a TOML file with `[[host]]`".to_owned()),
            Self::OwnProgram { .. } => None,
            Self::NoSsh => Some("apt install openssh-client".to_owned()),
        }
    }
}

/// Why something cannot be done on one host.
#[derive(Debug, thiserror::Error)]
#[error("{fault}")]
pub struct HostError {
    /// The name of the host.
    pub host: String,
    /// The host as it is reached.
    pub place: String,
    /// What happened.
    pub fault: HostFault,
}

impl HostError {
    pub(crate) fn new(host: &HostEntry, fault: HostFault) -> Self {
        Self {
            host: host.name.clone(),
            place: host.place(),
            fault,
        }
    }

    /// A fault of the server that the bus of all hosts goes over.
    pub(crate) fn of_server(place: String, error: NatsError) -> Self {
        Self {
            host: String::new(),
            place,
            fault: HostFault::Nats(error),
        }
    }
}

/// What happened on a host.
#[derive(Debug, thiserror::Error)]
pub enum HostFault {
    /// Its key is not known, or another one than is known.
    #[error("ssh does not know the key of this host: {words}")]
    HostKey {
        /// The words of ssh.
        words: String,
    },
    /// It does not let us in.
    #[error("the host refuses the login: {words}")]
    Login {
        /// The words of ssh.
        words: String,
    },
    /// Nothing answers there.
    #[error("the host cannot be reached: {words}")]
    Unreachable {
        /// The words of ssh.
        words: String,
    },
    /// A command failed there.
    #[error("{what} failed: {words}")]
    Command {
        /// What was attempted.
        what: &'static str,
        /// The words of the command, or of ssh.
        words: String,
    },
    /// A command took too long.
    #[error("{what} did not end within {limit:?}")]
    Late {
        /// What was attempted.
        what: &'static str,
        /// Its limit.
        limit: Duration,
    },
    /// It is another kind of machine.
    #[error("the host is {found}, this program is for {own}")]
    OtherMachine {
        /// System and machine there.
        found: String,
        /// Those of this program.
        own: String,
    },
    /// There is no way to be root.
    #[error("`sudo -n` does not work on this host: {words}")]
    Sudo {
        /// Who logs in.
        user: String,
        /// The words of sudo.
        words: String,
    },
    /// The directory belongs to someone else.
    #[error("{directory} is there and is not a directory of user {user}")]
    Directory {
        /// The directory.
        directory: String,
        /// Who logs in.
        user: String,
    },
    /// The program was never copied.
    #[error("there is no program in {directory}")]
    NotUp {
        /// The directory.
        directory: String,
    },
    /// The program there is another build.
    #[error("the program on this host is another build: {found}, this one is {own}")]
    OtherBuild {
        /// What is there.
        found: String,
        /// What we are.
        own: String,
    },
    /// It has another role already.
    #[error("this is the same machine as {other}")]
    SameMachine {
        /// The host that it is, too.
        other: String,
    },
    /// A host of another role has its name.
    #[error("its name is that of {other}")]
    NameTwice {
        /// The host of that name.
        other: String,
    },
    /// The agent serves another controller.
    #[error("the agent of this host is at work for another controller")]
    Busy,
    /// The agent does not answer as one.
    #[error("the agent ended: {words}")]
    Agent {
        /// Its last words, or why they are no answer.
        words: String,
    },
    /// The agent is silent.
    #[error("nothing was heard of the agent for {seconds:.1} s")]
    Silent {
        /// For how long.
        seconds: f64,
    },
    /// The agent could not do what it was asked for.
    #[error("{}", .0.message)]
    Refused(Box<ErrorFields>),
    /// A message cannot be sent.
    #[error(transparent)]
    Bus(#[from] BusError),
    /// The server of the bus cannot be used.
    #[error(transparent)]
    Nats(NatsError),
    /// The server that was started for this fleet cannot be used.
    #[error(transparent)]
    OwnServer(NatsError),
    /// There are no keys of the server that was started for this fleet.
    #[error("there is no file {keys} with the keys of the NATS server", keys = keys.display())]
    NoKeys {
        /// Where they would be.
        keys: PathBuf,
    },
    /// A server runs there, and the keys here are not its own.
    #[error("the NATS server on this host has other keys than {keys}", keys = keys.display())]
    OtherKeys {
        /// Where they would be.
        keys: PathBuf,
    },
    /// The program is not there.
    #[error("there is no `nats-server` on this host")]
    NoNatsServer,
    /// The program is too old.
    #[error("the `nats-server` on this host has version {found}")]
    OldNatsServer {
        /// Its version.
        found: String,
    },
    /// Another program listens where the server is to.
    #[error("another program listens at port {port} of this host")]
    PortTaken {
        /// The port.
        port: u16,
    },
    /// The address of the server's host is not known here.
    #[error("the IP address of this host is not known: {words}")]
    NoAddress {
        /// Why.
        words: String,
    },
}

impl Diagnosis for HostError {
    fn code(&self) -> &'static str {
        match &self.fault {
            HostFault::HostKey { .. } => "fleet::host-key",
            HostFault::Login { .. } => "fleet::login",
            HostFault::Unreachable { .. } => "fleet::unreachable",
            HostFault::Command { .. } => "fleet::command",
            HostFault::Late { .. } => "fleet::late",
            HostFault::OtherMachine { .. } => "fleet::other-machine",
            HostFault::Sudo { .. } => "fleet::sudo",
            HostFault::Directory { .. } => "fleet::directory",
            HostFault::NotUp { .. } => "fleet::not-up",
            HostFault::OtherBuild { .. } => "fleet::other-build",
            HostFault::SameMachine { .. } => "fleet::same-machine",
            HostFault::NameTwice { .. } => "fleet::name-twice",
            HostFault::Busy => "fleet::busy",
            HostFault::Agent { .. } => "fleet::agent",
            HostFault::Silent { .. } => "fleet::silent",
            HostFault::Refused(_) => "fleet::refused",
            HostFault::Bus(_) => "fleet::bus",
            HostFault::Nats(error) | HostFault::OwnServer(error) => error.code(),
            HostFault::NoKeys { .. } | HostFault::OtherKeys { .. } => "fleet::nats-keys",
            HostFault::NoNatsServer => "fleet::no-nats-server",
            HostFault::OldNatsServer { .. } => "fleet::nats-version",
            HostFault::PortTaken { .. } => "fleet::nats-port",
            HostFault::NoAddress { .. } => "fleet::nats-address",
        }
    }

    fn place(&self) -> Option<String> {
        Some(self.place.clone())
    }

    fn help(&self) -> Option<String> {
        let help = match &self.fault {
            HostFault::HostKey { .. } => {
                "compare the key of the host with what its owner says, then add it to \
                 known_hosts: `ssh-keyscan ADDRESS` prints it"
            }
            HostFault::Login { .. } => {
                "put your public key into its ~/.ssh/authorized_keys, or load the key into \
                 ssh-agent; passwords are never asked for"
            }
            HostFault::Unreachable { .. } => {
                "is the address right, does sshd listen on that port, is a jump host needed?"
            }
            HostFault::Sudo { user, .. } => {
                return Some(format!(
                    "allow it without a password (`{user} ALL=(root) NOPASSWD: ALL` in \
                     /etc/sudoers.d), log in as root, or leave `sudo` out: then containers and \
                     machines cannot be measured there"
                ));
            }
            HostFault::OtherMachine { .. } => "run a controller of the same kind of machine",
            HostFault::Directory { .. } => "name another `directory` in the hosts file",
            HostFault::NotUp { .. } | HostFault::OtherBuild { .. } => {
                "`rookery fleet up HOSTS.toml` copies this program there"
            }
            HostFault::SameMachine { .. } => {
                "take one of them out: what a machine does twice at a time disturbs both"
            }
            HostFault::NameTwice { .. } => "give one of them another `name` in its hosts file",
            HostFault::Busy => {
                "wait for it, or stop it; where it is gone the agent ends by itself when its lease \
                 ends"
            }
            HostFault::Agent { .. } => {
                "`rookery fleet logs HOSTS.toml` shows its log; a program that needs newer \
                 libraries than the host has does not start: the static build of `cargo xtask \
                 dist` needs none"
            }
            HostFault::Silent { .. } => "is the network up, does the host answer?",
            HostFault::Refused(fields) => return fields.help.clone(),
            HostFault::OwnServer(NatsError::Unreachable { .. }) => {
                "`rookery fleet up HOSTS.toml` starts it again where it has ended; packets to its \
                 port must pass"
            }
            HostFault::Nats(error) | HostFault::OwnServer(error) => return error.help(),
            HostFault::NoKeys { .. } => {
                "`rookery fleet up HOSTS.toml` starts the server and makes them"
            }
            HostFault::OtherKeys { .. } => {
                "copy the file with its keys here from where `fleet up` started it, or have it \
                 removed by `rookery fleet down HOSTS.toml`"
            }
            HostFault::NoNatsServer => "apt install nats-server",
            HostFault::OldNatsServer { .. } => "2.9 or later is needed; Debian 12 has 2.9.10",
            HostFault::PortTaken { .. } => {
                "write another `port` into `[nats.host]`; where it is the service of the \
                 distribution's package, `systemctl disable --now nats-server` ends it"
            }
            HostFault::NoAddress { .. } => {
                "write an IP address as `address` of the host of `[nats.host]`"
            }
            HostFault::Command { .. } | HostFault::Late { .. } | HostFault::Bus(_) => return None,
        };
        Some(help.to_owned())
    }
}
