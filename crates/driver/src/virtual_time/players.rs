//! Users and visitors in virtual time, their requests under way, and what is recorded of them.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use rookery_cast::{count_u32, low_u32};
use rookery_stats::{ErrorClass, Latencies};

use super::{Request, System, VirtualLoad, VirtualUser, VirtualUsers, streams};
use crate::{
    arrivals::{Arrival, Stream, persistence},
    clock::{Nanos, nanos},
    fault::Fault,
    load::{Load, OpenLoad},
    operation::OperationId,
    pacing::Failures,
    record::{Outcome, Pause, Recorder, Timing},
};

/// No answer came within the time limit.
const TIMEOUT: Fault = Fault::new(ErrorClass::Io, "recv-timeout");

/// An operation under way.
#[derive(Clone, Copy, Debug)]
struct Open {
    operation: OperationId,
    intended: Nanos,
    sent: Nanos,
}

/// A user of a closed load, or a place for the visitors of an open one.
struct Player<U> {
    guest: usize,
    user: U,
    /// It begins nothing at or after.
    stops: Nanos,
    /// Acts that a visitor still has to begin; `None` = a user, who goes on.
    acts_left: Option<u32>,
    /// When the present or the next act is due, and whether the player is idle until then.
    due: Nanos,
    in_time: bool,
    pause: Option<Pause>,
    /// The request under way, and the act that it belongs to.
    request: Option<Open>,
    act: Option<Open>,
    intended: Nanos,
    service: Nanos,
    failures: Failures,
    ended: Option<Nanos>,
    /// What the player does, busy or idle, since when; `None` = it is not there.
    doing: Option<(bool, Nanos)>,
    active_since: Option<Nanos>,
}

impl<U> Player<U> {
    fn new(guest: usize, user: U, stops: Nanos) -> Self {
        Self {
            guest,
            user,
            stops,
            acts_left: None,
            due: 0,
            in_time: true,
            pause: None,
            request: None,
            act: None,
            intended: 0,
            service: 0,
            failures: Failures::default(),
            ended: None,
            doing: None,
            active_since: None,
        }
    }
}

/// A request within the system. Who gave up waiting for it does not own it any more.
#[derive(Clone, Copy, Debug, Default)]
struct Job {
    owner: Option<usize>,
    /// Tells it from earlier jobs of the same number.
    serial: u64,
}

/// What happens next, in this order where times are equal.
enum Next {
    Answer,
    Overdue,
    Wake,
    Arrival,
}

/// A trial being played.
pub(super) struct Players<'a, U: VirtualUsers> {
    load: &'a VirtualLoad<'a>,
    users: &'a mut U,
    system: &'a mut dyn System,
    now: Nanos,
    players: Vec<Player<U::User>>,
    /// Players that act or appear at a time. The count keeps equal times in order.
    wakes: BinaryHeap<Reverse<(Nanos, u64, usize)>>,
    woken: u64,
    jobs: Vec<Job>,
    free_jobs: Vec<u32>,
    serial: u64,
    /// Time limits, ascending because all requests have the same one: end, job, its serial.
    limits: VecDeque<(Nanos, u32, u64)>,
    streams: Vec<Stream>,
    arrivals: BinaryHeap<Reverse<Arrival>>,
    /// By guest: places without a visitor, and how many there are.
    free_places: Vec<Vec<usize>>,
    places: Vec<u32>,
    recorders: Vec<Recorder>,
    lag: Latencies,
}

impl<'a, U: VirtualUsers> Players<'a, U> {
    pub(super) fn new(
        load: &'a VirtualLoad<'a>,
        users: &'a mut U,
        system: &'a mut dyn System,
    ) -> Self {
        let open = *load.load != Load::Closed;
        let window = load.phases.window();
        let guests = load.users.len();
        let mut streams = streams(load);
        let mut players = Self {
            load,
            users,
            system,
            now: 0,
            players: Vec::new(),
            wakes: BinaryHeap::new(),
            woken: 0,
            jobs: Vec::new(),
            free_jobs: Vec::new(),
            serial: 0,
            limits: VecDeque::new(),
            arrivals: streams
                .iter_mut()
                .filter_map(Iterator::next)
                .map(Reverse)
                .collect(),
            streams,
            free_places: vec![Vec::new(); guests],
            places: vec![0; guests],
            recorders: (0..guests)
                .map(|_| Recorder::new(window, open, load.operations.entries().len()))
                .collect(),
            lag: Latencies::new(),
        };
        if !open {
            players.add_users();
        }
        players
    }

    /// The users of a closed load appear over ramp-up.
    fn add_users(&mut self) {
        for (guest, &users) in self.load.users.iter().enumerate() {
            for number in 0..users {
                let (starts, stops) = self.load.phases.lifetime(number, users);
                let user = self.users.user(guest, number);
                self.players.push(Player::new(guest, user, stops));
                self.wake(self.players.len() - 1, starts);
            }
        }
    }

    pub(super) fn now(&self) -> Nanos {
        self.now
    }

    /// Every player has a connection of its own.
    pub(super) fn connections(&self) -> u64 {
        self.players.len() as u64
    }

    /// The load ends early: nothing after `at` is inside the window.
    pub(super) fn cut(&mut self, at: Nanos) {
        self.recorders
            .iter_mut()
            .for_each(|recorder| recorder.cut(at));
    }

    /// When something happens next.
    pub(super) fn next_at(&mut self) -> Option<Nanos> {
        self.next().map(|(at, _)| at)
    }

    fn next(&mut self) -> Option<(Nanos, Next)> {
        // What was answered in time has no limit any more.
        while let Some((_, job, serial)) = self.limits.front() {
            let job = self.jobs[*job as usize];
            if job.serial == *serial && job.owner.is_some() {
                break;
            }
            self.limits.pop_front();
        }
        let arrival = self.arrivals.peek().map(|Reverse(arrival)| arrival.at);
        let arrival = arrival.filter(|at| *at < nanos(self.load.phases.load_end()));
        let all = [
            (self.system.next(), Next::Answer),
            (self.limits.front().map(|(at, ..)| *at), Next::Overdue),
            (self.wakes.peek().map(|Reverse((at, ..))| *at), Next::Wake),
            (arrival, Next::Arrival),
        ];
        let present = all.into_iter().filter_map(|(at, next)| Some((at?, next)));
        present.min_by_key(|(at, _)| *at)
    }

    /// Let the next thing happen, at `at`.
    pub(super) fn step(&mut self, at: Nanos) {
        let Some((_, next)) = self.next() else { return };
        self.now = at.max(self.now);
        match next {
            Next::Answer => {
                let Some(job) = self.system.depart() else {
                    return;
                };
                self.free_jobs.push(job);
                if let Some(player) = self.jobs[job as usize].owner.take() {
                    self.answered(player, Ok(()));
                }
            }
            Next::Overdue => {
                let Some((_, job, _)) = self.limits.pop_front() else {
                    return;
                };
                // The number stays taken until the system has done with it.
                if let Some(player) = self.jobs[job as usize].owner.take() {
                    self.answered(player, Err(TIMEOUT));
                }
            }
            Next::Wake => {
                let Some(Reverse((_, _, player))) = self.wakes.pop() else {
                    return;
                };
                if self.players[player].doing.is_none() {
                    self.appear(player);
                } else {
                    self.begin(player);
                }
            }
            Next::Arrival => {
                let Some(Reverse(arrival)) = self.arrivals.pop() else {
                    return;
                };
                self.arrivals
                    .extend(self.streams[arrival.guest].next().map(Reverse));
                self.receive(arrival);
            }
        }
    }

    fn wake(&mut self, player: usize, at: Nanos) {
        self.woken += 1;
        self.wakes.push(Reverse((at, self.woken, player)));
    }

    /// A user of a closed load appears and makes its first request.
    fn appear(&mut self, player: usize) {
        self.players[player].doing = Some((false, self.now));
        self.players[player].intended = self.now;
        let first = self.players[player].user.appear();
        self.ask(player, first);
    }

    /// A visitor arrives, and is turned away where all places are taken.
    fn receive(&mut self, arrival: Arrival) {
        let Load::Open(OpenLoad {
            visit,
            max_in_flight,
            ..
        }) = self.load.load
        else {
            return;
        };
        let recorder = &mut self.recorders[arrival.guest];
        recorder.arrival_drawn(arrival.at);
        let place = self.free_places[arrival.guest].pop();
        if place.is_none() && self.places[arrival.guest] >= *max_in_flight {
            recorder.arrival_dropped(arrival.at, self.load.operations.main());
            return;
        }
        recorder.arrival_started(arrival.at);
        let user = self.users.user(arrival.guest, low_u32(arrival.number));
        let mut visitor = Player::new(arrival.guest, user, nanos(self.load.phases.load_end()));
        visitor.acts_left = Some(visit.acts(persistence(self.load.seed, arrival)));
        (visitor.due, visitor.doing) = (arrival.at, Some((false, self.now)));
        let player = match place {
            Some(place) => {
                self.players[place] = visitor;
                place
            }
            None => {
                self.places[arrival.guest] += 1;
                self.players.push(visitor);
                self.players.len() - 1
            }
        };
        self.begin(player);
    }

    /// Turn to `busy`, and book what the player did until now.
    fn turn(&mut self, player: usize, busy: bool) {
        let player = &mut self.players[player];
        if let Some((was_busy, since)) = player.doing.replace((busy, self.now)) {
            self.recorders[player.guest].occupied(was_busy, since, self.now);
        }
        if busy {
            player.active_since.get_or_insert(self.now);
        }
    }

    /// An act begins.
    fn begin(&mut self, index: usize) {
        self.turn(index, true);
        let (now, player) = (self.now, &mut self.players[index]);
        let recorder = &mut self.recorders[player.guest];
        if player.in_time && recorder.window().contains(now) {
            self.lag.record_us((now - player.due) / 1_000);
        }
        if let Some(ended) = player.ended {
            recorder.waited(ended, now, player.pause);
        }
        player.acts_left = player.acts_left.map(|acts| acts.saturating_sub(1));
        (player.intended, player.service) = (player.due, 0);
        player.act = Some(Open {
            operation: self.load.operations.main(),
            intended: player.due,
            sent: now,
        });
        let first = player.user.begin();
        self.ask(index, first);
    }

    /// A request begins.
    fn ask(&mut self, index: usize, operation: OperationId) {
        self.serial += 1;
        let fresh = Job {
            owner: Some(index),
            serial: self.serial,
        };
        let job = match self.free_jobs.pop() {
            Some(job) => {
                self.jobs[job as usize] = fresh;
                job
            }
            None => {
                self.jobs.push(fresh);
                count_u32(self.jobs.len() - 1)
            }
        };
        let player = &mut self.players[index];
        player.request = Some(Open {
            operation,
            intended: player.intended,
            sent: self.now,
        });
        self.limits
            .push_back((self.now + nanos(self.load.timeout), job, self.serial));
        let guest = player.guest;
        let request = Request {
            job,
            guest,
            operation,
        };
        self.system.arrive(self.now, request);
    }

    /// The request of a player ended, well or with a fault; it goes on with the next.
    fn answered(&mut self, index: usize, outcome: Result<(), Fault>) {
        let (now, player) = (self.now, &mut self.players[index]);
        let Some(Open {
            operation,
            intended,
            sent,
        }) = player.request.take()
        else {
            return;
        };
        let timing = Timing {
            intended,
            sent,
            done: now,
            service: now - sent,
        };
        (player.intended, player.service) = (now, player.service + timing.service);
        let recorder = &mut self.recorders[player.guest];
        if let Err(fault) = outcome {
            recorder.request(operation, timing, Outcome::Failure);
            recorder.failure(fault, now, operation, b"");
            self.users.unanswered(player.guest, operation);
        } else {
            recorder.request(operation, timing, Outcome::Success);
        }
        if player.act.is_none() {
            return self.first_pause(index);
        }
        if outcome.is_err() {
            return self.finish(index, Outcome::Failure);
        }
        if let Some(next) = player.user.proceed(operation, timing.service) {
            return self.ask(index, next);
        }
        let window = recorder.window();
        self.users
            .completed(player.guest, &player.user, window, now);
        self.finish(index, Outcome::Success);
    }

    /// The random delay before the first act.
    fn first_pause(&mut self, index: usize) {
        let longest = self.load.pace.initial_delay();
        let player = &mut self.players[index];
        player.due = self.now + player.user.initial_delay(longest);
        self.rest(index);
    }

    /// An act ended; the next is due after a pause.
    fn finish(&mut self, index: usize, outcome: Outcome) {
        self.turn(index, false);
        let (now, player) = (self.now, &mut self.players[index]);
        let Some(act) = player.act.take() else {
            return;
        };
        player.ended = Some(now);
        let timing = Timing {
            intended: act.intended,
            sent: act.sent,
            done: now,
            service: player.service,
        };
        self.recorders[player.guest].act(act.operation, timing, outcome);
        player.failures.count(outcome == Outcome::Failure);
        if player.acts_left == Some(0) {
            return self.leave(index);
        }
        (player.due, player.pause) = self
            .load
            .pace
            .next(act.sent, now, player.failures, |delay| {
                player.user.think_time(delay)
            });
        self.rest(index);
    }

    /// Wait for the next act, if it may begin at all.
    fn rest(&mut self, index: usize) {
        let player = &mut self.players[index];
        player.in_time = player.due > self.now;
        if player.due < player.stops {
            let due = player.due;
            self.wake(index, due);
        } else if player.acts_left.is_some() {
            self.leave(index);
        }
    }

    /// A visitor goes; the time until the next takes its place belongs to none.
    fn leave(&mut self, index: usize) {
        let player = &mut self.players[index];
        (player.doing, player.active_since) = (None, None);
        self.free_places[player.guest].push(index);
    }

    /// The end, at `now`: what is still under way is unfinished.
    pub(super) fn close(mut self, now: Nanos) -> (Vec<Recorder>, Latencies) {
        for player in &mut self.players {
            let recorder = &mut self.recorders[player.guest];
            if let Some((busy, since)) = player.doing {
                recorder.occupied(busy, since, now);
                if !busy {
                    recorder.waiting_at_end(since, now);
                }
            }
            if let Some(since) = player.active_since {
                recorder.active(since, now);
            }
            if let Some(Open {
                operation,
                intended,
                sent,
            }) = player.request.take()
            {
                recorder.unfinished(operation, sent, intended, now);
                if recorder.began_inside(sent, intended) {
                    recorder.failure(Fault::UNFINISHED, now, operation, b"");
                }
                self.users.unanswered(player.guest, operation);
            }
            if let Some(act) = player.act.take() {
                recorder.unfinished(act.operation, act.sent, act.intended, now);
            }
        }
        (self.recorders, self.lag)
    }
}
