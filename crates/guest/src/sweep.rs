//! Finding and removing everything that carries a run's label.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rookery_host::{
    Cgroups, Identity, RealHost, RunId, environ, mounts, netns_names, process_numbers,
    procfs::environ_value, remove_netns,
};
use rustix::{
    mount::{UnmountFlags, unmount},
    process::Signal,
};

use crate::{
    label::{
        CONTROLLER_VARIABLE, GUEST_VARIABLE, ROOT_GROUP, RUN_VARIABLE, parse_controller, run_group,
        run_of_name,
    },
    registry::{Registration, Registry},
    site::{clone_of_mount, clones, remove_tree},
    storage::{Trace, traces, volumes},
    vm::{
        connection,
        pool::{TaggedVolume, tagged_volumes},
    },
};

/// How long killed processes are waited for.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// What one run has on this host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Holdings {
    /// Its registration.
    pub(crate) registration: Option<Registration>,
    /// Processes, each with the guest it belongs to.
    pub(crate) processes: Vec<(Identity, String)>,
    /// Mount points, in mount order.
    pub(crate) mounts: Vec<PathBuf>,
    /// Loop devices of its volumes.
    pub(crate) volumes: Vec<Trace>,
    /// Volumes of LVM with its tags.
    pub(crate) tagged: Vec<TaggedVolume>,
    /// Names of network namespaces.
    pub(crate) namespaces: Vec<String>,
    /// Whether it has control groups.
    pub(crate) cgroups: bool,
    /// Directory of runc's state.
    pub(crate) runc_state: Option<PathBuf>,
    /// Directory of its own libvirt.
    pub(crate) vm_state: Option<PathBuf>,
    /// A controller lives: nothing of this run may be touched.
    pub(crate) alive: bool,
}

impl Holdings {
    /// Whether there is evidence that only Rookery leaves. A namespace or a control group alone is none: anybody may call one
    /// `rookery-web`. Ours are made after the registration and removed before it.
    pub(crate) fn is_ours(&self) -> bool {
        self.registration.is_some()
            || !self.processes.is_empty()
            || self.runc_state.is_some()
            || self.vm_state.is_some()
            || !self.volumes.is_empty()
            || !self.tagged.is_empty()
            || self
                .mounts
                .iter()
                .any(|point| clone_of_mount(point).is_some())
    }
}

/// Everything that carries a label, by run.
///
/// # Errors
/// When `/proc` or the named namespaces cannot be read.
pub(crate) fn discover(
    registry: &Registry,
    cgroups: &Cgroups,
) -> io::Result<BTreeMap<String, Holdings>> {
    let mut runs: BTreeMap<String, Holdings> = BTreeMap::new();
    for process in labelled_processes()? {
        let entry = runs.entry(process.run.to_string()).or_default();
        entry.alive |= process.controller.is_some_and(Identity::is_alive);
        entry.processes.push((process.identity, process.guest));
    }
    let mounts = mounts()?;
    for trace in traces(&mounts) {
        let entry = runs.entry(trace.run.to_string()).or_default();
        // Below the overlays that stand on them.
        entry.mounts.extend(trace.points.iter().cloned());
        entry.volumes.push(trace);
    }
    for mount in mounts {
        if let Some(run) = run_of_name(&mount.source) {
            runs.entry(run.to_string())
                .or_default()
                .mounts
                .push(mount.point);
        }
    }
    for volume in tagged_volumes(&RealHost) {
        runs.entry(volume.run.to_string())
            .or_default()
            .tagged
            .push(volume);
    }
    for name in netns_names()? {
        if let Some(run) = run_of_name(&name) {
            runs.entry(run.to_string())
                .or_default()
                .namespaces
                .push(name);
        }
    }
    for name in cgroups.children(ROOT_GROUP) {
        if let Ok(run) = RunId::try_from(name) {
            runs.entry(run.to_string()).or_default().cgroups = true;
        }
    }
    for entry in fs::read_dir(registry.runc_roots())
        .into_iter()
        .flatten()
        .flatten()
    {
        if let Some(run) = entry
            .file_name()
            .into_string()
            .ok()
            .and_then(|name| RunId::try_from(name).ok())
        {
            runs.entry(run.to_string()).or_default().runc_state = Some(entry.path());
        }
    }
    for entry in fs::read_dir(registry.vm_roots())
        .into_iter()
        .flatten()
        .flatten()
    {
        let run = entry
            .file_name()
            .into_string()
            .ok()
            .and_then(|name| RunId::try_from(name).ok());
        if let Some(run) = run.filter(|_| entry.path().is_dir()) {
            runs.entry(run.to_string()).or_default().vm_state = Some(entry.path());
        }
    }
    for registration in registry.read() {
        let entry = runs.entry(registration.run.to_string()).or_default();
        entry.alive |= registration.is_alive();
        entry.registration = Some(registration);
    }
    Ok(runs)
}

/// A process with a label in its environment.
struct Labelled {
    identity: Identity,
    run: RunId,
    guest: String,
    controller: Option<Identity>,
}

/// Processes that carry a label, but never this one.
fn labelled_processes() -> io::Result<Vec<Labelled>> {
    let own = std::process::id();
    let labelled = |pid: u32| {
        let identity = Identity::of(pid)?;
        let environment = environ(pid)?;
        let run = RunId::try_from(environ_value(&environment, RUN_VARIABLE)?.to_owned()).ok()?;
        let guest = environ_value(&environment, GUEST_VARIABLE)
            .unwrap_or_default()
            .to_owned();
        let controller =
            environ_value(&environment, CONTROLLER_VARIABLE).and_then(parse_controller);
        // Read before and after: the number did not change hands in between.
        (Identity::of(pid) == Some(identity)).then_some(Labelled {
            identity,
            run,
            guest,
            controller,
        })
    };
    Ok(process_numbers()?
        .into_iter()
        .filter(|pid| *pid != own)
        .filter_map(labelled)
        .collect())
}

/// The processes that carry the label of a guest.
///
/// # Errors
/// When `/proc` cannot be read.
pub(crate) fn guest_processes(run: &RunId, guest: &str) -> io::Result<Vec<Identity>> {
    let found = labelled_processes()?.into_iter();
    let mine = found.filter(|process| process.run == *run && process.guest == guest);
    Ok(mine.map(|process| process.identity).collect())
}

/// Kill the processes that carry the label of a run (of one guest of it, if named) and wait until they are gone.
///
/// # Errors
/// When one may not be killed or does not go.
pub(crate) fn kill_labelled(run: &RunId, guest: Option<&str>) -> io::Result<Vec<Identity>> {
    let deadline = Instant::now() + KILL_LIMIT;
    let mut killed = Vec::new();
    loop {
        let found = labelled_processes()?.into_iter();
        let mine = found.filter(|process| {
            process.run == *run && guest.is_none_or(|guest| process.guest == guest)
        });
        let alive: Vec<Identity> = mine
            .map(|process| process.identity)
            .filter(|identity| identity.is_alive())
            .collect();
        if alive.is_empty() {
            return Ok(killed);
        }
        for identity in alive {
            identity.signal(Signal::KILL)?;
            if !killed.contains(&identity) {
                killed.push(identity);
            }
        }
        if Instant::now() > deadline {
            return Err(io::Error::other(format!(
                "processes of run {run} outlive SIGKILL for {KILL_LIMIT:?}"
            )));
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Remove everything of a run but its registration, results and logs; gives what was removed, in words. Idempotent.
///
/// # Errors
/// When something stays; the rest is removed all the same.
pub(crate) fn sweep(
    registry: &Registry,
    cgroups: &Cgroups,
    run: &RunId,
    dir: Option<&Path>,
) -> Result<Vec<String>, Vec<String>> {
    let mut report = Report::default();
    // Before their emulators are gone: only now can the host's libvirt tell whose its machines are.
    match connection::sweep(&RealHost, &registry.vm_root(run), run) {
        Ok(ended) => report.done.extend(ended),
        Err(error) => report.failed.push(error.to_string()),
    }
    // Twice: a command that was under way (runc, ip) may have made one more thing before it was killed.
    for _ in 0..2 {
        match kill_labelled(run, None) {
            Ok(killed) => report.done.extend(
                killed
                    .iter()
                    .map(|identity| format!("process {}", identity.pid)),
            ),
            Err(error) => report.failed.push(error.to_string()),
        }
        let group = run_group(run);
        if cgroups.exists(&group) {
            report.note(
                format!("cgroup {group}"),
                cgroups
                    .kill(&group, KILL_LIMIT)
                    .and_then(|()| cgroups.remove(&group)),
            );
        }
        let holdings = discover(registry, cgroups)
            .map(|mut runs| runs.remove(run.as_str()).unwrap_or_default());
        let holdings = holdings.unwrap_or_else(|error| {
            report.failed.push(error.to_string());
            Holdings::default()
        });
        for point in holdings.mounts.iter().rev() {
            report.note(format!("mount {}", point.display()), detach(point));
            if let Some(clone) = clone_of_mount(point) {
                report.note(format!("clone {}", clone.display()), remove_tree(clone));
            }
        }
        for name in &holdings.namespaces {
            report.note(format!("network namespace {name}"), remove_netns(name));
        }
        if let Some(state) = &holdings.runc_state {
            report.note(
                format!("runc state {}", state.display()),
                remove_tree(state),
            );
        }
        if let Some(state) = &holdings.vm_state {
            report.note(
                format!("libvirt of the run {}", state.display()),
                remove_tree(state),
            );
        }
        for volume in &holdings.tagged {
            report.note(format!("volume {}", volume.name), volume.remove(&RealHost));
        }
        for volume in &holdings.volumes {
            report.note(format!("volume {}", volume.name()), volume.remove());
        }
        for (what, below) in [("clones", dir.map(clones)), ("volumes", dir.map(volumes))] {
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

#[derive(Default)]
struct Report {
    done: Vec<String>,
    failed: Vec<String>,
}

impl Report {
    fn note(&mut self, thing: String, result: io::Result<()>) {
        match result {
            Ok(()) => self.done.push(thing),
            Err(error) => self.failed.push(format!("{thing}: {error}")),
        }
    }
}

/// Unmount; what is busy vanishes from sight at once and for good with its last user.
pub(crate) fn detach(point: &Path) -> io::Result<()> {
    match unmount(point, UnmountFlags::DETACH) {
        Ok(()) | Err(rustix::io::Errno::NOENT | rustix::io::Errno::INVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Delete a directory, unless something is still mounted in it: deleting would reach through the mount.
fn remove_unmounted(path: &Path) -> io::Result<()> {
    let real = path.canonicalize()?;
    if let Some(mount) = mounts()?
        .into_iter()
        .find(|mount| mount.point.starts_with(&real))
    {
        return Err(io::Error::other(format!(
            "{} is still mounted",
            mount.point.display()
        )));
    }
    remove_tree(path)
}

/// Remove what all runs share, once no run is registered: the host is then as before the first.
pub(crate) fn tidy(registry: &Registry, lock: &rookery_host::StateLock, cgroups: &Cgroups) {
    if registry.read().is_empty() {
        cgroups.remove_if_empty(ROOT_GROUP);
        registry.tidy(lock);
        if netns_names().is_ok_and(|names| names.is_empty()) {
            // Fails, as it should, where `ip netns` has made it a mount point.
            let _ = fs::remove_dir(rookery_host::NETNS_DIR);
        }
    }
}
