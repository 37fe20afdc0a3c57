//! What a driver thread writes down about each guest.
//!
//! A [`Recorder`] belongs to one thread and one guest; those of all threads, and of several
//! drivers, are merged after the end ([`merge`]). Times of the measured window decide what counts:
//! a success that completes inside it is throughput, an operation that starts inside it is followed
//! to its end and gives the response times.

mod arrivals;
pub(crate) mod blob;
mod little;
mod merge;
mod operation;
mod second;
mod tally;
mod view;
mod wait;

pub use arrivals::ArrivalRecord;
pub(crate) use little::{Population, little_error};
pub use merge::GuestLoad;
pub(crate) use merge::GuestRecord;
pub use operation::{Outcome, Timing};
pub(crate) use second::second_of;
pub use view::{FaultCount, GuestSecond, LoadSecond};
pub(crate) use view::{GuestNews, sample_of};
pub use wait::Pause;

use self::{operation::OperationRecord, second::Series, tally::Tallies, wait::Waits};
use crate::{
    clock::{Nanos, Span},
    fault::Fault,
    operation::OperationId,
};

/// One guest, as one thread saw it.
#[derive(Debug)]
pub struct Recorder {
    window: Span,
    /// Starts follow a schedule: the intended start decides what began inside the window, and
    /// stands for the start in the series.
    scheduled: bool,
    /// What became of arrivals.
    pub(crate) arrivals: ArrivalRecord,
    /// By place in the workload's table.
    operations: Box<[OperationRecord]>,
    series: Series,
    /// The operation that is shown by itself while the load runs, and its seconds.
    shown: Option<(OperationId, Series)>,
    tallies: Tallies,
    busy: Nanos,
    idle: Nanos,
    /// Drawn delays.
    delays: Waits,
    /// Waits that were no drawn delay: after a failure, and for the rest of a cycle.
    other_waits: Waits,
    /// Time that users were going from act to act.
    active: Nanos,
    /// Requests that ended inside the window, well or not.
    requests_in_window: u64,
    /// Arrivals that the schedule held, inside the window or not.
    arrivals_in_all: u64,
}

impl Recorder {
    /// Nothing was seen yet of so many operations. `scheduled` = starts follow a schedule that does
    /// not wait for answers.
    #[must_use]
    pub fn new(window: Span, scheduled: bool, operations: usize) -> Self {
        Self {
            window,
            scheduled,
            arrivals: ArrivalRecord::default(),
            operations: (0..operations)
                .map(|_| OperationRecord::default())
                .collect(),
            series: Series::default(),
            shown: None,
            tallies: Tallies::default(),
            busy: 0,
            idle: 0,
            delays: Waits::default(),
            other_waits: Waits::default(),
            active: 0,
            requests_in_window: 0,
            arrivals_in_all: 0,
        }
    }

    /// Whose seconds are shown while the load runs, those of `operation` by itself.
    #[must_use]
    pub fn showing(self, operation: OperationId) -> Self {
        Self {
            shown: Some((operation, Series::default())),
            ..self
        }
    }

    /// The measured window.
    #[must_use]
    pub fn window(&self) -> Span {
        self.window
    }

    /// The load ended early: nothing after `at` is inside the window.
    pub fn cut(&mut self, at: Nanos) {
        self.window.end = self.window.end.min(at.max(self.window.start));
    }

    /// The schedule held an arrival at `at`.
    pub fn arrival_drawn(&mut self, at: Nanos) {
        self.arrivals.drawn(self.window, at);
        self.arrivals_in_all += 1;
    }

    /// The arrival of `at` was started.
    pub fn arrival_started(&mut self, at: Nanos) {
        self.arrivals.started(self.window, at);
    }

    /// The arrival of `at`, which should have been `operation`, never was started: a failure.
    pub fn arrival_dropped(&mut self, at: Nanos, operation: OperationId) {
        self.arrivals.dropped(self.window, at);
        self.failure(Fault::DROPPED, at, operation, b"");
    }

    /// One request ended.
    pub fn request(&mut self, operation: OperationId, timing: Timing, outcome: Outcome) {
        self.operation(operation, timing, outcome);
        let time = self.time_of(timing);
        self.series.request(timing.done, time, outcome);
        self.requests_in_window += u64::from(self.window.contains(timing.done));
    }

    /// A whole act of several requests ended; when it did well, the series counts a unit of work.
    pub fn act(&mut self, operation: OperationId, timing: Timing, outcome: Outcome) {
        self.operation(operation, timing, outcome);
        if outcome == Outcome::Success {
            self.series.unit(timing.done);
        }
    }

    /// A unit of work was done at `done`: the series counts it.
    pub fn unit_done(&mut self, done: Nanos) {
        self.series.unit(done);
    }

    /// An operation that was still under way at the end.
    pub fn unfinished(&mut self, operation: OperationId, sent: Nanos, intended: Nanos, now: Nanos) {
        let (window, inside) = (self.window, self.began_inside(sent, intended));
        self.record(operation)
            .unfinished(window, inside, (sent, intended), now);
    }

    /// Whether an operation counts as started inside the window.
    #[must_use]
    pub fn began_inside(&self, sent: Nanos, intended: Nanos) -> bool {
        self.window
            .contains(if self.scheduled { intended } else { sent })
    }

    fn operation(&mut self, operation: OperationId, timing: Timing, outcome: Outcome) {
        let began = if self.scheduled {
            timing.intended
        } else {
            timing.sent
        };
        let (window, time) = (self.window, self.time_of(timing));
        self.record(operation).end(window, began, timing, outcome);
        if let Some((of, series)) = &mut self.shown
            && *of == operation
        {
            series.request(timing.done, time, outcome);
        }
    }

    /// The time that a series has.
    fn time_of(&self, timing: Timing) -> Nanos {
        if self.scheduled {
            timing.done.saturating_sub(timing.intended)
        } else {
            timing.service
        }
    }

    /// What is new of the seconds before `second`.
    pub(crate) fn news(&mut self, second: u32) -> GuestNews {
        let shown = self.shown.as_mut();
        GuestNews {
            requests: self.series.show_before(second).to_vec(),
            main: shown.map_or_else(Vec::new, |(_, series)| series.take_before(second)),
            faults: self.tallies.counts().collect(),
        }
    }

    fn record(&mut self, operation: OperationId) -> &mut OperationRecord {
        &mut self.operations[operation.index()]
    }

    /// Count a failure, with its evidence when it is one of the first of its class.
    pub fn failure(&mut self, fault: Fault, at: Nanos, operation: OperationId, evidence: &[u8]) {
        self.tallies.count(fault, at, operation, evidence);
    }

    /// A user ended an act at `done` and began the next at `next`; `pause` was the delay that it
    /// had drawn.
    pub fn waited(&mut self, done: Nanos, next: Nanos, pause: Option<Pause>) {
        if let Some(pause) = pause {
            self.delays.add(self.window, pause.drawn, pause.from, next);
        }
        if pause.is_none_or(|pause| pause.from != done) {
            self.other_waits.add(self.window, 0, done, next);
        }
    }

    /// A user had waited since `from` for its next act when the load ended at `now`.
    pub fn waiting_at_end(&mut self, from: Nanos, now: Nanos) {
        self.other_waits.unfinished(self.window, from, now);
    }

    /// A user went from act to act from `from` to `to`.
    pub fn active(&mut self, from: Nanos, to: Nanos) {
        self.active += self.window.overlap(from, to);
    }

    /// A user was busy or idle from `from` to `to`.
    pub fn occupied(&mut self, busy: bool, from: Nanos, to: Nanos) {
        let inside = self.window.overlap(from, to);
        if busy {
            self.busy += inside;
        } else {
            self.idle += inside;
        }
    }

    /// Arrivals that the schedule held so far, inside the window or not.
    #[must_use]
    pub fn arrivals_in_all(&self) -> u64 {
        self.arrivals_in_all
    }

    /// Requests that ended inside the window, well or not.
    #[must_use]
    pub fn requests_in_window(&self) -> u64 {
        self.requests_in_window
    }
}

#[cfg(test)]
mod tests {
    use rookery_stats::{ErrorClass, GuestMeasurement, Pacing};
    use rookery_workload::{Counters, WorkloadKind};

    use super::*;
    use crate::operation::tests::REQUESTS;

    const S: Nanos = 1_000_000_000;
    const WRITE: OperationId = OperationId::new(0);

    fn recorder() -> Recorder {
        let window = Span {
            start: 10 * S,
            end: 20 * S,
        };
        Recorder::new(window, false, 2)
    }

    fn timing(sent: Nanos, done: Nanos) -> Timing {
        Timing {
            intended: sent,
            sent,
            done,
            service: done - sent,
        }
    }

    /// What threads recorded of a guest with one user.
    fn measured(recorders: Vec<Recorder>) -> (GuestMeasurement, Population) {
        let mut record = GuestRecord::default();
        for recorder in recorders {
            record.merge(GuestRecord::of_thread(recorder, REQUESTS));
        }
        let load = GuestLoad {
            name: "g",
            users: 1,
            operations: REQUESTS,
        };
        let window = Span {
            start: 10 * S,
            end: 20 * S,
        };
        let counters = Counters::empty(WorkloadKind::ALL[0]);
        record.measurement(&load, counters, window, Pacing::Think)
    }

    fn page(recorders: Vec<Recorder>) -> GuestMeasurement {
        measured(recorders).0
    }

    #[test]
    fn throughput_counts_ends_and_response_counts_starts() {
        let mut recorder = recorder();
        // (sent, done): before, into, inside, out of, across, after the window.
        for (sent, done) in [(1, 2), (9, 11), (12, 13), (19, 21), (9, 21), (21, 22)] {
            recorder.request(WRITE, timing(sent * S, done * S), Outcome::Success);
        }
        recorder.request(WRITE, timing(14 * S, 15 * S), Outcome::Failure);
        recorder.unfinished(WRITE, 19 * S, 19 * S, 25 * S);
        recorder.unfinished(WRITE, 20 * S, 20 * S, 25 * S);
        let guest = page(vec![recorder]);
        let page = &guest.operations[0];
        assert_eq!(
            (page.started, page.succeeded, page.failed, page.unfinished),
            (4, 2, 1, 1)
        );
        assert_eq!(page.started, page.succeeded + page.failed + page.unfinished);
        assert_eq!(page.completed, 2, "into and inside");
        assert_eq!(
            page.service.count(),
            3,
            "the unfinished one counts with its elapsed time"
        );
        assert!(page.response.max_us().expect("values") >= 6_000_000);
    }

    #[test]
    fn where_a_schedule_does_not_wait_the_intended_start_counts() {
        let mut recorder = recorder();
        recorder.scheduled = true;
        for (intended, sent) in [(9, 11), (19, 21)] {
            let timing = Timing {
                intended: intended * S,
                ..timing(sent * S, 22 * S)
            };
            recorder.request(WRITE, timing, Outcome::Success);
        }
        let guest = page(vec![recorder]);
        let page = &guest.operations[0];
        assert_eq!((page.started, page.succeeded), (1, 1));
        assert_eq!(
            page.response.max_us().map(|us| us / 1_000_000),
            Some(3),
            "from the intended start"
        );
        assert!(
            guest.series[22].max_us > 12_900_000,
            "{:?}",
            guest.series[22]
        );
    }

    #[test]
    fn a_constant_rate_gives_its_throughput_exactly() {
        let mut recorder = recorder();
        for n in 0..300 {
            let at = n * S / 10;
            recorder.request(WRITE, timing(at, at + S / 20), Outcome::Success);
        }
        assert_eq!(page(vec![recorder]).operations[0].completed, 100);
    }

    #[test]
    fn what_left_nothing_behind_is_a_success_without_throughput() {
        let mut recorder = recorder();
        recorder.request(WRITE, timing(11 * S, 12 * S), Outcome::Success);
        recorder.unit_done(12 * S);
        recorder.request(WRITE, timing(12 * S, 13 * S), Outcome::Void);
        recorder.active(10 * S, 20 * S);
        recorder.waited(10 * S, 11 * S, None);
        let (guest, population) = measured(vec![recorder]);
        let names: Vec<_> = guest
            .operations
            .iter()
            .map(|operation| operation.name.as_str())
            .collect();
        assert_eq!(names, ["write", "read"]);
        let order = &guest.operations[0];
        assert_eq!(
            (
                order.started,
                order.completed,
                order.succeeded,
                order.service.count()
            ),
            (2, 1, 2, 2)
        );
        assert_eq!(
            (
                guest.series[12].orders,
                guest.series[13].orders,
                guest.series[13].requests
            ),
            (1, 0, 1)
        );
        assert!(
            (population.expected - 0.4).abs() < 1e-3,
            "two of 1 s and 1 s between: {population:?}"
        );
    }

    #[test]
    fn occupation_is_cut_at_the_window() {
        let mut recorder = recorder();
        recorder.occupied(true, 5 * S, 12 * S);
        recorder.occupied(false, 12 * S, 30 * S);
        let guest = page(vec![recorder]);
        assert_eq!((guest.busy_s, guest.idle_s), (2.0, 8.0));
    }

    #[test]
    fn only_delays_wholly_inside_are_compared() {
        let mut recorder = recorder();
        for (from, next) in [(9 * S, 11 * S), (12 * S, 14 * S), (19 * S, 21 * S)] {
            recorder.waited(from, next, Some(Pause { drawn: S, from }));
        }
        let guest = page(vec![recorder]);
        assert_eq!(
            (guest.drawn_delay_mean_s, guest.actual_delay_mean_s),
            (Some(1.0), Some(2.0))
        );
    }

    #[test]
    fn a_back_off_is_a_wait_but_no_delay() {
        let mut recorder = recorder();
        recorder.waited(12 * S, 13 * S, None);
        assert_eq!(recorder.delays.actual_mean_s(), None);
        assert_eq!(recorder.other_waits.actual_mean_s(), Some(1.0));
    }

    #[test]
    fn threads_merge_to_the_sum_of_their_parts() {
        let (mut a, mut b) = (recorder(), recorder());
        let fault = Fault::new(ErrorClass::Io, "truncated");
        for n in 0..60u32 {
            let at = 12 * S + u64::from(n);
            a.request(WRITE, timing(at, at + 2_000_000), Outcome::Success);
            b.request(WRITE, timing(at, at + 8_000_000), Outcome::Failure);
            a.failure(fault, at, WRITE, b"a");
            b.failure(fault, at + 30, WRITE, b"\0b");
        }
        let guest = page(vec![a, b]);
        assert_eq!(
            (guest.operations[0].succeeded, guest.operations[0].failed),
            (60, 60)
        );
        assert_eq!(
            (guest.series[12].requests, guest.series[12].errors),
            (60, 60)
        );
        assert!(
            guest.series[12].p50_us.abs_diff(2_000) <= 20,
            "{:?}",
            guest.series[12]
        );
        assert_eq!(guest.errors.len(), 1);
        assert_eq!(
            (guest.errors[0].count, guest.errors[0].examples.len()),
            (120, 20)
        );
        assert!(
            guest.errors[0]
                .examples
                .is_sorted_by(|x, y| x.at_s <= y.at_s)
        );
    }
}
