//! One bare guest: a process group.

use std::{
    io,
    net::SocketAddr,
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use rookery_host::{Host, UsageProbe, await_end, without_links};
use rustix::{
    process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid},
    thread::{CpuSet, sched_setaffinity},
};
use tracing::instrument;

use super::{
    control::{Control, joining, memory_reading},
    group_usage::group_usage_probe,
};
use crate::{
    cpu_quota::weight_reading,
    error::{GuestError, StepError},
    family::family_probe,
    files::{GuestPaths, write_files},
    guest::{Guest, GuestState, ProcessProbe},
    health::Health,
    label::Label,
    link::host_mtu,
    log::tail,
    paths::{CloneClaim, SHARED, remove_tree},
    phase::{end_reason, out_of_memory},
    processes::kill_labelled,
    spec::GuestSpec,
    storage::{InForce, RoleDirectory, Store, VolumeFault, VolumeLook, io_readings},
    template::Template,
};

/// How long a killed group may take to vanish.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// One process group.
pub(super) struct BareGuest {
    pub(super) label: Label,
    pub(super) host: Arc<dyn Host>,
    pub(super) address: SocketAddr,
    pub(super) template: Template,
    pub(super) clone: PathBuf,
    pub(super) _claim: CloneClaim,
    pub(super) data: PathBuf,
    pub(super) log: PathBuf,
    pub(super) store: Store,
    /// What holds it to CPUs and memory, where we may make control groups.
    pub(super) control: Option<Control>,
    pub(super) spec: GuestSpec,
    /// Leader of the process group. It is reaped only after the group is killed: until then its
    /// number cannot become a stranger's.
    pub(super) child: Option<Child>,
    pub(super) ended: Option<String>,
}

impl BareGuest {
    fn fail<E: Into<StepError>>(
        &self,
        step: &'static str,
    ) -> impl FnOnce(E) -> GuestError + use<E> {
        let guest = self.spec.name.clone();
        move |error| GuestError::in_guest(&guest, step, error)
    }

    fn group(&self) -> Option<Pid> {
        i32::try_from(self.child.as_ref()?.id())
            .ok()
            .and_then(Pid::from_raw)
    }

    /// The kernel's own word that the memory limit killed; nothing otherwise.
    fn want_of_memory(&self) -> String {
        match (self.memory_kills(), self.spec.memory_mib) {
            (1.., Some(limit)) => out_of_memory(limit),
            _ => String::new(),
        }
    }

    fn conf(&self) -> PathBuf {
        self.clone.join("conf")
    }

    fn paths(&self) -> GuestPaths {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let own = self.data.join(SHARED);
        let of_template = self.template.root.join("data").join(SHARED);
        let shared = if own.is_dir() { own } else { of_template };
        GuestPaths {
            data: text(&self.data),
            shared: text(&shared),
            conf: text(&self.conf()),
            run: text(&self.clone.join("run")),
            program: text(&self.template.program),
            listen: self.address,
            roles: self
                .role_directories()
                .into_iter()
                .map(|directory| (directory.role, directory.inside))
                .collect(),
        }
    }

    /// Make its control group, where it has one; gives the lists of processes to join.
    fn group_lists(&self) -> io::Result<Vec<PathBuf>> {
        let Some(control) = &self.control else {
            return Ok(Vec::new());
        };
        self.host.step("control group")?;
        control.make(&self.spec)
    }

    /// Start the program in an own process group, on its CPUs and in its control groups from its
    /// first instruction on.
    fn spawn(&self, lists: &[PathBuf]) -> io::Result<Child> {
        let log = without_links::append(&self.log)?;
        let mut command = if lists.is_empty() {
            Command::new(&self.template.program)
        } else {
            let words = joining(lists);
            let mut shell = Command::new(&words[0]);
            shell.args(&words[1..]).arg(&self.template.program);
            shell
        };
        command
            .args(self.paths().args(&self.spec))
            .current_dir(&self.clone);
        command
            .env_clear()
            .envs(self.label.environment(&self.spec.name))
            .process_group(0);
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let mask = affinity_mask(&self.spec.cpus)?;
        // A child begins with the affinity of the thread that makes it; so a thread of its own
        // makes it.
        thread::scope(|scope| {
            let body = || {
                if let Some(mask) = &mask {
                    sched_setaffinity(None, mask).map_err(|error| {
                        io::Error::other(format!(
                            "CPUs {:?} cannot be used: {error}",
                            self.spec.cpus
                        ))
                    })?;
                }
                command.spawn()
            };
            scope
                .spawn(body)
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the starting thread panicked")))
        })
    }
}

impl Guest for BareGuest {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn health(&self) -> &Health {
        &self.spec.health
    }

    #[instrument(level = "debug", skip_all, err(level = "debug"), fields(guest = %self.spec.name))]
    fn start(&mut self) -> Result<(), GuestError> {
        if self.state() == GuestState::Running {
            let why = StepError::Refused("it runs already".to_owned());
            return Err(self.fail("starting")(why));
        }
        // What ended by itself may have left children, and is not yet reaped.
        self.kill()?;
        self.host
            .step("guest files")
            .and_then(|()| write_files(&self.conf(), &self.spec, &self.paths()))
            .map_err(self.fail("writing its files"))?;
        let lists = self
            .group_lists()
            .map_err(self.fail("making its control group"))?;
        let spawned = self
            .host
            .step("start process")
            .and_then(|()| self.spawn(&lists));
        self.child = Some(spawned.map_err(self.fail("starting its program"))?);
        self.ended = None;
        Ok(())
    }

    fn state(&mut self) -> GuestState {
        if let Some(reason) = &self.ended {
            return GuestState::Ended(reason.clone());
        }
        let Some(pid) = self.group() else {
            return GuestState::Created;
        };
        // NOWAIT: look, but leave the zombie, which keeps the group's number ours.
        match waitid(
            WaitId::Pid(pid),
            WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT,
        ) {
            Ok(Some(status)) => {
                let reason = end_reason(status.exit_status(), status.terminating_signal())
                    + &self.want_of_memory();
                self.ended = Some(reason.clone());
                GuestState::Ended(reason)
            }
            _ => GuestState::Running,
        }
    }

    fn usage_probe(&self) -> UsageProbe {
        if let Some(control) = &self.control {
            return control.cgroups.usage_probe(&control.group);
        }
        match &self.child {
            Some(child) => group_usage_probe(child.id()),
            None => Box::new(|| None),
        }
    }

    fn process_probe(&self) -> ProcessProbe {
        if let Some(Control { cgroups, group }) = &self.control {
            let (cgroups, group) = (cgroups.clone(), group.clone());
            return Box::new(move || cgroups.processes(&group).into_iter().collect());
        }
        match &self.child {
            Some(child) => family_probe(child.id()),
            None => Box::new(Vec::new),
        }
    }

    fn volume_fault(&self, look: VolumeLook) -> Option<VolumeFault> {
        self.store.fault(look)
    }

    fn role_directories(&self) -> Vec<RoleDirectory> {
        let same = |_, home: &Path| home.to_string_lossy().into_owned();
        self.store.role_directories(same)
    }

    fn in_force(&self) -> Vec<InForce> {
        let mut readings = io_readings(&self.store, None);
        readings.extend(memory_reading(&self.spec, self.control.as_ref()));
        let group = self.control.as_ref();
        let group = group.map(|control| (&control.cgroups, control.group.as_str()));
        readings.extend(weight_reading(&self.spec, group));
        readings.push(InForce::new("network.device", "", "loopback"));
        readings.push(InForce::new("network.mtu", "", host_mtu("lo")));
        readings
    }

    fn memory_kills(&self) -> u64 {
        let control = self.control.as_ref();
        control.map_or(0, |Control { cgroups, group }| {
            cgroups.memory_kills(group).unwrap_or(0)
        })
    }

    fn data_dir(&self) -> &Path {
        &self.data
    }

    fn log_tail(&self, bytes: usize) -> String {
        tail(&self.log, bytes)
    }

    #[instrument(level = "debug", skip_all, err(level = "debug"), fields(guest = %self.spec.name))]
    fn stop(&mut self, grace: Duration) -> Result<(), GuestError> {
        if let (Some(leader), Some(child)) = (self.group(), &self.child) {
            // The leader alone, as in a container: in which order its children end is its own
            // matter.
            let _ = kill_process(leader, Signal::TERM);
            await_end(child.id(), grace).map_err(self.fail("waiting for its end"))?;
            // Remember how it ended before it is killed.
            self.state();
        }
        self.kill()
    }

    #[instrument(level = "debug", skip_all, err(level = "debug"), fields(guest = %self.spec.name))]
    fn kill(&mut self) -> Result<(), GuestError> {
        let Some(group) = self.group() else {
            return Ok(());
        };
        let deadline = Instant::now() + KILL_LIMIT;
        while group_usage_probe(group.as_raw_nonzero().get().unsigned_abs())().is_some() {
            let _ = kill_process_group(group, Signal::KILL);
            if Instant::now() > deadline {
                let why = format!("its processes outlive SIGKILL for {KILL_LIMIT:?}");
                return Err(self.fail("killing")(StepError::Refused(why)));
            }
            thread::sleep(Duration::from_millis(1));
        }
        kill_labelled(&self.label.run, Some(&self.spec.name)).map_err(self.fail("killing"))?;
        if let Some(Control { cgroups, group }) = &self.control {
            // Those that have shed their label.
            cgroups
                .kill(group, KILL_LIMIT)
                .map_err(self.fail("killing"))?;
        }
        if let Some(mut child) = self.child.take() {
            let status = child.wait().map_err(self.fail("reaping"))?;
            self.ended.get_or_insert_with(|| reason_of(status));
        }
        Ok(())
    }

    #[instrument(level = "debug", skip_all, err(level = "debug"), fields(guest = %self.spec.name))]
    fn remove(&mut self) -> Result<(), GuestError> {
        self.kill()?;
        if let Some(Control { cgroups, group }) = &self.control {
            cgroups
                .remove(group)
                .map_err(self.fail("removing its cgroups"))?;
        }
        remove_tree(&self.clone).map_err(self.fail("deleting its clone"))?;
        self.store
            .release()
            .map_err(|error| GuestError::in_guest(&self.spec.name, "removing its storage", error))
    }
}

impl Drop for BareGuest {
    fn drop(&mut self) {
        // What stays is still labelled and registered: the lab's end or `clean` removes it.
        let _ = self.remove();
    }
}

/// Mask of the CPUs; `None` = no pinning.
fn affinity_mask(cpus: &[u32]) -> io::Result<Option<CpuSet>> {
    let mut mask = CpuSet::new();
    for cpu in cpus {
        let cpu = usize::try_from(*cpu)
            .ok()
            .filter(|cpu| *cpu < CpuSet::MAX_CPU);
        mask.set(cpu.ok_or_else(|| {
            io::Error::other(format!("CPU numbers end with {}", CpuSet::MAX_CPU - 1))
        })?);
    }
    Ok((!cpus.is_empty()).then_some(mask))
}

fn reason_of(status: ExitStatus) -> String {
    end_reason(status.code(), status.signal())
}
