//! One virtual machine.

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use rookery_cast::truncate_u32;
use rookery_host::{
    CommandError, GroupLimits, Identity, UsageProbe, await_end, machine_usage_probe, without_links,
};
use rookery_study::vm_shape::{Network, VmShape};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use tracing::instrument;

use super::{
    base::Base,
    cloud::CloudSeed,
    commands::{Reply, Request, ask as ask_for},
    connection,
    disk::extract_data,
    document::{DATA_TARGET, disk_of, interface_in_force, limits_in_force},
    domain::Domain,
    events::{Event, parse},
    image::disk_image,
    interfaces::Port,
    looks::{LINK, ask, probe, told_end},
    memory_kills,
    network::link_name,
    plug::Plug,
    pool::{Disk, Owner},
    relay::{RELAY_PORT, Relay, outside::Outside},
    role_disks::RoleDisks,
    seed::{Names, Seed},
    shared::Shared,
    swap,
};
use crate::{
    counters::MachineProbe,
    cpu_quota::{quota_of, shares_of, weight_reading},
    error::{GuestError, StepError},
    files::GuestPaths,
    guest::{CommandEnd, Guest, GuestCommand, GuestState, ProcessProbe, RUN_STEP},
    health::Health,
    label::guest_group,
    link::{MachineLink, back_end_port},
    log::tail,
    paths::{CloneClaim, SHARED, prepare, remove_tree},
    phase::{Phase, end_reason},
    processes::kill_labelled,
    spec::GuestSpec,
    storage::{InForce, RoleDirectory, Store, VolumeFault, VolumeLook, io_readings},
    template::{LIBRARIES, LOADER, PROGRAM, Template},
};

/// How long a killed emulator may take to vanish.
const KILL_LIMIT: Duration = Duration::from_secs(10);
/// How often a guest that was asked to end is looked at.
const LOOK: Duration = Duration::from_millis(10);
/// Most bytes of events that are read: a guest may write what it likes.
const MAX_EVENTS: usize = 64 << 10;

/// A machine and everything that belongs to it. Its directory is `<clones>/<name>`: the disk, the
/// seed, the events, and, once it has been stopped, its data.
pub(super) struct VmGuest {
    shared: Arc<Shared>,
    spec: GuestSpec,
    shape: VmShape,
    names: Names,
    plug: Plug,
    directory: PathBuf,
    _claim: CloneClaim,
    data: PathBuf,
    log: PathBuf,
    console: PathBuf,
    disk: Option<Disk>,
    /// What it swaps to.
    swap: Option<Disk>,
    /// The clone of a cloud image.
    cloud: Option<Disk>,
    loader: bool,
    store: Store,
    /// Disks beside that of its data.
    roles: RoleDisks,
    base: Base,
    /// The template of the disk's image stays while a clone stands on it.
    image: Option<Template>,
    group: String,
    /// Where its sockets are on the host, and what leads them there while it runs.
    sockets: PathBuf,
    relay: Option<Outside>,
    phase: Phase,
}

/// What a guest is made of, besides its spec.
pub(super) struct Parts<'a> {
    pub(super) plug: Plug,
    pub(super) shape: VmShape,
    pub(super) dir: &'a Path,
    pub(super) directory: PathBuf,
    pub(super) log: PathBuf,
    pub(super) store: Store,
    pub(super) roles: RoleDisks,
    pub(super) base: Base,
}

impl VmGuest {
    /// Make the guest's directory.
    pub(super) fn make(
        shared: Arc<Shared>,
        spec: &GuestSpec,
        parts: Parts<'_>,
    ) -> io::Result<Self> {
        if spec.port == RELAY_PORT && !spec.sockets.is_empty() {
            let what = format!(
                "port {RELAY_PORT} of machines leads to their sockets: give the service another"
            );
            return Err(io::Error::other(what));
        }
        shared.host.step("clone directory")?;
        let claim = prepare(parts.dir, &spec.name)?;
        Ok(Self {
            names: Names::derive(&shared.label.run, &spec.name, spec.number),
            group: guest_group(&shared.label.run, &spec.name),
            data: parts.directory.join("data"),
            console: parts.log.with_extension("console.log"),
            disk: None,
            swap: None,
            cloud: None,
            loader: false,
            image: None,
            sockets: shared.home.join(format!("{}.s", spec.name)),
            relay: None,
            phase: Phase::Created,
            shared,
            spec: spec.clone(),
            shape: parts.shape,
            plug: parts.plug,
            directory: parts.directory,
            _claim: claim,
            log: parts.log,
            store: parts.store,
            roles: parts.roles,
            base: parts.base,
        })
    }

    /// Clone its disk.
    pub(super) fn fill(&mut self, template: &Template, image: Template) -> io::Result<()> {
        self.loader = template
            .program
            .with_file_name(LIBRARIES)
            .join(LOADER)
            .exists();
        without_links::replace(&self.console)?;
        let host = &*self.shared.host;
        let owner = Owner {
            run: &self.shared.label.run,
            guest: &self.spec.name,
            number: self.spec.number,
        };
        let clone = self.shape.disk.clone;
        self.disk = Some(match &self.store.volume {
            Some(volume) => Disk::on_volume(
                host,
                volume,
                self.store.home.as_deref(),
                &disk_image(&image),
                clone,
            )?,
            None => Disk::provide(
                host,
                &self.shape.pool,
                owner,
                &disk_image(&image),
                &self.directory,
                clone,
            )?,
        });
        self.store.settle();
        self.image = Some(image);
        self.cloud = self.base.clone_system(host, &self.directory, clone)?;
        self.swap = swap::make_disk(host, &self.directory, self.swap_mib())?;
        Ok(())
    }

    fn events(&self) -> PathBuf {
        self.directory.join("events")
    }

    fn seed(&self) -> PathBuf {
        self.directory.join("seed")
    }

    fn control(&self) -> PathBuf {
        self.shared.home.join(format!("{}.sock", self.spec.name))
    }

    fn commands(&self) -> PathBuf {
        self.shared.home.join(format!("{}.c", self.spec.name))
    }

    /// Let its service run a command of the user.
    fn command(&self, command: &GuestCommand) -> Result<CommandEnd, StepError> {
        if !matches!(self.phase, Phase::Started(Some(_))) {
            return Err(StepError::Refused("the guest does not run".to_owned()));
        }
        match ask_for(&self.commands(), &Request::new(command))? {
            Reply::Ended {
                code,
                signal,
                output,
            } => Ok(CommandEnd {
                failure: (code != Some(0)).then(|| end_reason(code, signal)),
                output,
            }),
            Reply::Late { output } => Err(StepError::Command(CommandError::Late {
                command: command.words.join(" "),
                limit: command.limit,
                words: output,
            })),
            Reply::Failed { why } => Err(StepError::Refused(why)),
        }
    }

    fn write_seed(&self, relay: Option<Relay>) -> io::Result<()> {
        let paths = GuestPaths {
            data: "/data".to_owned(),
            shared: format!("/data/{SHARED}"),
            conf: "/conf".to_owned(),
            run: "/run".to_owned(),
            program: format!("/{PROGRAM}"),
            listen: SocketAddr::from((self.plug.listens, self.spec.port)),
            roles: self.roles.places(),
        };
        let loader = self.loader.then(|| {
            [
                format!("/{LIBRARIES}/{LOADER}"),
                "--library-path".to_owned(),
                format!("/{LIBRARIES}"),
            ]
        });
        let seed = Seed {
            relay,
            has_network: self.cloud.is_some(),
            disciplines: self
                .link()
                .map_or_else(String::new, |link| link.lines_inside()),
            swaps: self.swap.is_some(),
            roles: self.roles.seeds(),
            ..Seed::new(&self.spec, &paths, &self.plug, self.shape.nic.mtu, loader)
        };
        seed.write(&self.seed())?;
        if self.cloud.is_some() {
            self.cloud_seed()
                .write(&*self.shared.host, &self.directory)?;
        }
        // Of this life alone.
        without_links::replace(&self.events()).map(drop)
    }

    fn cloud_seed(&self) -> CloudSeed<'_> {
        CloudSeed {
            hostname: &self.spec.name,
            names: &self.names,
            plug: self.plug,
            mtu: self.shape.nic.mtu,
        }
    }

    fn domain(&self) -> io::Result<String> {
        let disk = self
            .disk
            .as_ref()
            .ok_or_else(|| io::Error::other("it has no disk"))?;
        let files = self.base.files(&self.directory);
        // A host that is busy gives an emulated timer no time to prove itself; the kernel trusts it
        // unasked under KVM.
        let command_line = format!(
            "root=/dev/vda ro console=ttyS0 quiet panic=-1 no_timer_check net.ifnames=0 fastboot \
             fsck.mode=skip random.trust_cpu=on systemd.show_status=false \
             systemd.unit=rookery-guest.target systemd.hostname={} systemd.machine_id={}",
            self.spec.name, self.names.machine_id
        );
        let domain = Domain {
            name: &self.names.domain,
            owner: (self.shared.label.run.as_str(), &self.spec.name),
            security: &self.shared.security,
            uuid: self.names.uuid.clone(),
            accelerator: self.shared.accelerator.accelerator,
            shape: &self.shape,
            vcpus: self.vcpus(),
            memory_mib: self.memory_mib(),
            cpus: &self.spec.cpus,
            nodes: &self.store.nodes,
            limits: self.store.limits,
            boot: files.boot(self.cloud.as_ref(), command_line)?,
            disk,
            swap: self.swap.as_ref(),
            roles: self.roles.targets(),
            seed: &self.seed(),
            port: Port {
                mac: self.names.mac.clone(),
                link: link_name(&self.shape.nic, &self.names),
            },
            back_end: self.plug.back_end.map(|_| Port {
                mac: self.names.back_end_mac.clone(),
                link: back_end_port(self.spec.number),
            }),
            forwards: self.plug.forwards(&self.ports()),
            console: &self.console,
            log: &self.log,
            events: &self.events(),
            control: &self.control(),
            commands: &self.commands(),
            labels: self.shared.label.environment(&self.spec.name),
        };
        Ok(domain.xml())
    }

    /// What leads its sockets to the host in this life; nothing when it has none.
    fn lead(&mut self) -> io::Result<Option<Relay>> {
        if self.spec.sockets.is_empty() {
            return Ok(None);
        }
        let relay = Relay::new(&self.spec.sockets)?;
        let guest = SocketAddr::new(self.plug.users_side(), RELAY_PORT);
        self.relay = Some(Outside::open(
            &self.sockets,
            guest,
            self.shared.network.as_deref(),
            relay.clone(),
        )?);
        Ok(Some(relay))
    }

    fn extract(&self) -> io::Result<()> {
        let disk = self
            .disk
            .as_ref()
            .ok_or_else(|| io::Error::other("it has no disk"))?;
        extract_data(&*self.shared.host, disk, &self.directory, &self.data)
    }

    /// Its ports that the host has to reach.
    fn ports(&self) -> Vec<u16> {
        let relay = (!self.spec.sockets.is_empty()).then_some(RELAY_PORT);
        std::iter::once(self.spec.port).chain(relay).collect()
    }

    /// As many as the shape says; else as many as it may use at once.
    fn vcpus(&self) -> u32 {
        let asked = match self.spec.cpu_time.cores() {
            Some(limit) => truncate_u32(limit.ceil()),
            None => u32::try_from(self.spec.cpus.len()).unwrap_or(1),
        };
        self.shape.vcpus.unwrap_or(asked.clamp(1, 255))
    }

    fn memory_mib(&self) -> u64 {
        self.spec.memory_mib.unwrap_or(self.shape.memory_mib)
    }

    fn swap_mib(&self) -> u64 {
        swap::swap_mib(&self.spec, self.memory_mib())
    }

    /// Let libvirt make the machine, hold it to its CPUs, and let it go.
    fn boot(&self) -> Result<Identity, StepError> {
        let shared = &self.shared;
        shared.virsh.create_paused(&*shared.host, &self.domain()?)?;
        let emulator = connection::emulator(
            &shared.home,
            &shared.label,
            &self.names.domain,
            &self.spec.name,
        );
        let emulator = emulator?
            .ok_or_else(|| StepError::Refused("its emulator is gone already".to_owned()))?;
        let limits = GroupLimits {
            cpus: self.spec.cpus.clone(),
            nodes: self.store.nodes.clone(),
            quota: quota_of(self.spec.cpu_time),
            shares: shares_of(&self.spec),
            // Its memory is fixed by the machine itself.
            memory_bytes: None,
        };
        shared
            .host
            .step("guest control group")
            .and_then(|()| shared.cgroups.confine(&self.group, emulator.pid, &limits))?;
        if let Some(link) = self.link() {
            let environment = shared.label.environment(&self.spec.name);
            link.apply(&*shared.host, &environment)?;
        }
        let resumed = shared
            .virsh
            .run(&*shared.host, &["resume", "--domain", &self.names.domain]);
        resumed?;
        Ok(emulator)
    }

    /// Its link to a bridge; nothing in user mode.
    fn link(&self) -> Option<MachineLink<'_>> {
        let nic = &self.shape.nic;
        (nic.network != Network::User).then(|| MachineLink {
            nic,
            packet_cpus: &self.spec.packet_cpus,
            lab: self.shared.network.as_deref(),
            tap: link_name(nic, &self.names),
            number: self.spec.number,
        })
    }

    fn fail<E: Into<StepError>>(&self, step: &'static str) -> impl Fn(E) -> GuestError + use<E> {
        let guest = self.spec.name.clone();
        move |error| GuestError::in_guest(&guest, step, error)
    }

    /// What is wrong with a disk of a role by the guest's own words: those of the service that
    /// could not begin because of it, or its answer.
    fn told_fault(&self) -> Option<VolumeFault> {
        let failed = self.told().into_iter().find_map(|event| match event {
            Event::Failed { fault, .. } => fault,
            Event::Started { .. } | Event::Ended { .. } => None,
        });
        failed.or_else(|| self.roles.told_fault(&self.control()))
    }

    /// What its service has told in this life.
    fn told(&self) -> Vec<Event> {
        parse(&tail(&self.events(), MAX_EVENTS))
    }

    /// Remember how it ended, once it has.
    fn look(&mut self) {
        let Phase::Started(Some(emulator)) = self.phase else {
            return;
        };
        // Before the events are read: what it told before it went away is then there.
        let gone = !emulator.is_alive();
        let told = self.told();
        let ended = told.iter().find_map(|event| match event {
            Event::Ended { code, signal } => Some(end_reason(*code, *signal)),
            Event::Failed { what, .. } => Some(format!("the guest's service failed: {what}")),
            Event::Started { .. } => None,
        });
        let reason = match ended {
            Some(reason) => reason,
            None if !gone => return,
            None if told.is_empty() => "the machine went away before its service began".to_owned(),
            None => "the machine went away by itself".to_owned(),
        };
        self.phase = Phase::Ended(reason);
        // Whoever waits for an answer waits in vain.
        self.relay = None;
        if gone {
            reap(emulator);
        }
    }
}

/// The emulator's parent is the lab's libvirt; without it, the emulator may have become ours.
fn reap(emulator: Identity) {
    if let Some(pid) = i32::try_from(emulator.pid).ok().and_then(Pid::from_raw) {
        let _ = waitid(
            WaitId::Pid(pid),
            WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
        );
    }
}

/// Whether what a guest flushed survives the loss of its machine and of the host, by the cache mode
/// of its disk; empty where that is not known.
fn durable(cache: &str) -> &'static str {
    match cache {
        "" => "",
        "unsafe" => "no",
        _ => "yes",
    }
}

impl Guest for VmGuest {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn address(&self) -> SocketAddr {
        self.plug.outside
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
        // A start that failed half-way leaves a machine just as one that ended does.
        self.kill()?;
        self.shared
            .host
            .step("seed")
            .and_then(|()| self.lead())
            .and_then(|relay| self.write_seed(relay))
            .map_err(self.fail("writing its seed"))?;
        self.phase = Phase::Started(None);
        let emulator = self.boot().map_err(self.fail("starting its machine"))?;
        self.phase = Phase::Started(Some(emulator));
        Ok(())
    }

    fn state(&mut self) -> GuestState {
        self.look();
        self.phase.state()
    }

    fn usage_probe(&self) -> UsageProbe {
        let group = self.shared.cgroups.usage_probe(&self.group);
        match self.phase {
            Phase::Started(Some(emulator)) => machine_usage_probe(group, emulator.pid),
            _ => group,
        }
    }

    fn process_probe(&self) -> ProcessProbe {
        let (cgroups, group) = (self.shared.cgroups.clone(), self.group.clone());
        Box::new(move || cgroups.processes(&group).into_iter().collect())
    }

    fn volume_fault(&self, look: VolumeLook) -> Option<VolumeFault> {
        let seen = self.store.fault(look).or_else(|| self.roles.device_fault());
        seen.or_else(|| match look {
            VolumeLook::Passing => None,
            VolumeLook::Thorough => self.told_fault(),
        })
    }

    fn role_directories(&self) -> Vec<RoleDirectory> {
        self.roles.directories()
    }

    fn link_in_data(&self, path: &str) -> Option<PathBuf> {
        let told = ask(&self.control(), &format!("{LINK}{path}"), true).ok()?;
        serde_json::from_str(told.trim()).ok()?
    }

    #[instrument(level = "debug", skip_all, err(level = "debug"), fields(guest = %self.spec.name))]
    fn run(&self, command: &GuestCommand) -> Result<CommandEnd, GuestError> {
        self.command(command).map_err(self.fail(RUN_STEP))
    }

    fn in_force(&self) -> Vec<InForce> {
        let accelerator = &self.shared.accelerator;
        let disk = &self.shape.disk;
        let mut readings = vec![InForce::new("vm.accelerator", "", accelerator.to_string())];
        let document = self.shared.virsh.run(
            &*self.shared.host,
            &["dumpxml", "--domain", &self.names.domain],
        );
        let document = document.unwrap_or_default();
        let of_data = disk_of(&document, DATA_TARGET);
        let driver = of_data
            .lines()
            .find(|line| line.contains("<driver name='qemu'"))
            .unwrap_or_default();
        for (name, asked) in [("cache", disk.cache.word()), ("io", disk.io.word())] {
            let value = driver
                .split_once(&format!("{name}='"))
                .and_then(|(_, rest)| rest.split_once('\''));
            readings.push(InForce::new(
                &format!("vm.disk.{name}"),
                asked,
                value.map_or("", |(value, _)| value),
            ));
        }
        let cache = readings
            .iter()
            .find(|reading| reading.name == "vm.disk.cache");
        let durable = cache.map_or("", |reading| durable(&reading.effective));
        readings.push(InForce::new("vm.durable", "", durable));
        let on_volume = self.store.volume.is_some();
        readings.extend(
            self.disk
                .iter()
                .flat_map(|disk| disk.in_force(&*self.shared.host, on_volume)),
        );
        readings.extend(io_readings(&self.store, None));
        readings.extend(limits_in_force(&self.store.limits, of_data));
        readings.extend(self.roles.readings(&document, &self.control()));
        readings.extend(weight_reading(
            &self.spec,
            Some((&self.shared.cgroups, &self.group)),
        ));
        readings.extend(swap::reading(self.swap_mib(), &self.control()));
        let nic = &self.shape.nic;
        readings.push(interface_in_force(nic, &document));
        if let Some(link) = self.link() {
            let asked = link.is_read_inside().then(|| told_end(&self.control()));
            readings.extend(link.readings(&*self.shared.host, &asked.unwrap_or_default()));
        }
        readings
    }

    fn machine_probe(&self) -> Option<MachineProbe> {
        matches!(self.phase, Phase::Started(Some(_))).then(|| {
            probe(
                Arc::clone(&self.shared),
                self.names.domain.clone(),
                self.control(),
            )
        })
    }

    fn data_dir(&self) -> &Path {
        &self.data
    }

    fn sockets_dir(&self) -> &Path {
        &self.sockets
    }

    fn memory_kills(&self) -> u64 {
        memory_kills::count(&tail(&self.console, memory_kills::MOST_BYTES))
    }

    fn log_tail(&self, bytes: usize) -> String {
        let log = tail(&self.log, bytes);
        // Who ended by its own service, or was ended, has said all. Else the console may know more.
        let over = match &self.phase {
            Phase::Created => true,
            Phase::Started(_) => false,
            Phase::Ended(reason) => !reason.contains("machine went away"),
        };
        if over && !log.is_empty() {
            return log;
        }
        let log = tail(&self.log, bytes / 2);
        let console = tail(&self.console, bytes - log.len().min(bytes));
        let console: String = console
            .chars()
            .filter(|c| !c.is_control() || *c == '\n')
            .collect();
        let console = if console.trim().is_empty() {
            "(nothing)\n"
        } else {
            &console
        };
        let silent = matches!(self.phase, Phase::Started(_)) && self.told().is_empty();
        let silent = if silent {
            "(the guest's service has told nothing)\n"
        } else {
            ""
        };
        format!("{silent}{log}console:\n{console}")
    }

    #[instrument(level = "debug", skip_all, err(level = "debug"), fields(guest = %self.spec.name))]
    fn stop(&mut self, grace: Duration) -> Result<(), GuestError> {
        if self.state() == GuestState::Running {
            let deadline = Instant::now() + grace;
            // A service that cannot be asked is one that does not end.
            let _ = ask(&self.control(), "stop", false);
            while self.state() == GuestState::Running && Instant::now() < deadline {
                thread::sleep(LOOK);
            }
        }
        self.kill()?;
        if matches!(self.phase, Phase::Created) {
            return Ok(());
        }
        self.shared
            .host
            .step("data")
            .and_then(|()| self.extract())
            .map_err(self.fail("reading its data"))
    }

    #[instrument(level = "debug", skip_all, err(level = "debug"), fields(guest = %self.spec.name))]
    fn kill(&mut self) -> Result<(), GuestError> {
        if matches!(self.phase, Phase::Created) {
            return Ok(());
        }
        self.look();
        self.relay = None;
        let shared = Arc::clone(&self.shared);
        kill_labelled(&shared.label.run, Some(&self.spec.name)).map_err(self.fail("killing"))?;
        shared
            .cgroups
            .kill(&self.group, KILL_LIMIT)
            .map_err(self.fail("killing"))?;
        if let Phase::Started(Some(emulator)) = self.phase {
            await_end(emulator.pid, KILL_LIMIT).map_err(self.fail("waiting for its end"))?;
            reap(emulator);
        }
        // libvirt has to see that it is gone before another of its name can be.
        let forgotten = shared.virsh.destroy(&*shared.host, &self.names.uuid);
        forgotten.map_err(self.fail("ending its domain"))?;
        if !matches!(self.phase, Phase::Ended(_)) {
            self.phase = Phase::Ended("killed by signal 9".to_owned());
        }
        Ok(())
    }

    #[instrument(level = "debug", skip_all, err(level = "debug"), fields(guest = %self.spec.name))]
    fn remove(&mut self) -> Result<(), GuestError> {
        self.kill()?;
        self.shared
            .cgroups
            .remove(&self.group)
            .map_err(self.fail("removing its cgroups"))?;
        remove_tree(&self.directory).map_err(self.fail("deleting its clone"))?;
        for socket in [self.control(), self.commands()] {
            let _ = fs::remove_file(socket);
        }
        self.image = None;
        let released = self
            .disk
            .take()
            .map_or(Ok(()), |disk| disk.release(&*self.shared.host));
        let beside = self.roles.release();
        released
            .and_then(|()| self.store.release())
            .and(beside)
            .map_err(self.fail("removing its storage"))
    }
}

impl Drop for VmGuest {
    fn drop(&mut self) {
        // What stays is still labelled and registered: the lab's end or `clean` removes it.
        let _ = self.remove();
    }
}
