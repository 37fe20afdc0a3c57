//! Who uses the database file: any number of sessions, or one load that replaces it.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// The way to the database file.
#[derive(Debug, Default)]
pub(super) struct Gate {
    state: Mutex<State>,
    left: Condvar,
}

#[derive(Debug, Default)]
struct State {
    sessions: usize,
    loading: bool,
}

/// A session that uses the file, or the load that replaces it.
#[derive(Debug)]
pub(super) struct Pass<'a> {
    gate: &'a Gate,
    loads: bool,
}

impl Gate {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a session in, unless the file is being replaced.
    pub(super) fn enter(&self) -> Option<Pass<'_>> {
        let mut state = self.state();
        if state.loading {
            return None;
        }
        state.sessions += 1;
        Some(Pass {
            gate: self,
            loads: false,
        })
    }

    /// Lets a load in, if nobody uses the file. Sessions have `patience` to end: one whose client
    /// has gone is noticed a moment later.
    pub(super) fn load(&self, patience: Duration) -> Option<Pass<'_>> {
        let busy = |state: &mut State| !state.loading && state.sessions > 0;
        let waited = self.left.wait_timeout_while(self.state(), patience, busy);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.loading || state.sessions > 0 {
            return None;
        }
        state.loading = true;
        Some(Pass {
            gate: self,
            loads: true,
        })
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let mut state = self.gate.state();
        if self.loads {
            state.loading = false;
        } else {
            state.sessions -= 1;
            self.gate.left.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_alone() {
        let gate = Gate::default();
        let sessions = (gate.enter(), gate.enter());
        assert!(sessions.0.is_some() && sessions.1.is_some());
        let at_once = || gate.load(Duration::ZERO);
        assert!(at_once().is_none(), "sessions use the file");
        drop(sessions);
        let load = at_once();
        assert!(load.is_some() && at_once().is_none() && gate.enter().is_none());
        drop(load);
        assert!(gate.enter().is_some());
    }

    #[test]
    fn a_load_waits_for_sessions_that_are_ending() {
        let gate = Gate::default();
        let session = gate.enter();
        std::thread::scope(|scope| {
            let load = scope.spawn(|| gate.load(Duration::from_secs(60)).is_some());
            drop(session);
            assert!(load.join().expect("no panic"));
        });
    }
}
