//! Who uses the database file: any number of sessions, or one load that replaces it.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The way to the database file.
#[derive(Debug, Default)]
pub(super) struct Gate(Mutex<State>);

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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a session in, unless the file is being replaced.
    pub(super) fn enter(&self) -> Option<Pass<'_>> {
        let mut state = self.state();
        if state.loading {
            return None;
        }
        state.sessions += 1;
        Some(Pass { gate: self, loads: false })
    }

    /// Lets a load in, if nobody uses the file.
    pub(super) fn load(&self) -> Option<Pass<'_>> {
        let mut state = self.state();
        if state.loading || state.sessions > 0 {
            return None;
        }
        state.loading = true;
        Some(Pass { gate: self, loads: true })
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let mut state = self.gate.state();
        if self.loads {
            state.loading = false;
        } else {
            state.sessions -= 1;
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
        assert!(gate.load().is_none(), "sessions use the file");
        drop(sessions);
        let load = gate.load();
        assert!(load.is_some() && gate.load().is_none() && gate.enter().is_none());
        drop(load);
        assert!(gate.enter().is_some());
    }
}
