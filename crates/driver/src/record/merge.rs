//! What one driver recorded of a guest, all its threads together. It is merged with that of other
//! drivers before anything is computed from it, so that nothing is an average of averages.

use rookery_stats::{ErrorTally, GuestMeasurement, Pacing};
use rookery_workload::Counters;
use serde::{Deserialize, Serialize};

use super::{
    ArrivalRecord, Population, Recorder,
    operation::OperationRecord,
    second::{Second, samples, second_of},
    tally::merged,
    wait::Waits,
};
use crate::{
    clock::{Nanos, Span, seconds},
    operation::OperationTable,
    secret::Secrets,
};

/// Answers may come so many seconds after the end of the load at most.
const LATE_S: u32 = 3_600;

/// One guest, as the threads of one driver saw it, or those of several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct GuestRecord {
    /// By place in the workload's table.
    operations: Vec<OperationRecord>,
    /// Of each thread, one after the other.
    seconds: Vec<Second>,
    errors: Vec<ErrorTally>,
    pub(crate) arrivals: ArrivalRecord,
    busy: Nanos,
    idle: Nanos,
    active: Nanos,
    delays: Waits,
    other_waits: Waits,
}

impl GuestRecord {
    /// What one thread recorded, by the names of `table`.
    pub(crate) fn of_thread(recorder: Recorder, table: OperationTable) -> Self {
        Self {
            operations: recorder.operations.into_vec(),
            seconds: recorder.series.into_seconds(),
            errors: recorder.tallies.into_errors(table),
            arrivals: recorder.arrivals,
            busy: recorder.busy,
            idle: recorder.idle,
            active: recorder.active,
            delays: recorder.delays,
            other_waits: recorder.other_waits,
        }
    }

    /// Takes secrets out of the examples of failures.
    pub(crate) fn mask(&mut self, secrets: &Secrets) {
        secrets.mask_examples(&mut self.errors);
    }

    /// Whether it is of these operations, and of a load that ended at `end`.
    pub(crate) fn is_of(&self, table: OperationTable, end: Nanos) -> bool {
        let last = second_of(end).saturating_add(LATE_S);
        // A driver without users of the guest recorded nothing of it.
        (self.operations.len() == table.entries().len() || self.operations.is_empty())
            && self.seconds.iter().all(|second| second.is_sound(last))
    }

    /// Adds what others recorded of the same guest.
    pub(crate) fn merge(&mut self, other: Self) {
        if self.operations.is_empty() {
            *self = other;
            return;
        }
        for (mine, other) in self.operations.iter_mut().zip(&other.operations) {
            mine.merge(other);
        }
        self.seconds.extend(other.seconds);
        let mine = std::mem::take(&mut self.errors);
        self.errors = merged(mine.into_iter().chain(other.errors));
        self.arrivals.merge(other.arrivals);
        self.busy += other.busy;
        self.idle += other.idle;
        self.active += other.active;
        self.delays.merge(other.delays);
        self.other_waits.merge(other.other_waits);
    }

    /// The measurement of the guest. `window` = what was measured of the trial.
    pub(crate) fn measurement(
        self,
        guest: &GuestLoad<'_>,
        counters: Counters,
        window: Span,
        pacing: Pacing,
    ) -> (GuestMeasurement, Population) {
        let table = guest.operations;
        let mut waits = self.other_waits;
        // A drawn think time is the wait between two acts itself; a cycle time begins with the act.
        if pacing == Pacing::Think {
            waits.merge(self.delays);
        }
        let acts: Vec<&OperationRecord> = self
            .operations
            .iter()
            .enumerate()
            .filter(|(place, _)| table.is_act(*place))
            .map(|(_, record)| record)
            .collect();
        let population = if pacing == Pacing::Arrivals {
            Population::from_acts(window, &acts, self.busy)
        } else {
            Population::from_users(window, &acts, waits, self.active)
        };
        let measurement = GuestMeasurement {
            guest: guest.name.to_owned(),
            users: guest.users,
            operations: table
                .entries()
                .iter()
                .zip(self.operations)
                .filter(|(entry, record)| entry.always || !record.is_empty())
                .map(|(entry, record)| record.measurement(entry.info.name))
                .collect(),
            series: samples(self.seconds),
            errors: merged(self.errors),
            counters,
            busy_s: seconds(self.busy),
            idle_s: seconds(self.idle),
            drawn_delay_mean_s: self.delays.drawn_mean_s(),
            actual_delay_mean_s: self.delays.actual_mean_s(),
        };
        (measurement, population)
    }
}

/// A guest that was driven.
#[derive(Clone, Copy, Debug)]
pub struct GuestLoad<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its users; 0 in an open load.
    pub users: u32,
    /// The operations of its workload.
    pub operations: OperationTable,
}
