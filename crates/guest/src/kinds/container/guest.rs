//! One container.

use std::{
    fs,
    io::{self, Write as _},
    net::SocketAddr,
    os::unix::{fs::PermissionsExt as _, process::ExitStatusExt as _},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rookery_host::{
    Cgroups, CommandError, Host, HostError, Identity, Invocation, UsageProbe, await_end, detach,
    netns_path, remove_netns, run_told, without_links,
};
use rookery_study::LinkShape;
use rustix::{
    mount::{MountFlags, mount},
    process::{Pid, Resource, Signal, WaitId, WaitIdOptions, getrlimit, waitid},
};
use tracing::instrument;

use super::config::{BundleContext, GroupFeatures, config, process};
use crate::{
    copy::copy_tree,
    cpu_quota::weight_reading,
    error::{GuestError, StepError},
    files::{GuestPaths, write_files},
    guest::{CommandEnd, Guest, GuestCommand, GuestState, ProcessProbe, RUN_STEP},
    health::Health,
    lab_network::attach,
    label::{Label, guest_group, guest_netns, run_name},
    link::{self, AskedLink, LinkPlace},
    log::tail,
    paths::{CloneClaim, SHARED, open_directory, prepare, remove_tree},
    phase::{Phase, end_reason, out_of_memory},
    spec::GuestSpec,
    storage::{
        InForce, RoleDirectory, Store, VolumeFault, VolumeLook, io_readings, make_roles,
        node_reading, role_place,
    },
    swap::swap_reading,
    template::{LIBRARIES, LOADER, PROGRAM, Template},
};

/// How long killed processes may take to vanish.
const KILL_LIMIT: Duration = Duration::from_secs(10);
/// How long runc may take to start a guest: tens of ms when the CPUs are idle, more when a hundred
/// start at once.
const RUNC_LIMIT: Duration = Duration::from_secs(60);
/// Most bytes of runc's own log that go into an error.
const RUNC_LOG_TAIL: usize = 2048;

/// What all guests of a lab share.
pub(super) struct Shared {
    pub(super) label: Label,
    pub(super) cgroups: Cgroups,
    pub(super) host: Arc<dyn Host>,
    pub(super) runc_root: PathBuf,
    pub(super) network: PathBuf,
    /// How each guest is linked to it.
    pub(super) link: LinkShape,
}

/// A container and everything that belongs to it. Its bundle is `<clones>/<name>`: `config.json`,
/// `rootfs` (the overlay's mount point), `upper` and `work`, which lie on its volume where it has
/// one. Directories of roles are bound in from their volumes.
pub(super) struct ContainerGuest {
    shared: Arc<Shared>,
    spec: GuestSpec,
    address: SocketAddr,
    bundle: PathBuf,
    _claim: CloneClaim,
    data: PathBuf,
    log: PathBuf,
    loader: bool,
    store: Store,
    /// The template's layers stay while the clone is mounted on them.
    template: Option<Template>,
    group: String,
    attached: bool,
    phase: Phase,
}

impl ContainerGuest {
    /// Make the guest's directories.
    pub(super) fn make(
        shared: Arc<Shared>,
        spec: &GuestSpec,
        address: SocketAddr,
        bundle: PathBuf,
        log: PathBuf,
        dir: &Path,
        store: Store,
    ) -> io::Result<Self> {
        shared.host.step("clone directory")?;
        let claim = prepare(dir, &spec.name)?;
        let group = guest_group(&shared.label.run, &spec.name);
        let data = bundle.join("rootfs/data");
        Ok(Self {
            shared,
            spec: spec.clone(),
            address,
            bundle,
            _claim: claim,
            data,
            log,
            loader: false,
            store,
            template: None,
            group,
            attached: false,
            phase: Phase::Created,
        })
    }

    /// Mount the clone.
    pub(super) fn fill(&mut self, template: &Template) -> io::Result<()> {
        self.loader = template
            .program
            .with_file_name(LIBRARIES)
            .join(LOADER)
            .exists();
        self.template = Some(template.clone());
        self.shared.host.step("clone layers")?;
        // The mode of `upper` is that of the guest's root: every user may enter it, whatever the
        // umask.
        let layers = self
            .store
            .home
            .clone()
            .unwrap_or_else(|| self.bundle.clone());
        if self.store.home.is_some() {
            open_directory(&layers)?;
        }
        open_directory(&self.bundle.join("rootfs"))?;
        for layer in ["upper", "work"] {
            open_directory(&layers.join(layer))?;
        }
        if self.store.home.is_some() {
            // A whole copy, so that reads come from the volume too, and not from the template's
            // disk.
            copy_tree(&template.root.join("data"), &layers.join("upper/data"))?;
            self.store.settle();
        }
        self.shared.host.step("clone mount")?;
        let options = overlay_options(
            &template.layers,
            &layers.join("upper"),
            &layers.join("work"),
        )?;
        let source = run_name(&self.shared.label.run);
        mount(
            source.as_str(),
            self.bundle.join("rootfs"),
            "overlay",
            MountFlags::NOSUID,
            Some(options.as_c_str()),
        )
        .map_err(|error| {
            let at = self.bundle.display();
            HostError::refused(
                format!("mounting the overlay at {at}: {}", io::Error::from(error)),
                "the run's directory must lie on a file system that can be an overlay's upper \
                 layer (ext4, xfs, btrfs, tmpfs; not an overlay itself)",
            )
            .into()
        })
        .and_then(|()| {
            make_roles(
                &*self.shared.host,
                &self.store.roles,
                &self.data,
                |role, _| role_place(role),
            )
        })
    }

    fn write_config(&self) -> io::Result<()> {
        let paths = GuestPaths {
            data: "/data".to_owned(),
            shared: format!("/data/{SHARED}"),
            conf: "/conf".to_owned(),
            run: "/run".to_owned(),
            program: format!("/{PROGRAM}"),
            listen: self.address,
            roles: self
                .role_directories()
                .into_iter()
                .map(|directory| (directory.role, directory.inside))
                .collect(),
        };
        let conf = self.bundle.join("conf");
        write_files(&conf, &self.spec, &paths)?;
        let mut args = Vec::new();
        if self.loader {
            args.extend([
                format!("/{LIBRARIES}/{LOADER}"),
                "--library-path".to_owned(),
                format!("/{LIBRARIES}"),
            ]);
        }
        args.push(paths.program.clone());
        args.extend(paths.args(&self.spec));
        let environment = self.shared.label.environment(&self.spec.name).into_iter();
        let network = netns_path(&guest_netns(&self.shared.label.run, &self.spec.name));
        let around = BundleContext {
            args,
            environment: environment
                .map(|(key, value)| format!("{key}={value}"))
                .collect(),
            conf: &conf.to_string_lossy(),
            network: &network.to_string_lossy(),
            group: &self.group,
            groups: GroupFeatures {
                swap_limit: swap_limit(&self.shared.cgroups),
                cpu_v1: self.shared.cgroups.is_v1("cpu"),
            },
            store: &self.store,
            open_files: getrlimit(Resource::Nofile).maximum.unwrap_or(1 << 20),
        };
        without_links::write(
            &self.bundle.join("config.json"),
            &serde_json::to_vec(&config(&self.spec, &around))?,
        )
    }

    /// Let runc make and start the container; gives its first process.
    fn run(&self) -> Result<Identity, StepError> {
        let shared = &self.shared;
        shared
            .host
            .step("runc state directory")
            .and_then(|()| fs::create_dir_all(&shared.runc_root))?;
        let log = without_links::append(&self.log)?;
        let (pid_file, runc_log) = (self.bundle.join("pid"), self.bundle.join("runc.log"));
        let invocation = Invocation::new("runc")
            .arg("--root")
            .arg(&shared.runc_root)
            .arg("--log")
            .arg(&runc_log)
            .args(["run", "--detach", "--bundle"])
            .arg(&self.bundle)
            .arg("--pid-file")
            .arg(&pid_file)
            .arg(&self.spec.name)
            .envs(shared.label.environment(&self.spec.name))
            .output_to(log)
            .timeout(RUNC_LIMIT);
        shared
            .host
            .run(invocation)
            .map_err(|error| self.with_words(error, &runc_log))?;
        let pid = fs::read_to_string(&pid_file)?
            .trim()
            .parse()
            .map_err(|_| StepError::Refused("runc wrote no process number".to_owned()))?;
        Identity::read(pid)
            .ok_or_else(|| StepError::Refused("its first process is gone already".to_owned()))
    }

    /// The error of runc with its words: runc and the guest share a standard error, so that the
    /// words are in its own log, or in the guest's.
    fn with_words(&self, error: CommandError, runc_log: &Path) -> CommandError {
        let said = match tail(runc_log, RUNC_LOG_TAIL) {
            said if said.is_empty() => tail(&self.log, RUNC_LOG_TAIL),
            said => said,
        };
        let said = said.trim_end().to_owned();
        match error {
            CommandError::Failed { status, .. } => CommandError::Failed {
                command: "runc".to_owned(),
                status,
                words: said,
            },
            CommandError::Late { command, limit, .. } => CommandError::Late {
                command,
                limit,
                words: said,
            },
            other => other,
        }
    }

    /// Let runc run a command in the container. What it is told stands in a file that root alone
    /// reads, and for as long as the command runs: arguments would be seen by every user.
    fn exec(&self, command: &GuestCommand) -> Result<CommandEnd, StepError> {
        if !matches!(self.phase, Phase::Started(Some(_))) {
            return Err(StepError::Refused("the guest does not run".to_owned()));
        }
        let mut environment = self.shared.label.environment(&self.spec.name);
        environment.extend([("LANG".to_owned(), "C".to_owned())]);
        environment.extend(command.variables.0.iter().cloned());
        let lines = environment.into_iter();
        let lines = lines.map(|(key, value)| format!("{key}={value}")).collect();
        let process = process(&self.spec, &command.words, lines);
        let told = told_to_runc(&self.bundle, &process)?;
        let invocation = Invocation::new("runc")
            .arg("--root")
            .arg(&self.shared.runc_root)
            .args(["exec", "--process"])
            .arg(&told.0)
            .arg(&self.spec.name)
            .timeout(command.limit);
        let told = run_told(invocation)?;
        Ok(CommandEnd {
            failure: (!told.status.success())
                .then(|| end_reason(told.status.code(), told.status.signal())),
            output: told.output,
        })
    }

    /// Remove the container, but not its clone and its network. Not by `runc delete`: with all
    /// processes gone what is left are control groups and a directory, and removing these is a
    /// matter of microseconds.
    fn clear_container(&mut self) -> Result<(), GuestError> {
        self.kill()?;
        self.shared
            .cgroups
            .remove(&self.group)
            .map_err(self.fail("removing its cgroups"))?;
        remove_tree(&self.shared.runc_root.join(&self.spec.name))
            .map_err(self.fail("removing runc's state"))
    }

    fn fail<E: Into<StepError>>(&self, step: &'static str) -> impl Fn(E) -> GuestError + use<E> {
        let guest = self.spec.name.clone();
        move |error| GuestError::in_guest(&guest, step, error)
    }

    fn asked_link(&self) -> AskedLink<'_> {
        AskedLink {
            shape: &self.shared.link,
            packet_cpus: &self.spec.packet_cpus,
        }
    }

    /// The kernel's own word that the memory limit killed; nothing otherwise.
    fn want_of_memory(&self) -> String {
        match (self.memory_kills(), self.spec.memory_mib) {
            (1.., Some(limit)) => out_of_memory(limit),
            _ => String::new(),
        }
    }

    /// Reap the first process, if it has ended and we are its adoptive parent; remember how it
    /// ended.
    fn reap(&mut self) {
        let Phase::Started(Some(init)) = self.phase else {
            return;
        };
        let Some(pid) = i32::try_from(init.pid).ok().and_then(Pid::from_raw) else {
            return;
        };
        match waitid(
            WaitId::Pid(pid),
            WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
        ) {
            Ok(Some(status)) => {
                let reason = end_reason(status.exit_status(), status.terminating_signal());
                self.phase = Phase::Ended(reason + &self.want_of_memory());
            }
            Ok(None) => {}
            // Somebody else's child, or reaped: only its absence can be seen.
            Err(_) if init.is_alive() => {}
            Err(_) => self.phase = Phase::Ended("ended".to_owned()),
        }
    }
}

impl Guest for ContainerGuest {
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
        let shared = Arc::clone(&self.shared);
        if self.state() == GuestState::Running {
            let why = StepError::Refused("it runs already".to_owned());
            return Err(self.fail("starting")(why));
        }
        // A start that failed half-way leaves a container just as one that ended does.
        if !matches!(self.phase, Phase::Created) {
            self.clear_container()?;
        }
        shared
            .host
            .step("bundle")
            .and_then(|()| self.write_config())
            .map_err(self.fail("writing its configuration"))?;
        if !self.attached {
            let attached = attach(
                &*shared.host,
                &shared.label,
                &shared.network,
                (&self.spec.name, self.spec.number),
                self.asked_link(),
            );
            attached.map_err(self.fail("attaching it to the lab's network"))?;
            self.attached = true;
        }
        // Set before: a runc that fails half-way may leave a container.
        self.phase = Phase::Started(None);
        let init = self.run().map_err(self.fail("starting its container"))?;
        self.phase = Phase::Started(Some(init));
        Ok(())
    }

    fn state(&mut self) -> GuestState {
        self.reap();
        self.phase.state()
    }

    fn usage_probe(&self) -> UsageProbe {
        self.shared.cgroups.usage_probe(&self.group)
    }

    fn process_probe(&self) -> ProcessProbe {
        let (cgroups, group) = (self.shared.cgroups.clone(), self.group.clone());
        Box::new(move || cgroups.processes(&group).into_iter().collect())
    }

    #[instrument(level = "debug", skip_all, err(level = "debug"), fields(guest = %self.spec.name))]
    fn run(&self, command: &GuestCommand) -> Result<CommandEnd, GuestError> {
        self.exec(command).map_err(self.fail(RUN_STEP))
    }

    fn volume_fault(&self, look: VolumeLook) -> Option<VolumeFault> {
        self.store.fault(look)
    }

    fn role_directories(&self) -> Vec<RoleDirectory> {
        self.store.role_directories(|role, _| role_place(role))
    }

    fn in_force(&self) -> Vec<InForce> {
        let mut readings = io_readings(&self.store, Some((&self.shared.cgroups, &self.group)));
        let shared = &self.shared;
        readings.extend(node_reading(&self.store, &shared.cgroups, &self.group));
        readings.extend(weight_reading(
            &self.spec,
            Some((&shared.cgroups, &self.group)),
        ));
        readings.extend(swap_reading(&self.spec, &shared.cgroups, &self.group));
        let place = LinkPlace {
            guest: &netns_path(&guest_netns(&shared.label.run, &self.spec.name)),
            lab: &shared.network,
            number: self.spec.number,
        };
        readings.extend(link::readings(&*shared.host, self.asked_link(), &place));
        readings
    }

    fn memory_kills(&self) -> u64 {
        self.shared.cgroups.memory_kills(&self.group).unwrap_or(0)
    }

    fn data_dir(&self) -> &Path {
        &self.data
    }

    fn log_tail(&self, bytes: usize) -> String {
        tail(&self.log, bytes)
    }

    #[instrument(level = "debug", skip_all, err(level = "debug"), fields(guest = %self.spec.name))]
    fn stop(&mut self, grace: Duration) -> Result<(), GuestError> {
        if let Phase::Started(Some(init)) = self.phase {
            init.signal(Signal::TERM)
                .map_err(self.fail("asking it to end"))?;
            await_end(init.pid, grace).map_err(self.fail("waiting for its end"))?;
            self.reap();
        }
        self.kill()
    }

    #[instrument(level = "debug", skip_all, err(level = "debug"), fields(guest = %self.spec.name))]
    fn kill(&mut self) -> Result<(), GuestError> {
        if matches!(self.phase, Phase::Created) {
            return Ok(());
        }
        self.shared
            .cgroups
            .kill(&self.group, KILL_LIMIT)
            .map_err(self.fail("killing"))?;
        if let Phase::Started(Some(init)) = self.phase {
            await_end(init.pid, KILL_LIMIT).map_err(self.fail("waiting for its end"))?;
        }
        self.reap();
        Ok(())
    }

    #[instrument(level = "debug", skip_all, err(level = "debug"), fields(guest = %self.spec.name))]
    fn remove(&mut self) -> Result<(), GuestError> {
        self.clear_container()?;
        let unnamed = remove_netns(&guest_netns(&self.shared.label.run, &self.spec.name));
        detach(&self.bundle.join("rootfs")).map_err(self.fail("unmounting its clone"))?;
        remove_tree(&self.bundle).map_err(self.fail("deleting its clone"))?;
        self.template = None;
        let released = self.store.release();
        released.map_err(self.fail("removing its storage"))?;
        // Told last: a namespace whose name stays holds nothing else back.
        unnamed.map_err(self.fail("removing its network namespace"))
    }
}

impl Drop for ContainerGuest {
    fn drop(&mut self) {
        // What stays is still labelled and registered: the lab's end or `clean` removes it.
        let _ = self.remove();
    }
}

/// A file that goes when this does.
struct ShortLived(PathBuf);

impl Drop for ShortLived {
    fn drop(&mut self) {
        // The bundle goes, too.
        let _ = fs::remove_file(&self.0);
    }
}

/// Write what runc is told of a command into the bundle, for root alone. Commands of one guest may
/// run at the same time.
fn told_to_runc(bundle: &Path, process: &serde_json::Value) -> io::Result<ShortLived> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = bundle.join(format!("exec{number}.json"));
    let mut file = without_links::replace(&path)?;
    let told = ShortLived(path);
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    file.write_all(&serde_json::to_vec(process)?)?;
    Ok(told)
}

/// Options of the overlay of these layers, the top first. Colons and commas separate in them, and
/// backslashes protect.
fn overlay_options(layers: &[PathBuf], upper: &Path, work: &Path) -> io::Result<std::ffi::CString> {
    let protected = |path: &Path| {
        let text = path
            .to_str()
            .ok_or_else(|| io::Error::other(format!("{} is not UTF-8", path.display())))?;
        Ok::<_, io::Error>(
            text.replace('\\', "\\\\")
                .replace(',', "\\,")
                .replace(':', "\\:"),
        )
    };
    let lower = layers
        .iter()
        .map(|layer| protected(layer))
        .collect::<io::Result<Vec<_>>>()?
        .join(":");
    let options = format!(
        "lowerdir={lower},upperdir={},workdir={}",
        protected(upper)?,
        protected(work)?
    );
    std::ffi::CString::new(options).map_err(|_| io::Error::other("a path holds a NUL byte"))
}

/// Version 1 has the file only when the kernel accounts for swap; version 2 always does when it has
/// swap at all.
fn swap_limit(cgroups: &Cgroups) -> bool {
    let directory = cgroups.directory("memory", "");
    directory.is_some_and(|directory| {
        directory.join("memory.memsw.limit_in_bytes").exists()
            || directory.join("cgroup.controllers").exists()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_in_paths_are_protected() {
        let layers = ["/a:b,c", "/d"].map(PathBuf::from);
        let options = overlay_options(&layers, Path::new("/u"), Path::new("/w")).expect("valid");
        assert_eq!(
            options.to_str(),
            Ok("lowerdir=/a\\:b\\,c:/d,upperdir=/u,workdir=/w")
        );
    }
}
