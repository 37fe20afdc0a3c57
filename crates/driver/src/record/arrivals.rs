//! What became of arrivals.

use serde::{Deserialize, Serialize};

use crate::clock::{Nanos, Span};

/// Arrivals of one guest on one thread that were intended inside the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrivalRecord {
    pub(crate) drawn: u64,
    pub(crate) started: u64,
    pub(crate) dropped: u64,
}

impl ArrivalRecord {
    /// The schedule held an arrival at `at`.
    pub(crate) fn drawn(&mut self, window: Span, at: Nanos) {
        self.drawn += u64::from(window.contains(at));
    }

    /// It was started.
    pub(crate) fn started(&mut self, window: Span, at: Nanos) {
        self.started += u64::from(window.contains(at));
    }

    /// It never was.
    pub(crate) fn dropped(&mut self, window: Span, at: Nanos) {
        self.dropped += u64::from(window.contains(at));
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.drawn += other.drawn;
        self.started += other.started;
        self.dropped += other.dropped;
    }
}
