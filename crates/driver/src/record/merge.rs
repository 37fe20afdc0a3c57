//! The recorders of all threads become the measurement of a guest.

use rookery_stats::{GuestMeasurement, Pacing};
use rookery_workload::Counters;

use super::{
    Population, Recorder, operation::OperationRecord, second::Series, tally::Tallies, wait::Waits,
};
use crate::{
    clock::{Span, seconds},
    operation::OperationTable,
};

/// Merges the recorders of one guest.
pub(crate) fn guest(
    name: &str,
    users: u32,
    counters: Counters,
    table: OperationTable,
    window: Span,
    pacing: Pacing,
    recorders: Vec<Recorder>,
) -> (GuestMeasurement, Population) {
    let mut operations: Vec<OperationRecord> = table
        .entries()
        .iter()
        .map(|_| OperationRecord::default())
        .collect();
    let (mut series, mut tallies) = (Vec::new(), Vec::new());
    let (mut busy, mut idle, mut active) = (0, 0, 0);
    let (mut delays, mut waits) = (Waits::default(), Waits::default());
    for recorder in recorders {
        for (mine, other) in operations.iter_mut().zip(&recorder.operations) {
            mine.merge(other);
        }
        series.push(recorder.series);
        tallies.push(recorder.tallies);
        busy += recorder.busy;
        idle += recorder.idle;
        active += recorder.active;
        delays.merge(recorder.delays);
        waits.merge(recorder.other_waits);
    }
    // A drawn think time is the wait between two acts itself; a cycle time begins with the act.
    if pacing == Pacing::Think {
        waits.merge(delays);
    }
    let acts: Vec<&OperationRecord> = operations
        .iter()
        .enumerate()
        .filter(|(place, _)| table.is_act(*place))
        .map(|(_, record)| record)
        .collect();
    let population = if pacing == Pacing::Arrivals {
        Population::from_acts(window, &acts, busy)
    } else {
        Population::from_users(window, &acts, waits, active)
    };
    let measurement = GuestMeasurement {
        guest: name.to_owned(),
        users,
        operations: table
            .entries()
            .iter()
            .zip(operations)
            .filter(|(entry, record)| entry.always || !record.is_empty())
            .map(|(entry, record)| record.measurement(entry.info.name))
            .collect(),
        series: Series::merge(series),
        errors: Tallies::merge(tallies, table),
        counters,
        busy_s: seconds(busy),
        idle_s: seconds(idle),
        drawn_delay_mean_s: delays.drawn_mean_s(),
        actual_delay_mean_s: delays.actual_mean_s(),
    };
    (measurement, population)
}
