//! What a list of runs says of one of them.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use rookery_diagnosis::outside_text;
use rookery_store::{Store, StoreError, TrialStatus};
use serde::Serialize;

/// A stored run in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunSummary {
    /// Name of its directory.
    pub name: String,
    /// Its id; empty where its store cannot be read.
    pub id: String,
    /// When it was begun, RFC 3339.
    pub created_at: String,
    /// Title of its study.
    pub title: String,
    /// Name of its study file.
    pub study: String,
    /// Version of Rookery that made it.
    pub version: String,
    /// Where it stands.
    pub state: RunState,
    /// Trials by how they ended.
    pub trials: TrialCounts,
    /// Why its store cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Trials by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TrialCounts {
    /// Ended well.
    pub done: usize,
    /// Failed their own checks.
    pub void: usize,
    /// Could not be carried out.
    pub failed: usize,
    /// Not ended yet.
    pub left: usize,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// A controller is at work on it.
    Running,
    /// Every planned trial has ended.
    Ended,
    /// Trials are left.
    Interrupted,
    /// Its store is damaged, or of a newer version.
    Unreadable,
}

impl RunState {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ended => "ended",
            Self::Interrupted => "interrupted",
            Self::Unreadable => "unreadable",
        }
    }

    /// The state of the run in `directory` with `left` trials left.
    pub(crate) fn of(directory: &Path, left: usize) -> Self {
        match left {
            _ if rookery_lab::is_running(directory) => Self::Running,
            0 => Self::Ended,
            _ => Self::Interrupted,
        }
    }
}

impl TrialCounts {
    /// Count trials by where they stand.
    pub(crate) fn count(statuses: impl Iterator<Item = TrialStatus>) -> Self {
        let mut counts = Self::default();
        for status in statuses {
            match status {
                TrialStatus::Done => counts.done += 1,
                TrialStatus::Void => counts.void += 1,
                TrialStatus::Failed => counts.failed += 1,
                TrialStatus::Planned | TrialStatus::Running => counts.left += 1,
            }
        }
        counts
    }
}

impl RunSummary {
    /// Of the run in `directory`; one whose store cannot be read says why.
    #[must_use]
    pub fn read(directory: &Path) -> Self {
        let name = directory
            .file_name()
            .map(|name| outside_text(&name.to_string_lossy()))
            .unwrap_or_default();
        Self::try_read(directory, name.clone()).unwrap_or_else(|error| Self {
            name,
            id: String::new(),
            created_at: String::new(),
            title: String::new(),
            study: String::new(),
            version: String::new(),
            state: RunState::Unreadable,
            trials: TrialCounts::default(),
            error: Some(outside_text(&error.to_string())),
        })
    }

    fn try_read(directory: &Path, name: String) -> Result<Self, StoreError> {
        let store = Store::open_read_only(rookery_lab::store_in(directory))?;
        let header = store.header()?;
        let trials = TrialCounts::count(store.trials()?.iter().map(|row| row.status));
        Ok(Self {
            name,
            id: header.run_id,
            created_at: header.created_at,
            title: outside_text(&header.title),
            study: outside_text(&header.study_file),
            version: header.rookery_version,
            state: RunState::of(directory, trials.left),
            trials,
            error: None,
        })
    }
}

/// Times and sizes of the files of a store: it changes whenever something is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp([Option<(Duration, u64)>; 2]);

impl Stamp {
    /// Of the run in `directory`.
    pub(crate) fn read(directory: &Path) -> Self {
        let store = rookery_lab::store_in(directory);
        let mut log = store.clone().into_os_string();
        log.push("-wal");
        let of = |path: &Path| {
            // Readers make an empty log and take it away again.
            let metadata = fs::metadata(path).ok().filter(|found| found.len() > 0)?;
            let changed = metadata.modified().ok()?;
            let since = changed.duration_since(SystemTime::UNIX_EPOCH);
            Some((since.unwrap_or_default(), metadata.len()))
        };
        Self([of(&store), of(Path::new(&log))])
    }
}
