//! What can go wrong with an export.

use std::{
    io,
    path::{Path, PathBuf},
};

use rookery_diagnosis::Diagnosis;
use rookery_store::StoreError;

/// Why a run could not be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The run cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file could not be written.
    #[error("cannot write the export: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// There is no such table.
    #[error("there is no table `{name}`")]
    NoTable {
        /// What was asked for.
        name: String,
        /// All that there are.
        known: Vec<&'static str>,
    },
}

impl ExportError {
    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        Self::Write {
            path: path.to_owned(),
            source,
        }
    }
}

impl Diagnosis for ExportError {
    fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::Write { .. } => "export::write",
            Self::NoTable { .. } => "export::table",
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.place(),
            Self::Write { path, .. } => Some(path.display().to_string()),
            Self::NoTable { .. } => None,
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.help(),
            Self::Write { .. } => {
                Some("choose a place that you may write to, with --out".to_owned())
            }
            Self::NoTable { known, .. } => Some(format!("the tables are {}", known.join(", "))),
        }
    }
}
