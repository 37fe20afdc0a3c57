//! A file that bears its own name only when it is whole.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::FilesError;

/// Bytes after which the disk may begin its work: early enough that little is left to wait for at the end.
const SYNC_EVERY: usize = 16 << 20;

/// A file whose latest bytes are not yet on the disk.
#[derive(Debug)]
pub(super) struct UnsyncedFile {
    file: Arc<File>,
    part: PathBuf,
}

impl UnsyncedFile {
    /// Brings the bytes written so far to the disk.
    pub(super) fn sync(&self) -> Result<(), FilesError> {
        self.file.sync_data().map_err(|source| explain(&self.part, source))
    }
}

/// A file under construction, `<name>.part`; removed on drop unless it was finished.
#[derive(Debug)]
pub(super) struct PartFile {
    file: Arc<File>,
    /// Bytes written since the last time the file was handed out to be brought to the disk.
    unsynced: usize,
    part: PathBuf,
    path: PathBuf,
    finished: bool,
}

impl PartFile {
    /// Begins the file `path`; what a dead writer left of it is replaced.
    pub(super) fn create(path: PathBuf) -> Result<Self, FilesError> {
        let mut part = path.clone().into_os_string();
        part.push(".part");
        let part = PathBuf::from(part);
        let file = File::create(&part).map_err(|source| explain(&part, source))?;
        Ok(Self {
            file: Arc::new(file),
            unsynced: 0,
            part,
            path,
            finished: false,
        })
    }

    /// Appends `bytes`. Now and then gives back the file, to be brought to the disk while more is being written.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<Option<UnsyncedFile>, FilesError> {
        (&*self.file).write_all(bytes).map_err(|source| explain(&self.part, source))?;
        self.unsynced += bytes.len();
        if self.unsynced < SYNC_EVERY {
            return Ok(None);
        }
        self.unsynced = 0;
        Ok(Some(UnsyncedFile {
            file: Arc::clone(&self.file),
            part: self.part.clone(),
        }))
    }

    /// Brings the file to the disk and gives it its name.
    pub(super) fn finish(mut self) -> Result<(), FilesError> {
        self.file.sync_data().map_err(|source| explain(&self.part, source))?;
        fs::rename(&self.part, &self.path).map_err(|source| explain(&self.path, source))?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.finished {
            // Nothing can be done about a failure here; the name says that the file is partial.
            let _ = fs::remove_file(&self.part);
        }
    }
}

/// Brings the names of the files to the disk.
pub(super) fn sync_directory(dir: &Path) -> Result<(), FilesError> {
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(|source| explain(dir, source))
}

fn explain(path: &Path, source: io::Error) -> FilesError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => FilesError::Full { path },
        _ => FilesError::Write { path, source },
    }
}
