//! Where the arrivals of an open load wait for somebody to serve them.
//!
//! The threads of a driver keep a register with a row for each of their users or connections. An
//! arrival is assigned to an idle row of its guest; without one the caller makes a new row or lets
//! the arrival wait, and as many as allowed being present, it is turned away.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
};

use rookery_cast::count_u32;

use super::{Arrival, Schedule, Share};
use crate::{load::OpenLoad, phases::Phases};

/// The arrivals at one guest.
#[derive(Clone, Debug, Default)]
struct GuestQueue {
    /// Idle rows; the one that became idle last is taken first, so that few connections are in use.
    idle: Vec<u32>,
    waiting: VecDeque<Arrival>,
    /// Arrivals that wait or are served.
    present: u32,
    /// So many may be present.
    most: u32,
}

/// What becomes of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// This row was idle and serves it now: wake it.
    Assigned(usize),
    /// It may be present, but no row is idle: assign it to a new one, or let it wait.
    NoIdleRow,
    /// As many as allowed are present.
    TurnedAway,
}

/// The arrivals of one thread at all guests. Nothing ever arrives by default, as in a closed load.
#[derive(Debug, Default)]
pub struct ArrivalQueue {
    schedule: Schedule,
    /// By guest.
    guests: RefCell<Vec<GuestQueue>>,
    /// By row: an arrival that the row will serve and has not begun yet.
    assigned: RefCell<Vec<Option<Arrival>>>,
    /// How many are assigned or wait.
    unserved: Cell<u32>,
}

impl ArrivalQueue {
    /// The row of the queue itself among the alarms of its thread; no user has it.
    pub const ROW: u32 = u32::MAX;

    /// The queue of one thread. The threads share out evenly who may be present.
    #[must_use]
    pub fn new(load: &OpenLoad, phases: &Phases, guests: usize, share: Share, seed: u64) -> Self {
        let (thread, threads) = (count_u32(share.thread), count_u32(share.of));
        let queue = GuestQueue {
            most: load.max_in_flight / threads + u32::from(thread < load.max_in_flight % threads),
            ..GuestQueue::default()
        };
        Self {
            schedule: Schedule::new(load, phases, guests, share, seed),
            guests: RefCell::new(vec![queue; guests]),
            assigned: RefCell::default(),
            unserved: Cell::new(0),
        }
    }

    /// When arrivals are due.
    #[must_use]
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Takes an arrival in, or turns it away.
    pub fn admit(&self, arrival: Arrival) -> Admission {
        let idle = {
            let queue = &mut self.guests.borrow_mut()[arrival.guest];
            if queue.present >= queue.most {
                return Admission::TurnedAway;
            }
            queue.present += 1;
            queue.idle.pop()
        };
        let Some(row) = idle else {
            return Admission::NoIdleRow;
        };
        self.assign(row as usize, arrival);
        Admission::Assigned(row as usize)
    }

    /// Lets a row serve an admitted arrival.
    pub fn assign(&self, row: usize, arrival: Arrival) {
        let mut assigned = self.assigned.borrow_mut();
        if assigned.len() <= row {
            assigned.resize(row + 1, None);
        }
        assigned[row] = Some(arrival);
        self.unserved.set(self.unserved.get() + 1);
    }

    /// Lets an admitted arrival wait until a row is idle.
    pub fn wait(&self, arrival: Arrival) {
        self.guests.borrow_mut()[arrival.guest]
            .waiting
            .push_back(arrival);
        self.unserved.set(self.unserved.get() + 1);
    }

    /// The arrival that was assigned to a row begins to be served.
    pub fn take_assigned(&self, row: usize) -> Option<Arrival> {
        let arrival = self.assigned.borrow_mut().get_mut(row)?.take()?;
        self.unserved.set(self.unserved.get() - 1);
        Some(arrival)
    }

    /// A row has nothing to do: the arrival that has waited longest begins to be served, else the
    /// row is idle.
    pub fn take_waiting(&self, row: usize, guest: usize) -> Option<Arrival> {
        let queue = &mut self.guests.borrow_mut()[guest];
        let first = queue.waiting.pop_front();
        match first {
            Some(_) => self.unserved.set(self.unserved.get() - 1),
            None => queue.idle.push(count_u32(row)),
        }
        first
    }

    /// An arrival that was served leaves.
    pub fn leave(&self, guest: usize) {
        self.guests.borrow_mut()[guest].present -= 1;
    }

    /// Arrivals that were admitted and are not served yet.
    #[must_use]
    pub fn unserved(&self) -> u32 {
        self.unserved.get()
    }

    /// The trial is over: all arrivals that were due and never served. Those of the first list were
    /// never taken from the schedule, those of the second were admitted.
    pub fn close(&self) -> (Vec<Arrival>, Vec<Arrival>) {
        let guests = self.guests.take();
        let waiting = guests.into_iter().flat_map(|queue| queue.waiting);
        let assigned = self.assigned.take().into_iter().flatten();
        (self.schedule.rest(), waiting.chain(assigned).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::{cmp::Reverse, collections::BinaryHeap};

    use proptest::prelude::*;

    use super::{
        super::course::tests::{phases, profile},
        *,
    };
    use crate::load::{Arrivals, Precision, Profile, Visit};

    fn queue(
        profile: Profile,
        arrivals: Arrivals,
        max_in_flight: u32,
        seed: u64,
        share: Share,
    ) -> ArrivalQueue {
        let load = OpenLoad {
            arrivals,
            profile,
            weights: Vec::new(),
            max_in_flight,
            precision: Precision::Exact,
            visit: Visit::Single,
        };
        ArrivalQueue::new(&load, &phases(0.3, 0.0, 2.0, 0.4), 2, share, seed)
    }

    const ALONE: Share = Share { thread: 0, of: 1 };

    fn small(max_in_flight: u32) -> ArrivalQueue {
        let profile = Profile::level(10.0);
        queue(profile, Arrivals::Uniform, max_in_flight, 1, ALONE)
    }

    fn next(queue: &ArrivalQueue, guest: usize) -> Arrival {
        loop {
            let arrival = queue.schedule.due(u64::MAX).expect("more come");
            if arrival.guest == guest {
                return arrival;
            }
        }
    }

    #[test]
    fn threads_share_out_who_may_be_present() {
        let most: Vec<u32> = (0..3)
            .map(|thread| {
                let share = Share { thread, of: 3 };
                let queue = queue(Profile::level(10.0), Arrivals::Uniform, 8, 1, share);
                queue.guests.borrow()[1].most
            })
            .collect();
        assert_eq!(most, [3, 3, 2]);
    }

    #[test]
    fn an_idle_row_is_taken_before_a_new_one_is_made() {
        use Admission::{Assigned, NoIdleRow, TurnedAway};
        let queue = small(2);
        let all: Vec<Arrival> = (0..5).map(|_| next(&queue, 0)).collect();
        assert_eq!(
            [0, 1, 2].map(|n| queue.admit(all[n])),
            [NoIdleRow, NoIdleRow, TurnedAway]
        );
        queue.leave(0);
        assert_eq!(queue.take_waiting(7, 0), None, "row 7 is idle");
        assert_eq!(
            [3, 4].map(|n| queue.admit(all[n])),
            [Assigned(7), TurnedAway]
        );
        assert_eq!(queue.take_assigned(7), Some(all[3]));
        assert_eq!(
            queue.admit(next(&queue, 1)),
            NoIdleRow,
            "another guest has its own queue"
        );
    }

    #[test]
    fn arrivals_that_wait_are_served_in_their_order() {
        let queue = small(4);
        let all: Vec<Arrival> = (0..2).map(|_| next(&queue, 0)).collect();
        for arrival in &all {
            assert_eq!(queue.admit(*arrival), Admission::NoIdleRow);
            queue.wait(*arrival);
        }
        assert_eq!(queue.unserved(), 2);
        assert_eq!(queue.take_waiting(3, 0), Some(all[0]));
        let (late, waiting) = queue.close();
        assert!(!late.is_empty());
        assert_eq!(waiting, [all[1]]);
    }

    #[test]
    fn an_early_end_turns_nothing_away_that_was_not_due() {
        let queue = small(2);
        assert!(queue.schedule.next_at().is_some());
        queue.schedule.cut(0);
        assert_eq!(
            (queue.schedule.next_at(), queue.close()),
            (None, (Vec::new(), Vec::new()))
        );
        assert_eq!(
            ArrivalQueue::default().schedule.next_at(),
            None,
            "nothing arrives in a closed load"
        );
    }

    proptest! {
        /// A server with any course of answers: all that was drawn is served or turned away, in the
        /// order of the arrivals, and never are more present than allowed.
        #[test]
        fn no_arrival_is_lost(
            profile in profile(), most in 1u32..40, seed in any::<u64>(), poisson in any::<bool>(),
            answers in prop::collection::vec(0u64..200_000_000, 1..20), stop in 0u64..3_000_000_000,
        ) {
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Uniform };
            let queue = || queue(profile.clone(), arrivals, most, seed, ALONE);
            let schedule = queue().close().0;
            let queue = queue();
            let drawn = schedule.iter().filter(|arrival| arrival.at < stop).count();
            queue.schedule.cut(stop);
            let (mut served, mut turned_away, mut rows, mut leaving) = (0, 0, 0, BinaryHeap::new());
            let mut before = 0;
            // The thread looks every millisecond, and stops looking a little early.
            for now in (0..stop.saturating_sub(3_000_000)).step_by(1_000_000) {
                while let Some(&Reverse((at, row, guest))) = leaving.peek() {
                    if at > now { break; }
                    leaving.pop();
                    queue.leave(guest);
                    prop_assert_eq!(queue.take_waiting(row, guest), None);
                }
                while let Some(arrival) = queue.schedule.due(now) {
                    prop_assert!(arrival.at >= before && arrival.at <= now);
                    before = arrival.at;
                    let row = match queue.admit(arrival) {
                        Admission::Assigned(row) => row,
                        Admission::NoIdleRow => { rows += 1; queue.assign(rows, arrival); rows }
                        Admission::TurnedAway => { turned_away += 1; continue; }
                    };
                    // One in eleven is still waiting for its turn when the trial ends.
                    if arrival.number % 11 != 0 {
                        prop_assert_eq!(queue.take_assigned(row), Some(arrival));
                        served += 1;
                        leaving.push(Reverse((now + answers[served % answers.len()], row, arrival.guest)));
                    }
                }
                prop_assert!(leaving.len() as u32 + queue.unserved() <= 2 * most);
            }
            let unserved = queue.unserved() as usize;
            let (late, waiting) = queue.close();
            prop_assert_eq!(waiting.len(), unserved);
            prop_assert_eq!(served + turned_away + late.len() + waiting.len(), drawn);
        }
    }
}
