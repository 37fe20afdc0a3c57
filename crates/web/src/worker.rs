//! What all users of one thread share: clock, scratch buffers, register and recorders. Nothing here
//! is shared with another thread.

use std::{
    cell::{Cell, RefCell, RefMut},
    future::poll_fn,
    os::fd::OwnedFd,
    rc::Rc,
    sync::atomic::Ordering::Relaxed,
    task::{Context, Poll},
    time::Duration,
};

use rookery_cast::count_u32;
use rookery_driver::{
    Alarms, Arrival, ArrivalQueue, Clock, Fault, LoadEnd, Nanos, OperationId, OperationTable,
    Outcome, Pace, Recorder, Span, ThreadResults, ThreadStatus, Timing, UserCounts,
};
use rookery_stats::Latencies;

use crate::{
    http::{Limits, decode::Pool, kept::Kept},
    register::{Open, Row},
};

/// One receive takes at most so much; larger than nearly every answer, so that the kernel is asked
/// once.
const RECEIVE_BYTES: usize = 64 * 1024;

/// Buffers that every user of the thread uses in turn, between two awaits.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// What was received last; lent with an answer that lies in it, until that was judged.
    pub(crate) received: Box<[u8]>,
    pub(crate) pool: Pool,
    /// The first bytes of the answer that last failed.
    pub(crate) evidence: Vec<u8>,
}

/// Plain counters of one thread.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) requests: Cell<u64>,
    pub(crate) errors: Cell<u64>,
    pub(crate) connections: Cell<u64>,
    pub(crate) idle_retries: Cell<u64>,
    /// Begin of the first and end of the last connect that made a user connected.
    pub(crate) connecting: Cell<Option<(Nanos, Nanos)>>,
}

/// What a thread needs to know of its trial.
#[derive(Debug)]
pub(crate) struct WorkerSettings {
    pub(crate) limits: Limits,
    pub(crate) pace: Pace,
    /// Limit on one request.
    pub(crate) timeout: Nanos,
    /// The measured window.
    pub(crate) window: Span,
    /// Whether the load is open.
    pub(crate) is_open: bool,
    /// By guest: the operations of its workload.
    pub(crate) operations: Vec<OperationTable>,
}

/// A request that was under way when the trial ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unfinished {
    pub(crate) guest: usize,
    pub(crate) operation: OperationId,
    /// A byte of it had been sent.
    pub(crate) written: bool,
}

/// One driver thread.
#[derive(Debug)]
pub(crate) struct Worker {
    clock: Clock,
    limits: Limits,
    pub(crate) pace: Pace,
    /// Limit on one request.
    timeout: Nanos,
    scratch: RefCell<Scratch>,
    request: RefCell<Vec<u8>>,
    register: RefCell<Vec<Row>>,
    recorders: RefCell<Vec<Recorder>>,
    lag: RefCell<Latencies>,
    alarms: Alarms,
    pub(crate) totals: Totals,
    /// Of an open load.
    pub(crate) queue: ArrivalQueue,
    is_open: bool,
    /// By guest: what an arrival is.
    acts: Vec<OperationId>,
    /// The last request failed.
    failing: Cell<bool>,
    /// No user begins another request.
    pub(crate) stopping: Cell<bool>,
    /// The thread has one user for the whole of its load.
    has_one_user: bool,
    /// When the users are looked after next.
    pub(crate) left_until: Cell<Nanos>,
    /// How long after its time the first user began.
    first_late: Cell<Option<Nanos>>,
}

impl Worker {
    /// A thread with one recorder for each guest, one row for each user (the index of its guest),
    /// and a timer that wakes them.
    pub(crate) fn new(
        settings: WorkerSettings,
        clock: Clock,
        timer: Rc<OwnedFd>,
        users: &[u32],
        queue: ArrivalQueue,
    ) -> Self {
        let recorders = settings.operations.iter().map(|table| {
            let operations = table.entries().len();
            Recorder::new(settings.window, settings.is_open, operations).showing(table.main())
        });
        let acts = settings.operations.iter().map(|table| table.main());
        Self {
            clock,
            limits: settings.limits,
            pace: settings.pace,
            timeout: settings.timeout,
            scratch: RefCell::default(),
            request: RefCell::default(),
            register: RefCell::new(users.iter().map(|&guest| Row::new(guest)).collect()),
            recorders: RefCell::new(recorders.collect()),
            lag: RefCell::default(),
            alarms: Alarms::new(clock, timer),
            totals: Totals::default(),
            queue,
            is_open: settings.is_open,
            acts: acts.collect(),
            failing: Cell::new(false),
            stopping: Cell::new(false),
            has_one_user: users.len() == 1 && !settings.is_open,
            left_until: Cell::new(0),
            first_late: Cell::new(None),
        }
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    pub(crate) fn alarms(&self) -> &Alarms {
        &self.alarms
    }

    /// Limit on one request that has none of its own.
    pub(crate) fn timeout(&self) -> Nanos {
        self.timeout
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    pub(crate) fn scratch(&self) -> RefMut<'_, Scratch> {
        let mut scratch = self.scratch.borrow_mut();
        if scratch.received.is_empty() {
            scratch.received = vec![0; RECEIVE_BYTES].into_boxed_slice();
        }
        scratch
    }

    /// What was kept of an answer is not needed any more.
    pub(crate) fn give_back(&self, kept: Kept) {
        let scratch = &mut *self.scratch.borrow_mut();
        match kept {
            Kept::Received { buffer, .. } => scratch.received = buffer,
            Kept::Gathered(bytes) => scratch.pool.give(bytes),
        }
    }

    pub(crate) fn with_pool<T>(&self, use_it: impl FnOnce(&mut Pool) -> T) -> T {
        use_it(&mut self.scratch.borrow_mut().pool)
    }

    pub(crate) fn with_request<T>(&self, use_it: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        use_it(&mut self.request.borrow_mut())
    }

    pub(crate) fn set_evidence(&self, bytes: &[u8]) {
        let mut scratch = self.scratch.borrow_mut();
        scratch.evidence.clear();
        scratch.evidence.extend_from_slice(bytes);
    }

    fn row(&self, row: usize) -> RefMut<'_, Row> {
        RefMut::map(self.register.borrow_mut(), |rows| &mut rows[row])
    }

    /// The recorder of the guest of a user.
    pub(crate) fn recorder(&self, row: usize) -> RefMut<'_, Recorder> {
        let guest = self.row(row).guest as usize;
        RefMut::map(self.recorders.borrow_mut(), |recorders| {
            &mut recorders[guest]
        })
    }

    /// Let a user sleep.
    pub(crate) async fn sleep_until(&self, row: usize, at: Nanos) {
        self.alarms.set(at, count_u32(row));
        poll_fn(|context| {
            if self.clock.reached(at) {
                return Poll::Ready(());
            }
            self.row(row).wake_by(context);
            Poll::Pending
        })
        .await;
    }

    /// The timer fired: wake those whose time has come.
    pub(crate) fn ring(&self) {
        let register = self.register.borrow();
        self.alarms.ring(|row| match row {
            ArrivalQueue::ROW => self.queue.schedule().ring(),
            row => register[row as usize].wake(),
        });
    }

    pub(crate) fn poll_overdue(&self, row: usize, context: &Context<'_>) -> Poll<()> {
        self.row(row).poll_overdue(context)
    }

    /// How long the user of a row, with a request under way, may keep its thread to itself: there
    /// is no other user, and nothing is asked of it. `None` where it may not at all.
    pub(crate) fn alone_for(&self, row: usize) -> Option<Alone> {
        if !self.has_one_user || self.row(row).is_overdue() {
            return None;
        }
        let until = self.left_until.get();
        let left = until.checked_sub(self.clock.now())?;
        (left > 0).then_some(Alone {
            until,
            longest: Duration::from_nanos(left),
        })
    }

    pub(crate) fn mark_written(&self, row: usize) {
        self.row(row).written = true;
    }

    pub(crate) fn count_idle_retry(&self) {
        self.totals
            .idle_retries
            .set(self.totals.idle_retries.get() + 1);
    }

    /// A connection opened; `began` = when it was asked for.
    pub(crate) fn count_connect(&self, row: usize, began: Nanos) {
        self.totals
            .connections
            .set(self.totals.connections.get() + 1);
        let mut row = self.row(row);
        if !row.connected {
            row.connected = true;
            let now = self.clock.now();
            let (first, last) = self.totals.connecting.get().unwrap_or((began, now));
            self.totals
                .connecting
                .set(Some((first.min(began), last.max(now))));
        }
    }

    /// A user or an arrival that was due at `due` begins; of a thread the first one counts.
    pub(crate) fn begun(&self, due: Nanos, now: Nanos) {
        if self.first_late.get().is_none() {
            self.first_late.set(Some(now.saturating_sub(due)));
        }
    }

    /// How long after its time the first user began; nothing where none did.
    pub(crate) fn first_late(&self) -> Option<Nanos> {
        self.first_late.get()
    }

    /// A user begins to live, or turns from thinking to an act and back.
    pub(crate) fn turn(&self, row: usize, busy: bool, now: Nanos) {
        let (was_started, was_busy, since) = {
            let mut row = self.row(row);
            let was = (row.started, row.busy, row.since);
            (row.started, row.busy, row.since) = (true, busy, now);
            if busy {
                row.active_since.get_or_insert(now);
            }
            was
        };
        if was_started {
            self.recorder(row).occupied(was_busy, since, now);
        }
    }

    /// A request begins.
    pub(crate) fn begin(&self, row: usize, open: Open) {
        self.begin_within(row, open, None);
    }

    /// A request begins that may take `limit`; `None` = as long as any.
    pub(crate) fn begin_within(&self, row: usize, open: Open, limit: Option<Nanos>) {
        self.scratch.borrow_mut().evidence.clear();
        let limit = limit.unwrap_or(self.timeout);
        self.row(row).begin(open, open.sent.saturating_add(limit));
    }

    /// A request ended, well or with a fault; whether a byte of it had been sent.
    pub(crate) fn end(
        &self,
        row: usize,
        operation: OperationId,
        timing: Timing,
        fault: Option<Fault>,
    ) -> bool {
        let written = {
            let mut row = self.row(row);
            row.end(fault.is_some());
            row.written
        };
        self.totals.requests.set(self.totals.requests.get() + 1);
        self.failing.set(fault.is_some());
        let mut recorder = self.recorder(row);
        match fault {
            None => recorder.request(operation, timing, Outcome::Success),
            Some(fault) => {
                self.totals.errors.set(self.totals.errors.get() + 1);
                recorder.request(operation, timing, Outcome::Failure);
                recorder.failure(
                    fault,
                    timing.done,
                    operation,
                    &self.scratch.borrow().evidence,
                );
            }
        }
        written
    }

    pub(crate) fn open_act(&self, row: usize, act: Option<Open>) {
        self.row(row).act = act;
    }

    /// A user that was idle in time began its act at `sent` instead of `due`.
    pub(crate) fn lagged(&self, row: usize, due: Nanos, sent: Nanos) {
        if self.recorder(row).window().contains(sent) {
            self.lag
                .borrow_mut()
                .record_us(sent.saturating_sub(due) / 1_000);
        }
    }

    /// A new place for visitors of a guest.
    pub(crate) fn add_row(&self, guest: usize) -> usize {
        let mut register = self.register.borrow_mut();
        register.push(Row::new(count_u32(guest)));
        register.len() - 1
    }

    /// Wake the user of a row.
    pub(crate) fn wake(&self, row: usize) {
        self.row(row).wake();
    }

    /// The visitor that takes the place `row`; its act begins.
    pub(crate) fn poll_visitor(&self, row: usize, context: &Context<'_>) -> Poll<Arrival> {
        let Some(arrival) = self.queue.take_assigned(row) else {
            self.row(row).wake_by(context);
            return Poll::Pending;
        };
        self.recorder(row).arrival_started(arrival.at);
        Poll::Ready(arrival)
    }

    /// The visitor of a place has gone; the time until the next comes belongs to none.
    pub(crate) fn leave(&self, row: usize, guest: usize) {
        {
            let mut row = self.row(row);
            (row.started, row.active_since) = (false, None);
        }
        self.queue.leave(guest);
        // None waits: a visitor without a place gets a new one or is turned away.
        let _ = self.queue.take_waiting(row, guest);
    }

    /// The schedule holds this arrival.
    pub(crate) fn drawn(&self, arrival: Arrival) {
        self.recorders.borrow_mut()[arrival.guest].arrival_drawn(arrival.at);
    }

    /// An arrival that finds no place.
    pub(crate) fn turn_away(&self, arrival: Arrival) {
        self.recorders.borrow_mut()[arrival.guest]
            .arrival_dropped(arrival.at, self.acts[arrival.guest]);
    }

    /// The measured window of a guest, as it stands.
    pub(crate) fn window(&self, guest: usize) -> Span {
        self.recorders.borrow()[guest].window()
    }

    /// Requests that ended inside the window.
    pub(crate) fn requests_in_window(&self) -> u64 {
        self.recorders
            .borrow()
            .iter()
            .map(Recorder::requests_in_window)
            .sum()
    }

    /// The end: what is still under way is unfinished.
    pub(crate) fn finish(&self, end: LoadEnd) -> (ThreadResults, Vec<Unfinished>) {
        let requests_in_window = self.requests_in_window();
        let (late, unserved) = self.queue.close();
        late.iter().for_each(|&arrival| self.drawn(arrival));
        late.into_iter()
            .chain(unserved)
            .for_each(|arrival| self.turn_away(arrival));
        let mut recorders = self.recorders.take();
        let unfinished = self
            .register
            .borrow_mut()
            .iter_mut()
            .filter_map(|row| close(row, &mut recorders[row.guest as usize], end.now))
            .collect();
        let results = ThreadResults {
            recorders,
            lag: self.lag.take(),
            cpu: end.cpu,
            requests_in_window,
            connections: self.totals.connections.get(),
            idle_retries: self.totals.idle_retries.get(),
            connecting: self.totals.connecting.get(),
            unconnected: end.counts.unconnected,
        };
        (results, unfinished)
    }
}

/// How the thread looks after its users.
impl Worker {
    /// The load ends early: nothing after `at` is inside the window.
    pub(crate) fn cut(&self, at: Nanos) {
        self.recorders
            .borrow_mut()
            .iter_mut()
            .for_each(|recorder| recorder.cut(at));
        self.queue.schedule().cut(at);
    }

    /// Wakes overdue users and counts what all do.
    pub(crate) fn sweep(&self, now: Nanos) -> UserCounts {
        let mut counts = UserCounts::default();
        for row in self.register.borrow_mut().iter_mut() {
            row.sweep(now);
            counts.started += u32::from(row.started);
            counts.busy += u32::from(row.busy || row.request.is_some());
            counts.failing += u32::from(row.started && row.failing);
            counts.unconnected += u32::from(!row.connected && !self.is_open);
        }
        if self.is_open {
            // Places are taken in turn: what matters is whether any visitor succeeds, and a visitor
            // that has a place waits for its turn.
            counts.started = counts
                .started
                .max(u32::from(self.totals.requests.get() > 0));
            counts.failing = if self.failing.get() {
                counts.started
            } else {
                0
            };
            counts.busy += self.queue.unserved();
        }
        counts
    }

    /// Shows the totals, and the seconds that are over.
    pub(crate) fn publish(&self, status: &ThreadStatus, counts: UserCounts, now: Nanos) {
        status.requests.store(self.totals.requests.get(), Relaxed);
        status.errors.store(self.totals.errors.get(), Relaxed);
        status.started.store(counts.started, Relaxed);
        status.failing.store(counts.failing, Relaxed);
        let recorders = &mut *self.recorders.borrow_mut();
        let arrivals = recorders.iter().map(Recorder::arrivals_in_all).sum();
        status.arrivals.store(arrivals, Relaxed);
        status.seconds.publish(recorders, &self.lag.borrow(), now);
    }

    /// Whether arrivals are still expected.
    pub(crate) fn expects(&self) -> bool {
        self.queue.schedule().next_at().is_some()
    }
}

/// Records what a user was doing when the trial ended; its request under way.
fn close(row: &mut Row, recorder: &mut Recorder, now: Nanos) -> Option<Unfinished> {
    if row.started {
        recorder.occupied(row.busy, row.since, now);
        if !row.busy {
            recorder.waiting_at_end(row.since, now);
        }
    }
    if let Some(since) = row.active_since {
        recorder.active(since, now);
    }
    if let Some(act) = row.act.take() {
        recorder.unfinished(act.operation, act.sent, act.intended, now);
    }
    let request = row.request.take()?;
    recorder.unfinished(request.operation, request.sent, request.intended, now);
    if recorder.began_inside(request.sent, request.intended) {
        recorder.failure(Fault::UNFINISHED, now, request.operation, b"");
    }
    Some(Unfinished {
        guest: row.guest as usize,
        operation: request.operation,
        written: row.written,
    })
}

/// For how long a user has its thread to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alone {
    /// When the users are looked after next.
    pub(crate) until: Nanos,
    /// How long that is from now, more than nothing.
    pub(crate) longest: Duration,
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use rookery_driver::local_runtime;

    use super::*;
    use crate::{check::tests::config_for, thread::worker_settings};

    const LONG: Nanos = 1_000_000_000_000;

    /// A thread with so many users, who are left alone for a long time.
    fn worker(users: usize, is_open: bool) -> Worker {
        let (_runtime, timer) = local_runtime(1).expect("a runtime");
        let settings = WorkerSettings {
            is_open,
            ..worker_settings(&config_for("127.0.0.1:1", "/"))
        };
        let clock = Clock::new(Instant::now());
        let queue = ArrivalQueue::default();
        let worker = Worker::new(settings, clock, timer.timer(), &vec![0; users], queue);
        worker.left_until.set(LONG);
        worker
    }

    #[test]
    fn only_one_user_of_a_closed_load_has_its_thread_to_itself() {
        let alone = worker(1, false);
        let longest = alone.alone_for(0).expect("no one else is there");
        assert!(longest.longest <= Duration::from_nanos(LONG), "{longest:?}");
        assert_eq!(longest.until, LONG);
        assert_eq!(worker(2, false).alone_for(0), None);
        assert_eq!(worker(1, true).alone_for(0), None, "visitors may come");
        alone.left_until.set(0);
        assert_eq!(alone.alone_for(0), None, "it is looked after now");
    }

    #[test]
    fn a_request_whose_time_is_over_does_not_wait_on() {
        let worker = worker(1, false);
        let open = Open {
            operation: OperationId::new(0),
            intended: 0,
            sent: 0,
        };
        worker.begin_within(0, open, Some(5));
        assert!(worker.alone_for(0).is_some());
        worker.sweep(6);
        assert_eq!(worker.alone_for(0), None);
        worker.begin_within(0, open, Some(LONG));
        assert!(worker.alone_for(0).is_some(), "the next has its own time");
    }
}
