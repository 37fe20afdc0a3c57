//! What can go wrong with a server that comes with a workload, whatever it serves.

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use rookery_diagnosis::Diagnosis;

/// An error of a server's files, threads or addresses.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// A file or directory of the server cannot be used.
    #[error("{path}: {step} failed: {source}", path = path.display())]
    File {
        /// The file or directory.
        path: PathBuf,
        /// What was attempted.
        step: &'static str,
        /// The system's own words.
        source: io::Error,
    },
    /// A thread of the server cannot be started.
    #[error("cannot start the server's workers: {0}")]
    Workers(#[source] io::Error),
    /// Another program that serves beside the server failed.
    #[error("{program}: {source}")]
    Program {
        /// Its name.
        program: &'static str,
        /// What happened.
        source: io::Error,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// The system's own words.
        source: io::Error,
    },
}

impl ServerError {
    /// A step on a file failed.
    pub(crate) fn file(path: &Path, step: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File {
            path: path.to_owned(),
            step,
            source,
        }
    }

    /// iperf3 failed.
    pub(crate) fn of_iperf3(source: io::Error) -> Self {
        Self::Program {
            program: "iperf3",
            source,
        }
    }
}

impl Diagnosis for ServerError {
    fn code(&self) -> &'static str {
        match self {
            Self::File { .. } => "server::file",
            Self::Workers(_) => "server::thread",
            Self::Program { .. } => "server::program",
            Self::Listen { .. } => "server::listen",
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            Self::File { path, .. } => Some(path.display().to_string()),
            Self::Workers(_) | Self::Program { .. } | Self::Listen { .. } => None,
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::File { .. } => {
                "check that it can be read and written, and that the disk has room"
            }
            Self::Workers(_) => "raise the limit on processes, or give fewer workers",
            Self::Program { .. } => {
                "see its words above; give the guest more memory, and let nothing else use its port"
            }
            Self::Listen { .. } => "choose a free port of an address of this machine",
        };
        Some(help.to_owned())
    }
}
