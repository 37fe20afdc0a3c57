//! The files that a study names, as they were when its run began.

use rusqlite::params;

use crate::{Store, StoreError, cells::int};

/// A file that a study names. Its content is part of what was measured, so a run goes on only with
/// the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyFile {
    /// Its name, as the study says it.
    pub name: String,
    /// Where it lay, from the root; nothing where it is built into the program, or where the path
    /// is no text.
    pub path: Option<String>,
    /// Its size.
    pub bytes: u64,
    /// SHA-256 of its content, in hexadecimal digits.
    pub sha256: String,
}

impl Store {
    /// Keep what a run knows of the files that its study names; what was kept of them before is
    /// replaced.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn keep_files(&self, files: &[StudyFile]) -> Result<(), StoreError> {
        self.write("storing the files of the study", |transaction| {
            for file in files {
                transaction.execute(
                    "INSERT OR REPLACE INTO files (name, path, bytes, sha256) VALUES (?1, ?2, ?3, \
                     ?4)",
                    params![file.name, file.path, int(file.bytes), file.sha256],
                )?;
            }
            Ok(())
        })
    }

    /// The files that the study names, by name; none in a store of a version that did not keep
    /// them.
    ///
    /// # Errors
    /// When the table is damaged.
    pub fn files(&self) -> Result<Vec<StudyFile>, StoreError> {
        self.collect("files", "SELECT * FROM files ORDER BY name", [], |cells| {
            Ok(StudyFile {
                name: cells.text("name")?,
                path: cells.optional_text("path")?,
                bytes: cells.count("bytes")?,
                sha256: cells.text("sha256")?,
            })
        })
    }
}
