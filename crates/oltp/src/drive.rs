//! Driving: one trial on one database that runs, the figures of the steady window, and the ledger
//! check behind them.

mod latencies;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread::sleep,
    time::{Duration, Instant},
};

use rookery_driver::Visit;
use rookery_stats::Measurement;
use rookery_workload::{
    DelayDistribution,
    orderentry::{
        Counts, DeliveryMode, Dialect, Ledger, PerKind, Population,
        terminal::{Binding, Mix, Pacing},
    },
};

use crate::{
    Database, OltpError, SessionOptions, Target, runtime,
    stopping::{soon_after, unless_stopped},
    trial::{self, Load, OpenLoad, Phases, Progress, Threads, TrialConfig, TrialGuest},
    verify::{read_ledger, read_meta},
};
pub use latencies::Latencies;

/// Pause between two attempts to read the ledger of a server that is starting up.
const AGAIN: Duration = Duration::from_millis(100);
/// Arrivals of an open load that may wait for a terminal, for each terminal; more are dropped.
const WAITING_PER_TERMINAL: u32 = 1_000;

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
    /// How terminals pause. A rate is an open load.
    pub pacing: Pacing,
    /// Who executes deliveries.
    pub delivery: DeliveryMode,
    /// Retries of a transaction at most.
    pub max_retries: u32,
    /// Seed of all choices.
    pub seed: u64,
    /// Time before the window; all terminals work.
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
    /// Response times of what was begun within the window, retries included; of an open load from
    /// the scheduled arrival.
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
    /// Everything that was measured.
    pub measurement: Measurement,
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
/// When there is no way to the database or none back, it is not loaded, or a transaction meets what
/// it must not meet.
pub fn drive(
    target: &Target,
    options: &DriveOptions,
    stop: &AtomicBool,
) -> Result<Report, OltpError> {
    drive_and_tell(target, options, stop, &|_| {})
}

/// Like [`drive`], and tells `progress` once per second how it goes.
///
/// # Errors
/// As [`drive`].
pub fn drive_and_tell(
    target: &Target,
    options: &DriveOptions,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Report, OltpError> {
    options.pacing.checked()?;
    let runtime = runtime()?;
    let before = runtime.block_on(unless_stopped(stop, look(target, options)))?;
    let config = options.trial(target, before.population);
    let driven = trial::drive(&config, &Instant::now, stop, progress)?;
    if let Some(error) = driven.fatal {
        return Err(error);
    }
    let tally = driven.tallies.into_iter().next().unwrap_or_default();
    let after = again(options.patience, stop, || {
        runtime.block_on(soon_after(stop, async {
            let mut database = Database::connect(target).await?;
            read_ledger(&mut database, before.population.scale).await
        }))
    })?;
    let began = before.ledger;
    let window = driven.measurement.window;
    Ok(Report {
        version: before.version,
        dialect: before.dialect,
        population: before.population,
        isolation: before.isolation,
        window: Duration::from_secs_f64(window.seconds()),
        counts: tally.counts,
        latencies: latencies(&driven.measurement),
        retries: tally.causes,
        reconnections: tally.reconnections,
        told: tally.told,
        unknown: tally.unknown,
        found: Ledger {
            new_orders: after.new_orders - began.new_orders,
            payments: after.payments - began.payments,
            delivered: after.delivered - began.delivered,
        },
        measurement: driven.measurement,
    })
}

impl DriveOptions {
    /// The trial of one guest that this is.
    fn trial(&self, target: &Target, population: Population) -> TrialConfig {
        let load = match self.pacing {
            Pacing::Rate(rate) => Load::Open(OpenLoad {
                arrivals: rookery_driver::Arrivals::Poisson,
                profile: rookery_driver::Profile::level(rate),
                weights: Vec::new(),
                max_in_flight: self.terminals.saturating_mul(WAITING_PER_TERMINAL),
                precision: rookery_driver::Precision::Batched,
                visit: Visit::Single,
            }),
            _ => Load::Closed,
        };
        TrialConfig {
            guests: vec![TrialGuest {
                name: "database".to_owned(),
                target: target.clone(),
                terminals: self.terminals,
                population,
            }],
            threads: Threads::Free(self.threads.min(self.terminals as usize)),
            network: None,
            pacing: if load == Load::Closed {
                self.pacing
            } else {
                Pacing::None
            },
            think: DelayDistribution::TruncatedExponential,
            load,
            phases: Phases {
                ramp_up: Duration::ZERO,
                settle: self.ramp_up,
                steady: self.steady,
                ramp_down: Duration::ZERO,
                // The outcome of a transaction that goes on for longer is unknown.
                drain: target.patience.answer,
            },
            session: self.session,
            binding: self.binding,
            mix: self.mix,
            delivery: self.delivery,
            max_retries: self.max_retries,
            patience: Some(self.patience),
            seed: self.seed,
            // Whoever made the target confirmed it.
            confirmed: target.address().into_iter().collect(),
        }
    }
}

/// Asks again while no server answers or it is only starting up, as long as the patience lasts.
fn again<T>(
    patience: Duration,
    stop: &AtomicBool,
    mut ask: impl FnMut() -> Result<T, OltpError>,
) -> Result<T, OltpError> {
    let until = Instant::now() + patience;
    loop {
        match ask() {
            Err(
                OltpError::NoServer { .. }
                | OltpError::Connect { .. }
                | OltpError::Statement { .. },
            ) if Instant::now() < until && !stop.load(Ordering::Relaxed) => {
                sleep(AGAIN);
            }
            other => return other,
        }
    }
}

fn latencies(measurement: &Measurement) -> PerKind<Latencies> {
    let of = |index: usize| {
        let name = rookery_workload::orderentry::TRANSACTIONS[index];
        Latencies::from_histogram(&measurement.latencies(name))
    };
    PerKind(std::array::from_fn(of))
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
        Some(query) => database.word(query).await?,
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
