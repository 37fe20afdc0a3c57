//! Deleting a run: its directory with all that is in it.

use std::{fs, path::Path};

use rookery_diagnosis::Diagnosis;
use rookery_host::RunId;
use rookery_store::Store;

use crate::{
    error::LabError,
    lab_pool,
    run_dir::{RunDir, store_in},
};

/// Why a run is not deleted.
#[derive(Debug, thiserror::Error)]
pub enum DeleteError {
    /// It is no run, or lies elsewhere.
    #[error("{directory} is no run that lies in {base}")]
    Elsewhere {
        /// What was to be deleted.
        directory: String,
        /// The runs directory.
        base: String,
    },
    /// What the run made is still on the host.
    #[error("the run in {directory} has left {count} things on this host")]
    LeftOnHost {
        /// Its directory.
        directory: String,
        /// How many.
        count: usize,
    },
    /// It is held, or the disk refuses.
    #[error(transparent)]
    Lab(#[from] LabError),
}

impl Diagnosis for DeleteError {
    fn code(&self) -> &'static str {
        match self {
            Self::Elsewhere { .. } => "lab::no-run",
            Self::LeftOnHost { .. } => "lab::left",
            Self::Lab(error) => error.code(),
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::Elsewhere { .. } => Some("`rookery runs` lists what can be deleted".to_owned()),
            Self::LeftOnHost { .. } => Some("`rookery clean` removes them".to_owned()),
            Self::Lab(error) => error.help(),
        }
    }
}

/// Delete the run in `directory`, which lies in the runs directory `base` itself.
///
/// # Errors
/// When `directory` is no run or lies elsewhere, a controller is at work on it, something that it
/// made is still on the host, or the disk refuses.
pub fn delete(base: &Path, directory: &Path) -> Result<(), DeleteError> {
    let found = |path: &Path| {
        path.canonicalize()
            .map_err(|error| LabError::file("find", path, error))
    };
    let (base, path) = (found(base)?, found(directory)?);
    let is_link = fs::symlink_metadata(directory).is_ok_and(|found| found.is_symlink());
    if is_link || path.parent() != Some(base.as_path()) || !store_in(&path).is_file() {
        return Err(DeleteError::Elsewhere {
            directory: directory.display().to_string(),
            base: base.display().to_string(),
        });
    }
    // A store that cannot be read has no id: nothing on the host can be told to be of it.
    let run = Store::open_read_only(store_in(&path)).and_then(|store| store.header());
    let run = run
        .ok()
        .and_then(|header| RunId::try_from(header.run_id).ok());
    let held = RunDir::reopen(&path, run.clone().unwrap_or_else(nobody))?;
    if let Some(run) = run {
        let labels = lab_pool::labels(&run);
        let things = rookery_guest::inventory().map_err(LabError::from)?;
        let left = things.into_iter();
        let left = left.filter(|thing| labels.contains(&thing.run)).count();
        if left > 0 {
            return Err(DeleteError::LeftOnHost {
                directory: directory.display().to_string(),
                count: left,
            });
        }
    }
    let removed = fs::remove_dir_all(&path);
    drop(held);
    Ok(removed.map_err(|error| LabError::file("delete the run", &path, error))?)
}

fn nobody() -> RunId {
    RunId::try_from("unknown".to_owned()).expect("a valid run id")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rookery_store::fixture::{header, host_facts};

    use super::*;

    const STUDY: &str = "title = \"a system\"\n[workload]\nkind = \"sample\"\n[load]\nusers = 1\n\
                         [stack]\nkind = \"external\"\ntarget = \"http://127.0.0.1:8080\"\n\
                         [[layout]]\nname = \"one\"\n";

    #[test]
    fn only_runs_in_the_runs_directory_that_nobody_works_on_are_deleted() {
        let place = tempfile::tempdir().expect("a directory");
        let base = place.path().join("runs");
        let elsewhere = place.path().join("elsewhere");
        for directory in [&base, &elsewhere] {
            fs::create_dir(directory).expect("a directory");
        }
        let stored = |base: &Path| {
            let dir = RunDir::create(base, "study").expect("a run");
            drop(
                Store::create(dir.store(), &header("s.toml", STUDY, host_facts()))
                    .expect("a store"),
            );
            dir
        };
        let (own, foreign) = (stored(&base), stored(&elsewhere));
        let (path, other) = (own.path().to_owned(), foreign.path().to_owned());
        assert!(matches!(
            delete(&base, &path),
            Err(DeleteError::Lab(LabError::Busy { .. }))
        ));
        drop((own, foreign));
        symlink(&other, base.join("link")).expect("a link");
        fs::create_dir(base.join("no-run")).expect("a directory");
        for wrong in [
            other.clone(),
            base.join("link"),
            base.join("no-run"),
            base.clone(),
        ] {
            assert!(delete(&base, &wrong).is_err(), "{}", wrong.display());
        }
        fs::write(path.join("report.html"), "a report").expect("written");
        delete(&base, &path).expect("deleted");
        assert!(!path.exists() && store_in(&other).is_file());
    }
}
