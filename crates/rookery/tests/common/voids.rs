//! What may make a trial of a test void: that this machine kept the driver from its work.

use std::{fs, path::Path};

use rusqlite::{Connection, OpenFlags};

/// What else a void trial of a test may be put down to.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Excuses {
    /// The machine alone.
    Machine,
    /// Other tests beside it.
    Neighbours,
    /// A system that does not keep up with its load.
    Overload,
    /// What the test did during the run's first trial, or to the disk of a host.
    FirstTrial,
}

/// Every void trial of the stored runs below a directory that names neither the driver's lag, nor
/// its CPU, nor other work on the host among its reasons, with these. Think times that grew by the
/// lag are lag: their limit is the tighter one where they are short, and where they are few, one of
/// them that a busy machine made longer is enough. The excuses are beside these.
pub(super) fn unexcused(runs: &Path, excuses: Excuses) -> Vec<String> {
    fs::read_dir(runs)
        .into_iter()
        .flatten()
        .flatten()
        .flat_map(|run| of_run(&run.path(), excuses).unwrap_or_default())
        .collect()
}

/// Stores that a test has damaged, or that an earlier version wrote, are not asked.
fn of_run(run: &Path, excuses: Excuses) -> rusqlite::Result<Vec<String>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let store = Connection::open_with_flags(run.join("run.sqlite"), flags)?;
    let mut statement = store.prepare(
        "SELECT trial, group_concat(code || ': ' || reason, '; ')
         FROM trials LEFT JOIN reasons USING (trial) LEFT JOIN measurements USING (trial)
         WHERE status = 'void' GROUP BY trial HAVING ifnull(sum(code IN ('lag', 'cpu', 'other-work')
         OR code = 'pacing' AND (lag_mean_us > 1000 OR lag_max_us > 10000)
         OR ?2 AND (trial = 1 OR code = 'host-disk-full') OR ?1 AND code IN
         ('steady-state', 'arrivals-dropped', 'overload', 'little')
         OR ?3 AND code IN ('steady-state', 'little')), 0) = 0",
    )?;
    let others = [Excuses::Overload, Excuses::FirstTrial, Excuses::Neighbours];
    let params = others.map(|one| excuses == one);
    let rows = statement.query_map(params, |row| {
        let (trial, reasons): (u32, Option<String>) = (row.get(0)?, row.get(1)?);
        Ok(format!("trial {trial}: {}", reasons.unwrap_or_default()))
    })?;
    rows.collect()
}
