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
    /// Taken out of the plan by the user.
    #[serde(skip_serializing_if = "is_zero")]
    pub skipped: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
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
                TrialStatus::Skipped => counts.skipped += 1,
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

    /// When the later of the files changed, since 1970.
    fn changed(&self) -> Duration {
        let times = self.0.iter().flatten().map(|(changed, _)| *changed);
        times.max().unwrap_or_default()
    }
}

/// Age of a change, when it was read, from which on it is sure that readers saw all of it.
const SETTLED: Duration = Duration::from_secs(10);

/// The state of a store's files when it was read.
///
/// The files of a transaction have their final times and sizes before readers see it: its pages are
/// flushed to the disk in between, which takes long on a busy one. So a store that was read soon
/// after it changed is read again, at growing intervals, until the change had settled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) stamp: Stamp,
    at: Duration,
}

impl Reading {
    /// Of the store of the run in `directory`, now: to be made before it is read.
    pub(crate) fn begin(directory: &Path) -> Self {
        let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self {
            stamp: Stamp::read(directory),
            at: at.unwrap_or_default(),
        }
    }

    /// Whether what was read is to be read again, the files being as in `now`.
    pub(crate) fn is_outdated(&self, now: &Self) -> bool {
        if now.stamp != self.stamp {
            return true;
        }
        // A change of the future, by another clock, is not waited for.
        match (self.age(), now.age()) {
            (Some(then), Some(now)) => then < SETTLED && now >= then.saturating_mul(2),
            _ => false,
        }
    }

    /// Time since the last change.
    fn age(&self) -> Option<Duration> {
        self.at.checked_sub(self.stamp.changed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(changed_s: u64, bytes: u64, at_s: u64) -> Reading {
        Reading {
            stamp: Stamp([None, Some((Duration::from_secs(changed_s), bytes))]),
            at: Duration::from_secs(at_s),
        }
    }

    #[test]
    fn a_change_is_read_again_until_it_has_settled() {
        let mut last = reading(100, 7, 100);
        let mut read_at = Vec::new();
        for second in 100..200 {
            let now = reading(100, 7, second);
            if last.is_outdated(&now) {
                read_at.push(second);
                last = now;
            }
        }
        assert_eq!(read_at, [100, 101, 102, 104, 108, 116]);
    }

    #[test]
    fn another_stamp_is_read_and_a_settled_or_future_one_is_not() {
        let settled = reading(100, 7, 110);
        assert!(!settled.is_outdated(&reading(100, 7, 5_000)));
        assert!(settled.is_outdated(&reading(100, 8, 111)));
        assert!(settled.is_outdated(&reading(101, 7, 111)));
        let future = reading(900, 7, 100);
        assert!(!future.is_outdated(&reading(900, 7, 800)));
    }
}
