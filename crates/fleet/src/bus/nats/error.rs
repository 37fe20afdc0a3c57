//! Why a NATS server cannot be used.

use std::io;

use rookery_diagnosis::Diagnosis;

/// Why a NATS server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NatsError {
    /// Nothing answers there.
    #[error("no NATS server answers at {server}: {source}")]
    Unreachable {
        /// Where, as host and port.
        server: String,
        /// The system's reason.
        source: io::Error,
    },
    /// What answers is no NATS server.
    #[error("what answers at {server} is no NATS server: {words}")]
    Foreign {
        /// Where, as host and port.
        server: String,
        /// What is wrong with it.
        words: String,
    },
    /// The server is too old.
    #[error("the NATS server at {server} has version {found}")]
    Old {
        /// Where, as host and port.
        server: String,
        /// Its version.
        found: String,
    },
    /// The server does not let us in.
    #[error("the NATS server at {server} refuses the credentials: {words}")]
    Denied {
        /// Where, as host and port.
        server: String,
        /// Its words.
        words: String,
    },
    /// The user may not use the subjects.
    #[error("the NATS server at {server} does not allow what is needed: {words}")]
    Forbidden {
        /// Where, as host and port.
        server: String,
        /// Its words.
        words: String,
    },
    /// There is no encrypted connection.
    #[error("no encrypted connection to the NATS server at {server}: {words}")]
    Tls {
        /// Where, as host and port.
        server: String,
        /// Why.
        words: String,
    },
    /// The credentials are none.
    #[error("the credentials are neither an nkey seed of a user nor a file with a JWT and a seed")]
    Credentials,
    /// A file cannot be read or written.
    #[error("cannot use {path}: {source}")]
    File {
        /// The file.
        path: String,
        /// The system's reason.
        source: io::Error,
    },
    /// None of several servers can be used.
    #[error("{words}")]
    NoneUsable {
        /// What is wrong with each, in words.
        words: String,
        /// The fault that says most.
        #[source]
        telling: Box<NatsError>,
    },
    /// No thread or no random numbers.
    #[error("a connection cannot be begun: {0}")]
    System(#[source] io::Error),
}

impl NatsError {
    /// This fault of a server and that of the next one that was tried. A server that answers says
    /// more than one that does not.
    pub(super) fn and(self, next: Self) -> Self {
        let words = format!("{self}; {next}");
        let telling = match self {
            Self::NoneUsable { telling, .. } => telling,
            one => Box::new(one),
        };
        let telling = match *telling {
            Self::Unreachable { .. } => Box::new(next),
            _ => telling,
        };
        Self::NoneUsable { words, telling }
    }
}

impl Diagnosis for NatsError {
    fn code(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "fleet::nats-unreachable",
            Self::Foreign { .. } => "fleet::nats-foreign",
            Self::Old { .. } => "fleet::nats-version",
            Self::Denied { .. } => "fleet::nats-denied",
            Self::Forbidden { .. } => "fleet::nats-forbidden",
            Self::Tls { .. } => "fleet::nats-tls",
            Self::Credentials | Self::File { .. } => "fleet::nats-credentials",
            Self::NoneUsable { telling, .. } => telling.code(),
            Self::System(_) => "fleet::nats-system",
        }
    }

    fn place(&self) -> Option<String> {
        None
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Unreachable { .. } => {
                "start a server there (`apt install nats-server`), or correct `url` of [nats]; \
                 every host must reach it at that address"
            }
            Self::Foreign { .. } => {
                "another program has that port: name the port of the NATS server for clients, 4222 \
                 unless its configuration says otherwise"
            }
            Self::Old { .. } => "2.9 or later is needed; Debian 12 has 2.9.10",
            Self::Denied { .. } => {
                "name in `credentials` of [nats] a file with the seed (SU...) of a key that the \
                 server's configuration lists under authorization, users, nkey, or the user's file \
                 with JWT and seed"
            }
            Self::Forbidden { .. } => {
                "let the user publish and subscribe to `rookery.>`, and take messages of 4 KiB or \
                 more (`max_payload`)"
            }
            Self::Tls { .. } => {
                "`tls://` needs a server with a certificate that `ca` of [nats] signed and that \
                 names the host of `url`; `nats://` is for a server without TLS"
            }
            Self::Credentials => {
                "`rookery fleet key FILE` makes a seed (SU...) and prints its public key; `nsc generate \
                 creds` makes a file with JWT and seed"
            }
            Self::File { source, .. } if source.kind() == io::ErrorKind::AlreadyExists => {
                "a key is never overwritten: name a file that is not there"
            }
            Self::File { .. } => {
                "`credentials` and `ca` of [nats] lie beside the hosts file unless their paths are \
                 absolute"
            }
            Self::NoneUsable { telling, .. } => return telling.help(),
            Self::System(_) => return None,
        };
        Some(help.to_owned())
    }
}
