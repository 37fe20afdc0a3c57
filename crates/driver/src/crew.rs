//! What drivers of every protocol share: threads in the lab's network that begin together or not at all, what they show and are told while
//! they run, and the watch over them.
//!
//! [`together`] starts the threads, [`attend`] carries one of them through the phases of a trial, [`Watch`] looks at all from outside.

use std::{
    fs::File,
    io,
    os::fd::AsFd,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
        mpsc,
    },
    thread,
    time::Duration,
};

use rustix::{
    thread::{CpuSet, LinkNameSpaceType, move_into_link_name_space, sched_setaffinity},
    time::{ClockId, clock_gettime},
};

pub use crate::{
    alarm::{AlarmClock, Alarms},
    arrival::{Arrival, Schedule, Share},
    check::{descriptors, open_load},
    clock::{Clock, Nanos, Span, nanos, seconds},
    fault::Fault,
    record::{ArrivalRecord, Operation, Outcome, Pause, Recorder, Timing},
    run::{Outline, OutlinedGuest},
    thread::Harvest,
};
use crate::{
    config::Phases,
    error::DriverError,
    record::OrderTally,
    run::{Phase, Progress},
};

/// How often a thread looks after its users: for overdue requests, for what it is told, and to show itself.
pub const SWEEP: Duration = Duration::from_millis(50);
/// How often the trial is looked at from outside.
const LOOK: Duration = Duration::from_millis(50);
/// After a stop request, operations under way get at most so long to finish.
const STOP_DRAIN: Nanos = 1_000_000_000;
const SECOND: Nanos = 1_000_000_000;

/// Where the threads of a driver run.
#[derive(Clone, Copy, Debug)]
pub struct Posts<'a> {
    /// One thread for each, pinned to this CPU, or nowhere.
    pub cpus: &'a [Option<u32>],
    /// Network namespace that the threads enter.
    pub network: Option<&'a Path>,
}

impl Posts<'_> {
    /// The calling thread takes its post.
    fn take(&self, index: usize) -> Result<(), DriverError> {
        if let Some(cpu) = self.cpus[index] {
            pin(cpu).map_err(|source| DriverError::Pin { cpu, source })?;
        }
        if let Some(path) = self.network {
            let path = path.to_owned();
            enter(&path).map_err(|source| DriverError::Network { path, source })?;
        }
        Ok(())
    }
}

fn pin(cpu: u32) -> io::Result<()> {
    let mut set = CpuSet::new();
    if cpu as usize >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    set.set(cpu as usize);
    Ok(sched_setaffinity(None, &set)?)
}

fn enter(path: &Path) -> io::Result<()> {
    let namespace = File::open(path)?;
    Ok(move_into_link_name_space(
        namespace.as_fd(),
        Some(LinkNameSpaceType::Network),
    )?)
}

/// What the threads of a driver do.
pub trait Work: Sync {
    /// What a thread keeps from its preparation.
    type Ready;
    /// What it tells of the preparation.
    type Report: Send;
    /// What it brings home.
    type Harvest: Send;
    /// Why nothing was done.
    type Error: From<DriverError> + Send;

    /// Prepares thread `index`, at its post.
    ///
    /// # Errors
    /// When no thread shall begin.
    fn prepare(&self, index: usize) -> Result<(Self::Ready, Self::Report), Self::Error>;

    /// Works to the end. The clock tells the common start.
    fn work(&self, index: usize, ready: Self::Ready, clock: Clock) -> Self::Harvest;
}

/// Runs threads that begin together, or none does. When all are prepared `start` gives the common start; `watch` then runs on the calling
/// thread, and is told by its function when all threads are done.
///
/// # Errors
/// The first error of a preparation or of `start`; [`DriverError::Panicked`].
pub fn together<W: Work, S>(
    posts: Posts<'_>,
    work: &W,
    start: impl FnOnce(Vec<W::Report>) -> Result<Clock, W::Error>,
    watch: impl FnOnce(Clock, &dyn Fn() -> bool) -> S,
) -> Result<(Vec<W::Harvest>, S), W::Error> {
    thread::scope(|scope| {
        let (ready, prepared) = mpsc::channel();
        let mut threads = Vec::new();
        for (index, cpu) in posts.cpus.iter().enumerate() {
            let (go, word) = mpsc::channel::<Clock>();
            let ready = ready.clone();
            let body = move || {
                let prepared = posts
                    .take(index)
                    .map_err(W::Error::from)
                    .and_then(|()| work.prepare(index));
                let (prepared, report) = match prepared {
                    Ok((prepared, report)) => (Some(prepared), Ok(report)),
                    Err(error) => (None, Err(error)),
                };
                // When nobody listens any more, the word does not come either.
                let _ = ready.send(report);
                let clock = word.recv().ok()?;
                Some(work.work(index, prepared?, clock))
            };
            let name = format!("driver-{}", cpu.unwrap_or(index as u32));
            let spawned = thread::Builder::new().name(name).spawn_scoped(scope, body);
            threads.push((spawned.map_err(DriverError::Start)?, go));
        }
        // A thread that panics while it prepares never reports: without this sender the channel then ends.
        drop(ready);
        // Leaving early drops every `go`: no thread begins unless all are ready.
        let reports = threads
            .iter()
            .map(|_| {
                prepared
                    .recv()
                    .map_err(|_| W::Error::from(DriverError::Panicked))?
            })
            .collect::<Result<Vec<_>, _>>()?;
        let clock = start(reports)?;
        let threads: Vec<_> = threads
            .into_iter()
            .map(|(thread, go)| {
                let _ = go.send(clock);
                thread
            })
            .collect();
        let seen = watch(clock, &|| {
            threads.iter().all(thread::ScopedJoinHandle::is_finished)
        });
        let harvests: Option<Vec<_>> = threads
            .into_iter()
            .map(|thread| thread.join().ok().flatten())
            .collect();
        Ok((harvests.ok_or(DriverError::Panicked)?, seen))
    })
}

/// What a thread shows of itself while it runs; written at every sweep, never on the way of a request.
#[derive(Debug, Default)]
pub struct Board {
    /// Requests that ended since the start, failed ones included.
    pub requests: AtomicU64,
    /// Failed ones.
    pub errors: AtomicU64,
    /// Users that have begun.
    pub started: AtomicU32,
    /// Of these, whose last request failed.
    pub failing: AtomicU32,
    /// Orders by guest, where somebody wants to know.
    tallies: Mutex<Vec<OrderTally>>,
}

impl Board {
    pub(crate) fn tallies(&self) -> Vec<OrderTally> {
        self.tallies
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn set_tallies(&self, tallies: Vec<OrderTally>) {
        *self.tallies.lock().unwrap_or_else(PoisonError::into_inner) = tallies;
    }
}

/// What all threads are told while they run.
#[derive(Debug)]
pub struct Control {
    /// The moment at which the load ends early; `u64::MAX` = not.
    cut: AtomicU64,
    /// Whether orders are to be told while the load runs.
    pub(crate) tallies: bool,
}

impl Control {
    /// Nobody is told anything yet; `tallies` = orders are told while the load runs.
    #[must_use]
    pub fn new(tallies: bool) -> Self {
        Self {
            cut: AtomicU64::new(Nanos::MAX),
            tallies,
        }
    }

    /// End the load in a moment, when every thread has heard of it, so that all cut their window at the same time; a second call
    /// changes nothing.
    pub fn end(&self, now: Nanos) {
        self.cut.fetch_min(now + 2 * nanos(SWEEP), Relaxed);
    }

    /// When the load ends early, if it does.
    pub fn ended(&self) -> Option<Nanos> {
        Some(self.cut.load(Relaxed)).filter(|&cut| cut != Nanos::MAX)
    }

    /// What was measured of `window`.
    #[must_use]
    pub fn measured(&self, window: Span) -> Span {
        let end = self
            .ended()
            .map_or(window.end, |cut| window.end.min(cut.max(window.start)));
        Span { end, ..window }
    }
}

/// CPU time of this thread and the time that it waited for a CPU.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuUse {
    pub(crate) ran: Nanos,
    pub(crate) waited: Nanos,
    pub(crate) wall: Nanos,
}

impl CpuUse {
    fn now(clock: Clock) -> Self {
        let ran = clock_gettime(ClockId::ThreadCPUTime);
        Self {
            ran: ran.tv_sec as Nanos * 1_000_000_000 + ran.tv_nsec as Nanos,
            waited: waited().unwrap_or(0),
            wall: clock.now(),
        }
    }

    fn since(self, earlier: Self) -> Self {
        Self {
            ran: self.ran.saturating_sub(earlier.ran),
            waited: self.waited.saturating_sub(earlier.waited),
            wall: self.wall.saturating_sub(earlier.wall),
        }
    }
}

/// Second field of schedstat; kernels without it tell nothing, and then nothing is claimed.
fn waited() -> Option<Nanos> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

/// How the users of one thread stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Users that have begun.
    pub started: u32,
    /// Users in the midst of something that is to be awaited.
    pub busy: u32,
    /// Users whose last request failed.
    pub failing: u32,
    /// Users that never connected.
    pub unconnected: u32,
}

/// The users of one thread, as [`attend`] sees them.
pub trait Station {
    /// The load ends early: nothing after `at` is inside the window.
    fn cut(&self, at: Nanos);
    /// Whether users may begin anything new.
    fn set_stopping(&self, stopping: bool);
    /// Looks after all users, and counts them.
    fn sweep(&self, now: Nanos) -> Standing;
    /// Shows how things are at `now`.
    fn publish(&self, board: &Board, standing: Standing, now: Nanos, tallies: bool);
    /// Whether somebody is still expected.
    fn expects(&self) -> bool;
}

/// The end of a thread's load.
#[derive(Clone, Copy, Debug)]
pub struct Attended {
    /// When it was.
    pub now: Nanos,
    /// CPU use inside the window.
    pub cpu: CpuUse,
    /// How the users stood.
    pub standing: Standing,
}

/// Looks after a thread's users until the end: sweeps, samples of the own CPU use, the board.
pub async fn attend(
    station: &impl Station,
    phases: &Phases,
    clock: Clock,
    control: &Control,
    board: &Board,
) -> Attended {
    let (mut load_end, mut drain) = (nanos(phases.load_end()), nanos(phases.drain));
    let mut window = window(phases);
    let (mut at_start, mut at_end) = (None, None);
    let mut next = 0;
    loop {
        tokio::time::sleep_until(clock.instant(next).into()).await;
        let now = clock.now();
        if let Some(cut) = control.ended() {
            station.cut(cut);
            window = control.measured(window);
            (load_end, drain) = (load_end.min(cut), drain.min(STOP_DRAIN));
            station.set_stopping(now >= cut);
        }
        if now >= window.start {
            at_start.get_or_insert_with(|| CpuUse::now(clock));
        }
        if now >= window.end {
            at_end.get_or_insert_with(|| CpuUse::now(clock));
        }
        let standing = station.sweep(now);
        station.publish(board, standing, now, control.tallies);
        let quiet = standing.busy == 0 && !station.expects();
        if now >= load_end && (quiet || now >= load_end + drain) {
            let (from, to): (CpuUse, CpuUse) =
                (at_start.unwrap_or_default(), at_end.unwrap_or_default());
            let cpu = to.since(from);
            return Attended { now, cpu, standing };
        }
        let moments =
            [window.start, window.end, load_end].map(|at| if at > now { at } else { Nanos::MAX });
        next = moments.into_iter().fold(now + nanos(SWEEP), Nanos::min);
    }
}

/// The measured window of a trial.
#[must_use]
pub fn window(phases: &Phases) -> Span {
    Span {
        start: nanos(phases.window_start()),
        end: nanos(phases.window_end()),
    }
}

/// When user `user` of `of` appears and when it stops: evenly over ramp-up, and in the same order over the second half of ramp-down.
#[must_use]
pub fn life(phases: &Phases, user: u32, of: u32) -> (Nanos, Nanos) {
    let share = |span: Nanos, part: u32| {
        (u128::from(span) * u128::from(part) / u128::from(of.max(1))) as Nanos
    };
    let half = nanos(phases.ramp_down) / 2;
    let stops = nanos(phases.load_end()) - half + share(half, user + 1);
    (share(nanos(phases.ramp_up), user), stops)
}

/// Watches a trial from the calling thread.
#[derive(Debug)]
pub struct Watch<'a> {
    /// The phases of the trial.
    pub phases: &'a Phases,
    /// The common start.
    pub clock: Clock,
    /// What the threads are told.
    pub control: &'a Control,
    /// What they show, one each.
    pub boards: &'a [Board],
    /// When every user's last request failed for so long, the trial is ended.
    pub all_failing: Nanos,
    /// Whose orders are told.
    pub guests: usize,
}

impl Watch<'_> {
    /// Look until all threads are done, and tell `progress` once per second, or at every look where orders are told: the lines that are
    /// made of them are due at times of their own. The reason if the load was ended early.
    pub fn look(
        &self,
        stop: &AtomicBool,
        progress: &dyn Fn(Progress, &[OrderTally]),
        done: &dyn Fn() -> bool,
    ) -> Option<String> {
        let mut aborted = None;
        let mut failing_since = None;
        let (mut reported, mut requests, mut errors) = (0, 0, 0);
        while !done() {
            thread::sleep(LOOK);
            let now = self.clock.now();
            if aborted.is_none() {
                aborted = self.reason_to_stop(stop, now, &mut failing_since);
                if aborted.is_some() {
                    self.control.end(now);
                }
            }
            let second_over = now / SECOND > reported;
            if second_over || (self.control.tallies && now > 0) {
                let passed = seconds(now - reported * SECOND);
                let (all_requests, all_errors) = (
                    self.sum(|board| board.requests.load(Relaxed)),
                    self.sum(|board| board.errors.load(Relaxed)),
                );
                let present = Progress {
                    elapsed: Duration::from_nanos(now),
                    phase: self.phase(now),
                    requests_per_s: (all_requests - requests) as f64 / passed,
                    errors_per_s: (all_errors - errors) as f64 / passed,
                    active_users: self.sum(|board| board.started.load(Relaxed).into()) as u32,
                };
                progress(present, &self.tallies());
                if second_over {
                    (reported, requests, errors) = (now / SECOND, all_requests, all_errors);
                }
            }
        }
        if self.control.tallies {
            let now = self.clock.now();
            let last = Progress {
                elapsed: Duration::from_nanos(now),
                phase: self.phase(now),
                requests_per_s: 0.0,
                errors_per_s: 0.0,
                active_users: 0,
            };
            progress(last, &self.tallies());
        }
        aborted
    }

    /// The orders of every guest, all threads together; empty where nobody wants to know.
    fn tallies(&self) -> Vec<OrderTally> {
        let mut all = Vec::new();
        if self.control.tallies {
            all.resize(self.guests, OrderTally::default());
        }
        for board in self.boards {
            all.iter_mut()
                .zip(board.tallies())
                .for_each(|(tally, part)| tally.merge(&part));
        }
        all
    }

    fn reason_to_stop(
        &self,
        stop: &AtomicBool,
        now: Nanos,
        failing_since: &mut Option<Nanos>,
    ) -> Option<String> {
        if stop.load(Relaxed) {
            return Some("stopped on request".to_owned());
        }
        let started = self.sum(|board| board.started.load(Relaxed).into());
        let failing = self.sum(|board| board.failing.load(Relaxed).into());
        if started == 0 || failing < started {
            *failing_since = None;
            return None;
        }
        let since = *failing_since.get_or_insert(now);
        (now - since >= self.all_failing).then(|| {
            format!(
                "all {started} users failed for {:.0} s",
                seconds(self.all_failing)
            )
        })
    }

    fn sum(&self, of: impl Fn(&Board) -> u64) -> u64 {
        self.boards.iter().map(of).sum()
    }

    fn phase(&self, now: Nanos) -> Phase {
        let phases = self.phases;
        if self.control.ended().is_some() {
            return Phase::Drain;
        }
        let ends = [
            (Duration::from_nanos(1), Phase::Waiting),
            (phases.ramp_up, Phase::RampUp),
            (phases.window_start(), Phase::Settle),
            (phases.window_end(), Phase::Steady),
            (phases.load_end(), Phase::RampDown),
        ];
        ends.into_iter()
            .find(|(end, _)| now < nanos(*end))
            .map_or(Phase::Drain, |(_, phase)| phase)
    }
}

#[cfg(test)]
mod tests;
