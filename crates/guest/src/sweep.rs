//! Finding and removing everything that carries a run's label.
//!
//! What all kinds of guest share (processes, control groups, namespaces, volumes) is found here;
//! what one kind alone leaves behind, its own [`KindSweep`] finds.

use std::{collections::BTreeMap, fs, io, path::Path};

use rookery_host::{
    Cgroups, Controller, Identity, RunId, StateLock, announced, detach, mounts, netns_names,
    remove_empty_netns_dirs, remove_netns,
};

use crate::{
    label::{ROOT_GROUP, run_group, run_of_name},
    paths::{clones, remove_unmounted},
    processes::{KILL_LIMIT, kill_labelled, labelled_processes},
    registry::{Registration, Registry},
    storage::{
        device_traces, mounted_by_runs, records, remove_listed, traces, unmount_copies, volumes,
    },
    swap::{self, SwapTrace, swap_files, swap_traces},
};

/// What one kind of guest leaves on a host, besides what all kinds share.
pub(crate) trait KindSweep: Sync {
    /// Names of the directories, below the registry's, that it keeps for each run.
    fn state_dirs(&self) -> &'static [&'static str];

    /// End what has to be ended before the run's processes are killed; gives what was ended, in
    /// words.
    ///
    /// # Errors
    /// When something stays.
    fn end(&self, registry: &Registry, run: &RunId) -> io::Result<Vec<String>> {
        let _ = (registry, run);
        Ok(Vec::new())
    }

    /// Everything of this kind on the host, of any run.
    ///
    /// # Errors
    /// When `/proc` cannot be read.
    fn discover(&self, registry: &Registry) -> io::Result<Vec<Remnant>>;

    /// Remove what all runs shared, once no run is left.
    fn tidy(&self, registry: &Registry) {
        let _ = registry;
    }
}

/// The sweeps of all kinds of guest.
pub(crate) type KindSweeps = &'static [&'static dyn KindSweep];

/// Something on this host that carries the label of a run and can be removed.
pub(crate) struct Remnant {
    /// Whose it is.
    pub(crate) run: RunId,
    /// What it is, in a word or two: `mount`.
    pub(crate) what: &'static str,
    /// Which one.
    pub(crate) name: String,
    /// Whether only Rookery leaves such a thing. A namespace or a control group alone proves
    /// nothing: anybody may call one `rookery-web`.
    pub(crate) is_proof: bool,
    /// Removes it, and notes how that went.
    pub(crate) remove: Box<dyn FnOnce(&mut SweepReport)>,
}

impl Remnant {
    /// One that `remove` takes away, noted as `<what> <name>`.
    pub(crate) fn new(
        run: RunId,
        what: &'static str,
        name: String,
        remove: impl FnOnce() -> io::Result<()> + 'static,
    ) -> Self {
        let noted = format!("{what} {name}");
        Self {
            run,
            what,
            name,
            is_proof: true,
            remove: Box::new(move |report| report.note(noted, remove())),
        }
    }

    /// The same, where others may leave such a thing as well.
    pub(crate) fn without_proof(self) -> Self {
        Self {
            is_proof: false,
            ..self
        }
    }
}

/// What one run has on this host.
#[derive(Default)]
pub(crate) struct Holdings {
    /// Its registration.
    pub(crate) registration: Option<Registration>,
    /// Processes, each with the guest it belongs to.
    pub(crate) processes: Vec<(Identity, String)>,
    /// All else, in the order in which it can be removed.
    pub(crate) remnants: Vec<Remnant>,
    /// A controller lives: nothing of this run may be touched.
    pub(crate) alive: bool,
}

impl Holdings {
    /// Whether there is evidence that only Rookery leaves. Namespaces and control groups of ours
    /// are made after the registration and removed before it.
    pub(crate) fn is_ours(&self) -> bool {
        self.registration.is_some()
            || !self.processes.is_empty()
            || self.remnants.iter().any(|remnant| remnant.is_proof)
    }
}

/// Everything that carries a label, by run.
///
/// # Errors
/// When `/proc` or the named namespaces cannot be read.
pub(crate) fn discover(
    registry: &Registry,
    cgroups: &Cgroups,
    kinds: KindSweeps,
) -> io::Result<BTreeMap<String, Holdings>> {
    let mut runs: BTreeMap<String, Holdings> = BTreeMap::new();
    for process in labelled_processes()? {
        let entry = runs.entry(process.run.to_string()).or_default();
        entry.alive |= process.controller.is_some_and(Controller::may_live);
        entry.processes.push((process.identity, process.guest));
    }
    let mut remnants = Vec::new();
    for kind in kinds {
        remnants.extend(kind.discover(registry)?);
    }
    remnants.extend(shared_remnants(registry, cgroups)?);
    for remnant in remnants {
        let entry = runs.entry(remnant.run.to_string()).or_default();
        entry.remnants.push(remnant);
    }
    for registration in registry.read() {
        let entry = runs.entry(registration.run.to_string()).or_default();
        entry.alive |= registration.is_alive();
        entry.registration = Some(registration);
    }
    // A registration may be lost, and no guest may live at this moment.
    for run in announced()? {
        if let Some(holdings) = runs.get_mut(run.as_str()) {
            holdings.alive = true;
        }
    }
    Ok(runs)
}

/// What guests of every kind may leave: mounts and devices of volumes, network namespaces, control
/// groups, devices that are swapped to.
fn shared_remnants(registry: &Registry, cgroups: &Cgroups) -> io::Result<Vec<Remnant>> {
    let mut found = Vec::new();
    let mounts = mounts()?;
    let loops = traces(&mounts);
    let registered = registry.read().into_iter();
    let registered = registered.map(|registration| volumes(&registration.dir));
    let devices = device_traces(registered, &mounts);
    let of_loops = loops.iter().map(|trace| (&trace.run, &trace.points));
    let of_devices = devices.iter().map(|trace| (&trace.run, &trace.points));
    for (run, points) in of_loops.chain(of_devices) {
        for point in points.iter().rev() {
            let mounted = point.clone();
            found.push(Remnant::new(
                run.clone(),
                "mount",
                point.display().to_string(),
                move || detach(&mounted),
            ));
        }
    }
    for name in netns_names()? {
        if let Some(run) = run_of_name(&name) {
            let namespace = name.clone();
            let remnant = Remnant::new(run, "network namespace", name, move || {
                remove_netns(&namespace)
            });
            found.push(remnant.without_proof());
        }
    }
    for volume in loops {
        found.push(Remnant::new(
            volume.run.clone(),
            "volume",
            volume.name(),
            move || volume.remove(),
        ));
    }
    for device in devices {
        found.push(Remnant::new(
            device.run.clone(),
            "volume",
            device.name(),
            move || device.remove(),
        ));
    }
    let records = state_dirs(registry, swap::STATE);
    let records = records.map(|(run, directory)| (run, SwapTrace::Records(directory)));
    for (run, trace) in swap_traces()?.into_iter().chain(records) {
        found.push(Remnant::new(run, trace.what(), trace.name(), move || {
            trace.remove()
        }));
    }
    for name in cgroups.children(ROOT_GROUP) {
        if let Ok(run) = RunId::try_from(name) {
            let (group, cgroups) = (run_group(&run), cgroups.clone());
            found.push(Remnant {
                what: "cgroup",
                name: group.clone(),
                is_proof: false,
                remove: Box::new(move |report| remove_group(&cgroups, &group, report)),
                run,
            });
        }
    }
    Ok(found)
}

fn remove_group(cgroups: &Cgroups, group: &str, report: &mut SweepReport) {
    if cgroups.exists(group) {
        let removed = cgroups
            .kill(group, KILL_LIMIT)
            .and_then(|()| cgroups.remove(group));
        report.note(format!("cgroup {group}"), removed);
    }
}

/// Remove everything of a run but its registration, results and logs; gives what was removed, in
/// words. Idempotent. `dir` is the run's directory of guests, where that is known.
///
/// # Errors
/// When something stays; the rest is removed all the same.
pub(crate) fn sweep(
    registry: &Registry,
    cgroups: &Cgroups,
    kinds: KindSweeps,
    run: &RunId,
    dir: Option<&Path>,
) -> Result<Vec<String>, Vec<String>> {
    let mut report = SweepReport::default();
    for kind in kinds {
        match kind.end(registry, run) {
            Ok(ended) => report.done.extend(ended),
            Err(error) => report.failed.push(error.to_string()),
        }
    }
    // Twice: a command that was under way (runc, ip) may have made one more thing before it was
    // killed.
    for _ in 0..2 {
        match kill_labelled(run, None) {
            Ok(killed) => report.done.extend(
                killed
                    .iter()
                    .map(|identity| format!("process {}", identity.pid)),
            ),
            Err(error) => report.failed.push(error.to_string()),
        }
        remove_group(cgroups, &run_group(run), &mut report);
        unmount_copies(&|mounts| {
            let of_runs = mounted_by_runs(mounts).into_iter();
            let own = of_runs.filter(|(of, _)| of == run);
            own.map(|(_, point)| point).collect()
        });
        match discover(registry, cgroups, kinds) {
            Ok(mut runs) => {
                let holdings = runs.remove(run.as_str()).unwrap_or_default();
                for remnant in holdings.remnants {
                    (remnant.remove)(&mut report);
                }
            }
            Err(error) => report.failed.push(error.to_string()),
        }
        if let Some(volumes) = dir.map(volumes)
            && let Err(error) = remove_listed(&volumes, run)
        {
            report
                .failed
                .push(format!("files of {}: {error}", volumes.display()));
        }
        for (what, below) in [
            ("clones", dir.map(clones)),
            // A device that could not be made blank is still to be found.
            (
                "volumes",
                dir.map(volumes).filter(|dir| records(dir).is_empty()),
            ),
            ("swap files", dir.map(swap_files)),
        ] {
            if let Some(directory) = below.filter(|directory| directory.exists()) {
                report.note(
                    format!("{what} {}", directory.display()),
                    remove_unmounted(&directory),
                );
            }
        }
    }
    if report.failed.is_empty() {
        Ok(report.done)
    } else {
        Err(report.failed)
    }
}

/// What a sweep did, in words.
#[derive(Default)]
pub(crate) struct SweepReport {
    done: Vec<String>,
    failed: Vec<String>,
}

impl SweepReport {
    /// Note what was removed, or why it was not.
    pub(crate) fn note(&mut self, thing: String, result: io::Result<()>) {
        match result {
            Ok(()) => self.done.push(thing),
            Err(error) => self.failed.push(format!("{thing}: {error}")),
        }
    }
}

/// The directories that a kind keeps below the registry under the name `part`, one for each run.
pub(crate) fn state_dirs(
    registry: &Registry,
    part: &str,
) -> impl Iterator<Item = (RunId, std::path::PathBuf)> {
    fs::read_dir(registry.state_dirs(part))
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| {
            let run = RunId::try_from(entry.file_name().into_string().ok()?).ok()?;
            Some((run, entry.path()))
        })
}

/// Remove what all runs share, once no run is registered: the host is then as before the first.
pub(crate) fn tidy(registry: &Registry, lock: &StateLock, cgroups: &Cgroups, kinds: KindSweeps) {
    if registry.read().is_empty() {
        cgroups.remove_if_empty(ROOT_GROUP);
        let _ = fs::remove_dir(registry.state_dirs(swap::STATE));
        for kind in kinds {
            kind.tidy(registry);
            for part in kind.state_dirs() {
                let _ = fs::remove_dir(registry.state_dirs(part));
            }
        }
        // Before the registry, whose directory holds them.
        remove_empty_netns_dirs();
        registry.tidy(lock);
    }
}
