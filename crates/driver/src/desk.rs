//! Where the visitors of an open load are received: arrivals when they are due, places for those who come, and who is turned away.
//!
//! A place is a task with a row in the register and a connection. A visitor takes a place that is free, else a new one is made, as long as
//! the limit allows; when it leaves, the place waits for the next.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use rookery_workload::dvdstore::Shopper;

use crate::{
    arrival::{Arrival, Schedule, Share},
    clock::Nanos,
    config::Config,
    load::{Load, OpenLoad},
    site::Site,
    user::User,
    worker::Worker,
};

/// The row of the desk among the alarms; no user has it.
pub(crate) const DESK: u32 = u32::MAX;

/// The places at one guest.
#[derive(Clone, Debug, Default)]
struct Places {
    /// Rows without a visitor; the one that was left last is taken first, so that few connections are in use.
    free: Vec<u32>,
    /// Rows there are.
    made: u32,
    /// Rows there may be.
    most: u32,
}

/// A place for a visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Free(u32),
    New,
    None,
}

/// The desk of one thread. Nobody ever comes to that of a closed load.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    pub(crate) schedule: Schedule,
    /// By guest.
    places: RefCell<Vec<Places>>,
    /// By row: a visitor that has been given the place and did not act yet.
    seated: RefCell<Vec<Option<Arrival>>>,
    /// How many these are.
    unserved: Cell<u32>,
}

impl Desk {
    /// The desk of one thread of a trial.
    pub(crate) fn new(config: &Config, share: Share) -> Self {
        let Load::Open(load) = &config.load else {
            return Self::default();
        };
        let guests = config.assignments.len();
        let (thread, threads) = (share.thread as u32, share.of as u32);
        let places = Places {
            most: load.max_in_flight / threads + u32::from(thread < load.max_in_flight % threads),
            ..Places::default()
        };
        Self {
            schedule: Schedule::new(load, &config.phases, guests, share, config.seed),
            places: RefCell::new(vec![places; guests]),
            seated: RefCell::default(),
            unserved: Cell::new(0),
        }
    }

    fn place(&self, guest: usize) -> Place {
        let places = &mut self.places.borrow_mut()[guest];
        match places.free.pop() {
            Some(row) => Place::Free(row),
            None if places.made < places.most => {
                places.made += 1;
                Place::New
            }
            None => Place::None,
        }
    }

    fn seat(&self, row: u32, arrival: Arrival) {
        let mut seated = self.seated.borrow_mut();
        let row = row as usize;
        if seated.len() <= row {
            seated.resize(row + 1, None);
        }
        seated[row] = Some(arrival);
        self.unserved.set(self.unserved.get() + 1);
    }

    /// The visitor that came to the place begins to act.
    pub(crate) fn serve(&self, row: usize) -> Option<Arrival> {
        let arrival = self.seated.borrow_mut().get_mut(row)?.take()?;
        self.unserved.set(self.unserved.get() - 1);
        Some(arrival)
    }

    /// The visitor leaves its place.
    pub(crate) fn leave(&self, row: usize, guest: usize) {
        self.places.borrow_mut()[guest].free.push(row as u32);
    }

    /// Visitors that have a place and did not act yet.
    pub(crate) fn unserved(&self) -> u32 {
        self.unserved.get()
    }

    /// The trial is over: whoever was due and never acted. The first list was never received, the second waits at its place.
    pub(crate) fn close(&self) -> (Vec<Arrival>, Vec<Arrival>) {
        (
            self.schedule.rest(),
            self.seated.take().into_iter().flatten().collect(),
        )
    }
}

/// Receive visitors until the last.
pub(crate) async fn receive(worker: Rc<Worker>, sites: Vec<Rc<Site>>, load: OpenLoad, seed: u64) {
    let schedule = &worker.desk.schedule;
    while schedule.wait(worker.clock(), worker.alarms(), DESK).await {
        while let Some(arrival) = schedule.due(worker.clock().now()) {
            worker.drawn(arrival);
            match worker.desk.place(arrival.guest) {
                Place::Free(row) => {
                    worker.desk.seat(row, arrival);
                    worker.wake(row as usize);
                }
                Place::New => {
                    let row = worker.add_row(arrival.guest);
                    worker.desk.seat(row as u32, arrival);
                    let nobody = Shopper::new(seed, arrival.guest as u32, 0);
                    let site = Rc::clone(&sites[arrival.guest]);
                    let visitors = User::new(
                        Rc::clone(&worker),
                        site,
                        row,
                        nobody,
                        arrival.at,
                        Nanos::MAX,
                    );
                    tokio::task::spawn_local(visitors.receive(seed, load.visit));
                }
                Place::None => worker.turn_away(arrival),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use std::{cmp::Reverse, collections::BinaryHeap};

    use super::*;
    use crate::{
        arrival::tests::{phases, profile},
        check::tests::config_for,
        load::{Arrivals, Precision, Profile, Visit},
    };

    fn config(profile: Profile, arrivals: Arrivals, max_in_flight: u32, seed: u64) -> Config {
        let mut config = config_for("127.0.0.1:80", "/");
        config.phases = phases(0.3, 0.0, 2.0, 0.4);
        config.seed = seed;
        config.load = Load::Open(OpenLoad {
            arrivals,
            profile,
            weights: Vec::new(),
            max_in_flight,
            precision: Precision::Exact,
            visit: Visit::Single,
        });
        config.assignments.push(config.assignments[0].clone());
        config
    }

    #[test]
    fn threads_share_out_the_places() {
        let config = config(Profile::Constant(10.0), Arrivals::Uniform, 8, 1);
        let most: Vec<u32> = (0..3)
            .map(|thread| Desk::new(&config, Share { thread, of: 3 }).places.borrow()[1].most)
            .collect();
        assert_eq!(most, [3, 3, 2]);
    }

    #[test]
    fn a_place_that_was_left_is_taken_before_a_new_one_is_made() {
        let desk = Desk::new(
            &config(Profile::Constant(10.0), Arrivals::Uniform, 2, 1),
            Share { thread: 0, of: 1 },
        );
        assert_eq!(
            [desk.place(0), desk.place(0), desk.place(0)],
            [Place::New, Place::New, Place::None]
        );
        desk.leave(7, 0);
        assert_eq!(
            [desk.place(0), desk.place(0)],
            [Place::Free(7), Place::None]
        );
        assert_eq!(desk.place(1), Place::New, "another guest has its own");
    }

    #[test]
    fn an_early_end_turns_nobody_away_that_was_not_due() {
        let desk = Desk::new(
            &config(Profile::Constant(10.0), Arrivals::Uniform, 2, 1),
            Share { thread: 0, of: 1 },
        );
        assert!(desk.schedule.next_at().is_some());
        desk.schedule.cut(0);
        assert_eq!(
            (desk.schedule.next_at(), desk.close()),
            (None, (Vec::new(), Vec::new()))
        );
        assert_eq!(
            Desk::default().schedule.next_at(),
            None,
            "nobody comes to a closed load"
        );
    }

    proptest! {
        /// A server with any course of answers: whoever is drawn is served or turned away, in the order of the arrivals, and never are more
        /// present than places.
        #[test]
        fn nobody_is_lost(
            profile in profile(), most in 1u32..40, seed in any::<u64>(), poisson in any::<bool>(),
            answers in prop::collection::vec(0u64..200_000_000, 1..20), stop in 0u64..3_000_000_000,
        ) {
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Uniform };
            let config = config(profile, arrivals, most, seed);
            let desk = Desk::new(&config, Share { thread: 0, of: 1 });
            let schedule = Desk::new(&config, Share { thread: 0, of: 1 }).close().0;
            let drawn = schedule.iter().filter(|arrival| arrival.at < stop).count();
            desk.schedule.cut(stop);
            let (mut served, mut turned_away, mut rows, mut leaving) = (0, 0, 0, BinaryHeap::new());
            let mut before = 0;
            // The thread looks every millisecond, and stops looking a little early.
            for now in (0..stop.saturating_sub(3_000_000)).step_by(1_000_000) {
                while let Some(&Reverse((at, row, guest))) = leaving.peek() {
                    if at > now { break; }
                    leaving.pop();
                    desk.leave(row as usize, guest);
                }
                while let Some(arrival) = desk.schedule.due(now) {
                    prop_assert!(arrival.at >= before && arrival.at <= now);
                    before = arrival.at;
                    let row = match desk.place(arrival.guest) {
                        Place::Free(row) => row,
                        Place::New => { rows += 1; rows }
                        Place::None => { turned_away += 1; continue; }
                    };
                    desk.seat(row, arrival);
                    // One in eleven is still waiting for its turn when the trial ends.
                    if arrival.number % 11 != 0 {
                        prop_assert_eq!(desk.serve(row as usize), Some(arrival));
                        served += 1;
                        leaving.push(Reverse((now + answers[served % answers.len()], row, arrival.guest)));
                    }
                }
                prop_assert!(leaving.len() as u32 + desk.unserved() <= 2 * most);
            }
            let unserved = desk.unserved() as usize;
            let (late, waiting) = desk.close();
            prop_assert_eq!(waiting.len(), unserved);
            prop_assert_eq!(served + turned_away + late.len() + waiting.len(), drawn);
        }
    }
}
