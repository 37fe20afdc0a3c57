//! The directory of a run: where it lies, what is in it, who holds it.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use rookery_cast::low_u64;
use rookery_host::{RunId, without_links};

use crate::error::LabError;

/// Name of the store in the directory of a run.
const STORE: &str = "run.sqlite";

/// The directory of one run, held by this process while the value lives.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    run: RunId,
    lock: File,
}

impl Drop for RunDir {
    fn drop(&mut self) {
        // Closing is not enough: a child that another thread is just starting shares the lock until
        // its exec.
        let _ = self.lock.unlock();
    }
}

impl RunDir {
    /// Make a new directory `BASE/STEM-ID`.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub fn create(base: &Path, stem: &str) -> Result<Self, LabError> {
        let run = new_run_id();
        let path = base.join(format!("{}-{run}", safe_stem(stem)));
        fs::create_dir_all(&path)
            .map_err(|error| LabError::file("make the run directory", &path, error))?;
        // Guests are told absolute paths: they do not share our working directory.
        let path = path
            .canonicalize()
            .map_err(|error| LabError::file("find the run directory", &path, error))?;
        let lock = hold(&path)?;
        Ok(Self { path, run, lock })
    }

    /// Take hold of the existing directory of `run`, whatever it is called by now.
    ///
    /// # Errors
    /// When it is not there, or another controller is at work in it.
    pub fn reopen(path: &Path, run: RunId) -> Result<Self, LabError> {
        let path = path
            .canonicalize()
            .map_err(|error| LabError::file("open the run directory", path, error))?;
        let lock = hold(&path)?;
        Ok(Self { path, run, lock })
    }

    /// Its path, absolute.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The run's label.
    #[must_use]
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Where its store is.
    #[must_use]
    pub fn store(&self) -> PathBuf {
        store_in(&self.path)
    }

    /// Where clones and logs of its guests are while they live.
    #[must_use]
    pub fn guests(&self) -> PathBuf {
        self.path.join("guests")
    }
}

/// The store of the run directory `path`.
#[must_use]
pub fn store_in(path: &Path) -> PathBuf {
    path.join(STORE)
}

/// Find a run by the path of its directory, by its name or id below `base`, or the newest one as
/// `latest`.
///
/// # Errors
/// When there is no such run.
pub fn find(base: &Path, name: &str) -> Result<PathBuf, LabError> {
    let as_path = Path::new(name);
    if store_in(as_path).is_file() {
        return Ok(as_path.to_owned());
    }
    if as_path.file_name().is_some_and(|file| file == STORE) && as_path.is_file() {
        return Ok(as_path.parent().unwrap_or(Path::new(".")).to_owned());
    }
    let wanted = |path: &Path| {
        let file = file_name(path);
        name == "latest" || file == name || file.rsplit('-').next() == Some(name)
    };
    newest(base, wanted).ok_or_else(|| LabError::NoRun {
        name: name.to_owned(),
        base: base.display().to_string(),
    })
}

/// The newest run below `base` that was made from the study file `study`.
///
/// # Errors
/// When there is none.
pub fn find_of_study(base: &Path, study: &Path) -> Result<PathBuf, LabError> {
    let stem = safe_stem(
        &study
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default(),
    );
    newest(base, |path| {
        file_name(path)
            .rsplit_once('-')
            .is_some_and(|(run_stem, _)| run_stem == stem)
    })
    .ok_or_else(|| LabError::NoRun {
        name: study.display().to_string(),
        base: base.display().to_string(),
    })
}

fn newest(base: &Path, wanted: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    with_store(base)
        .filter(|path| wanted(path))
        .max_by_key(|path| created(path))
}

/// The directories of the runs below `base`, the newest first; none where `base` is not there.
#[must_use]
pub fn runs(base: &Path) -> Vec<PathBuf> {
    let mut runs: Vec<PathBuf> = with_store(base).collect();
    runs.sort_by_key(|path| std::cmp::Reverse(created(path)));
    runs
}

fn with_store(base: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(base)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| store_in(path).is_file())
}

/// Whether a controller is at work on the run in the directory `path`.
#[must_use]
pub fn is_running(path: &Path) -> bool {
    File::open(path.join("run.lock"))
        .is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(fs::TryLockError::WouldBlock)))
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn created(path: &Path) -> std::time::SystemTime {
    fs::metadata(path.join("run.lock"))
        .and_then(|meta| meta.created().or_else(|_| meta.modified()))
        .unwrap_or(std::time::UNIX_EPOCH)
}

fn hold(path: &Path) -> Result<File, LabError> {
    let lock_path = path.join("run.lock");
    let lock = without_links::append(&lock_path)
        .map_err(|error| LabError::file("open the run's lock", &lock_path, error))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(fs::TryLockError::WouldBlock) => Err(LabError::Busy {
            directory: path.display().to_string(),
        }),
        Err(fs::TryLockError::Error(error)) => {
            Err(LabError::file("lock the run", &lock_path, error))
        }
    }
}

/// An id from the clock and the process number: unique on one machine, short enough for interface
/// names.
fn new_run_id() -> RunId {
    let nanos = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos();
    let mut value = (low_u64(nanos) / 1_000) ^ (u64::from(std::process::id()) << 40);
    let mut text = String::new();
    for _ in 0..7 {
        text.push(char::from(
            b"0123456789abcdefghijklmnopqrstuvwxyz"[(value % 36) as usize],
        ));
        value /= 36;
    }
    RunId::try_from(text).expect("seven base-36 digits are a valid run id")
}

fn safe_stem(stem: &str) -> String {
    let cleaned: String = stem
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
                c
            } else {
                '_'
            }
        })
        .take(60)
        .collect();
    if cleaned.is_empty() {
        "study".to_owned()
    } else {
        cleaned
    }
}

/// Write `text` to `path` so that a reader sees the old file or the new one, never half of one.
/// What somebody has put in the way, a link too, is replaced and not written to.
///
/// # Errors
/// When the disk refuses.
pub fn write_whole(path: &Path, text: &[u8]) -> io::Result<()> {
    let part = path.with_extension("part");
    match fs::remove_file(&part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    File::create_new(&part)?.write_all(text)?;
    fs::rename(&part, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_by_path_name_id_and_latest() {
        let base = tempfile::tempdir().expect("a temporary directory");
        let first = RunDir::create(base.path(), "quick").expect("created");
        fs::write(first.store(), b"").expect("written");
        let id = first.run().as_str().to_owned();
        let name = first
            .path()
            .file_name()
            .expect("named")
            .to_string_lossy()
            .into_owned();
        for wanted in [
            id.as_str(),
            name.as_str(),
            "latest",
            &first.path().display().to_string(),
        ] {
            assert_eq!(
                find(base.path(), wanted)
                    .expect(wanted)
                    .canonicalize()
                    .expect("exists"),
                first.path(),
                "{wanted}"
            );
        }
        assert!(find(base.path(), "nothing").is_err());
        assert!(find_of_study(base.path(), Path::new("studies/quick.toml")).is_ok());
        assert!(find_of_study(base.path(), Path::new("studies/quic.toml")).is_err());
    }

    #[test]
    fn a_run_has_one_controller() {
        let base = tempfile::tempdir().expect("a temporary directory");
        let first = RunDir::create(base.path(), "a study/../x").expect("created");
        assert_eq!(
            first.path().parent(),
            Some(base.path().canonicalize().expect("exists").as_path()),
            "the stem cannot leave the base"
        );
        assert!(matches!(
            RunDir::reopen(first.path(), first.run().clone()),
            Err(LabError::Busy { .. })
        ));
        let (path, run) = (first.path().to_owned(), first.run().clone());
        drop(first);
        assert!(RunDir::reopen(&path, run).is_ok());
    }
}
