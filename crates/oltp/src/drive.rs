//! Driving: terminals on a database for a given time, the figures of the steady window, and the ledger check behind them.
//!
//! One thread carries all terminals unless more are asked for; each terminal has one connection and never spins. A connection that is lost is
//! made again, and the transaction that was under way is executed again with the same input, unless it was committing.

mod tally;
mod terminal;

use std::{
    sync::{
        Barrier, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rookery_workload::orderentry::{
    Counts, Dialect, Ledger, PerKind, Population, RunConstants,
    terminal::{Arrivals, Binding, Mix, Pacing, TerminalPlan},
};

use crate::{
    Database, OltpError, SessionOptions, Target, runtime,
    verify::{read_ledger, read_meta},
};
pub use tally::Latencies;
use tally::Tally;

/// What is driven.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriveOptions {
    /// Number of terminals, at least 1.
    pub terminals: u32,
    /// Threads that carry them, at least 1.
    pub threads: usize,
    /// Statements and isolation level.
    pub session: SessionOptions,
    /// Which warehouses a terminal works for.
    pub binding: Binding,
    /// How often each transaction comes.
    pub mix: Mix,
    /// How terminals pause.
    pub pacing: Pacing,
    /// Retries of a transaction at most.
    pub max_retries: u32,
    /// Seed of all choices.
    pub seed: u64,
    /// Time before the window.
    pub ramp_up: Duration,
    /// The window.
    pub steady: Duration,
    /// How long a terminal tries to connect again.
    pub patience: Duration,
}

/// What a run gave.
#[derive(Clone, Debug)]
pub struct Report {
    /// The server's version, in its own words.
    pub version: String,
    /// Whose SQL was spoken.
    pub dialect: Dialect,
    /// What is loaded.
    pub population: Population,
    /// The isolation level, in the server's words; nothing where it does not say.
    pub isolation: Option<String>,
    /// The window's length. Shorter than asked for after a stop; 0 when it never began.
    pub window: Duration,
    /// What ended within the window.
    pub counts: Counts,
    /// Response times within the window, retries included.
    pub latencies: PerKind<Latencies>,
    /// Retries within the whole run by cause, in the order of `Cause::ALL`.
    pub retries: [u64; 5],
    /// Connections that were made again in the whole run.
    pub reconnections: u64,
    /// What terminals were told was committed, in the whole run.
    pub told: Ledger,
    /// What may have been committed: the connection was lost during the COMMIT.
    pub unknown: Ledger,
    /// What the database says was committed in the run.
    pub found: Ledger,
}

impl Report {
    /// Whether the database holds what terminals were told.
    #[must_use]
    pub fn ledger_holds(&self) -> bool {
        self.found.holds(self.told, self.unknown)
    }
}

/// Drives a loaded database. Blocks; `stop` ends the run soon.
///
/// # Errors
/// When there is no way to the database or none back, it is not loaded, or a transaction meets what it must not meet.
pub fn drive(target: &Target, options: &DriveOptions, stop: &AtomicBool) -> Result<Report, OltpError> {
    if options.terminals == 0 || options.threads == 0 {
        return Err(OltpError::Setting("there must be at least one terminal and one thread".to_owned()));
    }
    if options.steady.is_zero() {
        return Err(OltpError::Setting("the steady window must be longer than 0 s".to_owned()));
    }
    options.pacing.checked().map_err(|error| OltpError::Setting(error.to_string()))?;
    let runtime = runtime()?;
    let before = runtime.block_on(look(target, options))?;
    let shared = Shared::new(target, options, before.population, stop);
    let tally = carry(&shared)?;
    let after = runtime.block_on(async {
        let mut database = terminal::connect_again(&shared, || Database::connect(target)).await?;
        read_ledger(&mut database, before.population.scale).await
    })?;
    let began = before.ledger;
    Ok(Report {
        version: before.version,
        dialect: before.dialect,
        population: before.population,
        isolation: before.isolation,
        window: shared.measured(),
        counts: tally.counts,
        latencies: PerKind(std::array::from_fn(|kind| Latencies::of(&tally.histograms[kind]))),
        retries: tally.retries,
        reconnections: tally.reconnections,
        told: tally.told,
        unknown: tally.unknown,
        found: Ledger {
            new_orders: after.new_orders - began.new_orders,
            payments: after.payments - began.payments,
            delivered: after.delivered - began.delivered,
        },
    })
}

/// A database before the run.
struct Before {
    version: String,
    dialect: Dialect,
    population: Population,
    isolation: Option<String>,
    ledger: Ledger,
}

async fn look(target: &Target, options: &DriveOptions) -> Result<Before, OltpError> {
    let mut database = Database::connect(target).await?;
    let (population, _) = read_meta(&mut database, target).await?;
    let dialect = database.dialect();
    if let Some(statement) = dialect.set_isolation(options.session.isolation) {
        database.execute(&statement).await?;
    }
    let isolation = match dialect.read_isolation() {
        Some(query) => database.rows(query).await?.into_iter().flatten().next().flatten(),
        None => None,
    };
    Ok(Before {
        version: database.version().to_owned(),
        dialect,
        population,
        isolation,
        ledger: read_ledger(&mut database, population.scale).await?,
    })
}

/// What all terminals share.
struct Shared<'a> {
    target: &'a Target,
    options: &'a DriveOptions,
    plan: TerminalPlan,
    stop: &'a AtomicBool,
    failed: AtomicBool,
    start: Mutex<Option<Instant>>,
    /// When a stop was seen first.
    stopped: Mutex<Option<Instant>>,
    /// The next arrival of an open load, after the start.
    arrivals: Option<Mutex<(Arrivals, Duration)>>,
}

impl<'a> Shared<'a> {
    fn new(target: &'a Target, options: &'a DriveOptions, population: Population, stop: &'a AtomicBool) -> Self {
        let arrivals = match options.pacing {
            Pacing::Rate(rate) => Some(Mutex::new((Arrivals::new(rate, options.seed), Duration::ZERO))),
            _ => None,
        };
        Self {
            target,
            options,
            plan: TerminalPlan {
                scale: population.scale,
                constants: RunConstants::new(options.seed, population.load_constant()),
                terminals: options.terminals,
                binding: options.binding,
                mix: options.mix,
                pacing: options.pacing,
                seed: options.seed,
            },
            stop,
            failed: AtomicBool::new(false),
            start: Mutex::new(None),
            stopped: Mutex::new(None),
            arrivals,
        }
    }

    /// The start is the moment at which the first terminal asks for it, when all are connected.
    fn start(&self) -> Instant {
        *locked(&self.start).get_or_insert_with(Instant::now)
    }

    fn window(&self) -> (Instant, Instant) {
        let begin = self.start() + self.options.ramp_up;
        (begin, begin + self.options.steady)
    }

    fn ends(&self) -> bool {
        let stopped = self.stop.load(Ordering::Relaxed);
        if stopped {
            locked(&self.stopped).get_or_insert_with(Instant::now);
        }
        stopped || self.failed.load(Ordering::Relaxed)
    }

    fn arrival(&self) -> Option<Instant> {
        let mut arrivals = locked(self.arrivals.as_ref()?);
        let step = arrivals.0.next().unwrap_or_default();
        arrivals.1 += step;
        Some(self.start() + arrivals.1)
    }

    /// How much of the window was measured.
    fn measured(&self) -> Duration {
        let (begin, end) = self.window();
        let last = locked(&self.stopped).map_or(end, |stopped| stopped.min(end));
        last.saturating_duration_since(begin)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the threads, and adds up what their terminals did.
fn carry(shared: &Shared<'_>) -> Result<Tally, OltpError> {
    let threads = shared.options.threads.min(shared.options.terminals as usize);
    let barrier = Barrier::new(threads);
    let ends: Vec<Result<Tally, OltpError>> = thread::scope(|scope| {
        let barrier = &barrier;
        let spawned: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(move || carry_on_thread(shared, thread, threads, barrier)))
            .collect();
        let joined = spawned.into_iter().map(|thread| match thread.join() {
            Ok(end) => end,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.collect()
    });
    added(ends)
}

/// The sum, or the first error that is more than a word to stop.
fn added(ends: Vec<Result<Tally, OltpError>>) -> Result<Tally, OltpError> {
    let mut total = Tally::new();
    let mut first = None;
    for end in ends {
        match end {
            Ok(tally) => total.add(&tally),
            Err(error) if first.is_none() || matches!(first, Some(OltpError::Stopped)) => first = Some(error),
            Err(_) => {}
        }
    }
    first.map_or(Ok(total), Err)
}

fn carry_on_thread(shared: &Shared<'_>, thread: usize, threads: usize, barrier: &Barrier) -> Result<Tally, OltpError> {
    let numbers = (0..shared.options.terminals).filter(|&number| number as usize % threads == thread);
    let runtime = runtime();
    let connected = runtime.as_ref().map_err(|_| ()).map(|runtime| {
        runtime.block_on(async {
            let mut terminals = Vec::new();
            for number in numbers {
                terminals.push(terminal::Worker::open(shared, number).await?);
            }
            Ok::<_, OltpError>(terminals)
        })
    });
    if !matches!(connected, Ok(Ok(_))) {
        shared.failed.store(true, Ordering::Relaxed);
    }
    // All threads begin together, or none does.
    barrier.wait();
    let runtime = runtime?;
    let Ok(connected) = connected else {
        return Err(OltpError::Stopped);
    };
    let workers = connected?;
    let working = workers.into_iter().map(|worker| async move {
        let end = worker.work(shared).await;
        if end.is_err() {
            shared.failed.store(true, Ordering::Relaxed);
        }
        end
    });
    let ends = runtime.block_on(futures_util::future::join_all(working));
    added(ends)
}
