//! One emulated user: when it acts, and how one request of it is sent, judged and recorded.

mod visitor;

use std::{rc::Rc, time::Duration};

use rookery_stats::Pacing;
use rookery_workload::dvdstore::Shopper;

use crate::{
    clock::{Nanos, nanos},
    fault::{EVIDENCE_BYTES, Fault},
    http::{
        connection::{Ask, Connection, with_body},
        decode::{Answer, Body},
        head::judge_status,
    },
    record::{Operation, OrderBook, Outcome, Pause, Timing},
    register::Open,
    script,
    site::Site,
    worker::Worker,
};

/// After a failure a user waits at least so long, and as much longer with each further failure, up to ten times: a dead server is
/// not hammered, however short the think time.
pub(crate) const BACK_OFF: Duration = Duration::from_millis(100);
pub(crate) const MOST_BACK_OFFS: u8 = 10;
/// The initial random delay is the mean think time, but not longer than this.
pub(crate) const LONGEST_INITIAL_DELAY: Duration = Duration::from_secs(10);

/// The request failed; the failure has been counted in its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failed;

/// One emulated user.
pub(crate) struct User {
    pub(crate) worker: Rc<Worker>,
    pub(crate) site: Rc<Site>,
    row: usize,
    pub(crate) shopper: Shopper,
    connection: Connection,
    /// It appears at, and begins nothing at or after.
    starts: Nanos,
    stops: Nanos,
    /// When the next request should begin.
    intended: Nanos,
    /// Time spent in the requests of the present order.
    service: Nanos,
    pub(crate) book: OrderBook,
    failures: u8,
    /// When the last act ended.
    ended: Option<Nanos>,
}

impl User {
    pub(crate) fn new(
        worker: Rc<Worker>,
        site: Rc<Site>,
        row: usize,
        shopper: Shopper,
        starts: Nanos,
        stops: Nanos,
    ) -> Self {
        Self {
            worker,
            site,
            row,
            shopper,
            connection: Connection::default(),
            starts,
            stops,
            intended: 0,
            service: 0,
            book: OrderBook::default(),
            failures: 0,
            ended: None,
        }
    }

    /// The whole life of a user: appear, open the first page, wait a random while, then order after order until told to stop.
    pub(crate) async fn live(mut self) {
        self.sleep_until(self.starts).await;
        let appeared = self.now();
        self.worker.turn(self.row, false, appeared);
        self.intended = self.starts;
        // A failure is counted; the user goes shopping all the same.
        let _ = script::arrive(&mut self).await;
        let longest = self.worker.pace.time.min(LONGEST_INITIAL_DELAY);
        let mut due = self.now() + self.shopper.initial_delay_us(longest) * 1_000;
        let mut pause = None;
        while due < self.stops {
            let in_time = self.now() < due;
            if in_time {
                self.sleep_until(due).await;
            }
            if self.worker.stopping.get() {
                break;
            }
            let sent = self.now();
            self.begin(due, sent, in_time, pause);
            let outcome = script::act(&mut self).await;
            let done = self.finish(due, sent, outcome);
            (due, pause) = self.next(sent, done);
        }
    }

    fn now(&self) -> Nanos {
        self.worker.clock().now()
    }

    async fn sleep_until(&self, at: Nanos) {
        self.worker.sleep_until(self.row, at).await;
    }

    /// Turn from thinking to acting at `sent`.
    fn begin(&mut self, due: Nanos, sent: Nanos, in_time: bool, pause: Option<Pause>) {
        self.worker.turn(self.row, true, sent);
        if in_time {
            self.worker.lagged(self.row, due, sent);
        }
        if let Some(ended) = self.ended {
            self.worker.recorder(self.row).waited(ended, sent, pause);
        }
        self.intended = due;
        self.service = 0;
        self.book = OrderBook::default();
        if script::has_orders(&self.site) {
            self.worker.open_order(
                self.row,
                Some(Open {
                    operation: Operation::Order,
                    intended: due,
                    sent,
                }),
            );
        }
    }

    /// Turn from acting to thinking; returns the moment.
    fn finish(&mut self, due: Nanos, sent: Nanos, outcome: Result<(), Failed>) -> Nanos {
        // `intended` was set to the end of the last request.
        let done = self.intended.max(sent);
        self.worker.turn(self.row, false, done);
        self.ended = Some(done);
        self.failures = match outcome {
            Ok(()) => 0,
            Err(Failed) => self.failures.saturating_add(1).min(MOST_BACK_OFFS),
        };
        if script::has_orders(&self.site) {
            let timing = Timing {
                intended: due,
                sent,
                done,
                service: self.service,
            };
            let outcome = if outcome.is_ok() {
                Outcome::Success
            } else {
                Outcome::Failure
            };
            self.worker.open_order(self.row, None);
            self.worker.recorder(self.row).order(timing, outcome);
        }
        done
    }

    /// When the next order is due, and the delay to compare (none after a failure, whose back-off is no think time).
    fn next(&mut self, sent: Nanos, done: Nanos) -> (Nanos, Option<Pause>) {
        let pace = self.worker.pace;
        let pause = match pace.pacing {
            // Arrivals are nobody's pacing (the configuration is checked): who stays, thinks.
            Pacing::Think | Pacing::Arrivals => Pause {
                drawn: self.shopper.think_us(pace.time) * 1_000,
                from: done,
            },
            Pacing::Cycle => Pause {
                drawn: nanos(pace.time),
                from: sent,
            },
        };
        let due = pause.from + pause.drawn;
        match self.failures {
            0 => (due.max(done), Some(pause)),
            failures => (due.max(done + nanos(BACK_OFF) * u64::from(failures)), None),
        }
    }

    /// Send one request, judge its answer, record both. `judge` sees the body of a 200.
    pub(crate) async fn request<T>(
        &mut self,
        operation: Operation,
        ask: Ask<impl Fn(&mut Vec<u8>)>,
        judge: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<(T, Nanos), Failed> {
        let intended = self.intended;
        let sent = self.now();
        self.worker.begin(
            self.row,
            Open {
                operation,
                intended,
                sent,
            },
        );
        let answer = self
            .connection
            .exchange(&self.worker, self.row, &self.site, ask)
            .await;
        let done = self.now();
        let timing = Timing {
            intended,
            sent,
            done,
            service: done - sent,
        };
        self.intended = done;
        self.service += timing.service;
        let judged = answer.and_then(|answer| judge_answer(&self.worker, answer, judge));
        self.worker
            .end(self.row, operation, timing, judged.as_ref().err().copied());
        judged
            .map(|value| (value, timing.service))
            .map_err(|_| Failed)
    }

    /// A purchase was acknowledged.
    pub(crate) fn purchased(&mut self, rolled_back: bool) {
        self.book.rolled_back = rolled_back;
        let mut recorder = self.worker.recorder(self.row);
        recorder.shop.purchased(rolled_back);
        let window = recorder.window();
        recorder.shop.book(window, &self.book, self.intended);
    }
}

/// The value of a good answer; for a bad one, its first bytes are kept as evidence.
fn judge_answer<T>(
    worker: &Worker,
    answer: Answer,
    judge: impl FnOnce(&[u8]) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let in_place = match &answer.body {
        Body::InPlace(range) => Some(range.end),
        _ => None,
    };
    let status = judge_status(answer.status, answer.retry_after);
    with_body_and_evidence(worker, answer.body, in_place, |body| {
        status.and_then(|()| judge(body))
    })
}

fn with_body_and_evidence<T>(
    worker: &Worker,
    body: Body,
    in_place: Option<usize>,
    judge: impl FnOnce(&[u8]) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let mut seen = Vec::new();
    let judged = with_body(worker, body, |body| {
        let judged = judge(body);
        if judged.is_err() {
            seen.extend_from_slice(&body[..body.len().min(EVIDENCE_BYTES)]);
        }
        judged
    });
    if judged.is_err() {
        match in_place {
            // The whole answer still lies in the scratch buffer: its head is the better evidence.
            Some(end) => {
                let scratch = &mut *worker.scratch();
                scratch.evidence.clear();
                scratch
                    .evidence
                    .extend_from_slice(&scratch.received[..end.min(EVIDENCE_BYTES)]);
            }
            None => worker.set_evidence(&seen),
        }
    }
    judged
}

#[cfg(test)]
mod simulation;

#[cfg(test)]
mod tests {
    use rookery_stats::Pacing;
    use rookery_workload::dvdstore::{ShopperParams, Size};

    use super::*;
    use crate::{
        alarm::timer, check::tests::config_for, clock::Clock, config::Script, register::Row,
    };

    fn user(pacing: Pacing, time: Duration) -> User {
        let mut config = config_for("127.0.0.1:1", "/");
        (config.pacing, config.think_time) = (pacing, time);
        let worker = Worker::new(
            &config,
            Clock::new(std::time::Instant::now()),
            Rc::new(timer().expect("a timer")),
            &[0],
        );
        let script = Script::DvdStore {
            directory: "ds2".to_owned(),
            page_type: "php".to_owned(),
            shopper: ShopperParams::new(Size::Mb(10)),
        };
        let site = Site::new(([127, 0, 0, 1], 1).into(), script);
        User::new(
            Rc::new(worker),
            Rc::new(site),
            0,
            Shopper::new(1, 0, 0),
            0,
            0,
        )
    }

    #[test]
    fn a_user_is_small() {
        let life = user(Pacing::Think, Duration::ZERO).live();
        let bytes = size_of_val(&life) + size_of::<Row>();
        assert!(bytes <= 2_500, "{bytes} bytes");
    }

    #[test]
    fn think_time_follows_the_end_and_a_cycle_the_start() {
        const MS: Nanos = 1_000_000;
        let mut thinking = user(Pacing::Think, Duration::from_millis(10));
        let (due, pause) = thinking.next(100 * MS, 105 * MS);
        let drawn = pause.expect("a delay to compare").drawn;
        assert!(due == 105 * MS + drawn && drawn < 20 * MS);
        let mut cycling = user(Pacing::Cycle, Duration::from_millis(10));
        assert_eq!(cycling.next(100 * MS, 105 * MS).0, 110 * MS);
        assert_eq!(
            cycling.next(100 * MS, 150 * MS).0,
            150 * MS,
            "a missed cycle starts at once"
        );
    }

    #[test]
    fn failures_back_off_more_and_more_up_to_a_second() {
        let mut user = user(Pacing::Think, Duration::ZERO);
        let mut waits = Vec::new();
        for _ in 0..12 {
            let done = user.finish(0, 0, Err(Failed));
            waits.push((user.next(0, done).0 - done) / 1_000_000);
        }
        assert_eq!(
            waits,
            [
                100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1000, 1000
            ]
        );
        let done = user.finish(0, 0, Ok(()));
        assert_eq!(user.next(0, done).0, done, "a success ends it");
    }
}
