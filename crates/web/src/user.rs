//! One emulated user: when it acts. What it does is a [`UserScript`].

use std::{future::poll_fn, rc::Rc, time::Duration};

use rookery_cast::low_u32;
use rookery_driver::{
    Admission, Arrival, ArrivalQueue, Failures, Nanos, OperationId, Outcome, Pace, Pause, Timing,
    Visit, nanos, persistence,
};
use rookery_stats::Pacing;
use rookery_workload::RandomDelay;

use crate::{
    client::{Client, Failed},
    register::Open,
    site::Site,
    worker::Worker,
};

/// What the users of one workload do. A script reads like what a user does: each step is one
/// awaited request.
pub(crate) trait UserScript: 'static {
    /// The operation that a whole act of several requests is recorded as; `None` where an act is
    /// one request.
    const ACT: Option<OperationId>;

    /// Another visitor, with choices of its own, takes the place of this one.
    fn renew(&mut self, number: u32);

    /// The random delay of a new user before its first act, up to `longest`.
    fn initial_delay(&mut self, longest: Duration) -> Nanos;

    /// A think time.
    fn think_time(&mut self, delay: RandomDelay) -> Nanos;

    /// The delay after the last act: a think time, or the length of its cycle.
    fn delay(&mut self, pace: Pace) -> Nanos {
        match pace.pacing {
            Pacing::Cycle => nanos(pace.time),
            Pacing::Think | Pacing::Arrivals => self.think_time(RandomDelay {
                mean: pace.time,
                distribution: pace.distribution,
            }),
        }
    }

    /// The first request of a new user.
    async fn arrive(&mut self, client: &mut Client) -> Result<(), Failed>;

    /// One act.
    async fn act(&mut self, client: &mut Client) -> Result<(), Failed>;
}

/// One emulated user.
pub(crate) struct User<S> {
    pub(crate) script: S,
    pub(crate) client: Client,
    failures: Failures,
    /// When the last act ended.
    pub(crate) ended: Option<Nanos>,
}

impl<S: UserScript> User<S> {
    pub(crate) fn new(script: S, client: Client) -> Self {
        Self {
            script,
            client,
            failures: Failures::default(),
            ended: None,
        }
    }

    /// The whole life of a user: appear at `starts`, make the first request, wait a random while,
    /// then act after act; none is begun at or after `stops`.
    pub(crate) async fn live(mut self, starts: Nanos, stops: Nanos) {
        self.sleep_until(starts).await;
        let appeared = self.client.now();
        self.client.worker.begun(starts, appeared);
        self.turn(false, appeared);
        self.client.begin_act(starts);
        // A failure is counted; the user goes on all the same.
        let _ = self.script.arrive(&mut self.client).await;
        let longest = self.client.worker.pace.initial_delay();
        let mut due = self.client.now() + self.script.initial_delay(longest);
        let mut pause = None;
        while due < stops {
            let mut sent = self.client.now();
            let in_time = sent < due;
            if in_time {
                self.sleep_until(due).await;
                sent = self.client.now();
            }
            if self.client.worker.stopping.get() {
                break;
            }
            self.begin(due, sent, in_time, pause);
            let outcome = self.script.act(&mut self.client).await;
            let done = self.finish(due, sent, outcome.is_ok());
            (due, pause) = self.next(sent, done);
        }
    }

    /// The life of a place for visitors: one after the other takes it.
    pub(crate) async fn receive(mut self, seed: u64, visit: Visit) {
        loop {
            let worker = &self.client.worker;
            let row = self.client.row;
            let arrival = poll_fn(|context| worker.poll_visitor(row, context)).await;
            // A visitor is new: it has choices of its own and no cookies. Only the connection may
            // be an old one.
            self.script.renew(low_u32(arrival.number));
            self.client.renew();
            (self.failures, self.ended) = (Failures::default(), None);
            self.stay(arrival.at, visit.acts(persistence(seed, arrival)))
                .await;
            self.client.worker.leave(row, arrival.guest);
        }
    }

    /// Act after act, with a think time between them. The first is due at the arrival, whether or
    /// not the driver is in time.
    async fn stay(&mut self, at: Nanos, acts: u32) {
        let (mut due, mut pause, mut in_time) = (at, None, true);
        for left in (0..acts).rev() {
            let sent = self.client.now();
            self.begin(due, sent, in_time, pause);
            let outcome = self.script.act(&mut self.client).await;
            let done = self.finish(due, sent, outcome.is_ok());
            if left == 0 {
                return;
            }
            (due, pause) = self.next(sent, done);
            if due >= self.client.worker.queue.schedule().ends() {
                return;
            }
            in_time = self.client.now() < due;
            if in_time {
                self.sleep_until(due).await;
            }
            if self.client.worker.stopping.get() {
                return;
            }
        }
    }

    async fn sleep_until(&self, at: Nanos) {
        self.client.worker.sleep_until(self.client.row, at).await;
    }

    pub(crate) fn turn(&self, busy: bool, now: Nanos) {
        self.client.worker.turn(self.client.row, busy, now);
    }

    /// Turns from thinking to acting at `sent`.
    pub(crate) fn begin(&mut self, due: Nanos, sent: Nanos, in_time: bool, pause: Option<Pause>) {
        self.turn(true, sent);
        let (worker, row) = (&self.client.worker, self.client.row);
        if in_time {
            worker.lagged(row, due, sent);
        }
        if let Some(ended) = self.ended {
            worker.recorder(row).waited(ended, sent, pause);
        }
        if let Some(operation) = S::ACT {
            worker.open_act(
                row,
                Some(Open {
                    operation,
                    intended: due,
                    sent,
                }),
            );
        }
        self.client.begin_act(due);
    }

    /// Turns from acting to thinking; returns the moment.
    pub(crate) fn finish(&mut self, due: Nanos, sent: Nanos, succeeded: bool) -> Nanos {
        let done = self.client.ended_at().max(sent);
        self.turn(false, done);
        self.ended = Some(done);
        self.failures.count(!succeeded);
        if let Some(operation) = S::ACT {
            let timing = Timing {
                intended: due,
                sent,
                done,
                service: self.client.service(),
            };
            let outcome = if succeeded {
                Outcome::Success
            } else {
                Outcome::Failure
            };
            let (worker, row) = (&self.client.worker, self.client.row);
            worker.open_act(row, None);
            worker.recorder(row).act(operation, timing, outcome);
        }
        done
    }

    /// When the next act is due, and the delay to compare.
    pub(crate) fn next(&mut self, sent: Nanos, done: Nanos) -> (Nanos, Option<Pause>) {
        let pace = self.client.worker.pace;
        let delay = self.script.delay(pace);
        pace.after(sent, done, self.failures, delay)
    }
}

/// Receives the visitors of an open load until the last. `make_place` starts a new place in a row
/// of the register.
pub(crate) async fn receive_visitors(
    worker: Rc<Worker>,
    sites: Vec<Rc<Site>>,
    make_place: impl Fn(Client, &Arrival),
) {
    let schedule = worker.queue.schedule();
    while schedule
        .wait(worker.clock(), worker.alarms(), ArrivalQueue::ROW)
        .await
    {
        while let Some(arrival) = schedule.due(worker.clock().now()) {
            worker.begun(arrival.at, worker.clock().now());
            worker.drawn(arrival);
            match worker.queue.admit(arrival) {
                Admission::Assigned(row) => worker.wake(row),
                Admission::NoIdleRow => {
                    let row = worker.add_row(arrival.guest);
                    worker.queue.assign(row, arrival);
                    let site = Rc::clone(&sites[arrival.guest]);
                    let client = Client::new(Rc::clone(&worker), site, row, arrival.guest);
                    make_place(client, &arrival);
                }
                Admission::TurnedAway => worker.turn_away(arrival),
            }
        }
    }
}
