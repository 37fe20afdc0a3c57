//! Whether the file of a store is still where it was opened.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

use crate::error::StoreError;

/// A file for certain: what is written to one that was deleted is lost without a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoreFile {
    /// Device and number; `None` where it could not be read at the opening, so that nothing can be
    /// said later.
    identity: Option<(u64, u64)>,
}

impl StoreFile {
    /// The file at `path` as it is now.
    pub(crate) fn read(path: &Path) -> Self {
        Self {
            identity: identity(path),
        }
    }

    /// # Errors
    /// When it was deleted, moved or replaced since.
    pub(crate) fn check(self, path: &Path, step: &'static str) -> Result<(), StoreError> {
        if self.identity.is_some() && identity(path) != self.identity {
            return Err(StoreError::Gone {
                path: path.to_owned(),
                step,
            });
        }
        Ok(())
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}
