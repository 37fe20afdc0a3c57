//! Operations and their counts and histograms.

use rookery_stats::{Latencies, ORDER, OperationMeasurement};

use crate::clock::{Nanos, Span};

/// What a user does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// The first page of a DVD Store user.
    Index,
    Login,
    /// One attempt to register; a taken name makes the user try again.
    NewCustomer,
    Browse,
    Purchase,
    /// The page of a page script.
    Page,
    /// A whole order.
    Order,
}

impl Operation {
    pub(crate) const ALL: [Self; 7] = [
        Self::Index,
        Self::Login,
        Self::NewCustomer,
        Self::Browse,
        Self::Purchase,
        Self::Page,
        Self::Order,
    ];
    pub(crate) const COUNT: usize = Self::ALL.len();

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Login => "login",
            Self::NewCustomer => "new-customer",
            Self::Browse => "browse",
            Self::Purchase => "purchase",
            Self::Page => "page",
            Self::Order => ORDER,
        }
    }
}

/// Whether an operation ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Success,
    Failure,
}

/// The moments of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timing {
    /// When it should have begun.
    pub(crate) intended: Nanos,
    /// When its first request began.
    pub(crate) sent: Nanos,
    /// When the last byte of its last answer was read.
    pub(crate) done: Nanos,
    /// Time spent in its requests.
    pub(crate) service: Nanos,
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
}

impl OperationRecord {
    pub(crate) fn end(&mut self, window: Span, timing: Timing, outcome: Outcome) {
        let started_inside = window.contains(timing.sent);
        self.started += u64::from(started_inside);
        match outcome {
            Outcome::Success => {
                self.completed += u64::from(window.contains(timing.done));
                if started_inside {
                    self.succeeded += 1;
                    self.service.record_us(timing.service / 1_000);
                    self.response.record_us(timing.done.saturating_sub(timing.intended) / 1_000);
                }
            }
            Outcome::Failure => self.failed += u64::from(started_inside),
        }
    }

    /// Still under way at `now`: a failure whose time so far bounds the percentiles from below.
    pub(crate) fn unfinished(&mut self, sent: Nanos, intended: Nanos, now: Nanos) {
        self.started += 1;
        self.unfinished += 1;
        self.service.record_us(now.saturating_sub(sent) / 1_000);
        self.response.record_us(now.saturating_sub(intended) / 1_000);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.started += other.started;
        self.completed += other.completed;
        self.succeeded += other.succeeded;
        self.failed += other.failed;
        self.unfinished += other.unfinished;
        self.service.merge(&other.service);
        self.response.merge(&other.response);
    }

    pub(crate) fn measurement(self, operation: Operation) -> OperationMeasurement {
        OperationMeasurement {
            name: operation.name().to_owned(),
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
