//! What can go wrong with the servers of the web workloads.

use std::{
    io,
    path::{Path, PathBuf},
};

use rookery_diagnosis::Diagnosis;

use crate::http_server::{NoTls, ServerError};

/// An error of serving, or of a ledger.
#[derive(Debug, thiserror::Error)]
pub enum Web2005Error {
    /// The directory has no whole file set.
    #[error("{path} has no whole file set of the workload {model}", path = path.display())]
    NoFileset {
        /// The directory.
        path: PathBuf,
        /// The workload.
        model: &'static str,
    },
    /// A file, a thread or an address of the server.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The server cannot encrypt.
    #[error("cannot serve encrypted: {0}")]
    Tls(#[source] NoTls),
}

impl Web2005Error {
    /// A step on a file failed.
    pub(super) fn file(path: &Path, step: &'static str) -> impl FnOnce(io::Error) -> Self {
        let failed = ServerError::file(path, step);
        move |source| failed(source).into()
    }
}

impl Diagnosis for Web2005Error {
    fn code(&self) -> &'static str {
        match self {
            Self::Server(error) => error.code(),
            Self::NoFileset { .. } => "web2005::no-fileset",
            Self::Tls(_) => "web2005::tls",
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            Self::Server(error) => error.place(),
            Self::NoFileset { path, .. } => Some(path.display().to_string()),
            Self::Tls(_) => None,
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Server(error) => return error.help(),
            Self::NoFileset { .. } => "make it with `rookery data web2005`",
            Self::Tls(_) => "give a certificate and its key as PEM files, or none of both",
        };
        Some(help.to_owned())
    }
}
