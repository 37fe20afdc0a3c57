//! One trial: threads are started together, watched, and what they recorded is merged.

use std::{sync::atomic::AtomicBool, time::Instant};

use rookery_driver::{
    Clock, DriverError, GuestLoad, Load, LoadDescription, Nanos, Placement, Progress, Span,
    ThreadStatus, TrialControl, TrialMonitor, Visit, allow_descriptors, run_together,
};
use rookery_stats::{Measurement, Mode, Pacing};

use crate::{
    check,
    config::Config,
    thread::{Recorded, TallyBoard, WebTask},
    workloads::{GuestCounts, dvdstore::OrderTally},
};

/// When every user's last request failed for so long, the trial is ended.
const ALL_FAILING: Nanos = 10_000_000_000;

/// Run one trial: every user of every assignment from the common `start` to the end of the phases.
///
/// `start` may lie in the future, so that several drivers begin together. Setting `stop` ends the
/// load within about a second; the measurement then covers what was measured and says that it was
/// aborted. `progress` is called once per second from the calling thread. When the users need more
/// open files than the soft limit of this process allows, the soft limit is raised.
///
/// # Errors
/// When nothing was sent: a foreign target, a configuration that cannot work, too few file
/// descriptors, a CPU or network namespace that cannot be had; or [`DriverError::Panicked`].
/// Failures of requests are no errors: they are counted in the measurement.
pub fn run(
    config: &Config,
    start: Instant,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Measurement, DriverError> {
    perform(config, start, stop, &|now, _| progress(now), false)
}

/// Like [`run`], and report with the progress how many orders every assignment ended: about twenty
/// times per second, and once more when all users have gone.
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
    allow_descriptors(check::connections(config))?;
    let (clock, control) = (Clock::new(start), TrialControl::new());
    let threads = || config.cpus.iter();
    let statuses: Vec<ThreadStatus> = threads().map(|_| ThreadStatus::default()).collect();
    let boards: Vec<TallyBoard> = threads()
        .filter(|_| tallies)
        .map(|_| TallyBoard::default())
        .collect();
    let cpus: Vec<Option<u32>> = config.cpus.iter().copied().map(Some).collect();
    let placement = Placement {
        cpus: &cpus,
        network: config.network.as_deref(),
    };
    let task = WebTask {
        config,
        control: &control,
        statuses: &statuses,
        tallies: &boards,
    };
    let monitor = TrialMonitor {
        phases: &config.phases,
        clock,
        control: &control,
        statuses: &statuses,
        all_failing: ALL_FAILING,
        every_look: tallies,
    };
    let report = |now| progress(now, &merged_tallies(&boards, config.assignments.len()));
    let (recorded, aborted) = run_together(
        placement,
        &task,
        |_| Ok(clock),
        |_, done| monitor.watch(stop, &report, done),
    )?;
    let window = control.measured(config.phases.window());
    Ok(measurement(config, window, recorded, aborted))
}

/// The orders of every guest, all threads together.
fn merged_tallies(boards: &[TallyBoard], guests: usize) -> Vec<OrderTally> {
    let mut all = vec![OrderTally::default(); guests];
    for board in boards {
        all.iter_mut()
            .zip(board.get())
            .for_each(|(tally, part)| tally.merge(&part));
    }
    all
}

/// Merges what all threads recorded.
pub(crate) fn measurement(
    config: &Config,
    window: Span,
    recorded: Vec<Recorded>,
    aborted: Option<String>,
) -> Measurement {
    let (mode, pacing) = mode(config);
    let guests = config.assignments.iter().map(|assignment| GuestLoad {
        name: &assignment.guest,
        users: if mode == Mode::Closed {
            assignment.users
        } else {
            0
        },
        operations: assignment.script.operations(),
    });
    let description = LoadDescription {
        mode,
        pacing,
        cpus: &config.cpus,
        open: match &config.load {
            Load::Open(load) => Some(load),
            Load::Closed => None,
        },
        guests: guests.collect(),
    };
    let (results, counts): (Vec<_>, Vec<_>) = recorded
        .into_iter()
        .map(|thread| (thread.results, thread.counts))
        .unzip();
    let mut merged: Vec<GuestCounts> = config
        .assignments
        .iter()
        .map(|assignment| GuestCounts::nothing(&assignment.script))
        .collect();
    for thread in counts {
        for (all, part) in merged.iter_mut().zip(thread) {
            all.merge(part);
        }
    }
    let counters = merged
        .into_iter()
        .map(|counts| counts.counters(window))
        .collect();
    description.measurement(window, results, counters, aborted)
}

fn mode(config: &Config) -> (Mode, Pacing) {
    match &config.load {
        Load::Closed => (Mode::Closed, config.pacing),
        Load::Open(load) if load.visit == Visit::Single => (Mode::Open, Pacing::Arrivals),
        Load::Open(_) => (Mode::PartlyOpen, Pacing::Arrivals),
    }
}
