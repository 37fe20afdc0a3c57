//! The common start of the loads of several groups.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Gives all parties the same start, once each is ready or has gone.
#[derive(Debug)]
pub(crate) struct CommonStart {
    /// From the last party's arrival to the start.
    delay: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// Parties that are neither ready nor gone.
    missing: usize,
    start: Option<Instant>,
}

/// One of those who start together; when it is dropped, the others no longer wait for it.
#[derive(Debug)]
pub(crate) struct Party<'a> {
    common: &'a CommonStart,
    ready: Mutex<bool>,
}

impl CommonStart {
    /// For so many parties. The start lies `delay` after the last one is ready.
    pub(crate) fn new(parties: usize, delay: Duration) -> Self {
        Self {
            delay,
            state: Mutex::new(State {
                missing: parties,
                start: None,
            }),
            changed: Condvar::new(),
        }
    }

    /// One of them; there must be as many as were announced.
    pub(crate) fn party(&self) -> Party<'_> {
        Party {
            common: self,
            ready: Mutex::new(false),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One party fewer is missing; the last one sets the start.
    fn arrive(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        state.missing = state.missing.saturating_sub(1);
        if state.missing == 0 && state.start.is_none() {
            state.start = Some(Instant::now() + self.delay);
            self.changed.notify_all();
        }
        state
    }
}

impl Party<'_> {
    /// Wait until all are ready; the common start, which lies a little ahead.
    pub(crate) fn wait(&self) -> Instant {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = if *ready {
            self.common.state()
        } else {
            *ready = true;
            self.common.arrive()
        };
        loop {
            if let Some(start) = state.start {
                return start;
            }
            state = self
                .common
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Party<'_> {
    fn drop(&mut self) {
        let ready = self.ready.get_mut().unwrap_or_else(PoisonError::into_inner);
        if !*ready {
            drop(self.common.arrive());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn all_start_together_and_no_one_waits_for_those_who_left() {
        let common = CommonStart::new(3, Duration::from_millis(200));
        let starts: Vec<Instant> = thread::scope(|scope| {
            let waiting: Vec<_> = (0..2)
                .map(|_| scope.spawn(|| common.party().wait()))
                .collect();
            drop(common.party());
            waiting
                .into_iter()
                .map(|party| party.join().expect("no panic"))
                .collect()
        });
        assert_eq!(starts[0], starts[1]);
    }

    #[test]
    fn who_asks_twice_has_the_same_start() {
        let common = CommonStart::new(1, Duration::from_millis(200));
        let party = common.party();
        assert_eq!(party.wait(), party.wait());
    }
}
