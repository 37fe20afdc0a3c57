//! What can go wrong with the servers of the web workloads.

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use rookery_diagnosis::Diagnosis;

use crate::http_server::{ListenError, NoTls};

/// An error of serving, or of a ledger.
#[derive(Debug, thiserror::Error)]
pub enum Web2005Error {
    /// A file or directory cannot be used.
    #[error("{path}: {step} failed: {source}", path = path.display())]
    File {
        /// The file or directory.
        path: PathBuf,
        /// What was attempted.
        step: &'static str,
        /// The system's own words.
        source: io::Error,
    },
    /// The directory has no whole file set.
    #[error("{path} has no whole file set of the workload {model}", path = path.display())]
    NoFileset {
        /// The directory.
        path: PathBuf,
        /// The workload.
        model: &'static str,
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
    /// The server cannot encrypt.
    #[error("cannot serve encrypted: {0}")]
    Tls(#[source] NoTls),
}

impl Web2005Error {
    /// A step on a file failed.
    pub(super) fn file(path: &Path, step: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File {
            path: path.to_owned(),
            step,
            source,
        }
    }
}

impl From<ListenError> for Web2005Error {
    fn from(error: ListenError) -> Self {
        match error {
            ListenError::Workers(source) => Self::Workers(source),
            ListenError::Address { address, source } => Self::Listen { address, source },
        }
    }
}

impl Diagnosis for Web2005Error {
    fn code(&self) -> &'static str {
        match self {
            Self::File { .. } => "web2005::file",
            Self::NoFileset { .. } => "web2005::no-fileset",
            Self::Workers(_) => "web2005::thread",
            Self::Listen { .. } => "web2005::listen",
            Self::Tls(_) => "web2005::tls",
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            Self::File { path, .. } | Self::NoFileset { path, .. } => {
                Some(path.display().to_string())
            }
            Self::Workers(_) | Self::Listen { .. } | Self::Tls(_) => None,
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::File { .. } => {
                "check that it can be read and written, and that the disk has room"
            }
            Self::NoFileset { .. } => "make it with `rookery data web2005`",
            Self::Workers(_) => "raise the limit on processes, or give fewer workers",
            Self::Listen { .. } => "choose another address or port",
            Self::Tls(_) => "give a certificate and its key as PEM files, or none of both",
        };
        Some(help.to_owned())
    }
}
