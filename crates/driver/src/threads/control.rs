//! What the threads of a trial share while they run: what each shows, and what all obey.

use std::{
    sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use super::board::SecondBoard;
use crate::clock::{Nanos, Span, nanos};

/// How often a thread looks after its users: for overdue requests, for an early end, and to show
/// its status.
pub const SWEEP: Duration = Duration::from_millis(50);

/// What a thread shows of itself while it runs; written at every sweep, never on the way of a
/// request.
#[derive(Debug, Default)]
pub struct ThreadStatus {
    /// Requests that ended since the start, failed ones included.
    pub requests: AtomicU64,
    /// Failed ones.
    pub errors: AtomicU64,
    /// Users that have begun.
    pub started: AtomicU32,
    /// Of these, whose last request failed.
    pub failing: AtomicU32,
    /// Arrivals that the schedule held since the start; none in a closed load.
    pub arrivals: AtomicU64,
    /// The seconds that are over.
    pub seconds: SecondBoard,
}

/// What all threads obey while they run.
#[derive(Debug)]
pub struct TrialControl {
    /// The moment at which the load ends early; `u64::MAX` = not.
    cut: AtomicU64,
}

impl TrialControl {
    /// The load does not end early.
    #[must_use]
    pub fn new() -> Self {
        Self {
            cut: AtomicU64::new(Nanos::MAX),
        }
    }

    /// End the load in a moment, when every thread has heard of it, so that all cut their window at
    /// the same time; a second call changes nothing.
    pub fn end(&self, now: Nanos) {
        self.cut.fetch_min(now + 2 * nanos(SWEEP), Relaxed);
    }

    /// When the load ends early, if it does.
    pub fn ended(&self) -> Option<Nanos> {
        Some(self.cut.load(Relaxed)).filter(|&cut| cut != Nanos::MAX)
    }

    /// What was measured of `window`.
    #[must_use]
    pub fn measured(&self, window: Span) -> Span {
        let end = self
            .ended()
            .map_or(window.end, |cut| window.end.min(cut.max(window.start)));
        Span { end, ..window }
    }
}

impl Default for TrialControl {
    fn default() -> Self {
        Self::new()
    }
}
