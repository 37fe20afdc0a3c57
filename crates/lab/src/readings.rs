//! What the databases of a trial say of themselves: buffers and orders at both ends of the measured window.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use rookery_stack::database::BufferCounters;
use rookery_stats::{DatabaseReadings, Measurement};

use crate::stack::OrderEntry;

/// How often the end of the load is looked for.
const WATCH_EVERY: Duration = Duration::from_millis(50);

/// The databases of a trial.
pub(crate) struct Databases<'a> {
    pub(crate) stack: &'a dyn OrderEntry,
    /// Data directory of each guest.
    pub(crate) places: Vec<PathBuf>,
    /// Hit ratio that the study asks for.
    pub(crate) hit_target: Option<f64>,
}

/// One look at a database.
#[derive(Clone, Copy)]
struct Look {
    at: Instant,
    counters: BufferCounters,
    new_orders: Option<u64>,
}

impl Databases<'_> {
    /// Look at all databases at `from` and again `steady` later. Nothing for a guest that did not answer both times.
    pub(crate) fn watch(&self, from: Instant, steady: Duration, over: &AtomicBool) -> Vec<Option<DatabaseReadings>> {
        let nothing = || vec![None; self.places.len()];
        if !wait(from, over) {
            return nothing();
        }
        let before = self.look();
        if !wait(from + steady, over) {
            return nothing();
        }
        let after = self.look();
        let pairs = before.into_iter().zip(after);
        pairs.map(|pair| Some(self.between(pair.0?, pair.1?))).collect()
    }

    /// One after the other: all at once they would disturb what is measured.
    fn look(&self) -> Vec<Option<Look>> {
        let look = |place: &PathBuf| {
            let counters = self.stack.counters(place).ok()?;
            Some(Look {
                at: Instant::now(),
                counters,
                new_orders: rookery_oltp::next_orders(&self.stack.inside(place)).ok(),
            })
        };
        self.places.iter().map(look).collect()
    }

    fn between(&self, before: Look, after: Look) -> DatabaseReadings {
        let (first, last) = (before.counters, after.counters);
        let optional = |first: Option<u64>, last: Option<u64>| Some(last?.saturating_sub(first?));
        DatabaseReadings {
            seconds: after.at.duration_since(before.at).as_secs_f64(),
            logical_reads: last.logical.saturating_sub(first.logical),
            misses: last.misses.saturating_sub(first.misses),
            read_ahead: optional(first.read_ahead, last.read_ahead),
            read_bytes: optional(first.read_bytes, last.read_bytes),
            new_orders: optional(before.new_orders, after.new_orders),
            pool_bytes: last.pool_bytes,
            bytes_before: first.database_bytes,
            bytes_after: last.database_bytes,
            hit_target: self.hit_target,
        }
    }
}

/// Sleep until `moment`; whether the load still lasts then. The end of the window may be the end of the load.
fn wait(moment: Instant, over: &AtomicBool) -> bool {
    loop {
        let left = moment.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        if over.load(Ordering::Relaxed) {
            return false;
        }
        thread::sleep(WATCH_EVERY.min(left));
    }
}

/// Put the readings beside the counters of their guests, which have the same order.
pub(crate) fn attach(measurement: &mut Measurement, readings: Vec<Option<DatabaseReadings>>) {
    for (guest, reading) in measurement.guests.iter_mut().zip(readings) {
        if let Some(counters) = &mut guest.orderentry {
            counters.database = reading;
        }
    }
}

/// Hit ratio over the buffers of all guests; nothing where no page was asked for.
pub(crate) fn hit_ratio(measurement: &Measurement) -> Option<f64> {
    let readings = measurement.order_entry().filter_map(|counters| counters.database);
    let sum = readings.fold(DatabaseReadings::default(), |sum, reading| DatabaseReadings {
        logical_reads: sum.logical_reads + reading.logical_reads,
        misses: sum.misses + reading.misses,
        ..sum
    });
    sum.hit_ratio()
}
