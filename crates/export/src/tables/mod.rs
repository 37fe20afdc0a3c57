//! The tables, grouped by what they are about.

mod evidence;
mod hosts;
mod machines;
mod measured;
mod operations;
mod plan;
mod results;
mod run;
mod trials;

use std::borrow::Cow;

use rookery_store::Cell;

use crate::{ExportError, Table};

/// All tables, in the order in which they are written.
pub const TABLES: &[&Table] = &[
    &run::RUN,
    &run::VERSIONS,
    &run::NOTES,
    &results::RESULTS,
    &plan::POINTS,
    &plan::GROUPS,
    &plan::LEVELS,
    &trials::TRIALS,
    &hosts::HOSTS,
    &hosts::TRIAL_HOSTS,
    &plan::ATTEMPTS,
    &plan::REASONS,
    &measured::MEASUREMENTS,
    &measured::LIMITS,
    &trials::GUESTS,
    &measured::METRICS,
    &measured::COUNTERS,
    &operations::OPERATIONS,
    &operations::HISTOGRAMS,
    &measured::SECONDS,
    &measured::ERRORS,
    &measured::ERROR_EXAMPLES,
    &evidence::RESOURCES,
    &evidence::OTHER_PROGRAMS,
    &evidence::KERNEL_COUNTS,
    &machines::MACHINES,
    &evidence::AUDITS,
    &evidence::PROOFS,
    &evidence::LOADS,
    &evidence::TUNINGS,
    &evidence::LOGS,
    &evidence::OUTPUTS,
    &evidence::POOLS,
    &evidence::POOL_ROUNDS,
];

/// Tables that are written where they are asked for by name: they are far larger than all others.
const ON_REQUEST: &[&str] = &["histograms"];

/// The tables of these names; without a name all but those that are written on request.
///
/// # Errors
/// When there is no such table.
pub fn chosen(names: &[String]) -> Result<Vec<&'static Table>, ExportError> {
    let all = TABLES.iter().copied();
    if names.is_empty() {
        return Ok(all
            .filter(|table| !ON_REQUEST.contains(&table.name))
            .collect());
    }
    let found = names.iter().map(|name| {
        let table = all.clone().find(|table| table.name == name);
        table.ok_or_else(|| ExportError::NoTable {
            name: name.clone(),
            known: TABLES.iter().map(|table| table.name).collect(),
        })
    });
    found.collect()
}

/// A count that may be missing.
fn whole(count: Option<impl TryInto<i64>>) -> Cell<'static> {
    count.map_or(Cell::Null, |count| {
        Cell::Whole(count.try_into().unwrap_or(i64::MAX))
    })
}

/// A number that may be missing; one that could not be computed counts as missing.
fn number(number: Option<f64>) -> Cell<'static> {
    number
        .filter(|number| number.is_finite())
        .map_or(Cell::Null, Cell::Number)
}

/// Microseconds as ms.
fn ms(us: Option<u64>) -> Cell<'static> {
    number(us.map(|us| us as f64 / 1000.0))
}

fn text<'t>(text: impl Into<Cow<'t, str>>) -> Cell<'t> {
    Cell::Text(text.into())
}

fn optional_text(value: Option<&str>) -> Cell<'_> {
    value.map_or(Cell::Null, text)
}
