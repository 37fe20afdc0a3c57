//! Bare guests: a process group on an own loopback address. Needs no root and nothing installed.
//!
//! CPU affinity is in force; limits on CPU time, memory and processes are not (they need control groups), and a guest's user is the caller.

use std::{
    fs::OpenOptions,
    io,
    net::SocketAddr,
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rookery_host::{Host, UsageProbe, await_end, volume::VolumeSpec};
use rustix::{
    process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid},
    thread::{CpuSet, sched_setaffinity},
};

use crate::{
    Guest, GuestError, GuestSpec, GuestState, Health, InForce, Kind, Lab, Patience, ProcessProbe,
    Provision, Recipe, Site, Template, Volume,
    addresses::Blocks,
    copy::copy_tree,
    files::{Places, open_directory, write_files},
    ground::Ground,
    group_usage::{family_probe, group_usage_probe},
    label::Label,
    log::tail,
    site::{check_spec, clone_dir, log_file, prepare, remove_tree},
    storage::{Store, io_readings},
    sweep::kill_labelled,
    template,
};

/// How long a killed group may take to vanish.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// The ground of bare guests: a block of loopback addresses.
pub(crate) struct BareLab {
    ground: Ground,
    blocks: Mutex<Blocks>,
}

impl BareLab {
    /// # Errors
    /// When the run cannot be registered, or no address is free.
    pub(crate) fn open(site: Site, host: Arc<dyn Host>) -> Result<Self, GuestError> {
        let ground = Ground::open(Kind::Bare, site, host)?;
        let blocks = Blocks::reserve(&ground.label.run)
            .map_err(|error| step("lab", "reserving addresses", &error))?;
        Ok(Self {
            ground,
            blocks: Mutex::new(blocks),
        })
    }
}

impl Lab for BareLab {
    fn kind(&self) -> Kind {
        Kind::Bare
    }

    fn network(&self) -> Option<&Path> {
        None
    }

    fn template(
        &self,
        recipe: &Recipe<'_>,
        patience: Patience<'_>,
    ) -> Result<Template, GuestError> {
        self.ground.template(recipe, patience)
    }

    fn volume(&self, name: &str, spec: &VolumeSpec) -> Result<Arc<Volume>, GuestError> {
        self.ground.volume(name, spec)
    }

    fn create_with(
        &self,
        template: &Template,
        spec: &GuestSpec,
        provision: &Provision,
    ) -> Result<Box<dyn Guest>, GuestError> {
        check_spec(spec)?;
        template::check_top(template, &spec.name)?;
        let store = self.store(spec, provision)?;
        let fail = |name: &'static str| move |error: io::Error| step(&spec.name, name, &error);
        let address = self
            .blocks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .address(spec.number, spec.port);
        let address = address.map_err(fail("finding an address"))?;
        let site = &self.ground.site.dir;
        let clone = clone_dir(site, &spec.name);
        self.ground
            .host
            .step("clone directory")
            .and_then(|()| prepare(site, &spec.name))
            .map_err(fail("making the clone's directory"))?;
        let guest = BareGuest {
            label: self.ground.label.clone(),
            host: Arc::clone(&self.ground.host),
            address,
            template: template.clone(),
            data: store.home.as_ref().unwrap_or(&clone).join("data"),
            log: log_file(site, &spec.name),
            clone,
            store,
            spec: spec.clone(),
            child: None,
            ended: None,
        };
        // From here on the guest's drop removes what was made.
        let copied = guest
            .host
            .step("clone data")
            .and_then(|()| guest.store.home.as_deref().map_or(Ok(()), open_directory))
            .and_then(|()| copy_tree(&template.root.join("data"), &guest.data))
            .and_then(|()| open_directory(&guest.clone.join("run")));
        copied.map_err(fail("copying the data"))?;
        guest.store.settle();
        Ok(Box::new(guest))
    }

    fn close(&mut self) -> Result<(), GuestError> {
        self.ground.close()
    }
}

impl BareLab {
    /// Its storage; a process has neither limits on I/O nor memory nodes nor devices of its own.
    fn store(&self, spec: &GuestSpec, provision: &Provision) -> Result<Store, GuestError> {
        let fail =
            |what: String| step(&spec.name, "preparing its storage", &io::Error::other(what));
        if !provision.limits.is_none() || !provision.nodes.is_empty() {
            let what = "bare guests cannot be held to limits on I/O or to memory nodes\n  mend: use containers, or leave these out";
            return Err(fail(what.to_owned()));
        }
        let store = Store::of(provision, &spec.name, &self.ground.site.dir).map_err(fail)?;
        match store.raw() {
            Some(_) => Err(fail(
                "bare guests keep their data in files and take no raw device".to_owned(),
            )),
            None => Ok(store),
        }
    }
}

struct BareGuest {
    label: Label,
    host: Arc<dyn Host>,
    address: SocketAddr,
    template: Template,
    clone: PathBuf,
    data: PathBuf,
    log: PathBuf,
    store: Store,
    spec: GuestSpec,
    /// Leader of the process group. It is reaped only after the group is killed: until then its number cannot become a stranger's.
    child: Option<Child>,
    ended: Option<String>,
}

impl BareGuest {
    fn fail(&self, name: &'static str) -> impl FnOnce(io::Error) -> GuestError {
        let guest = self.spec.name.clone();
        move |error| step(&guest, name, &error)
    }

    fn group(&self) -> Option<Pid> {
        i32::try_from(self.child.as_ref()?.id())
            .ok()
            .and_then(Pid::from_raw)
    }

    fn conf(&self) -> PathBuf {
        self.clone.join("conf")
    }

    fn places(&self) -> Places {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        Places {
            data: text(&self.data),
            conf: text(&self.conf()),
            run: text(&self.clone.join("run")),
            program: text(&self.template.program),
            listen: self.address,
        }
    }

    /// Start the program in an own process group, on its CPUs from its first instruction on.
    fn spawn(&self) -> io::Result<Child> {
        let log = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&self.log)?;
        let mut command = Command::new(&self.template.program);
        command
            .args(self.places().args(&self.spec))
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
        // A child begins with the affinity of the thread that makes it; so a thread of its own makes it.
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

    fn start(&mut self) -> Result<(), GuestError> {
        if self.state() == GuestState::Running {
            return Err(step(
                &self.spec.name,
                "starting",
                &io::Error::other("it runs already"),
            ));
        }
        // What ended by itself may have left children, and is not yet reaped.
        self.kill()?;
        self.host
            .step("guest files")
            .and_then(|()| write_files(&self.conf(), &self.spec, &self.places()))
            .map_err(self.fail("writing its files"))?;
        let spawned = self.host.step("start process").and_then(|()| self.spawn());
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
                let reason = end_reason(status.exit_status(), status.terminating_signal());
                self.ended = Some(reason.clone());
                GuestState::Ended(reason)
            }
            _ => GuestState::Running,
        }
    }

    fn usage_probe(&self) -> UsageProbe {
        match &self.child {
            Some(child) => group_usage_probe(child.id()),
            None => Box::new(|| None),
        }
    }

    fn process_probe(&self) -> ProcessProbe {
        match &self.child {
            Some(child) => family_probe(child.id()),
            None => Box::new(Vec::new),
        }
    }

    fn in_force(&self) -> Vec<InForce> {
        io_readings(&self.store, None)
    }

    fn data_dir(&self) -> &Path {
        &self.data
    }

    fn log_tail(&self, bytes: usize) -> String {
        tail(&self.log, bytes)
    }

    fn stop(&mut self, grace: Duration) -> Result<(), GuestError> {
        if let (Some(leader), Some(child)) = (self.group(), &self.child) {
            // The leader alone, as in a container: in which order its children end is its own matter.
            let _ = kill_process(leader, Signal::TERM);
            await_end(child.id(), grace).map_err(self.fail("waiting for its end"))?;
            // Remember how it ended before it is killed.
            self.state();
        }
        self.kill()
    }

    fn kill(&mut self) -> Result<(), GuestError> {
        let Some(group) = self.group() else {
            return Ok(());
        };
        let deadline = Instant::now() + KILL_LIMIT;
        let survivors =
            || io::Error::other(format!("its processes outlive SIGKILL for {KILL_LIMIT:?}"));
        while group_usage_probe(group.as_raw_nonzero().get().unsigned_abs())().is_some() {
            let _ = kill_process_group(group, Signal::KILL);
            if Instant::now() > deadline {
                return Err(step(&self.spec.name, "killing", &survivors()));
            }
            thread::sleep(Duration::from_millis(1));
        }
        kill_labelled(&self.label.run, Some(&self.spec.name)).map_err(self.fail("killing"))?;
        if let Some(mut child) = self.child.take() {
            let status = child.wait().map_err(self.fail("reaping"))?;
            self.ended.get_or_insert_with(|| reason_of(status));
        }
        Ok(())
    }

    fn remove(&mut self) -> Result<(), GuestError> {
        self.kill()?;
        remove_tree(&self.clone).map_err(self.fail("deleting its clone"))?;
        self.store
            .release()
            .map_err(|error| step(&self.spec.name, "removing its storage", &error))
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

/// How a process ended, in words.
pub(crate) fn end_reason(code: Option<i32>, signal: Option<i32>) -> String {
    match (code, signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

fn reason_of(status: ExitStatus) -> String {
    end_reason(status.code(), status.signal())
}

fn step(guest: &str, step: &'static str, error: &io::Error) -> GuestError {
    GuestError::Step {
        guest: guest.to_owned(),
        step,
        what: error.to_string(),
    }
}
