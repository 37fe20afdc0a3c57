//! One trial: threads are started together, watched, and their harvests merged.

use std::{
    fmt,
    sync::{
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use rookery_stats::{ArrivalCounts, DriverQuality, GuestMeasurement, Latencies, Measurement, Mode, Pacing, Window};

use crate::{
    check,
    clock::{Clock, Nanos, Span, nanos, seconds},
    config::{Config, Script},
    error::DriverError,
    load::{Load, Visit},
    record::{self, ArrivalRecord, Operation, OrderTally, Population, Recorder, little_error},
    thread::{Board, Control, Harvest, Part, window},
};

/// How often the trial is looked at from outside.
const LOOK: Duration = Duration::from_millis(50);
/// When every user's last request failed for so long, the trial is ended.
const ALL_FAILING: Nanos = 10_000_000_000;
const SECOND: Nanos = 1_000_000_000;

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

/// How a trial goes, once per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Since the common start.
    pub elapsed: Duration,
    /// Present phase.
    pub phase: Phase,
    /// Requests ended in the last second, failed ones included.
    pub requests_per_s: f64,
    /// Failed requests of the last second.
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
pub fn run(config: &Config, start: Instant, stop: &AtomicBool, progress: &(dyn Fn(Progress) + Sync)) -> Result<Measurement, DriverError> {
    perform(config, start, stop, &|now, _| progress(now), false)
}

/// Like [`run`], and tell with the progress how many orders every assignment ended. It is told once more when all users have gone.
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
    let (harvests, aborted) = thread::scope(|scope| {
        let (ready, prepared) = mpsc::channel();
        let mut threads = Vec::new();
        for (index, board) in boards.iter().enumerate() {
            let part = Part {
                config,
                clock,
                index,
                control: &control,
                board,
            };
            let (go, word) = mpsc::channel();
            let ready = ready.clone();
            let spawned = thread::Builder::new()
                .name(format!("driver-{}", config.cpus[index]))
                .spawn_scoped(scope, move || part.run(&ready, &word))
                .map_err(DriverError::Start)?;
            threads.push((spawned, go));
        }
        // Leaving early drops every `go`: no thread sends a packet unless all are ready.
        for _ in &threads {
            prepared.recv().map_err(|_| DriverError::Panicked)??;
        }
        let threads: Vec<_> = threads
            .into_iter()
            .map(|(thread, go)| {
                let _ = go.send(());
                thread
            })
            .collect();
        let watcher = Watcher {
            config,
            clock,
            control: &control,
            boards: &boards,
        };
        let aborted = watcher.watch(stop, progress, || threads.iter().all(thread::ScopedJoinHandle::is_finished));
        let harvests: Option<Vec<Harvest>> = threads.into_iter().map(|thread| thread.join().ok().flatten()).collect();
        Ok::<_, DriverError>((harvests.ok_or(DriverError::Panicked)?, aborted))
    })?;
    let mut span = window(&config.phases);
    if let Some(cut) = control.ended() {
        span.end = span.end.min(cut.max(span.start));
    }
    Ok(measurement(config, span, harvests, aborted))
}

/// Watches a trial from the calling thread.
struct Watcher<'a> {
    config: &'a Config,
    clock: Clock,
    control: &'a Control,
    boards: &'a [Board],
}

impl Watcher<'_> {
    /// Look until all threads are done; the reason if the load was ended early.
    fn watch(&self, stop: &AtomicBool, progress: &(dyn Fn(Progress, &[OrderTally]) + Sync), done: impl Fn() -> bool) -> Option<String> {
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
            if now / SECOND > reported {
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
                (reported, requests, errors) = (now / SECOND, all_requests, all_errors);
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
            all.resize(self.config.assignments.len(), OrderTally::default());
        }
        for board in self.boards {
            all.iter_mut().zip(board.tallies()).for_each(|(tally, part)| tally.merge(&part));
        }
        all
    }

    fn reason_to_stop(&self, stop: &AtomicBool, now: Nanos, failing_since: &mut Option<Nanos>) -> Option<String> {
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
        (now - since >= ALL_FAILING).then(|| format!("all {started} users failed for 10 s"))
    }

    fn sum(&self, of: impl Fn(&Board) -> u64) -> u64 {
        self.boards.iter().map(of).sum()
    }

    fn phase(&self, now: Nanos) -> Phase {
        let phases = &self.config.phases;
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

/// Merge the harvests of all threads.
pub(crate) fn measurement(config: &Config, window: Span, harvests: Vec<Harvest>, aborted: Option<String>) -> Measurement {
    let (mode, pacing) = mode(config);
    let mut driver = quality(config, &harvests);
    driver.arrivals = arrivals(config, &harvests);
    let mut by_guest: Vec<Vec<Recorder>> = config.assignments.iter().map(|_| Vec::new()).collect();
    for harvest in harvests {
        for (parts, recorder) in by_guest.iter_mut().zip(harvest.recorders) {
            parts.push(recorder);
        }
    }
    let merged = config.assignments.iter().zip(by_guest).map(|(assignment, parts)| {
        let always = operations(&assignment.script);
        let users = if mode == Mode::Closed { assignment.users } else { 0 };
        record::guest(&assignment.guest, users, always, window, pacing, parts)
    });
    let (guests, populations): (Vec<GuestMeasurement>, Vec<Population>) = merged.unzip();
    driver.little_error = little_error(&populations);
    Measurement {
        mode,
        pacing,
        window: Window {
            start_s: seconds(window.start),
            end_s: seconds(window.end),
        },
        guests,
        driver,
        aborted,
    }
}

fn mode(config: &Config) -> (Mode, Pacing) {
    match &config.load {
        Load::Closed => (Mode::Closed, config.pacing),
        Load::Open(load) if load.visit == Visit::Single => (Mode::Open, Pacing::Arrivals),
        Load::Open(_) => (Mode::PartlyOpen, Pacing::Arrivals),
    }
}

/// What became of the arrivals of all guests; `None` in a closed load.
fn arrivals(config: &Config, harvests: &[Harvest]) -> Option<ArrivalCounts> {
    let Load::Open(load) = &config.load else {
        return None;
    };
    let mut all = ArrivalRecord::default();
    let recorders = harvests.iter().flat_map(|harvest| &harvest.recorders);
    recorders.for_each(|recorder| all.merge(recorder.arrivals));
    Some(ArrivalCounts {
        spacing: load.arrivals.name().to_owned(),
        precision: load.precision.name().to_owned(),
        drawn: all.drawn,
        started: all.started,
        dropped: all.dropped,
    })
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

fn quality(config: &Config, harvests: &[Harvest]) -> DriverQuality {
    let mut lag = Latencies::new();
    harvests.iter().for_each(|harvest| lag.merge(&harvest.lag));
    let sum = |of: fn(&Harvest) -> u64| harvests.iter().map(of).sum::<u64>();
    let ran = sum(|harvest| harvest.cpu.ran);
    let ratio = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    let first = harvests
        .iter()
        .filter_map(|harvest| harvest.connecting)
        .map(|(first, _)| first)
        .min();
    let last = harvests.iter().filter_map(|harvest| harvest.connecting).map(|(_, last)| last).max();
    DriverQuality {
        cpus: config.cpus.clone(),
        cpu_share: ratio(ran, sum(|harvest| harvest.cpu.wall)),
        cpu_us_per_request: ratio(ran, sum(|harvest| harvest.requests_in_window)) / 1e3,
        run_queue_share: ratio(sum(|harvest| harvest.cpu.waited), ran),
        lag_mean_us: lag.mean_us().unwrap_or(0.0),
        lag_p50_us: lag.percentile_us(50.0).unwrap_or(0),
        lag_p99_us: lag.percentile_us(99.0).unwrap_or(0),
        lag_max_us: lag.max_us().unwrap_or(0),
        unconnected_users: harvests.iter().map(|harvest| harvest.unconnected).sum(),
        connect_s: first.zip(last).map_or(0.0, |(first, last)| seconds(last - first)),
        little_error: 0.0,
        connections: sum(|harvest| harvest.connections),
        idle_retries: sum(|harvest| harvest.idle_retries),
        arrivals: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feed (second, started, failing) to a watcher; the second at which it stops the trial.
    fn stops_at(course: &[(u64, u32, u32)]) -> Option<u64> {
        let config = check::tests::config_for("127.0.0.1:80", "/");
        let (control, boards) = (Control::new(false), [Board::default(), Board::default()]);
        let watcher = Watcher {
            config: &config,
            clock: Clock::new(Instant::now()),
            control: &control,
            boards: &boards,
        };
        let stop = AtomicBool::new(false);
        let mut since = None;
        course.iter().find_map(|&(second, started, failing)| {
            boards[0].started.store(started - started / 2, Relaxed);
            boards[1].started.store(started / 2, Relaxed);
            boards[0].failing.store(failing - failing / 2, Relaxed);
            boards[1].failing.store(failing / 2, Relaxed);
            watcher.reason_to_stop(&stop, second * SECOND, &mut since).map(|_| second)
        })
    }

    #[test]
    fn ten_seconds_of_failure_of_all_users_end_a_trial() {
        assert_eq!(stops_at(&[(0, 0, 0), (100, 0, 0)]), None, "nobody has begun");
        assert_eq!(stops_at(&[(1, 5, 5), (10, 5, 5), (11, 5, 5)]), Some(11));
        assert_eq!(
            stops_at(&[(1, 5, 5), (20, 6, 5), (21, 6, 6), (30, 6, 6)]),
            None,
            "one success begins the count anew"
        );
        assert_eq!(stops_at(&[(1, 5, 4), (100, 5, 4)]), None, "one user still gets through");
    }

    #[test]
    fn every_moment_has_its_phase() {
        let config = check::tests::config_for("127.0.0.1:80", "/");
        let (control, boards) = (Control::new(false), []);
        let watcher = Watcher {
            config: &config,
            clock: Clock::new(Instant::now()),
            control: &control,
            boards: &boards,
        };
        assert_eq!(
            (watcher.phase(0), watcher.phase(5), watcher.phase(SECOND)),
            (Phase::Waiting, Phase::Steady, Phase::Drain)
        );
        control.end(5);
        assert_eq!(watcher.phase(10), Phase::Drain);
    }
}
