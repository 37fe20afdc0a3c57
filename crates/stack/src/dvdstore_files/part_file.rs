//! A file that bears its own name only when it is whole.
//!
//! Blocks go past the page cache (`O_DIRECT`) where the file system can: the files are much larger
//! than what anybody reads back soon, and a cache filled with them would take its memory from the
//! guests and its time from the generators.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::FilesError;

/// Bytes gathered before a write: large enough that the disk works at its rate.
const CHUNK: usize = 1 << 20;

/// Address, offset and length of a write past the page cache are multiples of this.
const ALIGN: usize = 4096;

/// More than the rows of one order take; the buffer then never grows, and stays aligned.
const SLACK: usize = 8192;

/// A file under construction, `<name>.part`, with its buffer; removed on drop unless it was
/// finished.
#[derive(Debug)]
pub(super) struct PartFile {
    file: File,
    direct: bool,
    part: PathBuf,
    path: PathBuf,
    finished: bool,
    /// Bytes not yet written, behind `start` bytes that align them.
    buffer: Vec<u8>,
    start: usize,
}

impl PartFile {
    /// Begins the file `path`; what a dead writer left of it is replaced.
    pub(super) fn create(path: PathBuf) -> Result<Self, FilesError> {
        let mut part = path.clone().into_os_string();
        part.push(".part");
        let part = PathBuf::from(part);
        let open = |flags: OFlags| {
            let mut options = OpenOptions::new();
            options
                .write(true)
                .create(true)
                .truncate(true)
                .custom_flags(flags.bits().cast_signed())
                .open(&part)
        };
        let (file, direct) = match open(OFlags::DIRECT) {
            Ok(file) => (file, true),
            Err(_) => (
                open(OFlags::empty()).map_err(|source| explain(&part, source))?,
                false,
            ),
        };
        let mut buffer: Vec<u8> = Vec::with_capacity(ALIGN + CHUNK + SLACK);
        let start = buffer.as_ptr().align_offset(ALIGN).min(ALIGN);
        buffer.resize(start, 0);
        Ok(Self {
            file,
            direct,
            part,
            path,
            finished: false,
            buffer,
            start,
        })
    }

    /// Where rows are appended, and the length at which it is to be written.
    pub(super) fn buffer(&mut self) -> (&mut Vec<u8>, usize) {
        (&mut self.buffer, self.start + CHUNK)
    }

    /// Whether enough is gathered for a write.
    pub(super) fn is_full(&self) -> bool {
        self.buffer.len() >= self.start + CHUNK
    }

    /// Writes whole blocks and keeps the rest. Returns the bytes written.
    pub(super) fn write(&mut self) -> Result<u64, FilesError> {
        let whole = (self.buffer.len() - self.start) / ALIGN * ALIGN;
        let end = self.start + whole;
        self.write_range(self.start, end)?;
        let rest = self.buffer.len() - end;
        self.buffer.copy_within(end.., self.start);
        self.buffer.truncate(self.start + rest);
        Ok(whole as u64)
    }

    /// Writes what is left, through the page cache since it ends anywhere. Returns the bytes
    /// written.
    pub(super) fn write_rest(&mut self) -> Result<u64, FilesError> {
        self.use_page_cache()?;
        let end = self.buffer.len();
        self.write_range(self.start, end)?;
        self.buffer = Vec::new();
        Ok((end - self.start) as u64)
    }

    /// Brings the file to the disk and gives it its name; everything must have been written.
    pub(super) fn finish(mut self) -> Result<(), FilesError> {
        self.file
            .sync_data()
            .map_err(|source| explain(&self.part, source))?;
        fs::rename(&self.part, &self.path).map_err(|source| explain(&self.path, source))?;
        self.finished = true;
        Ok(())
    }

    fn write_range(&mut self, mut from: usize, to: usize) -> Result<(), FilesError> {
        while from < to {
            match self.file.write(&self.buffer[from..to]) {
                Ok(0) => return Err(explain(&self.part, io::ErrorKind::WriteZero.into())),
                Ok(written) => from += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Some file systems open such files and then refuse to write them, or want other
                // alignments.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput && self.direct => {
                    self.use_page_cache()?
                }
                Err(error) => return Err(explain(&self.part, error)),
            }
        }
        Ok(())
    }

    fn use_page_cache(&mut self) -> Result<(), FilesError> {
        if self.direct {
            let flags = fcntl_getfl(&self.file)
                .and_then(|flags| fcntl_setfl(&self.file, flags - OFlags::DIRECT));
            flags.map_err(|errno| explain(&self.part, errno.into()))?;
            self.direct = false;
        }
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
