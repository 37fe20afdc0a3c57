//! One driver thread: pinned, in the lab's network, with a runtime of its own and everything local to it.

use std::rc::Rc;

use rookery_stats::Latencies;
use rookery_workload::dvdstore::Shopper;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};

use crate::{
    alarm::AlarmClock,
    arrival::Share,
    clock::{Clock, Nanos},
    config::{Assignment, Config},
    crew::{Attended, Board, Control, CpuUse, Work, attend, life},
    desk::{self, Desk},
    error::DriverError,
    load::Load,
    record::Recorder,
    site::Site,
    user::User,
    worker::Worker,
};

/// How many events one look at the kernel's queue may bring.
const EVENTS: usize = 1024;

/// What a thread brings home.
#[derive(Debug)]
pub struct Harvest {
    /// By guest.
    pub recorders: Vec<Recorder>,
    /// Scheduling lag.
    pub lag: Latencies,
    /// Inside the window.
    pub cpu: CpuUse,
    /// Requests that ended inside the window.
    pub requests_in_window: u64,
    /// Connections that were opened.
    pub connections: u64,
    /// Requests repeated because an idle connection had been closed.
    pub idle_retries: u64,
    /// Begin of the first and end of the last connect that made a user connected.
    pub connecting: Option<(Nanos, Nanos)>,
    /// Users that never connected.
    pub unconnected: u32,
}

/// What a thread needs before it says that it is ready.
pub(crate) struct Prepared {
    runtime: LocalRuntime,
    timer: AlarmClock,
}

/// The work of all threads.
pub(crate) struct Parts<'a> {
    pub(crate) config: &'a Config,
    pub(crate) control: &'a Control,
    /// One for each thread.
    pub(crate) boards: &'a [Board],
}

impl Work for Parts<'_> {
    type Ready = Prepared;
    type Report = ();
    type Harvest = Harvest;
    type Error = DriverError;

    fn prepare(&self, _: usize) -> Result<(Prepared, ()), DriverError> {
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_io_events_per_tick(EVENTS)
            .event_interval(256)
            .build_local(LocalOptions::default())
            .map_err(DriverError::Start)?;
        let timer = {
            let _context = runtime.enter();
            AlarmClock::new().map_err(DriverError::Start)?
        };
        Ok((Prepared { runtime, timer }, ()))
    }

    fn work(&self, index: usize, prepared: Prepared, clock: Clock) -> Harvest {
        let Prepared { runtime, timer } = prepared;
        let deal = Deal::new(self.config, index);
        let guests: Vec<u32> = deal.users.iter().map(|user| user.guest as u32).collect();
        let mut worker = Worker::new(self.config, clock, timer.timer(), &guests);
        let share = Share {
            thread: index,
            of: self.config.cpus.len(),
        };
        worker.desk = Desk::new(self.config, share);
        let worker = Rc::new(worker);
        let sites: Vec<Rc<Site>> = self.config.assignments.iter().map(site).collect();
        runtime.block_on(async {
            let ringing = Rc::clone(&worker);
            tokio::task::spawn_local(timer.ring(move || ringing.ring()));
            match &self.config.load {
                Load::Closed => deal.spawn(self.config, &worker, &sites),
                Load::Open(load) => {
                    tokio::task::spawn_local(desk::receive(
                        Rc::clone(&worker),
                        sites,
                        load.clone(),
                        self.config.seed,
                    ));
                }
            }
            let end = attend(
                &*worker,
                &self.config.phases,
                clock,
                self.control,
                &self.boards[index],
            )
            .await;
            harvest(&worker, end)
        })
    }
}

pub(crate) fn harvest(worker: &Worker, end: Attended) -> Harvest {
    let Attended { now, cpu, standing } = end;
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
            .flat_map(|(guest, assignment)| {
                (0..assignment.users).map(move |user| Dealt { guest, user })
            });
        Self {
            users: all.skip(thread).step_by(config.cpus.len()).collect(),
        }
    }

    fn spawn(&self, config: &Config, worker: &Rc<Worker>, sites: &[Rc<Site>]) {
        for (row, dealt) in self.users.iter().enumerate() {
            let of = config.assignments[dealt.guest].users;
            let (starts, stops) = life(&config.phases, dealt.user, of);
            let shopper = Shopper::new(config.seed, dealt.guest as u32, dealt.user);
            let user = User::new(
                Rc::clone(worker),
                Rc::clone(&sites[dealt.guest]),
                row,
                shopper,
                starts,
                stops,
            );
            tokio::task::spawn_local(user.live());
        }
    }
}
