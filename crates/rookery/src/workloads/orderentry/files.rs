//! Files of rows on disk: made in parallel from a queue of jobs, each under its own name only when
//! it is whole.
//!
//! A thread holds one buffer, so memory does not grow with the size. Files are forced to the disk
//! by one more thread, so that generators need not wait for it.

use std::{
    fs::{self, File},
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::Instant,
};

use rookery_diagnosis::Diagnosis;
use rookery_workload::orderentry::{
    Population,
    population::{Part, TextFormat},
};

/// Bytes that are made before they are written.
const PIECE: usize = 512 * 1024;

/// Files that may wait for the disk; a slower disk then slows the generators.
const QUEUE: usize = 16;

/// One file: the rows of its parts, one after another.
pub(super) struct Job {
    pub(super) name: String,
    pub(super) parts: Vec<Part>,
}

/// What to write, and how.
pub(super) struct Plan<'a> {
    pub(super) directory: &'a Path,
    /// Number of jobs.
    pub(super) count: u64,
    /// The job of a number, counted from 0.
    pub(super) job: &'a (dyn Fn(u64) -> Job + Sync),
    pub(super) population: &'a Population,
    pub(super) format: TextFormat,
    /// All CPUs when not given.
    pub(super) threads: Option<usize>,
    pub(super) overwrite: bool,
    pub(super) stop: &'a AtomicBool,
    /// Told of bytes as they are written.
    pub(super) progress: &'a (dyn Fn(u64) + Sync),
}

/// What was written.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) files: u64,
    pub(super) rows: u64,
    pub(super) bytes: u64,
    pub(super) seconds: f64,
}

/// Why the files could not be written.
#[derive(Debug, thiserror::Error)]
pub(super) enum WriteError {
    /// The directory cannot be made or read.
    #[error("cannot make the directory {}: {source}", path.display())]
    Directory { path: PathBuf, source: io::Error },
    /// Files of the directory would be replaced.
    #[error("the directory {} is not empty", path.display())]
    NotEmpty { path: PathBuf },
    /// The disk became full.
    #[error("the disk is full while writing {}", path.display())]
    Full { path: PathBuf },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// A signal came.
    #[error("stopped; the complete files in {} stay", path.display())]
    Stopped { path: PathBuf },
}

impl WriteError {
    pub(super) fn file(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            ErrorKind::StorageFull => Self::Full { path },
            _ => Self::File { path, source },
        }
    }
}

impl Diagnosis for WriteError {
    fn code(&self) -> &'static str {
        match self {
            Self::Directory { .. } => "data::directory",
            Self::NotEmpty { .. } => "data::not-empty",
            Self::Full { .. } => "data::disk-full",
            Self::File { .. } => "data::file",
            Self::Stopped { .. } => "data::stopped",
        }
    }

    fn place(&self) -> Option<String> {
        let (Self::Directory { path, .. }
        | Self::NotEmpty { path }
        | Self::Full { path }
        | Self::File { path, .. }
        | Self::Stopped { path }) = self;
        Some(path.display().to_string())
    }

    fn help(&self) -> Option<String> {
        Some(
            match self {
                Self::Directory { .. } => "choose a directory that you may write to",
                Self::NotEmpty { .. } => {
                    "choose another one, or replace its files with --overwrite"
                }
                Self::Full { .. } => {
                    "make room or choose a directory on another disk, then start again"
                }
                Self::File { .. } => "check the permissions and the disk, then start again",
                Self::Stopped { .. } => "start again with --overwrite to write all",
            }
            .to_owned(),
        )
    }
}

/// The shared state of the writing threads.
struct Writer<'a> {
    plan: &'a Plan<'a>,
    next: AtomicU64,
    files: AtomicU64,
    rows: AtomicU64,
    bytes: AtomicU64,
    failure: Mutex<Option<WriteError>>,
    failed: AtomicBool,
}

/// Writes all files of `plan`. The same population gives the same bytes, whatever the number of
/// threads.
pub(super) fn write_all(plan: &Plan<'_>) -> Result<Written, WriteError> {
    let start = Instant::now();
    prepare(plan.directory, plan.overwrite)?;
    let writer = Writer {
        plan,
        next: AtomicU64::new(0),
        files: AtomicU64::new(0),
        rows: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
        failure: Mutex::new(None),
        failed: AtomicBool::new(false),
    };
    let threads = plan
        .threads
        .unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    thread::scope(|scope| {
        let (to_disk, waiting) = sync_channel(QUEUE);
        scope.spawn(|| writer.complete(waiting));
        for _ in 0..threads.max(1) {
            let to_disk = to_disk.clone();
            scope.spawn(|| writer.work(to_disk));
        }
    });
    if let Some(failure) = writer
        .failure
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
    {
        return Err(failure);
    }
    Ok(Written {
        files: writer.files.into_inner(),
        rows: writer.rows.into_inner(),
        bytes: writer.bytes.into_inner(),
        seconds: start.elapsed().as_secs_f64(),
    })
}

fn prepare(directory: &Path, overwrite: bool) -> Result<(), WriteError> {
    let path = || directory.to_owned();
    fs::create_dir_all(directory).map_err(|source| WriteError::Directory {
        path: path(),
        source,
    })?;
    let mut entries = fs::read_dir(directory).map_err(|source| WriteError::Directory {
        path: path(),
        source,
    })?;
    if !overwrite && entries.next().is_some() {
        return Err(WriteError::NotEmpty { path: path() });
    }
    Ok(())
}

impl Writer<'_> {
    fn work(&self, to_disk: SyncSender<(File, PathBuf)>) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.plan.count || self.failed.load(Ordering::Relaxed) {
                return;
            }
            let job = (self.plan.job)(number);
            let path = self.plan.directory.join(&job.name);
            match self.write(&job, &path) {
                Ok(file) => {
                    // The other side ends only when all senders have.
                    let _ = to_disk.send((file, path));
                }
                Err(failure) => {
                    // A part of a file helps nobody.
                    let _ = fs::remove_file(part_of(&path));
                    self.note(failure);
                    return;
                }
            }
        }
    }

    fn write(&self, job: &Job, path: &Path) -> Result<File, WriteError> {
        let failed = |source: io::Error| WriteError::file(path, source);
        let mut file = File::create(part_of(path)).map_err(failed)?;
        let mut piece = Vec::with_capacity(PIECE + 1024);
        for part in &job.parts {
            let mut rows = part.rows(self.plan.population);
            loop {
                let (filled, more) = rows.fill_text(&mut piece, self.plan.format, PIECE);
                self.rows.fetch_add(filled, Ordering::Relaxed);
                if !more {
                    break;
                }
                self.put(&mut file, &mut piece)?.map_err(failed)?;
            }
        }
        self.put(&mut file, &mut piece)?.map_err(failed)?;
        Ok(file)
    }

    /// Writes a piece, unless a signal came or another thread failed.
    fn put(&self, file: &mut File, piece: &mut Vec<u8>) -> Result<io::Result<()>, WriteError> {
        if self.plan.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed) {
            return Err(WriteError::Stopped {
                path: self.plan.directory.to_owned(),
            });
        }
        let written = file.write_all(piece);
        let bytes = piece.len() as u64;
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        (self.plan.progress)(bytes);
        piece.clear();
        Ok(written)
    }

    /// Forces files to the disk and gives them their names.
    fn complete(&self, waiting: Receiver<(File, PathBuf)>) {
        for (file, path) in waiting {
            let done = file
                .sync_all()
                .and_then(|()| fs::rename(part_of(&path), &path));
            match done {
                Ok(()) => {
                    self.files.fetch_add(1, Ordering::Relaxed);
                }
                Err(source) => self.note(WriteError::file(&path, source)),
            }
        }
    }

    /// Keeps the first failure and ends the others.
    fn note(&self, failure: WriteError) {
        let mut first = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(failure);
        self.failed.store(true, Ordering::Relaxed);
    }
}

fn part_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}
