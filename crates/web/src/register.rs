//! The register of a thread's users: what each is doing now, and until when it may.
//!
//! One row per user. It gives every request its time limit without a timer of its own (a sweep
//! every [`SWEEP`](rookery_driver::SWEEP) wakes those that are overdue), and it tells at the end
//! which operations were left unfinished.

use std::task::{Context, Poll, Waker};

use rookery_driver::{Nanos, OperationId};

/// An operation under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    pub(crate) operation: OperationId,
    pub(crate) intended: Nanos,
    pub(crate) sent: Nanos,
}

/// One user.
#[derive(Debug, Default)]
pub(crate) struct Row {
    /// Index of its guest.
    pub(crate) guest: u32,
    /// It is in an act (else it thinks), since `since`.
    pub(crate) busy: bool,
    /// It has begun.
    pub(crate) started: bool,
    /// It has been connected at least once.
    pub(crate) connected: bool,
    /// Its last request failed.
    pub(crate) failing: bool,
    /// A byte of the present request has been sent.
    pub(crate) written: bool,
    overdue: bool,
    pub(crate) since: Nanos,
    /// When it began its first act after its arrival.
    pub(crate) active_since: Option<Nanos>,
    deadline: Option<Nanos>,
    waker: Option<Waker>,
    pub(crate) request: Option<Open>,
    pub(crate) act: Option<Open>,
}

impl Row {
    pub(crate) fn new(guest: u32) -> Self {
        Self {
            guest,
            ..Self::default()
        }
    }

    /// A request begins; it may take until `deadline`.
    pub(crate) fn begin(&mut self, open: Open, deadline: Nanos) {
        self.request = Some(open);
        self.deadline = Some(deadline);
        self.overdue = false;
        self.written = false;
    }

    /// The request ended.
    pub(crate) fn end(&mut self, failing: bool) {
        self.request = None;
        self.deadline = None;
        self.failing = failing;
    }

    /// Wait for the time limit: ready when the request is overdue.
    pub(crate) fn poll_overdue(&mut self, context: &Context<'_>) -> Poll<()> {
        if self.overdue {
            return Poll::Ready(());
        }
        self.wake_by(context);
        Poll::Pending
    }

    /// Whether the time of its request is over, and it has not ended for that yet.
    pub(crate) fn is_overdue(&self) -> bool {
        self.overdue
    }

    /// What wakes the user.
    pub(crate) fn wake_by(&mut self, context: &Context<'_>) {
        // A user is one task for life: its waker is cloned once.
        if !self
            .waker
            .as_ref()
            .is_some_and(|waker| waker.will_wake(context.waker()))
        {
            self.waker = Some(context.waker().clone());
        }
    }

    /// Wake the user.
    pub(crate) fn wake(&self) {
        if let Some(waker) = &self.waker {
            waker.wake_by_ref();
        }
    }

    /// Wake the user if its request is overdue.
    pub(crate) fn sweep(&mut self, now: Nanos) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.deadline = None;
            self.overdue = true;
            self.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_overdue_request_is_ready() {
        let context = Context::from_waker(Waker::noop());
        let mut row = Row::new(0);
        let open = Open {
            operation: OperationId::new(0),
            intended: 0,
            sent: 0,
        };
        row.begin(open, 100);
        row.sweep(99);
        assert_eq!(row.poll_overdue(&context), Poll::Pending);
        row.sweep(100);
        assert_eq!(row.poll_overdue(&context), Poll::Ready(()));
        row.end(true);
        row.begin(open, 300);
        row.sweep(200);
        assert_eq!(
            row.poll_overdue(&context),
            Poll::Pending,
            "the next request has its own limit"
        );
        row.end(false);
        row.sweep(1_000);
        assert_eq!(
            row.poll_overdue(&context),
            Poll::Pending,
            "a request that ended is never overdue"
        );
    }
}
