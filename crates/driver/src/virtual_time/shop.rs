//! Users and visitors in virtual time, their requests under way, and the books about them.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use rookery_stats::{ErrorClass, Latencies, Pacing};
use rookery_workload::dvdstore::{Opening, Shopper, ShopperParams};

use super::{Page, Request, System, streams};
use crate::{
    arrival::{Arrival, Stream, persistence},
    clock::{Nanos, nanos},
    config::{Config, Script},
    crew::{life, window},
    fault::Fault,
    load::{Load, OpenLoad},
    record::{Operation, OrderBook, Outcome, Pause, Recorder, Timing},
    register::Open,
    user::{BACK_OFF, LONGEST_INITIAL_DELAY, MOST_BACK_OFFS},
};

/// No answer came within the time limit.
const TIMEOUT: Fault = Fault::new(ErrorClass::Io, "recv-timeout");

/// A user of a closed load, or a place for the visitors of an open one.
struct Player {
    guest: usize,
    shopper: Shopper,
    /// It begins nothing at or after.
    stops: Nanos,
    /// Orders that a visitor still has to begin; `None` = a user, who goes on.
    acts_left: Option<u32>,
    /// When the present or the next order is due, and whether the player is idle until then.
    due: Nanos,
    in_time: bool,
    pause: Option<Pause>,
    /// The request under way, and the order that it belongs to.
    request: Option<Open>,
    order: Option<Open>,
    intended: Nanos,
    service: Nanos,
    searches_left: u32,
    book: OrderBook,
    failures: u8,
    ended: Option<Nanos>,
    /// What the player does, busy or idle, since when; `None` = it is not there.
    doing: Option<(bool, Nanos)>,
    active_since: Option<Nanos>,
}

impl Player {
    fn new(guest: usize, shopper: Shopper, stops: Nanos) -> Self {
        Self {
            guest,
            shopper,
            stops,
            acts_left: None,
            due: 0,
            in_time: true,
            pause: None,
            request: None,
            order: None,
            intended: 0,
            service: 0,
            searches_left: 0,
            book: OrderBook::default(),
            failures: 0,
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
pub(super) struct Shop<'a> {
    config: &'a Config,
    system: &'a mut dyn System,
    params: Vec<ShopperParams>,
    now: Nanos,
    players: Vec<Player>,
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

impl<'a> Shop<'a> {
    pub(super) fn new(config: &'a Config, system: &'a mut dyn System) -> Self {
        let open = config.load != Load::Closed;
        let span = window(&config.phases);
        let guests = config.assignments.len();
        let params = config
            .assignments
            .iter()
            .map(|assignment| match &assignment.script {
                Script::DvdStore { shopper, .. } => *shopper,
                // Refused before.
                Script::Page { .. } => ShopperParams::new(rookery_workload::dvdstore::Size::Mb(1)),
            });
        let mut streams = streams(config);
        let mut shop = Self {
            config,
            system,
            params: params.collect(),
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
            recorders: (0..guests).map(|_| Recorder::new(span, open)).collect(),
            lag: Latencies::new(),
        };
        if !open {
            shop.seat_users();
        }
        shop
    }

    /// The users of a closed load appear over ramp-up.
    fn seat_users(&mut self) {
        for (guest, assignment) in self.config.assignments.iter().enumerate() {
            for number in 0..assignment.users {
                let (starts, stops) = life(&self.config.phases, number, assignment.users);
                let shopper = Shopper::new(self.config.seed, guest as u32, number);
                self.players.push(Player::new(guest, shopper, stops));
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
        let arrival = arrival.filter(|at| *at < nanos(self.config.phases.load_end()));
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

    /// A user of a closed load appears and looks at the first page.
    fn appear(&mut self, player: usize) {
        self.players[player].doing = Some((false, self.now));
        self.players[player].intended = self.now;
        self.ask(player, Operation::Index);
    }

    /// A visitor arrives, and is turned away where all places are taken.
    fn receive(&mut self, arrival: Arrival) {
        let Load::Open(OpenLoad {
            visit,
            max_in_flight,
            ..
        }) = &self.config.load
        else {
            return;
        };
        let recorder = &mut self.recorders[arrival.guest];
        let span = recorder.window();
        recorder.arrivals.drawn(span, arrival.at);
        let place = self.free_places[arrival.guest].pop();
        if place.is_none() && self.places[arrival.guest] >= *max_in_flight {
            recorder.arrivals.dropped(span, arrival.at);
            recorder.failure(Fault::DROPPED, arrival.at, Operation::Order, b"");
            return;
        }
        recorder.arrivals.started(span, arrival.at);
        let shopper = Shopper::new(
            self.config.seed,
            arrival.guest as u32,
            arrival.number as u32,
        );
        let mut visitor = Player::new(arrival.guest, shopper, nanos(self.config.phases.load_end()));
        visitor.acts_left = Some(visit.acts(persistence(self.config.seed, arrival)));
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

    /// An order begins.
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
        (player.intended, player.service, player.book) = (player.due, 0, OrderBook::default());
        player.order = Some(Open {
            operation: Operation::Order,
            intended: player.due,
            sent: now,
        });
        let params = &self.params[player.guest];
        let first = match player.shopper.opening(params) {
            Opening::Login { .. } => Operation::Login,
            Opening::NewCustomer => Operation::NewCustomer,
        };
        player.searches_left = player.shopper.search_count(params);
        self.ask(index, first);
    }

    /// A request begins.
    fn ask(&mut self, index: usize, operation: Operation) {
        let page = match operation {
            Operation::Login => Page::Login,
            Operation::NewCustomer => Page::NewCustomer,
            Operation::Browse => Page::Browse,
            Operation::Purchase => Page::Purchase,
            _ => Page::Index,
        };
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
                (self.jobs.len() - 1) as u32
            }
        };
        let player = &mut self.players[index];
        player.request = Some(Open {
            operation,
            intended: player.intended,
            sent: self.now,
        });
        self.limits
            .push_back((self.now + nanos(self.config.timeout), job, self.serial));
        let guest = player.guest;
        self.system.arrive(self.now, Request { job, guest, page });
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
            if operation == Operation::Purchase {
                recorder.shop.unanswered();
            }
        } else {
            recorder.request(operation, timing, Outcome::Success);
        }
        let book = &mut player.book;
        match operation {
            Operation::Index => return self.first_pause(index),
            _ if outcome.is_err() => return self.finish(index, Outcome::Failure),
            Operation::Login => book.login = Some(timing.service),
            Operation::NewCustomer => book.new_customer = Some(timing.service),
            Operation::Browse => {
                book.searches += 1;
                book.searching += timing.service;
            }
            _ => {
                book.purchase = timing.service;
                recorder.shop.purchased(false);
                let span = recorder.window();
                recorder.shop.book(span, book, now);
                return self.finish(index, Outcome::Success);
            }
        }
        if player.searches_left == 0 {
            return self.ask(index, Operation::Purchase);
        }
        player.searches_left -= 1;
        self.ask(index, Operation::Browse);
    }

    /// The random while before the first order.
    fn first_pause(&mut self, index: usize) {
        let longest = self.config.think_time.min(LONGEST_INITIAL_DELAY);
        let player = &mut self.players[index];
        player.due = self.now + player.shopper.initial_delay_us(longest) * 1_000;
        self.rest(index);
    }

    /// An order ended; the next is due after a pause.
    fn finish(&mut self, index: usize, outcome: Outcome) {
        self.turn(index, false);
        let (now, player) = (self.now, &mut self.players[index]);
        let Some(order) = player.order.take() else {
            return;
        };
        player.ended = Some(now);
        let timing = Timing {
            intended: order.intended,
            sent: order.sent,
            done: now,
            service: player.service,
        };
        self.recorders[player.guest].order(timing, outcome);
        player.failures = match outcome {
            Outcome::Success | Outcome::Void => 0,
            Outcome::Failure => player.failures.saturating_add(1).min(MOST_BACK_OFFS),
        };
        if player.acts_left == Some(0) {
            return self.leave(index);
        }
        let pause = match self.config.pacing {
            Pacing::Think | Pacing::Arrivals => Pause {
                drawn: player.shopper.think_us(self.config.think_time) * 1_000,
                from: now,
            },
            Pacing::Cycle => Pause {
                drawn: nanos(self.config.think_time),
                from: order.sent,
            },
        };
        let due = pause.from + pause.drawn;
        (player.due, player.pause) = match player.failures {
            0 => (due.max(now), Some(pause)),
            failures => (due.max(now + nanos(BACK_OFF) * u64::from(failures)), None),
        };
        self.rest(index);
    }

    /// Wait for the next order, if it may begin at all.
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

    /// A visitor goes; the time until the next takes its place is nobody's.
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
                if operation == Operation::Purchase {
                    recorder.shop.unanswered();
                }
            }
            if let Some(order) = player.order.take() {
                recorder.unfinished(Operation::Order, order.sent, order.intended, now);
            }
        }
        (self.recorders, self.lag)
    }
}
