//! Trials: terminals on the databases of several guests at once, and what they measured.
//!
//! [`run`] is to databases what the driver of web shops is to these, and shares its threads,
//! clocks, phases and recorders: one thread for each driver CPU carries its share of the terminals
//! of all guests, each with one connection. All connect before the common start. A terminal whose
//! connection is lost connects again, as long as the load lasts, and repeats the transaction that
//! was under way with the same input, unless it was committing: then nobody knows its outcome, and
//! the ledger has to tell.

pub(crate) mod arrivals;
mod client;
mod deferred;
mod delivery_queue;
pub(crate) mod fault;
pub(crate) mod job;
pub(crate) mod link;
mod operations;
mod seating;
pub(crate) mod spawn;
mod tally;
mod terminal;
mod terminals;
mod thread;
pub(crate) mod worker;

use std::{
    net::IpAddr,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rookery_driver::{
    Clock, Placement, ThreadStatus, TrialControl, TrialMonitor, Visit, nanos, run_together,
};
pub use rookery_driver::{Load, OpenLoad, Phase, Phases, Progress};
use rookery_stats::{Measurement, Pacing as Spacing};
use rookery_workload::{
    DelayDistribution,
    orderentry::{
        DeliveryMode, Population, RunConstants,
        terminal::{Binding, Mix, Pacing, TerminalPlan},
    },
    random::GOLDEN_GAMMA,
};
use serde::{Deserialize, Serialize};

use crate::{OltpError, SessionOptions, Target};
use job::{Common, Job, JobTally as _, Place};
use spawn::Spawn;
pub(crate) use tally::Tally;
use terminals::Terminals;
use thread::{Recorded, TerminalTask};

/// When no terminal of any guest has had a usable database for so long, the trial is ended. A
/// server that was killed needs its time to recover.
const ALL_FAILING: Duration = Duration::from_secs(60);

/// A guest of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialGuest {
    /// Its name in results.
    pub name: String,
    /// Its database.
    pub target: Target,
    /// Its terminals, at least 1; of an open load the connections that serve its arrivals, at least
    /// one for each driver thread.
    pub terminals: u32,
    /// What is loaded there.
    pub population: Population,
}

/// Threads of the driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Threads {
    /// One on each of these CPUs.
    Pinned(Vec<u32>),
    /// So many, wherever the kernel puts them.
    Free(usize),
}

impl Threads {
    pub(crate) fn placement(&self) -> Vec<Option<u32>> {
        match self {
            Self::Pinned(cpus) => cpus.iter().copied().map(Some).collect(),
            Self::Free(count) => vec![None; *count],
        }
    }

    pub(crate) fn cpus(&self) -> &[u32] {
        match self {
            Self::Pinned(cpus) => cpus,
            Self::Free(_) => &[],
        }
    }
}

/// One trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialConfig {
    /// The guests.
    pub guests: Vec<TrialGuest>,
    /// Threads that carry the terminals.
    pub threads: Threads,
    /// Network namespace that the threads enter, as a path such as `/run/rookery/netns/NAME`;
    /// `None` = stay.
    pub network: Option<PathBuf>,
    /// Loop type. Arrivals of an open load are transactions; each waits for a connection of its
    /// guest, in order, and
    /// [`max_in_flight`](OpenLoad::max_in_flight) counts those that wait too. Visits are single.
    pub load: Load,
    /// Phases. Terminals start evenly over ramp-up.
    pub phases: Phases,
    /// Statements and isolation level.
    pub session: SessionOptions,
    /// Which warehouses a terminal works for.
    pub binding: Binding,
    /// How often each transaction comes.
    pub mix: Mix,
    /// How terminals of a closed load pause; not [`Pacing::Rate`], which is an open load.
    pub pacing: Pacing,
    /// How their think times scatter.
    pub think: DelayDistribution,
    /// Who executes deliveries.
    pub delivery: DeliveryMode,
    /// Retries of a transaction at most.
    pub max_retries: u32,
    /// How long a terminal without a connection tries to get one before the whole trial is given
    /// up; `None` = until its load ends.
    pub patience: Option<Duration>,
    /// Seed of all random streams.
    pub seed: u64,
    /// Foreign addresses that the user named and confirmed; loopback is always allowed, and any
    /// address inside `network`.
    pub confirmed: Vec<IpAddr>,
}

impl TrialConfig {
    fn check(&self) -> Result<(), OltpError> {
        let refuse = |what: &str| Err(OltpError::setting(what));
        self.pacing.checked()?;
        match &self.load {
            Load::Closed if matches!(self.pacing, Pacing::Rate(_)) => {
                return refuse(
                    "a rate is an open load: give it as the load of the trial, not as the pacing \
                     of its terminals",
                );
            }
            Load::Open(load) if load.visit != Visit::Single => {
                return refuse(
                    "an arrival at a database is one transaction: visits of several acts are not \
                     possible",
                );
            }
            Load::Closed | Load::Open(_) => {}
        }
        let (common, deferred) = (self.common(), self.delivery == DeliveryMode::Deferred);
        common.check_arrivals()?;
        common.check(u32::from(deferred))
    }

    /// What all trials have.
    fn common(&self) -> Common {
        let guests = self.guests.iter().map(|guest| Place {
            name: guest.name.clone(),
            target: guest.target.clone(),
            connections: guest.terminals,
        });
        Common {
            guests: guests.collect(),
            threads: self.threads.clone(),
            network: self.network.clone(),
            load: self.load.clone(),
            phases: self.phases,
            spacing: Spacing::Think,
            patience: self.patience,
            seed: self.seed,
            confirmed: self.confirmed.clone(),
        }
    }

    fn plan(&self, guest: usize) -> TerminalPlan {
        let of = &self.guests[guest];
        // Guests do not work in step; the first has the seed itself, so that a trial of one is what
        // `drive` does.
        let seed = self.seed ^ (guest as u64).wrapping_mul(GOLDEN_GAMMA);
        TerminalPlan {
            scale: of.population.scale,
            constants: RunConstants::new(seed, of.population.load_constant()),
            terminals: of.terminals,
            binding: self.binding,
            mix: self.mix,
            pacing: match self.load {
                Load::Closed => self.pacing,
                Load::Open(_) => Pacing::None,
            },
            think: self.think,
            seed,
        }
    }
}

/// What all threads of a trial share.
#[derive(Debug)]
pub(crate) struct Shared<J> {
    pub(crate) common: Common,
    pub(crate) job: J,
    control: TrialControl,
    statuses: Vec<ThreadStatus>,
    /// What ended the trial, and at which guest.
    fatal: Mutex<Option<(usize, OltpError)>>,
}

impl<J> Shared<J> {
    /// Something happened that must not happen: the trial ends.
    fn give_up(&self, now: u64, guest: usize, error: OltpError) {
        self.fatal
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert((guest, error));
        self.control.end(now);
    }
}

/// A trial as it went, with what the measurement does not say.
#[derive(Debug)]
pub(crate) struct Driven<T> {
    pub(crate) measurement: Measurement,
    /// By guest.
    pub(crate) tallies: Vec<T>,
    /// The error that ended it.
    pub(crate) fatal: Option<OltpError>,
}

/// Runs one trial: connects all terminals, asks `start` for the common start, and drives to the end
/// of the phases. Blocks.
///
/// `start` is called once, when all terminals are connected; the moment that it gives may lie in
/// the future. Setting `stop` ends the load within about a second; the measurement then covers what
/// was measured and says that it was aborted. `progress` is called once per second from the calling
/// thread. When the terminals need more open files than the soft limit of this process allows, the
/// soft limit is raised.
///
/// # Errors
/// When no load was put on: settings that cannot be, a foreign target, a CPU or network namespace
/// that cannot be had, a database that refuses the user, no database at all that answers, or a stop
/// before the start. What goes wrong later is no error: it is counted in the measurement, and what
/// must not happen, such as a constraint that was violated, ends it with the reason.
pub fn run(
    config: &TrialConfig,
    start: &dyn Fn() -> Instant,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Measurement, OltpError> {
    drive(config, start, stop, progress).map(|driven| driven.measurement)
}

pub(crate) fn drive(
    config: &TrialConfig,
    start: &dyn Fn() -> Instant,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Driven<Tally>, OltpError> {
    config.check()?;
    let job = Terminals::new(config);
    drive_job(config.common(), job, start, stop, progress)
}

/// Runs a trial that was checked, whatever its connections do.
pub(crate) fn drive_job<J: Spawn>(
    common: Common,
    job: J,
    start: &dyn Fn() -> Instant,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Driven<J::Tally>, OltpError> {
    let cpus = common.threads.placement();
    let shared = Arc::new(Shared {
        common,
        job,
        control: TrialControl::new(),
        statuses: cpus.iter().map(|_| ThreadStatus::default()).collect(),
        fatal: Mutex::new(None),
    });
    let task = TerminalTask {
        shared: &shared,
        threads: cpus.len(),
        stop,
    };
    let network = shared.common.network.as_deref();
    let at = |reports| {
        thread::judge(reports)?;
        if stop.load(Ordering::Relaxed) {
            return Err(OltpError::Stopped);
        }
        Ok(Clock::new(start()))
    };
    let watch = |clock, done: &dyn Fn() -> bool| {
        let monitor = TrialMonitor {
            phases: &shared.common.phases,
            clock,
            control: &shared.control,
            statuses: &shared.statuses,
            all_failing: nanos(ALL_FAILING),
            every_look: false,
        };
        monitor.watch(stop, &|now| progress(now), done)
    };
    let (recorded, aborted) = run_together(
        Placement {
            cpus: &cpus,
            network,
        },
        &task,
        at,
        watch,
    )?;
    Ok(merged(&shared, recorded, aborted))
}

fn merged<J: Job>(
    shared: &Shared<J>,
    recorded: Vec<Recorded<J::Tally>>,
    aborted: Option<String>,
) -> Driven<J::Tally> {
    let (config, job) = (&shared.common, &shared.job);
    let window = shared.control.measured(config.phases.window());
    let mut tallies: Vec<J::Tally> = config.guests.iter().map(|_| job.tally()).collect();
    let mut results = Vec::new();
    for thread in recorded {
        for (sum, tally) in tallies.iter_mut().zip(&thread.tallies) {
            sum.add(tally);
        }
        results.push(thread.results);
    }
    let fatal = shared
        .fatal
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    let reason = fatal
        .as_ref()
        .map(|(guest, error)| format!("guest `{}`: {error}", config.guests[*guest].name));
    let counters = tallies
        .iter()
        .map(|tally| job.counters(tally, window))
        .collect();
    let description = config.description(job.operations());
    let record = description.record(results);
    let measurement = description.measurement(window, vec![record], counters, reason.or(aborted));
    Driven {
        measurement,
        tallies,
        fatal: fatal.map(|(_, error)| error),
    }
}

#[cfg(test)]
mod tests;
