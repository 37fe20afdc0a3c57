//! What all terminals of one thread share: clock, alarms, register and recorders. Nothing on the
//! way of a transaction is shared with another thread.

use std::{
    cell::{Cell, RefCell, RefMut},
    future::poll_fn,
    os::fd::OwnedFd,
    rc::Rc,
    sync::{Arc, atomic::Ordering::Relaxed},
    task::{Poll, Waker},
    time::{SystemTime, UNIX_EPOCH},
};

use rookery_cast::count_u32;
use rookery_driver::{
    Alarms, Arrival, ArrivalQueue, Clock, Fault, Load, LoadEnd, Nanos, OperationId, Outcome as End,
    Recorder, ThreadResults, ThreadStatus, ThreadUsers, Timing, UserCounts,
};
use rookery_stats::Latencies;
use rookery_workload::orderentry::Timestamp;

use super::{
    Shared, fault,
    job::{Job, JobTally as _},
};
use crate::OltpError;

/// A transaction, or another operation, that was begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    pub(crate) operation: OperationId,
    /// When it should have begun.
    pub(crate) intended: Nanos,
    pub(crate) sent: Nanos,
}

/// How it ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ending {
    /// Well.
    Success,
    /// Well, and a unit of work is done.
    Unit,
    /// Undone, as it was meant to be.
    Void,
    /// Not well.
    Failure(Fault),
}

/// One connection's line in the register.
#[derive(Debug, Default)]
struct Row {
    guest: usize,
    /// Executes what terminals deferred: no user.
    background: bool,
    started: bool,
    /// Since when it is busy or idle.
    since: Nanos,
    active_since: Option<Nanos>,
    failing: bool,
    /// Whether it ever had a connection, and has one now.
    ever: bool,
    linked: bool,
    /// A deferred delivery under way.
    working: bool,
    begun: Option<Begun>,
    waker: Option<Waker>,
}

/// Plain counters of one thread.
#[derive(Debug, Default)]
struct Totals {
    ended: Cell<u64>,
    errors: Cell<u64>,
    connections: Cell<u64>,
}

/// One thread.
#[derive(Debug)]
pub(crate) struct Worker<J: Job> {
    pub(crate) shared: Arc<Shared<J>>,
    clock: Clock,
    /// Seconds since the epoch at the common start.
    epoch_s: i64,
    alarms: Alarms,
    rows: RefCell<Vec<Row>>,
    recorders: RefCell<Vec<Recorder>>,
    tallies: RefCell<Vec<J::Tally>>,
    lag: RefCell<Latencies>,
    totals: Totals,
    stopping: Cell<bool>,
    /// Where the arrivals of an open load wait.
    pub(crate) queue: ArrivalQueue,
    /// How long the terminals took to connect before the start.
    connecting: Nanos,
}

impl<J: Job> Worker<J> {
    pub(crate) fn new(
        shared: &Arc<Shared<J>>,
        clock: Clock,
        timer: Rc<OwnedFd>,
        queue: ArrivalQueue,
        connecting: Nanos,
    ) -> Self {
        let config = &shared.common;
        let window = config.phases.window();
        let is_open = config.load != Load::Closed;
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let epoch_s = i64::try_from(since.as_secs()).unwrap_or(i64::MAX / 2);
        Self {
            shared: Arc::clone(shared),
            clock,
            epoch_s,
            alarms: Alarms::new(clock, timer),
            rows: RefCell::default(),
            recorders: RefCell::new(
                config
                    .guests
                    .iter()
                    .map(|_| {
                        let operations = shared.job.operations();
                        Recorder::new(window, is_open, operations.entries().len())
                            .showing(operations.main())
                    })
                    .collect(),
            ),
            tallies: RefCell::new(config.guests.iter().map(|_| shared.job.tally()).collect()),
            lag: RefCell::default(),
            totals: Totals::default(),
            stopping: Cell::new(false),
            queue,
            connecting,
        }
    }

    /// A new connection's line.
    pub(crate) fn add_row(&self, guest: usize, linked: bool, background: bool) -> usize {
        let mut rows = self.rows.borrow_mut();
        rows.push(Row {
            guest,
            background,
            ever: linked,
            linked,
            ..Row::default()
        });
        self.totals
            .connections
            .set(self.totals.connections.get() + u64::from(linked));
        rows.len() - 1
    }

    pub(crate) fn now(&self) -> Nanos {
        self.clock.now()
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    pub(crate) fn alarms(&self) -> &Alarms {
        &self.alarms
    }

    pub(crate) fn stopping(&self) -> bool {
        self.stopping.get()
    }

    /// The wall clock at `at`, for the times in rows, without asking the system.
    pub(crate) fn wall(&self, at: Nanos) -> Timestamp {
        Timestamp(self.epoch_s + i64::try_from(at / 1_000_000_000).unwrap_or(0))
    }

    fn row(&self, row: usize) -> RefMut<'_, Row> {
        RefMut::map(self.rows.borrow_mut(), |rows| &mut rows[row])
    }

    fn guest(&self, row: usize) -> usize {
        self.row(row).guest
    }

    pub(crate) fn recorder(&self, guest: usize) -> RefMut<'_, Recorder> {
        RefMut::map(self.recorders.borrow_mut(), |recorders| {
            &mut recorders[guest]
        })
    }

    pub(crate) fn tally(&self, guest: usize) -> RefMut<'_, J::Tally> {
        RefMut::map(self.tallies.borrow_mut(), |tallies| &mut tallies[guest])
    }

    pub(crate) fn within(&self, guest: usize, at: Nanos) -> bool {
        self.recorder(guest).window().contains(at)
    }

    pub(crate) async fn sleep_until(&self, row: usize, at: Nanos) {
        if self.clock.reached(at) {
            return;
        }
        self.alarms.set(at, count_u32(row));
        poll_fn(|context| {
            if self.clock.reached(at) {
                return Poll::Ready(());
            }
            self.wake_by(row, context.waker());
            Poll::Pending
        })
        .await;
    }

    pub(crate) fn wake_by(&self, row: usize, waker: &Waker) {
        let mut row = self.row(row);
        if !row
            .waker
            .as_ref()
            .is_some_and(|known| known.will_wake(waker))
        {
            row.waker = Some(waker.clone());
        }
    }

    pub(crate) fn wake(&self, row: usize) {
        if let Some(waker) = self
            .rows
            .borrow()
            .get(row)
            .and_then(|row| row.waker.as_ref())
        {
            waker.wake_by_ref();
        }
    }

    /// The timer fired: wake those whose time has come.
    pub(crate) fn ring(&self) {
        self.alarms.ring(|row| match row {
            ArrivalQueue::ROW => self.queue.schedule().ring(),
            row => self.wake(row as usize),
        });
    }

    /// A terminal begins to live.
    pub(crate) fn appear(&self, row: usize, now: Nanos) {
        let mut row = self.row(row);
        (row.started, row.since) = (true, now);
        row.active_since.get_or_insert(now);
    }

    /// A visitor has gone; the time until the next comes belongs to none.
    pub(crate) fn disappear(&self, row: usize, now: Nanos) {
        let (guest, active_since) = {
            let mut row = self.row(row);
            row.started = false;
            (row.guest, row.active_since.take())
        };
        if let Some(since) = active_since {
            self.recorder(guest).active(since, now);
        }
    }

    /// A terminal stopped waiting at `due` and begins a transaction.
    pub(crate) fn begin(&self, row: usize, begun: Begun) {
        let mut row = self.row(row);
        let since = std::mem::replace(&mut row.since, begun.sent);
        row.begun = Some(begun);
        let guest = row.guest;
        drop(row);
        self.recorder(guest).occupied(false, since, begun.sent);
    }

    /// A terminal that had been waiting in time began at `sent` instead of `due`.
    pub(crate) fn lagged(&self, row: usize, due: Nanos, sent: Nanos) {
        if self.within(self.guest(row), sent) {
            self.lag
                .borrow_mut()
                .record_us(sent.saturating_sub(due) / 1_000);
        }
    }

    /// The transaction of a row ended. Where any of them has an operation of its own beside, that
    /// is recorded, too.
    pub(crate) fn end(
        &self,
        row: usize,
        begun: Begun,
        done: Nanos,
        ending: Ending,
        evidence: &str,
    ) {
        let guest = {
            let mut row = self.row(row);
            (row.begun, row.since, row.failing) =
                (None, done, matches!(ending, Ending::Failure(_)));
            row.guest
        };
        self.totals.ended.set(self.totals.ended.get() + 1);
        let mut recorder = self.recorder(guest);
        recorder.occupied(true, begun.sent, done);
        let timing = Timing {
            intended: begun.intended,
            sent: begun.sent,
            done,
            service: done.saturating_sub(begun.sent),
        };
        let outcome = match ending {
            Ending::Void => End::Void,
            Ending::Success | Ending::Unit => End::Success,
            Ending::Failure(_) => End::Failure,
        };
        recorder.request(begun.operation, timing, outcome);
        if let Some(whole) = self.shared.job.whole() {
            recorder.act(whole, timing, outcome);
        }
        match ending {
            Ending::Unit => recorder.unit_done(done),
            Ending::Success | Ending::Void => {}
            Ending::Failure(fault) => {
                recorder.failure(fault, done, begun.operation, evidence.as_bytes());
                self.totals.errors.set(self.totals.errors.get() + 1);
            }
        }
    }

    /// Something failed on the way of a transaction that is not over: a connection was lost or not
    /// made.
    pub(crate) fn trouble(&self, row: usize, operation: OperationId, fault: Fault, evidence: &str) {
        let guest = {
            let mut row = self.row(row);
            (row.failing, row.linked) = (true, false);
            row.guest
        };
        self.totals.errors.set(self.totals.errors.get() + 1);
        self.failure(guest, operation, fault, evidence);
    }

    /// A failure that is no transaction's end.
    pub(crate) fn failure(
        &self,
        guest: usize,
        operation: OperationId,
        fault: Fault,
        evidence: &str,
    ) {
        self.recorder(guest)
            .failure(fault, self.now(), operation, evidence.as_bytes());
    }

    /// A row lost its connection.
    pub(crate) fn unlinked(&self, row: usize) {
        self.row(row).linked = false;
    }

    /// A row has a connection.
    pub(crate) fn linked(&self, row: usize) {
        let (guest, again) = {
            let mut row = self.row(row);
            row.linked = true;
            (row.guest, std::mem::replace(&mut row.ever, true))
        };
        self.totals
            .connections
            .set(self.totals.connections.get() + 1);
        if again {
            self.tally(guest).reconnected();
        }
    }

    /// A background row begins or ends a deferred delivery.
    pub(crate) fn set_working(&self, row: usize, working: bool) {
        let mut row = self.row(row);
        row.working = working;
        row.failing &= working;
    }

    /// The schedule holds this arrival.
    pub(crate) fn drawn(&self, arrival: Arrival) {
        self.recorder(arrival.guest).arrival_drawn(arrival.at);
    }

    /// An arrival that as many as allowed came before.
    pub(crate) fn turn_away(&self, arrival: Arrival) {
        self.recorder(arrival.guest)
            .arrival_dropped(arrival.at, self.shared.job.operations().main());
    }

    /// Something happened that must not happen: the trial ends.
    pub(crate) fn give_up(&self, row: usize, error: OltpError) {
        self.shared.give_up(self.now(), self.guest(row), error);
    }

    /// What all rows were doing when the trial ended; what the thread recorded.
    pub(crate) fn finish(&self, end: LoadEnd) -> (ThreadResults, Vec<J::Tally>) {
        let requests_in_window = self
            .recorders
            .borrow()
            .iter()
            .map(Recorder::requests_in_window)
            .sum();
        let (late, waiting) = self.queue.close();
        late.iter().for_each(|&arrival| self.drawn(arrival));
        late.into_iter()
            .chain(waiting)
            .for_each(|arrival| self.turn_away(arrival));
        let mut recorders = self.recorders.take();
        let mut tallies = self.tallies.take();
        for row in self.rows.borrow_mut().iter_mut() {
            close(
                &self.shared.job,
                row,
                &mut recorders[row.guest],
                &mut tallies[row.guest],
                end.now,
            );
        }
        let results = ThreadResults {
            recorders,
            lag: self.lag.take(),
            cpu: end.cpu,
            requests_in_window,
            connections: self.totals.connections.get(),
            idle_retries: 0,
            connecting: Some((0, self.connecting)),
            unconnected: end.counts.unconnected,
        };
        (results, tallies)
    }
}

/// Records what a row was doing when the trial ended.
fn close<J: Job>(
    job: &J,
    row: &mut Row,
    recorder: &mut Recorder,
    tally: &mut J::Tally,
    now: Nanos,
) {
    if row.started {
        recorder.occupied(row.begun.is_some(), row.since, now);
        if row.begun.is_none() {
            recorder.waiting_at_end(row.since, now);
        }
    }
    if let Some(since) = row.active_since.take() {
        recorder.active(since, now);
    }
    if row.working
        && row.linked
        && let Some(operation) = job.in_background()
    {
        tally.doubtful(operation);
    }
    let Some(begun) = row.begun.take() else {
        return;
    };
    // Without a connection nothing was changed; with one the server may yet commit.
    if row.linked {
        tally.doubtful(begun.operation);
    }
    for operation in job.whole().into_iter().chain([begun.operation]) {
        recorder.unfinished(operation, begun.sent, begun.intended, now);
    }
    if recorder.began_inside(begun.sent, begun.intended) {
        let fault = if row.linked {
            Fault::UNFINISHED
        } else {
            fault::NO_CONNECTION
        };
        recorder.failure(fault, now, begun.operation, b"");
    }
}

impl<J: Job> ThreadUsers for Worker<J> {
    fn cut(&self, at: Nanos) {
        self.recorders
            .borrow_mut()
            .iter_mut()
            .for_each(|recorder| recorder.cut(at));
        self.queue.schedule().cut(at);
    }

    fn set_stopping(&self, stopping: bool) {
        self.stopping.set(stopping);
    }

    fn sweep(&self, _: Nanos) -> UserCounts {
        let mut counts = UserCounts::default();
        let is_open = self.shared.common.load != Load::Closed;
        for row in self.rows.borrow().iter() {
            counts.busy += u32::from(row.begun.is_some() || row.working);
            counts.unconnected += u32::from(!row.ever);
            if !row.background {
                // A connection of an open load that waits for its next arrival works as far as
                // anybody knows.
                counts.started += u32::from(row.started || is_open);
                counts.failing += u32::from(row.failing);
            }
        }
        counts
    }

    fn publish(&self, status: &ThreadStatus, counts: UserCounts, now: Nanos) {
        status.requests.store(self.totals.ended.get(), Relaxed);
        status.errors.store(self.totals.errors.get(), Relaxed);
        status.started.store(counts.started, Relaxed);
        status.failing.store(counts.failing, Relaxed);
        let recorders = &mut *self.recorders.borrow_mut();
        let arrivals = recorders.iter().map(Recorder::arrivals_in_all).sum();
        status.arrivals.store(arrivals, Relaxed);
        status.seconds.publish(recorders, &self.lag.borrow(), now);
    }

    fn expects(&self) -> bool {
        self.queue.schedule().next_at().is_some()
            || self.queue.unserved() > 0
            || self.shared.job.is_waiting()
    }
}
