//! Why a file set could not be written.

use std::{
    io,
    path::{Path, PathBuf},
};

use rookery_diagnosis::Diagnosis;

/// Why a file set could not be written.
#[derive(Debug, thiserror::Error)]
pub enum FilesetError {
    /// Another set of the workload is in the directory.
    #[error("{} is of another file set: {found}", path.display())]
    Exists {
        /// Its manifest.
        path: PathBuf,
        /// What it says of itself.
        found: String,
    },
    /// The set is larger than allowed.
    #[error(
        "the file set has {} MB, more than the {} MB that are allowed",
        needed / 1_000_000,
        allowed / 1_000_000
    )]
    TooLarge {
        /// Bytes of the set.
        needed: u64,
        /// Bytes allowed.
        allowed: u64,
    },
    /// Too little room, found before anything is written.
    #[error(
        "the file set has {} MB but the disk of {} has {} MB free",
        needed / 1_000_000,
        path.display(),
        free / 1_000_000
    )]
    NoRoom {
        /// The directory.
        path: PathBuf,
        /// Bytes of the set.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// A file or directory cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A manifest cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The manifest.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The stop flag was set.
    #[error("stopped before the file set was whole")]
    Stopped,
}

impl FilesetError {
    /// A write at `path` failed.
    pub(super) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Write {
            path: path.to_owned(),
            source,
        }
    }

    /// A read at `path` failed.
    pub(super) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Read {
            path: path.to_owned(),
            source,
        }
    }
}

impl Diagnosis for FilesetError {
    fn code(&self) -> &'static str {
        match self {
            Self::Exists { .. } => "fileset::other-set",
            Self::TooLarge { .. } => "fileset::too-large",
            Self::NoRoom { .. } => "fileset::disk-full",
            Self::Write { .. } => "fileset::write",
            Self::Read { .. } => "fileset::read",
            Self::Stopped => "fileset::stopped",
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            Self::Exists { path, .. }
            | Self::NoRoom { path, .. }
            | Self::Write { path, .. }
            | Self::Read { path, .. } => Some(path.display().to_string()),
            Self::TooLarge { .. } | Self::Stopped => None,
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Exists { .. } => "choose another directory, or remove that set",
            Self::TooLarge { .. } => "choose fewer sessions or a smaller scale, or allow more",
            Self::NoRoom { .. } => {
                "choose fewer sessions or a smaller scale, make room, or choose another disk"
            }
            Self::Write { .. } => {
                "check the permissions and the room on the disk, then start again"
            }
            Self::Read { .. } => "check the permissions, or remove the file",
            Self::Stopped => "start again: what is written already is replaced",
        };
        Some(help.to_owned())
    }
}
