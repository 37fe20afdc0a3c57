//! What all users of one thread share: clock, scratch buffers, register and recorders. Nothing here is shared with another thread.

use std::{
    borrow::Cow,
    cell::{Cell, RefCell, RefMut},
    future::poll_fn,
    os::fd::OwnedFd,
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};

use rookery_stats::Latencies;
use rookery_workload::dvdstore::WordLists;

use crate::{
    alarm::Alarms,
    clock::{Clock, Nanos, nanos},
    config::{Config, Limits},
    fault::Fault,
    http::decode::Pool,
    record::{Operation, OrderTally, Outcome, Recorder, Timing},
    register::{Open, Row},
    script::CONFLICT,
    site::Pace,
    thread::window,
};

/// How often the register is swept for overdue requests.
pub(crate) const SWEEP: Duration = Duration::from_millis(50);
/// One receive takes at most so much; larger than nearly every answer, so that the kernel is asked once.
const RECEIVE_BYTES: usize = 64 * 1024;

/// Buffers that every user of the thread uses in turn, between two awaits.
#[derive(Debug)]
pub(crate) struct Scratch {
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

/// One driver thread.
#[derive(Debug)]
pub(crate) struct Worker {
    clock: Clock,
    limits: Limits,
    pub(crate) pace: Pace,
    /// Words that shoppers search for.
    pub(crate) words: Cow<'static, WordLists>,
    scratch: RefCell<Scratch>,
    request: RefCell<Vec<u8>>,
    register: RefCell<Vec<Row>>,
    recorders: RefCell<Vec<Recorder>>,
    lag: RefCell<Latencies>,
    alarms: Alarms,
    pub(crate) totals: Totals,
    /// No user begins another request.
    pub(crate) stopping: Cell<bool>,
}

/// How the users of one thread stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) started: u32,
    pub(crate) busy: u32,
    pub(crate) failing: u32,
    pub(crate) unconnected: u32,
}

impl Worker {
    /// A thread with one recorder for each guest, one row for each user (the index of its guest), and a timer that wakes them.
    pub(crate) fn new(config: &Config, clock: Clock, timer: Rc<OwnedFd>, users: &[u32]) -> Self {
        let window = window(&config.phases);
        Self {
            clock,
            limits: config.limits,
            pace: Pace {
                pacing: config.pacing,
                time: config.think_time,
                timeout: nanos(config.timeout),
            },
            words: config.words.clone(),
            scratch: RefCell::new(Scratch {
                received: vec![0; RECEIVE_BYTES].into_boxed_slice(),
                pool: Pool::default(),
                evidence: Vec::new(),
            }),
            request: RefCell::default(),
            register: RefCell::new(users.iter().map(|&guest| Row::new(guest)).collect()),
            recorders: RefCell::new(config.assignments.iter().map(|_| Recorder::new(window)).collect()),
            lag: RefCell::default(),
            alarms: Alarms::new(clock, timer),
            totals: Totals::default(),
            stopping: Cell::new(false),
        }
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    pub(crate) fn scratch(&self) -> RefMut<'_, Scratch> {
        self.scratch.borrow_mut()
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
        RefMut::map(self.recorders.borrow_mut(), |recorders| &mut recorders[guest])
    }

    /// Let a user sleep.
    pub(crate) async fn sleep_until(&self, row: usize, at: Nanos) {
        self.alarms.set(at, row as u32);
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
        self.alarms.ring(|row| register[row as usize].wake());
    }

    pub(crate) fn poll_overdue(&self, row: usize, context: &Context<'_>) -> Poll<()> {
        self.row(row).poll_overdue(context)
    }

    pub(crate) fn mark_written(&self, row: usize) {
        self.row(row).written = true;
    }

    pub(crate) fn count_idle_retry(&self) {
        self.totals.idle_retries.set(self.totals.idle_retries.get() + 1);
    }

    /// A connection opened; `began` = when it was asked for.
    pub(crate) fn count_connect(&self, row: usize, began: Nanos) {
        self.totals.connections.set(self.totals.connections.get() + 1);
        let mut row = self.row(row);
        if !row.connected {
            row.connected = true;
            let now = self.clock.now();
            let (first, last) = self.totals.connecting.get().unwrap_or((began, now));
            self.totals.connecting.set(Some((first.min(began), last.max(now))));
        }
    }

    /// A user begins to live, or turns from thinking to an order and back.
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
        self.scratch.borrow_mut().evidence.clear();
        self.row(row).begin(open, open.sent.saturating_add(self.pace.timeout));
    }

    /// A request ended, well or with a fault.
    pub(crate) fn end(&self, row: usize, operation: Operation, timing: Timing, fault: Option<Fault>) {
        let written = {
            let mut row = self.row(row);
            row.end(fault.is_some());
            row.written
        };
        self.totals.requests.set(self.totals.requests.get() + 1);
        let mut recorder = self.recorder(row);
        match fault {
            None => recorder.request(operation, timing, Outcome::Success),
            Some(fault) => {
                self.totals.errors.set(self.totals.errors.get() + 1);
                recorder.request(operation, timing, Outcome::Failure);
                recorder.failure(fault, timing.done, operation, &self.scratch.borrow().evidence);
                if operation == Operation::Purchase {
                    match fault {
                        // The pages say that nothing was ordered, and the original counts it so.
                        CONFLICT => recorder.shop.purchased(true),
                        _ if written => recorder.shop.unanswered(),
                        _ => {}
                    }
                }
            }
        }
    }

    pub(crate) fn open_order(&self, row: usize, order: Option<Open>) {
        self.row(row).order = order;
    }

    /// A user that was idle in time began its order at `sent` instead of `due`.
    pub(crate) fn lagged(&self, row: usize, due: Nanos, sent: Nanos) {
        if self.recorder(row).window().contains(sent) {
            self.lag.borrow_mut().record_us(sent.saturating_sub(due) / 1_000);
        }
    }

    /// Wake overdue users and count how all stand.
    pub(crate) fn sweep(&self, now: Nanos) -> Standing {
        let mut standing = Standing::default();
        for row in self.register.borrow_mut().iter_mut() {
            row.sweep(now);
            standing.started += u32::from(row.started);
            standing.busy += u32::from(row.busy || row.request.is_some());
            standing.failing += u32::from(row.started && row.failing);
            standing.unconnected += u32::from(!row.connected);
        }
        standing
    }

    /// The load ends early, at `at`.
    pub(crate) fn cut(&self, at: Nanos) {
        self.recorders.borrow_mut().iter_mut().for_each(|recorder| recorder.cut(at));
    }

    /// The orders of every guest as they stand at `now`.
    pub(crate) fn tallies(&self, now: Nanos) -> Vec<OrderTally> {
        let recorders = self.recorders.borrow();
        recorders
            .iter()
            .map(|recorder| recorder.shop.tally(recorder.window(), now))
            .collect()
    }

    /// Requests that ended inside the window.
    pub(crate) fn requests_in_window(&self) -> u64 {
        self.recorders.borrow().iter().map(Recorder::requests_in_window).sum()
    }

    /// The end: what is still under way is unfinished. Returns the recorders by guest and the scheduling lag.
    pub(crate) fn finish(&self, now: Nanos) -> (Vec<Recorder>, Latencies) {
        let mut recorders = self.recorders.take();
        for row in self.register.borrow_mut().iter_mut() {
            close(row, &mut recorders[row.guest as usize], now);
        }
        (recorders, self.lag.take())
    }
}

/// Book what a user was doing when the trial ended.
fn close(row: &mut Row, recorder: &mut Recorder, now: Nanos) {
    if row.started {
        recorder.occupied(row.busy, row.since, now);
    }
    if let Some(since) = row.active_since {
        recorder.active(since, now);
    }
    if let Some(request) = row.request.take() {
        recorder.unfinished(request.operation, request.sent, request.intended, now);
        if recorder.window().contains(request.sent) {
            recorder.failure(Fault::UNFINISHED, now, request.operation, b"");
        }
        if request.operation == Operation::Purchase && row.written {
            recorder.shop.unanswered();
        }
    }
    if let Some(order) = row.order.take() {
        recorder.unfinished(Operation::Order, order.sent, order.intended, now);
    }
}
