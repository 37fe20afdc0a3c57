//! One driver thread: pinned, in the lab's network, with a runtime of its own and everything local to it.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, OwnedFd},
    rc::Rc,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
        mpsc,
    },
};

use rookery_stats::Latencies;
use rookery_workload::dvdstore::Shopper;
use rustix::{
    thread::{CpuSet, LinkNameSpaceType, move_into_link_name_space, sched_setaffinity},
    time::{ClockId, clock_gettime},
};
use tokio::{
    io::{Interest, unix::AsyncFd},
    runtime::{Builder, LocalOptions, LocalRuntime},
};

use crate::{
    alarm,
    arrival::Share,
    clock::{Clock, Nanos, Span, nanos},
    config::{Assignment, Config, Phases},
    desk::{self, Desk},
    error::DriverError,
    load::Load,
    record::{OrderTally, Recorder},
    site::Site,
    user::User,
    worker::{SWEEP, Standing, Worker},
};

/// After a stop request, operations under way get at most so long to finish.
const STOP_DRAIN: Nanos = 1_000_000_000;
/// How many events one look at the kernel's queue may bring.
const EVENTS: usize = 1024;

/// What a thread shows of itself while it runs; written at every sweep, never on the way of a request.
#[derive(Debug, Default)]
pub(crate) struct Board {
    pub(crate) requests: AtomicU64,
    pub(crate) errors: AtomicU64,
    pub(crate) started: AtomicU32,
    pub(crate) failing: AtomicU32,
    /// Orders by guest, where somebody wants to know.
    tallies: Mutex<Vec<OrderTally>>,
}

impl Board {
    pub(crate) fn tallies(&self) -> Vec<OrderTally> {
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What all threads are told while they run.
#[derive(Debug)]
pub(crate) struct Control {
    /// The moment at which the load ends early; `u64::MAX` = not.
    cut: AtomicU64,
    /// Whether orders are to be told while the load runs.
    pub(crate) tallies: bool,
}

impl Control {
    pub(crate) fn new(tallies: bool) -> Self {
        Self {
            cut: AtomicU64::new(Nanos::MAX),
            tallies,
        }
    }

    /// End the load in a moment, when every thread has heard of it, so that all cut their window at the same time; a second call
    /// changes nothing.
    pub(crate) fn end(&self, now: Nanos) {
        self.cut.fetch_min(now + 2 * nanos(SWEEP), Relaxed);
    }

    pub(crate) fn ended(&self) -> Option<Nanos> {
        Some(self.cut.load(Relaxed)).filter(|&cut| cut != Nanos::MAX)
    }
}

/// CPU time of this thread and the time that it waited for a CPU.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CpuUse {
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

/// What a thread brings home.
#[derive(Debug)]
pub(crate) struct Harvest {
    /// By guest.
    pub(crate) recorders: Vec<Recorder>,
    pub(crate) lag: Latencies,
    /// Inside the window.
    pub(crate) cpu: CpuUse,
    pub(crate) requests_in_window: u64,
    pub(crate) connections: u64,
    pub(crate) idle_retries: u64,
    pub(crate) connecting: Option<(Nanos, Nanos)>,
    pub(crate) unconnected: u32,
}

/// What a thread needs before it says that it is ready.
struct Prepared {
    runtime: LocalRuntime,
    timer: AsyncFd<Rc<OwnedFd>>,
}

/// Wake users whenever the timer fires, until the runtime ends.
async fn ring(timer: AsyncFd<Rc<OwnedFd>>, worker: Rc<Worker>) {
    while let Ok(mut fired) = timer.readable().await {
        // Setting the timer anew makes it fire anew: there is no need to read it.
        fired.clear_ready();
        worker.ring();
    }
}

/// One thread's part of the work.
pub(crate) struct Part<'a> {
    pub(crate) config: &'a Config,
    pub(crate) clock: Clock,
    /// Which thread of `config.cpus`.
    pub(crate) index: usize,
    pub(crate) control: &'a Control,
    pub(crate) board: &'a Board,
}

impl Part<'_> {
    /// Prepare, report, wait for the word to go, work. `None` when the word did not come.
    pub(crate) fn run(&self, ready: &mpsc::Sender<Result<(), DriverError>>, go: &mpsc::Receiver<()>) -> Option<Harvest> {
        let prepared = self.prepare();
        let (prepared, error) = match prepared {
            Ok(prepared) => (Some(prepared), Ok(())),
            Err(error) => (None, Err(error)),
        };
        // When nobody listens any more, the word does not come either.
        let _ = ready.send(error);
        go.recv().ok()?;
        Some(self.work(prepared?))
    }

    fn prepare(&self) -> Result<Prepared, DriverError> {
        let cpu = self.config.cpus[self.index];
        pin(cpu).map_err(|source| DriverError::Pin { cpu, source })?;
        if let Some(path) = &self.config.network {
            enter(path).map_err(|source| DriverError::Network {
                path: path.clone(),
                source,
            })?;
        }
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_io_events_per_tick(EVENTS)
            .event_interval(256)
            .build_local(LocalOptions::default())
            .map_err(DriverError::Start)?;
        let timer = {
            let _context = runtime.enter();
            let timer = Rc::new(alarm::timer().map_err(DriverError::Start)?);
            // SAFETY: the descriptor is owned by what is registered: it is open, and the same, for as long as the registration lasts.
            unsafe { AsyncFd::register_with_interest(timer, Interest::READABLE) }.map_err(|error| DriverError::Start(error.into()))?
        };
        Ok(Prepared { runtime, timer })
    }

    fn work(&self, prepared: Prepared) -> Harvest {
        let Prepared { runtime, timer } = prepared;
        let deal = Deal::new(self.config, self.index);
        let guests: Vec<u32> = deal.users.iter().map(|user| user.guest as u32).collect();
        let window = window(&self.config.phases);
        let mut worker = Worker::new(self.config, self.clock, Rc::clone(timer.get_ref()), &guests);
        let share = Share {
            thread: self.index,
            of: self.config.cpus.len(),
        };
        worker.desk = Desk::new(self.config, share);
        let worker = Rc::new(worker);
        let sites: Vec<Rc<Site>> = self.config.assignments.iter().map(site).collect();
        runtime.block_on(async {
            tokio::task::spawn_local(ring(timer, Rc::clone(&worker)));
            match &self.config.load {
                Load::Closed => deal.spawn(self.config, &worker, &sites),
                Load::Open(load) => {
                    tokio::task::spawn_local(desk::receive(Rc::clone(&worker), sites, load.clone(), self.config.seed));
                }
            }
            self.watch(&worker, window).await
        })
    }

    /// Sweep the register until the end: time limits, samples of the own CPU use, the board.
    async fn watch(&self, worker: &Worker, window: Span) -> Harvest {
        let phases = &self.config.phases;
        let (mut load_end, mut drain) = (nanos(phases.load_end()), nanos(phases.drain));
        let mut window = window;
        let (mut at_start, mut at_end) = (None, None);
        let mut next = 0;
        loop {
            tokio::time::sleep_until(self.clock.instant(next).into()).await;
            let now = self.clock.now();
            if let Some(cut) = self.control.ended() {
                worker.cut(cut);
                window.end = window.end.min(cut.max(window.start));
                (load_end, drain) = (load_end.min(cut), drain.min(STOP_DRAIN));
                worker.stopping.set(now >= cut);
            }
            if now >= window.start {
                at_start.get_or_insert_with(|| CpuUse::now(self.clock));
            }
            if now >= window.end {
                at_end.get_or_insert_with(|| CpuUse::now(self.clock));
            }
            let standing = worker.sweep(now);
            self.publish(worker, standing, now);
            let quiet = standing.busy == 0 && worker.desk.next_at().is_none();
            if now >= load_end && (quiet || now >= load_end + drain) {
                let (from, to) = (at_start.unwrap_or_default(), at_end.unwrap_or_default());
                return harvest(worker, now, to.since(from), standing);
            }
            let moments = [window.start, window.end, load_end].map(|at| if at > now { at } else { Nanos::MAX });
            next = moments.into_iter().fold(now + nanos(SWEEP), Nanos::min);
        }
    }

    fn publish(&self, worker: &Worker, standing: Standing, now: Nanos) {
        self.board.requests.store(worker.totals.requests.get(), Relaxed);
        self.board.errors.store(worker.totals.errors.get(), Relaxed);
        self.board.started.store(standing.started, Relaxed);
        self.board.failing.store(standing.failing, Relaxed);
        if self.control.tallies {
            *self.board.tallies.lock().unwrap_or_else(PoisonError::into_inner) = worker.tallies(now);
        }
    }
}

pub(crate) fn harvest(worker: &Worker, now: Nanos, cpu: CpuUse, standing: Standing) -> Harvest {
    let requests_in_window = worker.requests_in_window();
    let (recorders, lag) = worker.finish(now);
    Harvest {
        recorders,
        lag,
        cpu,
        requests_in_window,
        connections: worker.totals.connections.get(),
        idle_retries: worker.totals.idle_retries.get(),
        connecting: worker.totals.connecting.get(),
        unconnected: standing.unconnected,
    }
}

/// The measured window of a trial.
pub(crate) fn window(phases: &Phases) -> Span {
    Span {
        start: nanos(phases.window_start()),
        end: nanos(phases.window_end()),
    }
}

/// A user of this thread: its guest and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dealt {
    guest: usize,
    user: u32,
}

/// The users of one thread: all users of all guests are dealt out like cards.
#[derive(Debug)]
struct Deal {
    users: Vec<Dealt>,
}

fn site(assignment: &Assignment) -> Rc<Site> {
    Rc::new(Site::new(assignment.target, assignment.script.clone()))
}

impl Deal {
    /// The users of a closed load; an open one has none.
    fn new(config: &Config, thread: usize) -> Self {
        if config.load != Load::Closed {
            return Self { users: Vec::new() };
        }
        let all = config
            .assignments
            .iter()
            .enumerate()
            .flat_map(|(guest, assignment)| (0..assignment.users).map(move |user| Dealt { guest, user }));
        Self {
            users: all.skip(thread).step_by(config.cpus.len()).collect(),
        }
    }

    fn spawn(&self, config: &Config, worker: &Rc<Worker>, sites: &[Rc<Site>]) {
        for (row, dealt) in self.users.iter().enumerate() {
            let of = config.assignments[dealt.guest].users;
            let (starts, stops) = life(&config.phases, dealt.user, of);
            let shopper = Shopper::new(config.seed, dealt.guest as u32, dealt.user);
            let user = User::new(Rc::clone(worker), Rc::clone(&sites[dealt.guest]), row, shopper, starts, stops);
            tokio::task::spawn_local(user.live());
        }
    }
}

/// When user `user` of `of` appears and when it stops: evenly over ramp-up, and in the same order over the second half of ramp-down.
pub(crate) fn life(phases: &Phases, user: u32, of: u32) -> (Nanos, Nanos) {
    let share = |span: Nanos, part: u32| (u128::from(span) * u128::from(part) / u128::from(of.max(1))) as Nanos;
    let half = nanos(phases.ramp_down) / 2;
    let stops = nanos(phases.load_end()) - half + share(half, user + 1);
    (share(nanos(phases.ramp_up), user), stops)
}

fn pin(cpu: u32) -> io::Result<()> {
    let mut set = CpuSet::new();
    if cpu as usize >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    set.set(cpu as usize);
    Ok(sched_setaffinity(None, &set)?)
}

fn enter(path: &std::path::Path) -> io::Result<()> {
    let namespace = File::open(path)?;
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const S: Nanos = 1_000_000_000;

    fn phases() -> Phases {
        Phases {
            ramp_up: Duration::from_secs(10),
            settle: Duration::from_secs(5),
            steady: Duration::from_secs(20),
            ramp_down: Duration::from_secs(8),
            drain: Duration::from_secs(1),
        }
    }

    #[test]
    fn users_appear_evenly_and_stop_in_start_order() {
        let lives: Vec<_> = (0..4).map(|user| life(&phases(), user, 4)).collect();
        assert_eq!(
            lives,
            [(0, 40 * S), (5 * S / 2, 41 * S), (5 * S, 42 * S), (15 * S / 2, 43 * S)],
            "load is kept up until 39 s, the window ends at 35 s"
        );
    }

    #[test]
    fn without_ramp_down_all_stop_at_the_end_of_the_window() {
        let phases = Phases {
            ramp_down: Duration::ZERO,
            ..phases()
        };
        assert!((0..7).all(|user| life(&phases, user, 7).1 == 35 * S));
        assert_eq!(
            window(&phases),
            Span {
                start: 15 * S,
                end: 35 * S
            }
        );
    }

    #[test]
    fn an_early_end_is_the_earliest() {
        let control = Control::new(false);
        assert_eq!(control.ended(), None);
        control.end(7);
        control.end(9);
        assert_eq!(control.ended(), Some(7 + 2 * nanos(SWEEP)));
    }

    #[test]
    fn this_thread_knows_its_cpu_time() {
        let clock = Clock::new(std::time::Instant::now());
        let before = CpuUse::now(clock);
        let spun: u64 = (0..2_000_000u64).fold(0, |sum, n| std::hint::black_box(sum ^ n));
        let used = CpuUse::now(clock).since(before);
        assert!(used.ran > 0, "{spun} {used:?}");
    }
}
