//! What exists, and the removal of what dead runs left.

use std::collections::BTreeSet;

use rookery_host::{
    Cgroups, RunId, StateLock,
    settings::{Keeper, SettingsError},
};

use crate::{
    error::GuestError,
    kinds::SWEEPS,
    registry::Registry,
    sweep::{Holdings, discover, sweep, tidy},
};

/// Something on this host that carries the label of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelledThing {
    /// The run.
    pub run: RunId,
    /// `registration`, `process`, `mount`, `volume`, `network namespace`, `cgroup`, `swap file`,
    /// `swap device`, `swap record`, `runc state` or `libvirt`.
    pub what: &'static str,
    /// Which one.
    pub name: String,
    /// The run's controller lives: `clean` leaves it alone.
    pub alive: bool,
}

/// What to clean.
#[derive(Clone, Debug, Default)]
pub struct CleanOptions {
    /// Only what carries one of these labels, the run's own and those of its further labs;
    /// `None` = all dead runs.
    pub labels: Option<Vec<RunId>>,
}

/// What was cleaned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanReport {
    /// What was removed, each with its run, in words.
    pub removed: Vec<String>,
    /// Runs that live and were left alone.
    pub alive: Vec<RunId>,
    /// What could not be removed, with the reason. Cleaning again is safe.
    pub failed: Vec<String>,
}

/// Everything on this host that carries a label.
///
/// # Errors
/// When `/proc` cannot be read.
pub fn inventory() -> Result<Vec<LabelledThing>, GuestError> {
    let cgroups =
        Cgroups::detect().map_err(|error| GuestError::in_lab("reading the mounts", error))?;
    let runs = discover(&Registry::open(), &cgroups, SWEEPS)
        .map_err(|error| GuestError::in_lab("looking for labels", error))?;
    let runs = runs
        .into_iter()
        .filter(|(_, holdings)| holdings.is_ours())
        .filter_map(|(run, holdings)| Some((RunId::try_from(run).ok()?, holdings)));
    Ok(runs
        .flat_map(|(run, holdings)| things(&run, holdings))
        .collect())
}

fn things(run: &RunId, holdings: Holdings) -> Vec<LabelledThing> {
    let registration = holdings.registration.iter().map(|registration| {
        let name = format!(
            "{} (process {})",
            registration.dir.display(),
            registration.controller.identity.pid
        );
        ("registration", name)
    });
    let processes = holdings
        .processes
        .iter()
        .map(|(identity, guest)| ("process", format!("{} ({guest})", identity.pid)));
    let remnants = holdings
        .remnants
        .iter()
        .map(|remnant| (remnant.what, remnant.name.clone()));
    registration
        .chain(processes)
        .chain(remnants)
        .map(|(what, name)| LabelledThing {
            run: run.clone(),
            what,
            name,
            alive: holdings.alive,
        })
        .collect()
}

/// Remove everything that dead runs left, registered or not, and put back the host settings that
/// they changed. Results and logs stay, and so does all that is of a living run or carries no
/// label. Safe to repeat.
///
/// # Errors
/// When the registry cannot be locked or `/proc` not be read; what could not be removed is in the
/// report.
pub fn clean(options: &CleanOptions) -> Result<CleanReport, GuestError> {
    let registry = Registry::open();
    let cgroups =
        Cgroups::detect().map_err(|error| GuestError::in_lab("reading the mounts", error))?;
    let lock = registry.lock()?;
    let runs = discover(&registry, &cgroups, SWEEPS)
        .map_err(|error| GuestError::in_lab("looking for labels", error))?;
    let mut report = CleanReport::default();
    for (run, holdings) in runs {
        let Ok(run) = RunId::try_from(run) else {
            continue;
        };
        if !holdings.is_ours() {
            continue;
        }
        if options
            .labels
            .as_ref()
            .is_some_and(|only| !only.contains(&run))
        {
            continue;
        }
        if holdings.alive {
            report.alive.push(run);
            continue;
        }
        let dir = holdings
            .registration
            .as_ref()
            .map(|registration| registration.dir.as_path());
        match sweep(&registry, &cgroups, SWEEPS, &run, dir) {
            Ok(removed) => {
                report.removed.extend(
                    removed
                        .into_iter()
                        .map(|thing| format!("run {run}: {thing}")),
                );
                if holdings.registration.is_some() {
                    registry.remove(&lock, &run)?;
                    report.removed.push(format!("run {run}: registration"));
                }
            }
            // The registration stays: the next clean-up finds the rest by it.
            Err(failed) => report.failed.extend(
                failed
                    .into_iter()
                    .map(|thing| format!("run {run}: {thing}")),
            ),
        }
    }
    restore_settings(&lock, options.labels.as_deref(), &mut report);
    // Several sweeps fail at the same thing in the same way.
    let mut seen = BTreeSet::new();
    report.failed.retain(|failed| seen.insert(failed.clone()));
    tidy(&registry, &lock, &cgroups, SWEEPS);
    Ok(report)
}

/// Put back the host settings that dead holders changed; those that were applied until they are
/// reverted stay.
fn restore_settings(lock: &StateLock, only: Option<&[RunId]>, report: &mut CleanReport) {
    let restored = Keeper::for_machine().and_then(|keeper| keeper.clean(lock, only));
    match restored {
        Ok(reverted) => report
            .removed
            .extend(reverted.restored.into_iter().map(|setting| {
                let device = if setting.device.is_empty() {
                    String::new()
                } else {
                    format!(" of {}", setting.device)
                };
                format!(
                    "host setting {}{device}: {} again, no more {} ({})",
                    setting.knob, setting.to, setting.from, setting.path
                )
            })),
        Err(SettingsError::NotRestored(failed)) => report.failed.extend(
            failed
                .into_iter()
                .map(|setting| format!("host setting {setting}")),
        ),
        Err(error) => report.failed.push(error.to_string()),
    }
}
