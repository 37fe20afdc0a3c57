//! File sets on disk: [`write_fileset`] writes a set of any size with a few buffers.
//!
//! Threads take units (users, product lines, download directories) from a counter. Every byte is
//! computed, so memory does not grow with the set. The manifest is written last, under its own name
//! only when everything else is on disk: a set with a manifest is whole.

use std::{
    fs,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    time::Instant,
};

use rookery_host::free_space;
use rookery_workload::web2005::files::{FileEntry, Shape, modified_s};

mod directory;
mod error;
mod manifest;
mod writer;

use directory::{Directory, Root};
pub use error::FilesetError;
pub use manifest::{Manifest, manifest_name};
use writer::Buffer;

/// How a set is written.
#[derive(Clone, Copy, Debug)]
pub struct FilesetOptions<'a> {
    /// Threads that write at the same time; 0 counts as 1.
    pub threads: usize,
    /// Refuse sets of more bytes.
    pub max_bytes: Option<u64>,
    /// Set it from elsewhere, such as from a signal handler, to stop soon.
    pub stop: &'a AtomicBool,
}

/// How far the writing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilesetProgress {
    /// Files complete.
    pub files: u64,
    /// Files in all.
    pub total_files: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Bytes in all.
    pub total_bytes: u64,
}

/// A set that is on disk.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenFileset {
    /// Its manifest.
    pub manifest: Manifest,
    /// Time of the writing; nothing for a set that was there already.
    pub seconds: Option<f64>,
}

/// Writes the set of `shape` into `dir`, which is made when it does not exist. A set of the same
/// shape that is there already is left as it is, and files of an interrupted writing are replaced.
/// `progress` is called from the writing threads, after every unit.
///
/// # Errors
/// Before anything is written: another set of this workload is there, the set is larger than
/// allowed, or the disk has too little room. Later: the disk is full, a write fails, or
/// `options.stop` was set; there is no manifest then.
pub fn write_fileset(
    dir: &Path,
    shape: &Shape,
    options: &FilesetOptions<'_>,
    progress: &(dyn Fn(FilesetProgress) + Sync),
) -> Result<WrittenFileset, FilesetError> {
    let start = Instant::now();
    if let Some(found) = Manifest::read(dir, shape.model())? {
        if found.is_of(shape) {
            return Ok(WrittenFileset {
                manifest: found,
                seconds: None,
            });
        }
        return Err(FilesetError::Exists {
            path: dir.join(manifest_name(shape.model())),
            found: found.shape,
        });
    }
    prepare(dir, shape, options)?;
    let run = Run {
        root: Root::open(dir)?,
        shape,
        options,
        progress,
        next: AtomicU32::new(1),
        files: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
        total_files: shape.total_files(),
        total_bytes: shape.total_bytes(),
        modified_s: modified_s(shape.seed()),
        failed: AtomicBool::new(false),
        failure: Mutex::new(None),
    };
    let threads = options.threads.max(1);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| run.note(run.units()));
        }
        run.note(run.fixed());
    });
    if let Some(error) = run
        .failure
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
    {
        return Err(error);
    }
    let manifest = Manifest::write(dir, shape, options.stop)?;
    Ok(WrittenFileset {
        manifest,
        seconds: Some(start.elapsed().as_secs_f64()),
    })
}

/// Makes the directory and refuses what cannot end well.
fn prepare(dir: &Path, shape: &Shape, options: &FilesetOptions<'_>) -> Result<(), FilesetError> {
    let needed = shape.total_bytes();
    if let Some(allowed) = options.max_bytes.filter(|allowed| *allowed < needed) {
        return Err(FilesetError::TooLarge { needed, allowed });
    }
    fs::create_dir_all(dir).map_err(FilesetError::write(dir))?;
    match free_space::free_bytes(dir) {
        Ok(free) if free < needed => Err(FilesetError::NoRoom {
            path: dir.to_owned(),
            needed,
            free,
        }),
        // A file system that cannot say how much room it has is found full only by writing.
        _ => Ok(()),
    }
}

/// A writing under way.
struct Run<'a> {
    root: Root<'a>,
    shape: &'a Shape,
    options: &'a FilesetOptions<'a>,
    progress: &'a (dyn Fn(FilesetProgress) + Sync),
    /// The next unit that no thread has.
    next: AtomicU32,
    files: AtomicU64,
    bytes: AtomicU64,
    total_files: u64,
    total_bytes: u64,
    modified_s: u64,
    failed: AtomicBool,
    failure: Mutex<Option<FilesetError>>,
}

impl Run<'_> {
    /// Images and padding.
    fn fixed(&self) -> Result<(), FilesetError> {
        let mut buffer = Buffer::new();
        let mut made: Option<(String, Directory)> = None;
        for file in self.shape.fixed_files() {
            let (path, name) = split(&file.path);
            let directory = match made.take() {
                Some((known, directory)) if known == path => directory,
                _ => self.root.make(path)?,
            };
            self.write(&directory, name, &file, &mut buffer)?;
            made = Some((path.to_owned(), directory));
        }
        self.report();
        Ok(())
    }

    /// Units until none is left.
    fn units(&self) -> Result<(), FilesetError> {
        let mut buffer = Buffer::new();
        loop {
            let unit = self.next.fetch_add(1, Relaxed);
            // The counter may go beyond the last unit by the number of threads, far from its end.
            if unit > self.shape.units() || self.failed.load(Relaxed) {
                return Ok(());
            }
            let directory = self.root.make(&self.shape.unit_directory(unit))?;
            for file in self.shape.unit_files(unit) {
                let (_, name) = split(&file.path);
                self.write(&directory, name, &file, &mut buffer)?;
            }
            self.report();
        }
    }

    fn write(
        &self,
        directory: &Directory,
        name: &str,
        file: &FileEntry,
        buffer: &mut Buffer,
    ) -> Result<(), FilesetError> {
        let stopped = || self.options.stop.load(Relaxed) || self.failed.load(Relaxed);
        let whole = buffer
            .write(directory, name, file, self.modified_s, &|bytes| {
                self.bytes.fetch_add(bytes, Relaxed);
                !stopped()
            })
            .map_err(|error| self.root.failure(&file.path, error))?;
        if !whole {
            return Err(FilesetError::Stopped);
        }
        self.files.fetch_add(1, Relaxed);
        Ok(())
    }

    fn report(&self) {
        (self.progress)(FilesetProgress {
            files: self.files.load(Relaxed),
            total_files: self.total_files,
            bytes: self.bytes.load(Relaxed),
            total_bytes: self.total_bytes,
        });
    }

    /// Keeps the first failure, and ends the other threads.
    fn note(&self, done: Result<(), FilesetError>) {
        if let Err(error) = done {
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            if !self.failed.swap(true, Relaxed) {
                *failure = Some(error);
            }
        }
    }
}

/// The directory of a file of the set, and its name there.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Whether a whole set of this shape is in a directory.
///
/// # Errors
/// When its manifest cannot be read.
pub fn has_fileset(dir: &Path, shape: &Shape) -> Result<bool, FilesetError> {
    Ok(Manifest::read(dir, shape.model())?.is_some_and(|found| found.is_of(shape)))
}

#[cfg(test)]
mod tests;
