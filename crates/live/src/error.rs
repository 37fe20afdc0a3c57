//! Why the page cannot be served, or a view of a run not be shown.

use std::{io, net::SocketAddr, path::PathBuf};

use rookery_diagnosis::Diagnosis;

/// Why the page cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The address reaches other machines, and nobody said that it may.
    #[error("the page would be served unencrypted at {address}, which other machines reach")]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's own words.
        #[source]
        source: io::Error,
    },
    /// The certificate or its key cannot be used.
    #[error("cannot serve with {path}: {reason}", path = path.display())]
    Tls {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no random token.
    #[error("cannot draw a random token")]
    Random(#[source] io::Error),
    /// The threads of the server cannot be started.
    #[error("cannot start the server")]
    Start(#[source] io::Error),
}

impl Diagnosis for LiveError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotLoopback { .. } => "live::not-loopback",
            Self::Listen { .. } => "live::listen",
            Self::Tls { .. } => "live::tls",
            Self::Random(_) => "live::random",
            Self::Start(_) => "live::start",
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::NotLoopback { .. } => {
                "tunnel to a loopback address (`ssh -L`), give a certificate \
                                         (--tls-cert, --tls-key), or add --confirm-plain-http \
                                         where the network is trusted"
                    .to_owned()
            }
            Self::Tls { .. } => {
                "give a certificate and its key as PEM files that this user reads".to_owned()
            }
            Self::Listen { address, .. } => format!(
                "name another address, or port 0 for any free one: `{}:0`",
                address.ip()
            ),
            Self::Random(_) => "make /dev/urandom readable".to_owned(),
            Self::Start(_) => "check the limits on threads and open files".to_owned(),
        })
    }
}
