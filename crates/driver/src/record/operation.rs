//! Counts and histograms of one operation.

use rookery_stats::{Latencies, OperationMeasurement};
use serde::{Deserialize, Serialize};

use super::blob;
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct OperationRecord {
    started: u64,
    completed: u64,
    succeeded: u64,
    failed: u64,
    unfinished: u64,
    #[serde(with = "blob")]
    service: Latencies,
    #[serde(with = "blob")]
    response: Latencies,
    /// Failures, and successes without throughput, that ended inside the window.
    others_inside: u64,
    /// Wall time of the failures that were started inside it.
    failed_time: Nanos,
    /// By how much the values of `response` began after their intended start, together.
    late: Nanos,
    cuts: Cuts,
}

/// Operations that an end of the window cuts: those that count as started inside it or as ended
/// inside it, but not as both, and those that lay over the whole of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Cuts {
    /// Ended inside, not started inside.
    entered: u64,
    /// Started inside, not ended inside.
    left: u64,
    /// What of those not started inside lay within the window.
    within: Nanos,
    /// What of those started inside lay beyond it.
    beyond: Nanos,
}

impl Cuts {
    fn add(
        &mut self,
        window: Span,
        started_inside: bool,
        ended_inside: bool,
        sent: Nanos,
        to: Nanos,
    ) {
        let within = window.overlap(sent, to);
        match (started_inside, ended_inside) {
            (true, true) => {}
            (true, false) => {
                self.left += 1;
                self.beyond += to.saturating_sub(sent).saturating_sub(within);
            }
            (false, ended_inside) => {
                self.entered += u64::from(ended_inside);
                self.within += within;
            }
        }
    }
}

impl OperationRecord {
    /// An operation ended; `began` decides whether it was started inside the window: `sent`, or
    /// `intended` where a schedule does not wait.
    pub(crate) fn end(&mut self, window: Span, began: Nanos, timing: Timing, outcome: Outcome) {
        let started_inside = window.contains(began);
        self.started += u64::from(started_inside);
        let ended_inside = window.contains(timing.done);
        self.cuts.add(
            window,
            started_inside,
            ended_inside,
            timing.sent,
            timing.done,
        );
        match outcome {
            Outcome::Success | Outcome::Void => {
                let inside = u64::from(ended_inside);
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
                self.others_inside += u64::from(ended_inside);
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

    /// Still under way at `now`. One that `started_inside` is a failure whose time so far bounds
    /// the percentiles from below.
    pub(crate) fn unfinished(
        &mut self,
        window: Span,
        started_inside: bool,
        (sent, intended): (Nanos, Nanos),
        now: Nanos,
    ) {
        self.cuts.add(window, started_inside, false, sent, now);
        if !started_inside {
            return;
        }
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

    /// Time that operations were under way inside a window, s, from how many ended in it, how long
    /// those took that were started in it, and what its two ends cut.
    ///
    /// With N ends of mean time R, N R counts whole operations: each that ended but was not started
    /// inside counts R instead of what of it lay within; each that was started but did not end
    /// inside is missing with R less what of it lay beyond; one over the whole window is missing.
    /// What is put right is counted, not estimated, so nothing is left to chance however few
    /// operations there were. Operational analysis knows the difference as the assumption of flow
    /// balance: P. J. Denning, J. P. Buzen, "The Operational Analysis of Queueing Network Models",
    /// ACM Computing Surveys 10 (1978), section 3.
    pub(crate) fn under_way_s(&self) -> f64 {
        let mean_s = self.mean_s().unwrap_or(0.0);
        let whole = self.ended() as f64 + self.cuts.left as f64 - self.cuts.entered as f64;
        whole * mean_s + seconds(self.cuts.within) - seconds(self.cuts.beyond)
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
        self.cuts.entered += other.cuts.entered;
        self.cuts.left += other.cuts.left;
        self.cuts.within += other.cuts.within;
        self.cuts.beyond += other.cuts.beyond;
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
