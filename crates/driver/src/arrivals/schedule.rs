//! The arrivals of one thread at all guests, in their order, and the wait for the next.

use std::{
    cell::{Cell, RefCell},
    cmp::Reverse,
    collections::BinaryHeap,
    future::poll_fn,
    rc::Rc,
    task::{Poll, Waker},
};

use super::{Arrival, Course, Share, Stream};
use crate::{
    alarm::Alarms,
    clock::{Clock, Nanos, nanos},
    load::{OpenLoad, Precision},
    phases::Phases,
};

/// Who arrives when, as far as one thread is concerned. Nobody ever does by default.
#[derive(Debug, Default)]
pub struct Schedule {
    streams: RefCell<Vec<Stream>>,
    /// The next arrival of every stream, the earliest on top.
    next: RefCell<BinaryHeap<Reverse<Arrival>>>,
    /// Nobody is received at or after.
    ends: Cell<Nanos>,
    /// How much earlier than an arrival the thread is awake; `None` = arrivals are received in
    /// batches.
    early: Option<Early>,
    waker: RefCell<Option<Waker>>,
}

/// How long the kernel takes to wake a thread that sleeps, learned from awakening to awakening.
///
/// A thread that asks to be woken so much earlier is there in time, and waits the rest awake. That
/// rest is the price of punctuality, and learning keeps it small.
#[derive(Debug, Default)]
struct Early(Cell<Nanos>);

impl Early {
    /// The most that is waited awake.
    const MOST: Nanos = 50_000;
    /// One step of learning.
    const STEP: Nanos = 500;

    /// The thread was awake so much later than it had asked to be. Rising thrice as fast as falling
    /// ends where three of four awakenings are in time.
    fn learn(&self, late: Nanos) {
        let present = self.0.get();
        self.0.set(if late > present {
            (present + 3 * Self::STEP).min(Self::MOST)
        } else {
            present.saturating_sub(Self::STEP)
        });
    }
}

impl Schedule {
    /// The arrivals of one thread at so many guests.
    #[must_use]
    pub fn new(load: &OpenLoad, phases: &Phases, guests: usize, share: Share, seed: u64) -> Self {
        let course = Rc::new(Course::new(&load.profile, phases));
        let mut streams: Vec<Stream> = (0..guests)
            .map(|guest| Stream::new(load, Rc::clone(&course), guest, guests, share, seed))
            .collect();
        Self {
            next: RefCell::new(
                streams
                    .iter_mut()
                    .filter_map(Iterator::next)
                    .map(Reverse)
                    .collect(),
            ),
            streams: RefCell::new(streams),
            ends: Cell::new(nanos(phases.load_end())),
            early: (load.precision == Precision::Exact).then(Early::default),
            waker: RefCell::default(),
        }
    }

    /// When the next arrival is due; `None` when no more will come.
    #[must_use]
    pub fn next_at(&self) -> Option<Nanos> {
        let next = self.next.borrow().peek().map(|Reverse(arrival)| arrival.at);
        next.filter(|&at| at < self.ends.get())
    }

    /// The next arrival that is due at `now`.
    pub fn due(&self, now: Nanos) -> Option<Arrival> {
        self.next_at().filter(|&at| at <= now)?;
        let mut next = self.next.borrow_mut();
        let Reverse(arrival) = next.pop()?;
        next.extend(self.streams.borrow_mut()[arrival.guest].next().map(Reverse));
        Some(arrival)
    }

    /// When the last arrival is received at the latest.
    #[must_use]
    pub fn ends(&self) -> Nanos {
        self.ends.get()
    }

    /// The load ends early.
    pub fn cut(&self, at: Nanos) {
        self.ends.set(self.ends.get().min(at));
    }

    /// Somebody is due.
    pub fn ring(&self) {
        if let Some(waker) = self.waker.borrow().as_ref() {
            waker.wake_by_ref();
        }
    }

    /// All that will never be received now.
    pub fn rest(&self) -> Vec<Arrival> {
        let mut late = Vec::new();
        while let Some(arrival) = self.due(Nanos::MAX) {
            late.push(arrival);
        }
        late
    }

    /// Wait until the next arrival is due, rung by `row` of the alarms; `false` when no more will
    /// come.
    pub async fn wait(&self, clock: Clock, alarms: &Alarms, row: u32) -> bool {
        let Some(at) = self.next_at() else {
            return false;
        };
        match &self.early {
            Some(early) => self.wait_exactly(clock, alarms, row, at, early).await,
            None => {
                alarms.set(at, row);
                self.sleep(clock, at).await;
            }
        }
        true
    }

    /// Sleep until a little before `at`, and wait for the rest awake; meanwhile answers are read.
    async fn wait_exactly(
        &self,
        clock: Clock,
        alarms: &Alarms,
        row: u32,
        at: Nanos,
        early: &Early,
    ) {
        let asked = at.saturating_sub(early.0.get());
        if !clock.reached(asked) {
            alarms.set_exact(asked, row);
            self.sleep(clock, asked).await;
            early.learn(clock.now().saturating_sub(asked));
        }
        while !clock.reached(at) {
            tokio::task::yield_now().await;
        }
    }

    /// Sleep until the schedule is rung.
    async fn sleep(&self, clock: Clock, at: Nanos) {
        poll_fn(|context| {
            if clock.reached(at) {
                return Poll::Ready(());
            }
            let mut waker = self.waker.borrow_mut();
            if !waker
                .as_ref()
                .is_some_and(|waker| waker.will_wake(context.waker()))
            {
                *waker = Some(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_desk_learns_to_be_early_in_three_of_four_cases() {
        let early = Early::default();
        // Awakenings late by 0 to 39 us, in an order of no account.
        for n in 0..10_000u64 {
            early.learn(1_000 * (n * 17 % 40));
        }
        assert!((25_000..35_000).contains(&early.0.get()), "{early:?}");
        (0..1_000).for_each(|_| early.learn(5_000_000));
        assert_eq!(
            early.0.get(),
            Early::MOST,
            "a busy machine does not make it spin for long"
        );
        (0..1_000).for_each(|_| early.learn(0));
        assert_eq!(early.0.get(), 0);
    }
}
