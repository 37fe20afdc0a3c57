//! What can go wrong with the server of the netstream workload.

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use rookery_diagnosis::Diagnosis;

use crate::http_server::ListenError;

/// An error of serving, or of the counts.
#[derive(Debug, thiserror::Error)]
pub enum NetstreamError {
    /// The file of the counts cannot be used.
    #[error("{path}: {step} failed: {source}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What was attempted.
        step: &'static str,
        /// The system's own words.
        source: io::Error,
    },
    /// The threads of the server cannot be started.
    #[error("cannot start the server's workers: {0}")]
    Workers(#[source] io::Error),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// The system's own words.
        source: io::Error,
    },
}

impl NetstreamError {
    /// A step on a file failed.
    pub(super) fn file(path: &Path, step: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File {
            path: path.to_owned(),
            step,
            source,
        }
    }
}

impl From<ListenError> for NetstreamError {
    fn from(error: ListenError) -> Self {
        match error {
            ListenError::Workers(source) => Self::Workers(source),
            ListenError::Address { address, source } => Self::Listen { address, source },
        }
    }
}

impl Diagnosis for NetstreamError {
    fn code(&self) -> &'static str {
        match self {
            Self::File { .. } => "netstream::file",
            Self::Workers(_) => "netstream::thread",
            Self::Listen { .. } => "netstream::listen",
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            Self::File { path, .. } => Some(path.display().to_string()),
            _ => None,
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::File { .. } => {
                "the server writes its counts when it is asked to end: one that was killed has none"
            }
            Self::Workers(_) => "raise the limit on processes, or give fewer workers",
            Self::Listen { .. } => "choose another address or port",
        };
        Some(help.to_owned())
    }
}
