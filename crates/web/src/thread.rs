//! One driver thread: pinned, in the lab's network, with a runtime of its own and everything local
//! to it.

use std::{
    rc::Rc,
    sync::{Mutex, PoisonError},
};

use rookery_cast::count_u32;
use rookery_driver::{
    AlarmClock, ArrivalQueue, Clock, DriverError, Load, LoadEnd, Nanos, Pace, Share, ThreadResults,
    ThreadStatus, ThreadTask, ThreadUsers, TrialControl, UserCounts, local_runtime, nanos,
    supervise,
};
use rookery_workload::data_driven::Population;
use tokio::runtime::LocalRuntime;

use crate::{
    check::refused,
    client::Client,
    config::Config,
    part::Part,
    site::Site,
    user::receive_visitors,
    worker::{Worker, WorkerSettings},
    workloads::{GuestCounts, GuestUsers, Stay, dvdstore::OrderTally},
};

/// Tasks that run between two looks at the kernel's queue.
const EVENT_INTERVAL: u32 = 256;

/// What a thread needs before it says that it is ready.
pub(crate) struct Prepared {
    runtime: LocalRuntime,
    timer: AlarmClock,
    guests: Rc<[GuestUsers]>,
}

/// What one thread recorded.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) results: ThreadResults,
    /// How long after its time the first user began; nothing where none did.
    pub(crate) first_late: Option<Nanos>,
    /// By guest.
    pub(crate) counts: Vec<GuestCounts>,
}

/// Orders of every guest as one thread shows them while it runs.
#[derive(Debug, Default)]
pub(crate) struct TallyBoard(Mutex<Vec<OrderTally>>);

impl TallyBoard {
    pub(crate) fn get(&self) -> Vec<OrderTally> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set(&self, tallies: Vec<OrderTally>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = tallies;
    }
}

/// The threads of a trial.
pub(crate) struct WebTask<'a> {
    pub(crate) config: &'a Config,
    /// Which part of its load these threads carry.
    pub(crate) part: Part,
    pub(crate) control: &'a TrialControl,
    /// One for each thread.
    pub(crate) statuses: &'a [ThreadStatus],
    /// One for each thread where orders are shown while the load runs, else none.
    pub(crate) tallies: &'a [TallyBoard],
}

impl ThreadTask for WebTask<'_> {
    type Ready = Prepared;
    type Report = ();
    type Output = Recorded;
    type Error = DriverError;

    fn prepare(&self, _: usize) -> Result<(Prepared, ()), DriverError> {
        let (runtime, timer) = local_runtime(EVENT_INTERVAL).map_err(DriverError::Start)?;
        let guests = guest_users(self.config)?.into();
        let prepared = Prepared {
            runtime,
            timer,
            guests,
        };
        Ok((prepared, ()))
    }

    fn work(&self, index: usize, prepared: Prepared, clock: Clock) -> Recorded {
        let Prepared {
            runtime,
            timer,
            guests,
        } = prepared;
        let config = self.config;
        let share = Share {
            thread: self.part.before as usize + index,
            of: self.part.of as usize,
        };
        let dealt = deal(config, share);
        let guests_of_users: Vec<u32> = dealt.iter().map(|user| count_u32(user.guest)).collect();
        let worker = Rc::new(Worker::new(
            worker_settings(config),
            clock,
            timer.timer(),
            &guests_of_users,
            arrival_queue(config, share),
        ));
        let sites: Vec<Rc<Site>> = config
            .assignments
            .iter()
            .map(|assignment| Rc::new(Site::new(assignment.target)))
            .collect();
        runtime.block_on(async {
            let ringing = Rc::clone(&worker);
            tokio::task::spawn_local(timer.ring(move || ringing.ring()));
            match &config.load {
                Load::Closed => start_users(config, &worker, &sites, &guests, &dealt),
                Load::Open(load) => {
                    let (seed, visit) = (config.seed, load.visit);
                    let guests = Rc::clone(&guests);
                    let receiving =
                        receive_visitors(Rc::clone(&worker), sites, move |client, arrival| {
                            let guest = count_u32(arrival.guest);
                            let stay = Stay::Visitors(visit);
                            guests[arrival.guest].start(client, seed, guest, 0, stay);
                        });
                    tokio::task::spawn_local(receiving);
                }
            }
            let users = Users {
                worker: &worker,
                guests: &guests,
                tallies: self.tallies.get(index),
            };
            let status = &self.statuses[index];
            let end = supervise(&users, &config.phases, clock, self.control, status).await;
            record(&worker, &guests, end)
        })
    }
}

/// The users of a thread, and what it shows of them.
struct Users<'a> {
    worker: &'a Worker,
    guests: &'a [GuestUsers],
    tallies: Option<&'a TallyBoard>,
}

impl ThreadUsers for Users<'_> {
    fn cut(&self, at: Nanos) {
        self.worker.cut(at);
    }

    fn set_stopping(&self, stopping: bool) {
        self.worker.stopping.set(stopping);
    }

    fn sweep(&self, now: Nanos) -> UserCounts {
        self.worker.sweep(now)
    }

    fn publish(&self, status: &ThreadStatus, counts: UserCounts, now: Nanos) {
        self.worker.publish(status, counts, now);
        if let Some(board) = self.tallies {
            let guests = self.guests.iter().enumerate();
            board.set(
                guests
                    .map(|(index, guest)| guest.tally(self.worker.window(index), now))
                    .collect(),
            );
        }
    }

    fn expects(&self) -> bool {
        self.worker.expects()
    }

    fn leave_until(&self, at: Nanos) {
        self.worker.left_until.set(at);
    }
}

/// What a thread recorded, when its load has ended.
pub(crate) fn record(worker: &Worker, guests: &[GuestUsers], end: LoadEnd) -> Recorded {
    let (results, unfinished) = worker.finish(end);
    for request in unfinished {
        guests[request.guest].unfinished(request);
    }
    Recorded {
        results,
        first_late: worker.first_late(),
        counts: guests.iter().map(GuestUsers::counts).collect(),
    }
}

/// What the users of every guest share on one thread.
///
/// # Errors
/// When a script cannot be done.
fn guest_users(config: &Config) -> Result<Vec<GuestUsers>, DriverError> {
    config
        .assignments
        .iter()
        .map(|assignment| {
            let population = match &config.load {
                Load::Closed => Population::Users(assignment.users),
                Load::Open(load) => Population::Visitors {
                    draws: load.visit.most_acts(),
                },
            };
            GuestUsers::new(&assignment.script, assignment.target, population)
                .map_err(|problem| refused(assignment, &problem))
        })
        .collect()
}

/// What a worker needs to know of a trial.
pub(crate) fn worker_settings(config: &Config) -> WorkerSettings {
    WorkerSettings {
        limits: config.limits,
        pace: Pace {
            pacing: config.pacing,
            time: config.think_time,
            distribution: config.think_distribution,
        },
        timeout: nanos(config.timeout),
        window: config.phases.window(),
        is_open: config.load != Load::Closed,
        operations: config
            .assignments
            .iter()
            .map(|assignment| assignment.script.operations())
            .collect(),
    }
}

fn arrival_queue(config: &Config, share: Share) -> ArrivalQueue {
    match &config.load {
        Load::Closed => ArrivalQueue::default(),
        Load::Open(load) => {
            let guests = config.assignments.len();
            ArrivalQueue::new(load, &config.phases, guests, share, config.seed)
        }
    }
}

/// A user of a thread: its guest and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dealt {
    guest: usize,
    user: u32,
}

/// The users of one thread: all users of all guests are dealt out like cards. An open load has
/// none.
fn deal(config: &Config, share: Share) -> Vec<Dealt> {
    if config.load != Load::Closed {
        return Vec::new();
    }
    config
        .assignments
        .iter()
        .enumerate()
        .flat_map(|(guest, assignment)| {
            (0..assignment.users).map(move |user| Dealt { guest, user })
        })
        .skip(share.thread)
        .step_by(share.of)
        .collect()
}

fn start_users(
    config: &Config,
    worker: &Rc<Worker>,
    sites: &[Rc<Site>],
    guests: &[GuestUsers],
    dealt: &[Dealt],
) {
    for (row, &Dealt { guest, user }) in dealt.iter().enumerate() {
        let of = config.assignments[guest].users;
        let (starts, stops) = config.phases.lifetime(user, of);
        let client = Client::new(Rc::clone(worker), Rc::clone(&sites[guest]), row, guest);
        let stay = Stay::User(starts, stops);
        guests[guest].start(client, config.seed, count_u32(guest), user, stay);
    }
}
