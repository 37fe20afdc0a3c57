//! A trial in virtual time: users, arrivals and recorders against a system that is computed
//! instead of run.
//!
//! [`play`] lets users draw, pause and count exactly as a real trial does, but nobody waits: time
//! leaps from one event to the next. The driver of such a trial is never late and costs what it is
//! said to cost.

mod players;

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Duration,
};

use rookery_workload::RandomDelay;

use crate::{
    arrivals::{Course, Share, Stream},
    clock::{Nanos, Span, nanos},
    load::Load,
    operation::{OperationId, OperationTable},
    pacing::Pace,
    phases::Phases,
    record::Recorder,
    results::ThreadResults,
    threads::CpuUse,
    virtual_time::players::Players,
};

/// How many events pass between two looks at the stop flag.
const LOOK_EVERY: u64 = 4_096;

/// One request of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Names it until it departs.
    pub job: u32,
    /// Index of the guest.
    pub guest: usize,
    /// What is asked for.
    pub operation: OperationId,
}

/// What answers requests in virtual time. All times are nanoseconds since the common start, and
/// never go back.
pub trait System {
    /// A request comes in.
    fn arrive(&mut self, at: u64, request: Request);

    /// When the next answer is complete; `None` when nothing is under way.
    fn next(&self) -> Option<u64>;

    /// The job whose answer is complete at [`System::next`]; `None` when it only moved on within
    /// the system.
    fn depart(&mut self) -> Option<u32>;
}

/// What one user does: which requests make an act, and its random delays.
pub trait VirtualUser {
    /// The request of a new user of a closed load, before its first act.
    fn appear(&mut self) -> OperationId;

    /// An act begins: its first request.
    fn begin(&mut self) -> OperationId;

    /// A request of the act was answered after `service`: the next, or `None` when the act is
    /// complete.
    fn proceed(&mut self, ended: OperationId, service: Nanos) -> Option<OperationId>;

    /// The random delay before the first act, up to `longest`.
    fn initial_delay(&mut self, longest: Duration) -> Nanos;

    /// A think time with this mean.
    fn think_time(&mut self, delay: RandomDelay) -> Nanos;
}

/// The users of all guests, and what their workload counts beside times.
pub trait VirtualUsers {
    /// One of them.
    type User: VirtualUser;

    /// User or visitor `number` of a guest.
    fn user(&self, guest: usize, number: u32) -> Self::User;

    /// An act of a user was completed at `at`.
    fn completed(&mut self, guest: usize, user: &Self::User, window: Span, at: Nanos);

    /// A request was sent and not answered, within its time limit or at all.
    fn unanswered(&mut self, guest: usize, operation: OperationId);
}

/// The load of a trial in virtual time.
#[derive(Clone, Debug)]
pub struct VirtualLoad<'a> {
    /// Loop type.
    pub load: &'a Load,
    /// Phases.
    pub phases: &'a Phases,
    /// Pacing of users, and of visitors that stay for several acts.
    pub pace: Pace,
    /// Limit on one request.
    pub timeout: Duration,
    /// Users of each guest; the numbers do not count in an open load, but the guests do.
    pub users: Vec<u32>,
    /// The operations of the workload.
    pub operations: OperationTable,
    /// Seed of the arrivals.
    pub seed: u64,
}

/// A trial that was played.
#[derive(Debug)]
pub struct Played {
    /// What a driver thread would have recorded.
    pub results: ThreadResults,
    /// What was measured.
    pub window: Span,
    /// The reason if the load was ended early.
    pub aborted: Option<String>,
}

/// Plays one trial against `system`, by a driver of `cpus` CPUs which each request costs
/// `cpu_per_request`. Setting `stop` ends the load at once.
///
/// Same load, same users and same system, same results. A request that is not answered within the
/// time limit fails, and its user goes on; the system works on all the same, as a server would.
pub fn play<U: VirtualUsers>(
    load: &VirtualLoad<'_>,
    users: &mut U,
    system: &mut dyn System,
    cpus: u32,
    cpu_per_request: Duration,
    stop: &AtomicBool,
) -> Played {
    let mut window = load.phases.window();
    let mut players = Players::new(load, users, system);
    let end = nanos(load.phases.load_end()) + nanos(load.phases.drain);
    let (mut events, mut aborted) = (0_u64, None);
    while let Some(at) = players.next_at().filter(|at| *at < end) {
        events += 1;
        if events.is_multiple_of(LOOK_EVERY) && stop.load(Relaxed) {
            aborted = Some("stopped on request".to_owned());
            window.end = window.end.min(at.max(window.start));
            players.cut(at);
            break;
        }
        players.step(at);
    }
    let now = if aborted.is_some() {
        players.now()
    } else {
        players.now().max(nanos(load.phases.load_end()))
    };
    let connections = players.connections();
    let (recorders, lag) = players.close(now);
    let requests_in_window = recorders.iter().map(Recorder::requests_in_window).sum();
    let results = ThreadResults {
        recorders,
        lag,
        cpu: CpuUse {
            ran: nanos(cpu_per_request).saturating_mul(requests_in_window),
            waited: 0,
            wall: window.length() * u64::from(cpus),
        },
        requests_in_window,
        connections,
        idle_retries: 0,
        connecting: None,
        unconnected: 0,
    };
    Played {
        results,
        window,
        aborted,
    }
}

/// The arrivals at every guest; none of a closed load.
fn streams(load: &VirtualLoad<'_>) -> Vec<Stream> {
    let Load::Open(open) = load.load else {
        return Vec::new();
    };
    let course = std::rc::Rc::new(Course::new(&open.profile, load.phases));
    let (guests, alone) = (load.users.len(), Share { thread: 0, of: 1 });
    (0..guests)
        .map(|guest| {
            let course = std::rc::Rc::clone(&course);
            Stream::new(open, course, guest, guests, alone, load.seed)
        })
        .collect()
}
