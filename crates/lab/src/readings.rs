//! What the databases of a trial say of themselves: buffers and orders at both ends of the measured window.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use rookery_stack::database::BufferCounters;
use rookery_stats::{DatabaseReadings, Measurement, Window};

use crate::stack::OrderEntry;

/// How often the end of the load is looked for.
const WATCH_EVERY: Duration = Duration::from_millis(50);

/// So much before the end of its window a load may be over.
const EARLY: Duration = Duration::from_secs(1);

/// The databases of a trial.
pub(crate) struct Databases<'a> {
    pub(crate) stack: &'a dyn OrderEntry,
    /// Data directory of each guest.
    pub(crate) places: Vec<PathBuf>,
    /// Hit ratio that the study asks for.
    pub(crate) hit_target: Option<f64>,
}

/// The load that is looked at.
#[derive(Clone, Copy)]
pub(crate) struct Course {
    /// The common start of all terminals.
    pub(crate) start: Instant,
    /// Begin of the measured window.
    pub(crate) from: Instant,
    /// Its length.
    pub(crate) steady: Duration,
    /// When the load ends.
    pub(crate) end: Instant,
}

/// One look at a database.
#[derive(Clone, Copy)]
struct Look {
    /// When it was asked for its orders.
    asked: Instant,
    /// When it had told them.
    at: Instant,
    counters: BufferCounters,
    new_orders: Option<u64>,
}

impl Databases<'_> {
    /// Look at all databases at both ends of the window of a load; of a guest that did not answer both times, why.
    pub(crate) fn watch(
        &self,
        load: Course,
        over: &AtomicBool,
    ) -> Vec<Result<DatabaseReadings, String>> {
        let cut_short =
            || vec![Err("the load ended before its window did".to_owned()); self.places.len()];
        if !wait(load.from, over) {
            return cut_short();
        }
        let before = self.look();
        if !wait(load.from + load.steady, over) {
            return cut_short();
        }
        let pairs = before.into_iter().zip(self.look());
        pairs
            .map(|(before, after)| Ok(self.between(before?, after?, load)))
            .collect()
    }

    /// One after the other: all at once they would disturb what is measured.
    fn look(&self) -> Vec<Result<Look, String>> {
        let look = |place: &PathBuf| {
            // Orders are counted over the time between two looks: nothing may come between them and the clock.
            let asked = Instant::now();
            let new_orders = rookery_oltp::next_orders(&self.stack.inside(place)).ok();
            let at = Instant::now();
            Ok(Look {
                asked,
                at,
                counters: self.stack.counters(place)?,
                new_orders,
            })
        };
        self.places.iter().map(look).collect()
    }

    fn between(&self, before: Look, after: Look, load: Course) -> DatabaseReadings {
        // After the end of the load no order comes any more: a look that was late has not seen a slower database.
        let last_at = after.at.min(load.end);
        let (first, last) = (before.counters, after.counters);
        let since_start = |at: Instant| at.saturating_duration_since(load.start).as_secs_f64();
        let look_s = |look: Look| (look.at - look.asked).as_secs_f64();
        let optional = |first: Option<u64>, last: Option<u64>| Some(last?.saturating_sub(first?));
        DatabaseReadings {
            seconds: last_at.saturating_duration_since(before.at).as_secs_f64(),
            logical_reads: last.logical.saturating_sub(first.logical),
            misses: last.misses.saturating_sub(first.misses),
            read_ahead: optional(first.read_ahead, last.read_ahead),
            read_bytes: optional(first.read_bytes, last.read_bytes),
            new_orders: optional(before.new_orders, after.new_orders),
            looks: Some(Window {
                start_s: since_start(before.at),
                end_s: since_start(after.at),
            }),
            look_s: look_s(before).max(look_s(after)),
            pool_bytes: last.pool_bytes,
            bytes_before: first.database_bytes,
            bytes_after: last.database_bytes,
            hit_target: self.hit_target,
        }
    }
}

/// Sleep until `moment`; whether the load lasted until then.
pub(crate) fn wait(moment: Instant, over: &AtomicBool) -> bool {
    loop {
        let left = moment.saturating_duration_since(Instant::now());
        // The load may end with the window: a look that comes a little early is as good.
        if left.is_zero() || (left <= EARLY && over.load(Ordering::Relaxed)) {
            return true;
        }
        if over.load(Ordering::Relaxed) {
            return false;
        }
        thread::sleep(WATCH_EVERY.min(left));
    }
}

/// Put the readings beside the counters of their guests, which have the same order; the first guest that told nothing, and why.
pub(crate) fn attach(
    measurement: &mut Measurement,
    readings: Vec<Result<DatabaseReadings, String>>,
) -> Option<String> {
    let mut silent = None;
    for (guest, reading) in measurement.guests.iter_mut().zip(readings) {
        match (&mut guest.orderentry, reading) {
            (Some(counters), Ok(reading)) => counters.database = Some(reading),
            (_, Err(why)) if silent.is_none() => {
                silent = Some(format!("guest {}: {why}", guest.guest))
            }
            _ => {}
        }
    }
    silent
}

/// Hit ratio over the buffers of all guests; nothing where no page was asked for.
pub(crate) fn hit_ratio(measurement: &Measurement) -> Option<f64> {
    let readings = measurement
        .order_entry()
        .filter_map(|counters| counters.database);
    let sum = readings.fold(DatabaseReadings::default(), |sum, reading| {
        DatabaseReadings {
            logical_reads: sum.logical_reads + reading.logical_reads,
            misses: sum.misses + reading.misses,
            ..sum
        }
    });
    sum.hit_ratio()
}
