//! What one or several drivers recorded becomes one measurement.

use rookery_driver::{DriverRecord, GuestLoad, Load, LoadDescription, Span, Visit};
use rookery_stats::{Measurement, Mode, Pacing};
use rookery_workload::Counters;
use serde::{Deserialize, Serialize};

use crate::{config::Config, workloads::GuestCounts};

/// What one driver recorded of its part of a load. It travels as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// What it measured: less than the phases say where the load ended early.
    pub(crate) window: Span,
    /// By thread that had users: how long after its time its first user began, microseconds.
    pub(crate) first_late_us: Vec<u64>,
    pub(crate) record: DriverRecord,
    /// By guest.
    pub(crate) counters: Vec<Counters>,
    /// Why the load ended early.
    pub(crate) aborted: Option<String>,
}

impl Recording {
    /// How long after its time the first user of each thread began, microseconds; threads without
    /// users are left out.
    #[must_use]
    pub fn first_late_us(&self) -> &[u64] {
        &self.first_late_us
    }
}

/// Recordings that are not those of one load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what a driver recorded is not of this load")]
pub struct ForeignRecording;

/// Merges what several drivers recorded of the load of `config`, whose CPUs are those of all.
/// Counts and histograms are those that one driver with as many threads would have.
///
/// # Errors
/// When a recording is of other guests, operations or times, as only a program can send that is not
/// ours; or there is none.
pub fn merge(config: &Config, recordings: Vec<Recording>) -> Result<Measurement, ForeignRecording> {
    let description = description(config);
    let load_end = rookery_driver::nanos(config.phases.load_end() + config.phases.drain);
    let guests = config.assignments.len();
    let (mut window, mut aborted) = (config.phases.window(), None);
    let (mut records, mut counters): (Vec<DriverRecord>, Vec<Counters>) = (Vec::new(), Vec::new());
    for recording in recordings {
        if !description.is_of(&recording.record, load_end) || recording.counters.len() != guests {
            return Err(ForeignRecording);
        }
        window.end = window.end.min(recording.window.end.max(window.start));
        aborted = aborted.or(recording.aborted);
        records.push(recording.record);
        if counters.is_empty() {
            counters = recording.counters;
        } else {
            for (all, part) in counters.iter_mut().zip(&recording.counters) {
                all.merge(part).map_err(|_| ForeignRecording)?;
            }
        }
    }
    let expected = config.assignments.iter().map(|assignment| {
        let nothing = GuestCounts::nothing(&assignment.script);
        nothing.counters(window).kind()
    });
    if records.is_empty() || !expected.eq(counters.iter().map(Counters::kind)) {
        return Err(ForeignRecording);
    }
    Ok(description.measurement(window, records, counters, aborted))
}

/// The measurement of one driver.
pub(crate) fn one(config: &Config, recording: Recording) -> Measurement {
    let Recording {
        window,
        record,
        counters,
        aborted,
        ..
    } = recording;
    description(config).measurement(window, vec![record], counters, aborted)
}

/// What is driven.
pub(crate) fn description(config: &Config) -> LoadDescription<'_> {
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
    LoadDescription {
        mode,
        pacing,
        cpus: &config.cpus,
        open: match &config.load {
            Load::Open(load) => Some(load),
            Load::Closed => None,
        },
        guests: guests.collect(),
    }
}

fn mode(config: &Config) -> (Mode, Pacing) {
    match &config.load {
        Load::Closed => (Mode::Closed, config.pacing),
        Load::Open(load) if load.visit == Visit::Single => (Mode::Open, Pacing::Arrivals),
        Load::Open(_) => (Mode::PartlyOpen, Pacing::Arrivals),
    }
}
