//! Why the load files could not be written.

use std::{
    io,
    path::{Path, PathBuf},
};

use rookery_diagnosis::Diagnosis;

/// Why the load files could not be written.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// A file of the set is there already.
    #[error("{} exists already", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The directory cannot be made.
    #[error("cannot make the directory {}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Too little room, found before anything is written.
    #[error(
        "the files need about {} MB but the disk of {} has {} MB free",
        needed / 1_000_000,
        path.display(),
        free / 1_000_000
    )]
    NoRoom {
        /// The directory.
        path: PathBuf,
        /// Bytes needed.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// The disk became full.
    #[error("the disk is full while writing {}", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The stop flag was set.
    #[error("stopped; the complete files in {} stay", path.display())]
    Stopped {
        /// The directory.
        path: PathBuf,
    },
}

impl FilesError {
    fn path(&self) -> &Path {
        match self {
            Self::Exists { path }
            | Self::Directory { path, .. }
            | Self::NoRoom { path, .. }
            | Self::Full { path }
            | Self::Write { path, .. }
            | Self::Stopped { path } => path,
        }
    }
}

impl Diagnosis for FilesError {
    fn code(&self) -> &'static str {
        match self {
            Self::Exists { .. } => "stack::file-exists",
            Self::Directory { .. } => "stack::files-directory",
            Self::NoRoom { .. } | Self::Full { .. } => "stack::disk-full",
            Self::Write { .. } => "stack::file-write",
            Self::Stopped { .. } => "stack::files-stopped",
        }
    }

    fn place(&self) -> Option<String> {
        Some(self.path().display().to_string())
    }

    fn help(&self) -> Option<String> {
        Some(
            match self {
                Self::Exists { .. } => {
                    "choose another directory, remove the file, or replace files with --overwrite"
                }
                Self::Directory { .. } => "choose a directory that you may write to",
                Self::NoRoom { .. } => {
                    "choose a smaller size, make room, or choose a directory on another disk"
                }
                Self::Full { .. } => {
                    "make room or choose a directory on another disk, then start again"
                }
                Self::Write { .. } => "check the permissions and the disk, then start again",
                Self::Stopped { .. } => "start again with --overwrite to write all",
            }
            .to_owned(),
        )
    }
}

#[cfg(test)]
mod tests {
    use rookery_diagnosis::ErrorFields;

    use super::*;

    #[test]
    fn a_full_disk_has_its_parts_as_fields_of_json() {
        let error = FilesError::Full {
            path: "out/cust.csv".into(),
        };
        assert_eq!(
            serde_json::to_value(ErrorFields::new(&error)).expect("JSON"),
            serde_json::json!({
                "code": "stack::disk-full",
                "message": "the disk is full while writing out/cust.csv",
                "place": "out/cust.csv",
                "help": "make room or choose a directory on another disk, then start again",
                "causes": [],
            })
        );
    }
}
