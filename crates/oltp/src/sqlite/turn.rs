//! Turns to write: SQLite has one writer at a time, and lets the others poll. Here they stand in
//! line and wake each other.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    thread::{self, Thread},
    time::{Duration, Instant},
};

/// Who writes, and who waits for it.
#[derive(Debug, Default)]
pub(super) struct Turns(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last: u64,
    holder: Option<u64>,
    waiting: VecDeque<(u64, Thread)>,
}

/// The right to write, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn<'a>(&'a Turns);

impl Turns {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits in line for at most `patience`; nothing when that was not enough.
    pub(super) fn take(&self, patience: Duration) -> Option<Turn<'_>> {
        let ticket = {
            let mut state = self.state();
            state.last += 1;
            let ticket = state.last;
            if state.holder.is_none() {
                state.holder = Some(ticket);
                return Some(Turn(self));
            }
            state.waiting.push_back((ticket, thread::current()));
            ticket
        };
        let deadline = Instant::now() + patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            thread::park_timeout(left);
            let mut state = self.state();
            if state.holder == Some(ticket) {
                return Some(Turn(self));
            }
            if left.is_zero() {
                state.waiting.retain(|(waiting, _)| *waiting != ticket);
                return None;
            }
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.holder = state.waiting.pop_front().map(|(ticket, thread)| {
            thread.unpark();
            ticket
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn turns_come_in_the_order_of_asking() {
        let turns = Turns::default();
        let (told, heard) = mpsc::channel();
        thread::scope(|scope| {
            let first = turns.take(LONG).expect("nobody else");
            for number in 0..4 {
                let (turns, told) = (&turns, told.clone());
                scope.spawn(move || {
                    let turn = turns.take(LONG);
                    told.send((number, turn.is_some())).expect("heard");
                });
                // The next asks when this one stands in line.
                while turns.state().waiting.len() <= number {
                    thread::yield_now();
                }
            }
            drop(first);
            let order: Vec<_> = (0..4).map(|_| heard.recv().expect("told")).collect();
            assert_eq!(order, [(0, true), (1, true), (2, true), (3, true)]);
        });
        assert!(
            turns.take(Duration::ZERO).is_some(),
            "all have given it back"
        );
    }

    #[test]
    fn patience_ends() {
        let turns = Turns::default();
        let held = turns.take(LONG);
        thread::scope(|scope| {
            let refused = scope.spawn(|| turns.take(Duration::from_millis(1)).is_none());
            assert!(refused.join().expect("no panic"));
        });
        drop(held);
        assert!(
            turns.take(Duration::ZERO).is_some(),
            "who left the line gets no turn"
        );
    }
}
