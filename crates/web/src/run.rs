//! One trial: threads are started together, watched, and what they recorded is merged.

use std::{sync::atomic::AtomicBool, time::Instant};

use rookery_driver::{
    Clock, DriverError, Nanos, Placement, Progress, Span, ThreadStatus, TrialControl, TrialMonitor,
    allow_descriptors, run_together,
};
use rookery_stats::Measurement;

use crate::{
    check,
    config::Config,
    merge::{self, Recording, description},
    part::Part,
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
    let progress = |now, _: &[OrderTally]| progress(now);
    let all = perform(config, Part::whole(config), start, stop, &progress, false)?;
    Ok(merge::one(config, all))
}

/// Like [`run`], for one of several drivers that carry the load of `config` together: this one's
/// threads are on the CPUs of `config`. What each recorded is merged by [`merge`](crate::merge()).
///
/// # Errors
/// As [`run`].
pub fn run_part(
    config: &Config,
    part: Part,
    start: Instant,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Recording, DriverError> {
    let progress = |now, _: &[OrderTally]| progress(now);
    perform(config, part, start, stop, &progress, false)
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
    let all = perform(config, Part::whole(config), start, stop, progress, true)?;
    Ok(merge::one(config, all))
}

fn perform(
    config: &Config,
    part: Part,
    start: Instant,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress, &[OrderTally]) + Sync),
    tallies: bool,
) -> Result<Recording, DriverError> {
    check::config(config, part)?;
    let (config, secrets) = &config.revealed()?;
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
        part,
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
    let mut recording = recording(config, window, recorded, aborted);
    recording.record.mask(secrets);
    Ok(recording)
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

/// What threads of one driver recorded, together.
pub(crate) fn recording(
    config: &Config,
    window: Span,
    recorded: Vec<Recorded>,
    aborted: Option<String>,
) -> Recording {
    let first_late_us = recorded.iter().filter_map(|thread| thread.first_late);
    let first_late_us = first_late_us.map(|late| late / 1_000).collect();
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
    Recording {
        window,
        first_late_us,
        record: description(config).record(results),
        counters: merged
            .into_iter()
            .map(|counts| counts.counters(window))
            .collect(),
        aborted,
    }
}
