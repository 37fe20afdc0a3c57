//! One thread's users, looked after from the common start to the end of the load.

use super::{
    control::{SWEEP, ThreadStatus, TrialControl},
    cpu::CpuUse,
};
use crate::{
    clock::{Clock, Nanos, nanos},
    phases::Phases,
};

/// After a stop request, operations under way get at most so long to finish.
const STOP_DRAIN: Nanos = 1_000_000_000;

/// How many users of one thread do what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserCounts {
    /// Users that have begun.
    pub started: u32,
    /// Users in the midst of something that is to be awaited.
    pub busy: u32,
    /// Users whose last request failed.
    pub failing: u32,
    /// Users that never connected.
    pub unconnected: u32,
}

/// The users of one thread, as [`supervise`] sees them.
pub trait ThreadUsers {
    /// The load ends early: nothing after `at` is inside the window.
    fn cut(&self, at: Nanos);
    /// Whether users may begin anything new.
    fn set_stopping(&self, stopping: bool);
    /// Looks after all users, and counts them.
    fn sweep(&self, now: Nanos) -> UserCounts;
    /// Shows how things are at `now`.
    fn publish(&self, status: &ThreadStatus, counts: UserCounts, now: Nanos);
    /// Whether arrivals are still expected.
    fn expects(&self) -> bool;
    /// The next sweep is at `at`: until then nothing is asked of the users. For those that make no
    /// use of it, nothing.
    fn leave_until(&self, _at: Nanos) {}
}

/// The end of a thread's load.
#[derive(Clone, Copy, Debug)]
pub struct LoadEnd {
    /// When it was.
    pub now: Nanos,
    /// CPU use inside the window.
    pub cpu: CpuUse,
    /// What the users did then.
    pub counts: UserCounts,
}

/// Looks after a thread's users until the end: sweeps, samples of the own CPU use, the status.
pub async fn supervise(
    users: &impl ThreadUsers,
    phases: &Phases,
    clock: Clock,
    control: &TrialControl,
    status: &ThreadStatus,
) -> LoadEnd {
    let (mut load_end, mut drain) = (nanos(phases.load_end()), nanos(phases.drain));
    let mut window = phases.window();
    let (mut at_start, mut at_end) = (None, None);
    let mut next = 0;
    loop {
        tokio::time::sleep_until(clock.instant(next).into()).await;
        let now = clock.now();
        if let Some(cut) = control.ended() {
            users.cut(cut);
            window = control.measured(window);
            (load_end, drain) = (load_end.min(cut), drain.min(STOP_DRAIN));
            users.set_stopping(now >= cut);
        }
        if now >= window.start {
            at_start.get_or_insert_with(|| CpuUse::now(clock));
        }
        if now >= window.end {
            at_end.get_or_insert_with(|| CpuUse::now(clock));
        }
        let counts = users.sweep(now);
        users.publish(status, counts, now);
        let quiet = counts.busy == 0 && !users.expects();
        if now >= load_end && (quiet || now >= load_end + drain) {
            let (from, to): (CpuUse, CpuUse) =
                (at_start.unwrap_or_default(), at_end.unwrap_or_default());
            let cpu = to.since(from);
            return LoadEnd { now, cpu, counts };
        }
        let moments =
            [window.start, window.end, load_end].map(|at| if at > now { at } else { Nanos::MAX });
        next = moments.into_iter().fold(now + nanos(SWEEP), Nanos::min);
        users.leave_until(next);
    }
}
