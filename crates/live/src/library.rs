//! All runs of the runs directories, read in the background and kept until their stores change.
//!
//! A run is known to the page by a key that derives from the path of its directory. A key that is
//! not among those that were listed names nothing: no path ever comes from outside.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rookery_diagnosis::outside_text;
use rookery_lab::{DeleteError, LabelError, RunLabels};
use rookery_store::{Store, StoreError};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::{
    access::hex,
    overview::Overview,
    summary::{Reading, RunState, RunSummary, Stamp},
};

/// Time between two looks at the runs directories.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Trials of a run beyond which its answer is not computed for the list: it would take seconds.
const MOST_TRIALS: usize = 2_000;
/// Runs whose plan is kept in memory.
const MOST_OVERVIEWS: usize = 8;
/// Bytes of the digest in a key.
const KEY_BYTES: usize = 10;

/// The runs below some directories.
#[derive(Debug)]
pub(crate) struct Library {
    places: Vec<PathBuf>,
    state: Mutex<State>,
    wake: Condvar,
    closing: AtomicBool,
    overviews: Mutex<HashMap<String, Kept>>,
}

#[derive(Debug, Default)]
struct State {
    runs: BTreeMap<String, Listed>,
    /// Keys in the order of the list, the newest first.
    order: Vec<String>,
    /// Whether that order has all runs.
    sorted: bool,
    /// Runs that are still to be read.
    reading: usize,
    /// Whether the directories were looked at.
    looked: bool,
    /// Whether somebody asked since the last look.
    asked: bool,
}

/// A run that is listed.
#[derive(Debug)]
struct Listed {
    directory: PathBuf,
    reading: Reading,
    summary: RunSummary,
    labels: RunLabels,
    /// The answer, for the store as it was at a stamp.
    answer: Option<(Stamp, String)>,
}

#[derive(Debug)]
struct Kept {
    reading: Reading,
    running: bool,
    used: Instant,
    overview: Arc<Overview>,
}

/// The list as the page gets it.
#[derive(Debug, Serialize)]
pub(crate) struct RunList {
    pub(crate) runs: Vec<RunLine>,
    /// Runs that are still to be read.
    pub(crate) reading: usize,
    /// Whether nothing is known yet.
    pub(crate) looking: bool,
}

/// A run of the list.
#[derive(Debug, Serialize)]
pub(crate) struct RunLine {
    pub(crate) key: String,
    #[serde(flatten)]
    pub(crate) summary: RunSummary,
    /// Tags and note of its reader.
    pub(crate) labels: RunLabels,
    /// The first sentence of its answer, once that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) answer: Option<String>,
}

impl Library {
    pub(crate) fn new(places: Vec<PathBuf>) -> Self {
        Self {
            places,
            state: Mutex::default(),
            wake: Condvar::new(),
            closing: AtomicBool::new(false),
            overviews: Mutex::default(),
        }
    }

    /// The key of the run in `directory`, an absolute path without links.
    pub(crate) fn key(directory: &Path) -> String {
        hex(&Sha256::digest(directory.as_os_str().as_bytes())[..KEY_BYTES])
    }

    /// All that is known; asks for a new look.
    pub(crate) fn list(&self) -> RunList {
        let mut state = self.lock();
        state.asked = true;
        state.sort();
        self.wake.notify_all();
        let line = |key: &String| {
            let listed = state.runs.get(key)?;
            Some(RunLine {
                key: key.clone(),
                summary: listed.summary.clone(),
                labels: listed.labels.clone(),
                answer: listed.answer.as_ref().map(|(_, text)| text.clone()),
            })
        };
        RunList {
            runs: state.order.iter().filter_map(line).collect(),
            reading: state.reading,
            looking: !state.looked,
        }
    }

    /// The directory of the run of this key, if it was listed.
    pub(crate) fn directory(&self, key: &str) -> Option<PathBuf> {
        Some(self.lock().runs.get(key)?.directory.clone())
    }

    /// The name of a run's directory, and the tags and note of its reader.
    pub(crate) fn labels(&self, key: &str) -> Option<(String, RunLabels)> {
        let state = self.lock();
        let listed = state.runs.get(key)?;
        Some((listed.summary.name.clone(), listed.labels.clone()))
    }

    /// Keep tags and a note with a run; `None` where it was not listed.
    ///
    /// # Errors
    /// When they cannot be kept.
    pub(crate) fn label(&self, key: &str, labels: &RunLabels) -> Result<Option<()>, LabelError> {
        let Some(directory) = self.directory(key) else {
            return Ok(None);
        };
        labels.write(&directory)?;
        if let Some(listed) = self.lock().runs.get_mut(key) {
            listed.labels = labels.clone();
        }
        Ok(Some(()))
    }

    /// Delete a run that is called `name`; `None` where none of that name was listed by the key.
    ///
    /// # Errors
    /// When it does not lie in a runs directory itself, is under way, or the disk refuses.
    pub(crate) fn delete(&self, key: &str, name: &str) -> Result<Option<()>, DeleteError> {
        let Some(directory) = self.directory(key) else {
            return Ok(None);
        };
        if directory.file_name() != Some(OsStr::new(name)) {
            return Ok(None);
        }
        let own = |place: &&PathBuf| place.canonicalize().ok().as_deref() == directory.parent();
        let Some(place) = self.places.iter().find(own) else {
            return Ok(None);
        };
        rookery_lab::delete(place, &directory)?;
        let mut state = self.lock();
        state.runs.remove(key);
        state.sorted = false;
        Ok(Some(()))
    }

    /// The directories of the runs that were made from a study file of this name, the oldest first.
    pub(crate) fn of_study(&self, study: &str) -> Vec<PathBuf> {
        let state = self.lock();
        let mut found: Vec<&Listed> = state
            .runs
            .values()
            .filter(|listed| listed.summary.study == study && listed.summary.error.is_none())
            .collect();
        found.sort_by(|a, b| a.summary.created_at.cmp(&b.summary.created_at));
        found.iter().map(|run| run.directory.clone()).collect()
    }

    /// The run of this key as it stands; `None` where it was not listed. Read anew only after
    /// something was stored.
    ///
    /// # Errors
    /// When its store cannot be read.
    pub(crate) fn overview(&self, key: &str) -> Result<Option<Arc<Overview>>, StoreError> {
        let Some(directory) = self.directory(key) else {
            return Ok(None);
        };
        // Before the store is read: what is stored meanwhile is read again.
        let reading = Reading::begin(&directory);
        let running = rookery_lab::is_running(&directory);
        let mut kept = self
            .overviews
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = kept.get_mut(key)
            && kept.running == running
            && !kept.reading.is_outdated(&reading)
        {
            kept.used = Instant::now();
            return Ok(Some(Arc::clone(&kept.overview)));
        }
        let overview = Arc::new(Overview::read(&directory)?);
        if kept.len() >= MOST_OVERVIEWS {
            let oldest = kept.iter().min_by_key(|(_, kept)| kept.used);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                kept.remove(&oldest);
            }
        }
        let entry = Kept {
            reading,
            running,
            used: Instant::now(),
            overview: Arc::clone(&overview),
        };
        kept.insert(key.to_owned(), entry);
        Ok(Some(overview))
    }

    /// Look at the directories whenever somebody asks, until [`Self::close`]: the work of a thread.
    pub(crate) fn work(&self) {
        while !self.closed() {
            self.look();
            self.answer();
            let next = Instant::now() + LOOK_EVERY;
            let mut state = self.lock();
            while !self.closed() {
                let left = next.saturating_duration_since(Instant::now());
                if left.is_zero() && state.asked {
                    break;
                }
                let wait = if left.is_zero() { LOOK_EVERY } else { left };
                let waited = self.wake.wait_timeout(state, wait);
                (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            }
            state.asked = false;
        }
    }

    /// End [`Self::work`].
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        self.wake.notify_all();
    }

    fn closed(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Read what is new, one run after another.
    fn look(&self) {
        let found: Vec<(String, PathBuf)> = self
            .places
            .iter()
            .flat_map(|place| rookery_lab::runs(place))
            .filter_map(|directory| directory.canonicalize().ok())
            .map(|directory| (Self::key(&directory), directory))
            .collect();
        {
            let keys: HashSet<&String> = found.iter().map(|(key, _)| key).collect();
            let mut state = self.lock();
            state.runs.retain(|key, _| keys.contains(key));
            state.reading = found
                .iter()
                .filter(|(key, _)| !state.runs.contains_key(key))
                .count();
        }
        for (key, directory) in found {
            if self.closed() {
                return;
            }
            self.look_at(key, directory);
        }
        let mut state = self.lock();
        (state.looked, state.reading, state.sorted) = (true, 0, false);
    }

    fn look_at(&self, key: String, directory: PathBuf) {
        let reading = Reading::begin(&directory);
        let labels = RunLabels::read(&directory);
        {
            let mut state = self.lock();
            if let Some(listed) = state.runs.get_mut(&key)
                && !listed.reading.is_outdated(&reading)
            {
                listed.labels = labels;
                // The controller may have come or gone without storing anything.
                if listed.summary.state != RunState::Unreadable {
                    listed.summary.state = RunState::of(&directory, listed.summary.trials.left);
                }
                return;
            }
        }
        let summary = RunSummary::read(&directory);
        let mut state = self.lock();
        let answer = state.runs.remove(&key).and_then(|listed| listed.answer);
        state.reading = state.reading.saturating_sub(1);
        let listed = Listed {
            directory,
            reading,
            summary,
            labels,
            answer,
        };
        state.runs.insert(key, listed);
        state.sorted = false;
    }

    /// Compute the answers of ended runs that are not known yet. While a run is under way nothing
    /// is computed that is not asked for: it would be measured with it.
    fn answer(&self) {
        loop {
            let next = {
                let mut state = self.lock();
                state.sort();
                let running = |run: &Listed| run.summary.state == RunState::Running;
                if self.closed() || state.runs.values().any(running) {
                    return;
                }
                state
                    .order
                    .iter()
                    .filter_map(|key| Some((key, state.runs.get(key)?)))
                    .find(|(_, run)| run.lacks_answer())
                    .map(|(key, run)| (key.clone(), run.directory.clone(), run.reading.stamp))
            };
            let Some((key, directory, stamp)) = next else {
                return;
            };
            let text = answer_of(&directory);
            if let Some(listed) = self.lock().runs.get_mut(&key) {
                listed.answer = Some((stamp, text));
            }
        }
    }
}

impl State {
    fn sort(&mut self) {
        if self.sorted {
            return;
        }
        let mut order: Vec<(&String, &Listed)> = self.runs.iter().collect();
        order.sort_by(|(_, a), (_, b)| {
            let newer = b.summary.created_at.cmp(&a.summary.created_at);
            newer.then_with(|| a.summary.name.cmp(&b.summary.name))
        });
        self.order = order.into_iter().map(|(key, _)| key.clone()).collect();
        self.sorted = true;
    }
}

impl Listed {
    fn lacks_answer(&self) -> bool {
        let trials = self.summary.trials;
        let small = trials.done + trials.void + trials.failed + trials.left <= MOST_TRIALS;
        let known = self
            .answer
            .as_ref()
            .is_some_and(|(stamp, _)| *stamp == self.reading.stamp);
        small && !known && self.summary.state == RunState::Ended
    }
}

/// The first sentence of a run's answer, or why there is none.
fn answer_of(directory: &Path) -> String {
    let answer = Store::open_read_only(rookery_lab::store_in(directory))
        .map_err(|error| error.to_string())
        .and_then(|store| rookery_report::answer(&store).map_err(|error| error.to_string()));
    outside_text(&answer.unwrap_or_else(|error| format!("no answer: {error}")))
}
