//! What all users of one thread share: clock, scratch buffers, register and recorders. Nothing here is shared with another thread.

use std::{
    borrow::Cow,
    cell::{Cell, RefCell, RefMut},
    future::poll_fn,
    os::fd::OwnedFd,
    rc::Rc,
    sync::atomic::Ordering::Relaxed,
    task::{Context, Poll},
};

use rookery_stats::Latencies;
use rookery_workload::dvdstore::WordLists;

use crate::{
    alarm::Alarms,
    arrival::Arrival,
    clock::{Clock, Nanos, nanos},
    config::{Assignment, Config, Limits, Script},
    crew::{Board, Standing, Station, window},
    desk::{DESK, Desk},
    fault::Fault,
    http::decode::Pool,
    load::Load,
    record::{Operation, OrderTally, Outcome, Recorder, Timing},
    register::{Open, Row},
    script::CONFLICT,
    site::Pace,
};

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
    /// Of an open load.
    pub(crate) desk: Desk,
    is_open: bool,
    /// By guest: what an arrival is.
    acts: Vec<Operation>,
    /// The last request failed.
    failing: Cell<bool>,
    /// No user begins another request.
    pub(crate) stopping: Cell<bool>,
}

impl Worker {
    /// A thread with one recorder for each guest, one row for each user (the index of its guest), and a timer that wakes them.
    pub(crate) fn new(config: &Config, clock: Clock, timer: Rc<OwnedFd>, users: &[u32]) -> Self {
        let window = window(&config.phases);
        let is_open = config.load != Load::Closed;
        let act = |assignment: &Assignment| match assignment.script {
            Script::DvdStore { .. } => Operation::Order,
            Script::Page { .. } => Operation::Page,
        };
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
            recorders: RefCell::new(
                config
                    .assignments
                    .iter()
                    .map(|_| Recorder::new(window, is_open))
                    .collect(),
            ),
            lag: RefCell::default(),
            alarms: Alarms::new(clock, timer),
            totals: Totals::default(),
            desk: Desk::default(),
            is_open,
            acts: config.assignments.iter().map(act).collect(),
            failing: Cell::new(false),
            stopping: Cell::new(false),
        }
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    pub(crate) fn alarms(&self) -> &Alarms {
        &self.alarms
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
        RefMut::map(self.recorders.borrow_mut(), |recorders| {
            &mut recorders[guest]
        })
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
        self.alarms.ring(|row| match row {
            DESK => self.desk.schedule.ring(),
            row => register[row as usize].wake(),
        });
    }

    pub(crate) fn poll_overdue(&self, row: usize, context: &Context<'_>) -> Poll<()> {
        self.row(row).poll_overdue(context)
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
        self.row(row)
            .begin(open, open.sent.saturating_add(self.pace.timeout));
    }

    /// A request ended, well or with a fault.
    pub(crate) fn end(
        &self,
        row: usize,
        operation: Operation,
        timing: Timing,
        fault: Option<Fault>,
    ) {
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
            self.lag
                .borrow_mut()
                .record_us(sent.saturating_sub(due) / 1_000);
        }
    }

    /// A new place for visitors of a guest.
    pub(crate) fn add_row(&self, guest: usize) -> usize {
        let mut register = self.register.borrow_mut();
        register.push(Row::new(guest as u32));
        register.len() - 1
    }

    /// Wake the user of a row.
    pub(crate) fn wake(&self, row: usize) {
        self.row(row).wake();
    }

    /// The visitor that takes the place `row`; its act begins.
    pub(crate) fn poll_visitor(&self, row: usize, context: &Context<'_>) -> Poll<Arrival> {
        let Some(arrival) = self.desk.serve(row) else {
            self.row(row).wake_by(context);
            return Poll::Pending;
        };
        let mut recorder = self.recorder(row);
        let window = recorder.window();
        recorder.arrivals.started(window, arrival.at);
        Poll::Ready(arrival)
    }

    /// The visitor of a place has gone; the time until the next comes is nobody's.
    pub(crate) fn leave(&self, row: usize, guest: usize) {
        {
            let mut row = self.row(row);
            (row.started, row.active_since) = (false, None);
        }
        self.desk.leave(row, guest);
    }

    /// The schedule holds this arrival.
    pub(crate) fn drawn(&self, arrival: Arrival) {
        let recorder = &mut self.recorders.borrow_mut()[arrival.guest];
        let window = recorder.window();
        recorder.arrivals.drawn(window, arrival.at);
    }

    /// An arrival that finds no place.
    pub(crate) fn turn_away(&self, arrival: Arrival) {
        let recorder = &mut self.recorders.borrow_mut()[arrival.guest];
        let window = recorder.window();
        recorder.arrivals.dropped(window, arrival.at);
        recorder.failure(Fault::DROPPED, arrival.at, self.acts[arrival.guest], b"");
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
        self.recorders
            .borrow()
            .iter()
            .map(Recorder::requests_in_window)
            .sum()
    }

    /// The end: what is still under way is unfinished. Returns the recorders by guest and the scheduling lag.
    pub(crate) fn finish(&self, now: Nanos) -> (Vec<Recorder>, Latencies) {
        let (late, unserved) = self.desk.close();
        late.iter().for_each(|&arrival| self.drawn(arrival));
        late.into_iter()
            .chain(unserved)
            .for_each(|arrival| self.turn_away(arrival));
        let mut recorders = self.recorders.take();
        for row in self.register.borrow_mut().iter_mut() {
            close(row, &mut recorders[row.guest as usize], now);
        }
        (recorders, self.lag.take())
    }
}

impl Station for Worker {
    fn cut(&self, at: Nanos) {
        self.recorders
            .borrow_mut()
            .iter_mut()
            .for_each(|recorder| recorder.cut(at));
        self.desk.schedule.cut(at);
    }

    fn set_stopping(&self, stopping: bool) {
        self.stopping.set(stopping);
    }

    /// Wake overdue users and count how all stand.
    fn sweep(&self, now: Nanos) -> Standing {
        let mut standing = Standing::default();
        for row in self.register.borrow_mut().iter_mut() {
            row.sweep(now);
            standing.started += u32::from(row.started);
            standing.busy += u32::from(row.busy || row.request.is_some());
            standing.failing += u32::from(row.started && row.failing);
            standing.unconnected += u32::from(!row.connected && !self.is_open);
        }
        if self.is_open {
            // Places are taken in turn: what matters is whether any visitor succeeds, and who has a place waits for its turn.
            standing.started = standing
                .started
                .max(u32::from(self.totals.requests.get() > 0));
            standing.failing = if self.failing.get() {
                standing.started
            } else {
                0
            };
            standing.busy += self.desk.unserved();
        }
        standing
    }

    fn publish(&self, board: &Board, standing: Standing, now: Nanos, tallies: bool) {
        board.requests.store(self.totals.requests.get(), Relaxed);
        board.errors.store(self.totals.errors.get(), Relaxed);
        board.started.store(standing.started, Relaxed);
        board.failing.store(standing.failing, Relaxed);
        if tallies {
            board.set_tallies(self.tallies(now));
        }
    }

    fn expects(&self) -> bool {
        self.desk.schedule.next_at().is_some()
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
        if recorder.began_inside(request.sent, request.intended) {
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
