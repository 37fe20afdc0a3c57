//! Stores of runs that were never conducted: what a stored trial measured, again and again.

use std::{fs, path::Path};

use rookery_store::{Store, StoreError};
use rookery_study::Trial;

use crate::root;

/// A stored run with all that was measured, from the tests of the store.
const MEASURED: &str = "crates/store/tests/data/v5/container.sqlite";
/// Seconds of a day, over which trials are laid.
const DAY: u32 = 86_400;

/// A run of so many trials in `directory`.
pub(super) fn long_run(directory: &Path, trials: u32) -> Result<(), String> {
    write_long_run(directory, trials).map_err(|error| error.to_string())
}

fn write_long_run(directory: &Path, trials: u32) -> Result<(), StoreError> {
    // A directory that cannot be made is told by the store in it.
    let _ = fs::create_dir_all(directory);
    let measured = Store::open_read_only(root::directory().join(MEASURED))?;
    let mut header = measured.header()?;
    let first = measured.trials()?.into_iter().find_map(|row| {
        let record = measured.record(row.trial.id).ok()??;
        record.measurement.is_some().then_some((row.trial, record))
    });
    let Some((first, record)) = first else {
        return Ok(());
    };
    let points = u32::try_from(header.plan.points.len()).unwrap_or(1);
    header.plan.searches.clear();
    header.plan.points.retain(|point| point.search.is_none());
    header.plan.trials = (1..=trials)
        .map(|id| Trial {
            id,
            point: 1 + id % points.max(1),
            repeat: 1 + id / points.max(1),
            block: id,
            ..first.clone()
        })
        .collect();
    let store = Store::create(directory.join("run.sqlite"), &header)?;
    for id in 1..=trials {
        store.begin_trial(id, &at(id))?;
        store.end_trial(id, &at(id + 1), &record)?;
    }
    Ok(())
}

/// So many runs below `directory`.
pub(super) fn library(directory: &Path, runs: u32) -> Result<(), String> {
    let source = root::directory().join(MEASURED);
    // A store of this version: those of earlier ones are brought forward at each reading.
    let template = directory.join("run-0");
    write_long_run(&template, 6).map_err(|error| error.to_string())?;
    if !source.is_file() {
        return Err(format!("there is no {}", source.display()));
    }
    for number in 1..runs {
        let run = directory.join(format!("run-{number}"));
        fs::create_dir_all(&run)
            .and_then(|()| fs::copy(template.join("run.sqlite"), run.join("run.sqlite")))
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// A moment that rises with the trial.
fn at(trial: u32) -> String {
    let second = trial % DAY;
    format!(
        "2026-01-02T{:02}:{:02}:{:02}Z",
        second / 3_600,
        second / 60 % 60,
        second % 60
    )
}
