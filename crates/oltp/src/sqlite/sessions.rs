//! The sessions that are open, so that the server can end them when it is told to.

use std::{
    collections::BTreeMap,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rusqlite::InterruptHandle;

use super::line::Line;

/// All open sessions.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    open: Mutex<State>,
    fewer: Condvar,
}

#[derive(Debug, Default)]
struct State {
    last: u64,
    lines: BTreeMap<u64, (Line, Option<Interrupt>)>,
    ending: bool,
}

/// Ends what a connection executes.
struct Interrupt(InterruptHandle);

impl std::fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Interrupt")
    }
}

/// One session, as long as it lives.
#[derive(Debug)]
pub(super) struct Registered<'a> {
    sessions: &'a Sessions,
    number: u64,
}

impl Sessions {
    fn state(&self) -> MutexGuard<'_, State> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of open sessions.
    pub(super) fn count(&self) -> usize {
        self.state().lines.len()
    }

    /// Takes a session in; nothing when the server ends.
    pub(super) fn register(&self, line: Line) -> Option<Registered<'_>> {
        let mut state = self.state();
        if state.ending {
            return None;
        }
        state.last += 1;
        let number = state.last;
        state.lines.insert(number, (line, None));
        Some(Registered {
            sessions: self,
            number,
        })
    }

    /// Ends all sessions: their lines at once, what they still execute after `patience`.
    pub(super) fn end(&self, patience: Duration) {
        let mut state = self.state();
        state.ending = true;
        state.lines.values().for_each(|(line, _)| line.shut_down());
        let deadline = Instant::now() + patience;
        while !state.lines.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                state
                    .lines
                    .values()
                    .filter_map(|(_, interrupt)| interrupt.as_ref())
                    .for_each(|interrupt| interrupt.0.interrupt());
                return;
            }
            state = self
                .fewer
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

impl Registered<'_> {
    /// Says what ends the statements of this session.
    pub(super) fn interrupted_by(&self, handle: InterruptHandle) {
        if let Some((_, interrupt)) = self.sessions.state().lines.get_mut(&self.number) {
            *interrupt = Some(Interrupt(handle));
        }
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        self.sessions.state().lines.remove(&self.number);
        self.sessions.fewer.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Read as _, os::unix::net::UnixStream};

    use super::*;

    #[test]
    fn the_end_reaches_every_session() {
        let sessions = Sessions::default();
        let (mut client, server) = UnixStream::pair().expect("a pair");
        let registered = sessions.register(Line::Unix(server)).expect("open");
        assert_eq!(sessions.count(), 1);
        sessions.end(Duration::ZERO);
        assert_eq!(client.read(&mut [0]).expect("read"), 0, "the line is shut");
        drop(registered);
        assert_eq!(sessions.count(), 0);
        let (_, late) = UnixStream::pair().expect("a pair");
        assert!(
            sessions.register(Line::Unix(late)).is_none(),
            "nobody comes in any more"
        );
    }
}
