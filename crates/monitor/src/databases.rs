//! What the databases of a trial say of themselves: buffers and orders at both ends of the measured
//! window.

use std::time::Instant;

use rookery_stack::{DatabaseProbe, StackError, database::BufferCounters};
use rookery_stats::Window;
use rookery_workload::orderentry::DatabaseReadings;
use serde::{Deserialize, Serialize};

use crate::{LoadState, SamplerConfig, schedule::Course};

/// What the database of a guest says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DatabaseLook {
    /// Its counters between both ends of the window.
    Read(DatabaseReadings),
    /// It did not answer both times.
    Silent {
        /// Why.
        reason: String,
    },
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

/// Look at all databases at both ends of the window of a load.
pub(crate) fn watch_databases(config: &SamplerConfig, state: &LoadState) -> Vec<DatabaseLook> {
    let probes = &config.databases;
    let Some(start) = state.started().filter(|_| !probes.is_empty()) else {
        return Vec::new();
    };
    let course = config.schedule.starting(start);
    let cut_short = || {
        let reason = "the load ended before its window did".to_owned();
        vec![DatabaseLook::Silent { reason }; probes.len()]
    };
    if !state.wait(course.from) {
        return cut_short();
    }
    let before = look(probes);
    if !state.wait(course.until) {
        return cut_short();
    }
    before
        .into_iter()
        .zip(look(probes))
        .map(|looks| match looks {
            (Ok(before), Ok(after)) => DatabaseLook::Read(between(before, after, course)),
            (Err(error), _) | (_, Err(error)) => DatabaseLook::Silent {
                reason: error.to_string(),
            },
        })
        .collect()
}

/// One after the other: all at once they would disturb what is measured.
fn look(probes: &[DatabaseProbe]) -> Vec<Result<Look, StackError>> {
    probes
        .iter()
        .map(|probe| {
            // Orders are counted over the time between two looks: nothing may come between them
            // and the clock.
            let asked = Instant::now();
            let new_orders = probe.next_orders().ok();
            let at = Instant::now();
            Ok(Look {
                asked,
                at,
                counters: probe.counters()?,
                new_orders,
            })
        })
        .collect()
}

fn between(before: Look, after: Look, load: Course) -> DatabaseReadings {
    // After the end of the load no order comes any more: a look that was late has not seen a
    // slower database.
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
        hit_target: None,
    }
}
