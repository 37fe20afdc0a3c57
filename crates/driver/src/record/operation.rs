//! Counts and histograms of one operation.

use rookery_stats::{Latencies, OperationMeasurement};

use crate::clock::{Nanos, Span, seconds};

/// Whether an operation ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It did.
    Success,
    /// It ended as it must, but left nothing behind: it is no throughput.
    Void,
    /// It did not.
    Failure,
}

/// The moments of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// When it should have begun.
    pub intended: Nanos,
    /// When its first request began.
    pub sent: Nanos,
    /// When the last byte of its last answer was read.
    pub done: Nanos,
    /// Time spent in its requests.
    pub service: Nanos,
}

/// To the nearest microsecond: always rounding down would shorten a mean of 50 us by 1 %.
fn microseconds(time: Nanos) -> u64 {
    time.saturating_add(500) / 1_000
}

/// Counts and histograms of one operation.
#[derive(Debug, Default)]
pub(crate) struct OperationRecord {
    started: u64,
    completed: u64,
    succeeded: u64,
    failed: u64,
    unfinished: u64,
    service: Latencies,
    response: Latencies,
    /// Failures, and successes without throughput, that ended inside the window.
    others_inside: u64,
    /// Wall time of the failures that were started inside it.
    failed_time: Nanos,
    /// By how much the values of `response` began after their intended start, together.
    late: Nanos,
}

impl OperationRecord {
    /// An operation ended; `began` decides whether it was started inside the window: `sent`, or
    /// `intended` where a schedule does not wait.
    pub(crate) fn end(&mut self, window: Span, began: Nanos, timing: Timing, outcome: Outcome) {
        let started_inside = window.contains(began);
        self.started += u64::from(started_inside);
        match outcome {
            Outcome::Success | Outcome::Void => {
                let inside = u64::from(window.contains(timing.done));
                if outcome == Outcome::Success {
                    self.completed += inside;
                } else {
                    self.others_inside += inside;
                }
                if started_inside {
                    self.succeeded += 1;
                    self.record(timing.service, timing);
                }
            }
            Outcome::Failure => {
                self.others_inside += u64::from(window.contains(timing.done));
                if started_inside {
                    self.failed += 1;
                    self.failed_time += timing.done.saturating_sub(timing.sent);
                }
            }
        }
    }

    fn record(&mut self, service: Nanos, timing: Timing) {
        self.service.record_us(microseconds(service));
        self.response
            .record_us(microseconds(timing.done.saturating_sub(timing.intended)));
        self.late += timing.sent.saturating_sub(timing.intended);
    }

    /// Still under way at `now`: a failure whose time so far bounds the percentiles from below.
    pub(crate) fn unfinished(&mut self, sent: Nanos, intended: Nanos, now: Nanos) {
        self.started += 1;
        self.unfinished += 1;
        let service = now.saturating_sub(sent);
        let timing = Timing {
            intended,
            sent,
            done: now,
            service,
        };
        self.record(service, timing);
    }

    /// How many ended inside the window, well or not.
    pub(crate) fn ended(&self) -> u64 {
        self.completed + self.others_inside
    }

    /// Mean time from the first byte sent to the last byte read, failures included, of those
    /// started inside the window, s.
    ///
    /// It is taken from the response times that are reported, so that an error in them is an error
    /// here.
    pub(crate) fn mean_s(&self) -> Option<f64> {
        let values = self.response.count();
        let responses_s = self.response.mean_us().unwrap_or(0.0) * values as f64 / 1e6;
        let count = values + self.failed;
        (count > 0)
            .then(|| (responses_s - seconds(self.late) + seconds(self.failed_time)) / count as f64)
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.started += other.started;
        self.completed += other.completed;
        self.succeeded += other.succeeded;
        self.failed += other.failed;
        self.unfinished += other.unfinished;
        self.service.merge(&other.service);
        self.response.merge(&other.response);
        self.others_inside += other.others_inside;
        self.failed_time += other.failed_time;
        self.late += other.late;
    }

    pub(crate) fn measurement(self, name: &str) -> OperationMeasurement {
        OperationMeasurement {
            name: name.to_owned(),
            started: self.started,
            completed: self.completed,
            succeeded: self.succeeded,
            failed: self.failed,
            unfinished: self.unfinished,
            service: self.service,
            response: self.response,
        }
    }

    /// Nothing of it touched the window.
    pub(crate) fn is_empty(&self) -> bool {
        self.started == 0 && self.completed == 0
    }
}
