//! One trial: threads are started together, watched, and their harvests merged.

use std::{
    fmt,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use rookery_stats::{
    ArrivalCounts, DriverQuality, GuestMeasurement, Latencies, Measurement, Mode, Pacing, Window,
};

use crate::{
    check,
    clock::{Clock, Nanos, Span, seconds},
    config::{Config, Script},
    crew::{Board, Control, Posts, Watch, together, window},
    error::DriverError,
    load::{Load, OpenLoad, Visit},
    record::{self, ArrivalRecord, Operation, OrderTally, Population, Recorder, little_error},
    thread::{Harvest, Parts},
};

/// When every user's last request failed for so long, the trial is ended.
const ALL_FAILING: Nanos = 10_000_000_000;

/// A phase of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The common start is still to come.
    Waiting,
    /// Users appear.
    RampUp,
    /// All run, nothing is measured.
    Settle,
    /// The measured window.
    Steady,
    /// Users stop.
    RampDown,
    /// Unfinished operations are awaited.
    Drain,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Waiting => "waiting",
            Self::RampUp => "ramp-up",
            Self::Settle => "settle",
            Self::Steady => "steady",
            Self::RampDown => "ramp-down",
            Self::Drain => "drain",
        })
    }
}

/// How a trial goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Since the common start.
    pub elapsed: Duration,
    /// Present phase.
    pub phase: Phase,
    /// Requests ended per second since the last full second that was told, failed ones included.
    pub requests_per_s: f64,
    /// Failed ones of them.
    pub errors_per_s: f64,
    /// Users that have begun.
    pub active_users: u32,
}

/// Run one trial: every user of every assignment from the common `start` to the end of the phases.
///
/// `start` may lie in the future, so that several drivers begin together. Setting `stop` ends the load within about a second; the
/// measurement then covers what was measured and says that it was aborted. `progress` is called once per second from the calling thread.
/// When the users need more open files than the soft limit of this process allows, the soft limit is raised.
///
/// # Errors
/// When nothing was sent: a foreign target, a configuration that cannot work, too few file descriptors, a CPU or network namespace that
/// cannot be had; or [`DriverError::Panicked`]. Failures of requests are no errors: they are counted in the measurement.
pub fn run(
    config: &Config,
    start: Instant,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Measurement, DriverError> {
    perform(config, start, stop, &|now, _| progress(now), false)
}

/// Like [`run`], and tell with the progress how many orders every assignment ended: about twenty times per second, and once more when all
/// users have gone.
///
/// # Errors
/// As [`run`].
pub fn run_with_tallies(
    config: &Config,
    start: Instant,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress, &[OrderTally]) + Sync),
) -> Result<Measurement, DriverError> {
    perform(config, start, stop, progress, true)
}

fn perform(
    config: &Config,
    start: Instant,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress, &[OrderTally]) + Sync),
    tallies: bool,
) -> Result<Measurement, DriverError> {
    check::config(config)?;
    check::descriptors(check::connections(config))?;
    let (clock, control) = (Clock::new(start), Control::new(tallies));
    let boards: Vec<Board> = config.cpus.iter().map(|_| Board::default()).collect();
    let cpus: Vec<Option<u32>> = config.cpus.iter().copied().map(Some).collect();
    let posts = Posts {
        cpus: &cpus,
        network: config.network.as_deref(),
    };
    let parts = Parts {
        config,
        control: &control,
        boards: &boards,
    };
    let watch = Watch {
        phases: &config.phases,
        clock,
        control: &control,
        boards: &boards,
        all_failing: ALL_FAILING,
        guests: config.assignments.len(),
    };
    let (harvests, aborted) = together(
        posts,
        &parts,
        |_| Ok(clock),
        |_, done| watch.look(stop, progress, done),
    )?;
    let span = control.measured(window(&config.phases));
    Ok(measurement(config, span, harvests, aborted))
}

/// What was driven, as far as the measurement says it.
#[derive(Debug)]
pub struct Outline<'a> {
    /// Loop type.
    pub mode: Mode,
    /// Pacing of the users.
    pub pacing: Pacing,
    /// CPUs of the driver threads.
    pub cpus: &'a [u32],
    /// The arrivals of an open load.
    pub open: Option<&'a OpenLoad>,
    /// The guests.
    pub guests: Vec<OutlinedGuest<'a>>,
}

/// A guest that was driven.
#[derive(Clone, Copy, Debug)]
pub struct OutlinedGuest<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its users; 0 in an open load.
    pub users: u32,
    /// The operations that are reported even when none was started.
    pub operations: &'static [Operation],
}

/// Merge the harvests of all threads.
pub(crate) fn measurement(
    config: &Config,
    window: Span,
    harvests: Vec<Harvest>,
    aborted: Option<String>,
) -> Measurement {
    let (mode, pacing) = mode(config);
    let guests = config.assignments.iter().map(|assignment| OutlinedGuest {
        name: &assignment.guest,
        users: if mode == Mode::Closed {
            assignment.users
        } else {
            0
        },
        operations: operations(&assignment.script),
    });
    let outline = Outline {
        mode,
        pacing,
        cpus: &config.cpus,
        open: match &config.load {
            Load::Open(load) => Some(load),
            Load::Closed => None,
        },
        guests: guests.collect(),
    };
    outline.measurement(window, harvests, aborted)
}

impl Outline<'_> {
    /// Merge the harvests of all threads.
    #[must_use]
    pub fn measurement(
        &self,
        window: Span,
        harvests: Vec<Harvest>,
        aborted: Option<String>,
    ) -> Measurement {
        let mut driver = quality(self.cpus, &harvests);
        driver.arrivals = self.open.map(|load| arrivals(load, &harvests));
        let mut by_guest: Vec<Vec<Recorder>> = self.guests.iter().map(|_| Vec::new()).collect();
        for harvest in harvests {
            for (parts, recorder) in by_guest.iter_mut().zip(harvest.recorders) {
                parts.push(recorder);
            }
        }
        let merged = self.guests.iter().zip(by_guest).map(|(guest, parts)| {
            record::guest(
                guest.name,
                guest.users,
                guest.operations,
                window,
                self.pacing,
                parts,
            )
        });
        let (guests, populations): (Vec<GuestMeasurement>, Vec<Population>) = merged.unzip();
        driver.little_error = little_error(&populations);
        Measurement {
            mode: self.mode,
            pacing: self.pacing,
            window: Window {
                start_s: seconds(window.start),
                end_s: seconds(window.end),
            },
            guests,
            driver,
            aborted,
        }
    }
}

fn mode(config: &Config) -> (Mode, Pacing) {
    match &config.load {
        Load::Closed => (Mode::Closed, config.pacing),
        Load::Open(load) if load.visit == Visit::Single => (Mode::Open, Pacing::Arrivals),
        Load::Open(_) => (Mode::PartlyOpen, Pacing::Arrivals),
    }
}

/// What became of the arrivals of all guests.
fn arrivals(load: &OpenLoad, harvests: &[Harvest]) -> ArrivalCounts {
    let mut all = ArrivalRecord::default();
    let recorders = harvests.iter().flat_map(|harvest| &harvest.recorders);
    recorders.for_each(|recorder| all.merge(recorder.arrivals));
    ArrivalCounts {
        spacing: load.arrivals.name().to_owned(),
        precision: load.precision.name().to_owned(),
        drawn: all.drawn,
        started: all.started,
        dropped: all.dropped,
    }
}

/// The operations that a script reports even when none was started.
fn operations(script: &Script) -> &'static [Operation] {
    match script {
        Script::DvdStore { .. } => &[
            Operation::Login,
            Operation::NewCustomer,
            Operation::Browse,
            Operation::Purchase,
            Operation::Order,
        ],
        Script::Page { .. } => &[Operation::Page],
    }
}

fn quality(cpus: &[u32], harvests: &[Harvest]) -> DriverQuality {
    let mut lag = Latencies::new();
    harvests.iter().for_each(|harvest| lag.merge(&harvest.lag));
    let sum = |of: fn(&Harvest) -> u64| harvests.iter().map(of).sum::<u64>();
    let ran = sum(|harvest| harvest.cpu.ran);
    let ratio = |part: u64, whole: u64| {
        if whole == 0 {
            0.0
        } else {
            part as f64 / whole as f64
        }
    };
    let first = harvests
        .iter()
        .filter_map(|harvest| harvest.connecting)
        .map(|(first, _)| first)
        .min();
    let last = harvests
        .iter()
        .filter_map(|harvest| harvest.connecting)
        .map(|(_, last)| last)
        .max();
    DriverQuality {
        cpus: cpus.to_vec(),
        cpu_share: ratio(ran, sum(|harvest| harvest.cpu.wall)),
        cpu_us_per_request: ratio(ran, sum(|harvest| harvest.requests_in_window)) / 1e3,
        run_queue_share: ratio(sum(|harvest| harvest.cpu.waited), ran),
        lag_mean_us: lag.mean_us().unwrap_or(0.0),
        lag_p50_us: lag.percentile_us(50.0).unwrap_or(0),
        lag_p99_us: lag.percentile_us(99.0).unwrap_or(0),
        lag_max_us: lag.max_us().unwrap_or(0),
        unconnected_users: harvests.iter().map(|harvest| harvest.unconnected).sum(),
        connect_s: first
            .zip(last)
            .map_or(0.0, |(first, last)| seconds(last - first)),
        little_error: 0.0,
        connections: sum(|harvest| harvest.connections),
        idle_retries: sum(|harvest| harvest.idle_retries),
        arrivals: None,
    }
}
