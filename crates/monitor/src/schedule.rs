//! When a load begins, is measured and ends.

use std::{
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rookery_stats::ResourceSample;
use serde::{Deserialize, Serialize};

/// How often the common start and the end of the load are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How often the end of the load is looked for by threads that wait for a moment.
const WAIT_EVERY: Duration = Duration::from_millis(50);
/// So much before the end of its window a load may be over.
const EARLY: Duration = Duration::from_secs(1);

/// The course of a load, counted from the common start of all users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadSchedule {
    /// Begin of the measured window.
    pub window_start: Duration,
    /// Length of the measured window.
    pub window: Duration,
    /// When the load ends.
    pub end: Duration,
}

/// A schedule whose common start is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    /// The common start of all users.
    pub(crate) start: Instant,
    /// Begin of the measured window.
    pub(crate) from: Instant,
    /// Its end.
    pub(crate) until: Instant,
    /// When the load ends.
    pub(crate) end: Instant,
}

impl LoadSchedule {
    pub(crate) fn starting(&self, start: Instant) -> Course {
        let from = start + self.window_start;
        Course {
            start,
            from,
            until: from + self.window,
            end: start + self.end,
        }
    }
}

/// The state of one load, shared by the threads beside it.
///
/// The common start is known only when all users are ready.
#[derive(Debug, Default)]
pub struct LoadState {
    start: OnceLock<Instant>,
    over: AtomicBool,
    /// Set to end the load early.
    end: AtomicBool,
    /// What everything used when it was looked at last.
    usage: LatestUsage,
}

/// The newest sample of each subject, for those who watch a load.
#[derive(Clone, Debug, Default)]
pub(crate) struct LatestUsage(Arc<Mutex<Vec<ResourceSample>>>);

impl LatestUsage {
    /// Replaces what was there.
    pub(crate) fn set(&self, samples: &[ResourceSample]) {
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        latest.clear();
        latest.extend_from_slice(samples);
    }

    fn get(&self) -> Vec<ResourceSample> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl LoadState {
    /// Report the common start of all users, which may lie a little ahead.
    pub fn begin(&self, start: Instant) {
        // A load has one start; a second report changes nothing.
        let _ = self.start.set(start);
    }

    /// The flag that ends the load early: set by the watcher when a guest dies or the user wants no
    /// more.
    #[must_use]
    pub fn end_early(&self) -> &AtomicBool {
        &self.end
    }

    /// The newest sample of each subject; none before the second one was taken.
    #[must_use]
    pub fn latest_usage(&self) -> Vec<ResourceSample> {
        self.usage.get()
    }

    pub(crate) fn usage(&self) -> &LatestUsage {
        &self.usage
    }

    pub(crate) fn finish(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// The common start; nothing where the load ended before it.
    pub(crate) fn started(&self) -> Option<Instant> {
        loop {
            if let Some(start) = self.start.get() {
                return Some(*start);
            }
            if self.is_over() {
                return None;
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Sleep until the load is over.
    pub(crate) fn wait_for_end(&self) {
        while !self.is_over() {
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Sleep until `moment`; whether the load lasted until then.
    pub(crate) fn wait(&self, moment: Instant) -> bool {
        loop {
            let left = moment.saturating_duration_since(Instant::now());
            // The load may end with the window: a look that comes a little early is as good.
            if left.is_zero() || (left <= EARLY && self.is_over()) {
                return true;
            }
            if self.is_over() {
                return false;
            }
            thread::sleep(WAIT_EVERY.min(left));
        }
    }
}
