//! The common start of those who put loads on together: of groups, or of hosts.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// From the decision to start until the first user, where orders travel to other machines and
/// networks are made there.
pub(crate) const FAR_START_DELAY: Duration = Duration::from_secs(2);

/// Gives all parties the same start, once each is ready or has gone.
pub(crate) struct CommonStart<'a> {
    /// Says when to start, once none is missing.
    decide: &'a (dyn Fn() -> Instant + Sync),
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
pub struct Party<'a> {
    common: &'a CommonStart<'a>,
    ready: Mutex<bool>,
}

impl<'a> CommonStart<'a> {
    /// For so many parties. The start is decided when none is missing, by one that waits for it.
    pub(crate) fn new(parties: usize, decide: &'a (dyn Fn() -> Instant + Sync)) -> Self {
        Self {
            decide,
            state: Mutex::new(State {
                missing: parties,
                start: None,
            }),
            changed: Condvar::new(),
        }
    }

    /// One of them; there must be as many as were announced.
    pub(crate) fn party(&'a self) -> Party<'a> {
        Party {
            common: self,
            ready: Mutex::new(false),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One party fewer is missing.
    fn arrive(&self) {
        let mut state = self.state();
        state.missing = state.missing.saturating_sub(1);
        self.changed.notify_all();
    }

    /// The start, as far as none is missing.
    fn decided(&self, state: &mut State) -> Option<Instant> {
        if state.missing == 0 && state.start.is_none() {
            state.start = Some((self.decide)());
            self.changed.notify_all();
        }
        state.start
    }
}

impl Party<'_> {
    /// It is ready.
    pub fn arrive(&self) {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut *ready, true) {
            self.common.arrive();
        }
    }

    /// The common start, which lies a little ahead, once all are ready.
    #[must_use]
    pub fn start(&self) -> Option<Instant> {
        self.common.decided(&mut self.common.state())
    }

    /// Be ready, and wait until all are.
    pub(crate) fn wait(&self) -> Instant {
        self.arrive();
        let mut state = self.common.state();
        loop {
            if let Some(start) = self.common.decided(&mut state) {
                return start;
            }
            let changed = &self.common.changed;
            state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Party<'_> {
    fn drop(&mut self) {
        self.arrive();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const DELAY: Duration = Duration::from_millis(200);

    fn soon() -> Instant {
        Instant::now() + DELAY
    }

    #[test]
    fn all_start_together_and_no_one_waits_for_those_who_left() {
        let common = CommonStart::new(3, &soon);
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
        let common = CommonStart::new(1, &soon);
        let party = common.party();
        assert_eq!(party.wait(), party.wait());
    }

    #[test]
    fn nothing_is_decided_while_one_is_missing_or_for_no_one() {
        let common = CommonStart::new(2, &soon);
        let (one, other) = (common.party(), common.party());
        one.arrive();
        assert_eq!(one.start(), None);
        drop(other);
        assert!(one.start().is_some());
        let asked = Mutex::new(0);
        let decide = || {
            *asked.lock().expect("no panic") += 1;
            soon()
        };
        drop(CommonStart::new(1, &decide).party());
        assert_eq!(*asked.lock().expect("no panic"), 0);
    }
}
