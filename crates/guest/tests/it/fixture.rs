//! Sites, specs, and a controller to be killed.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use rookery_guest::{
    AccessTimes, CalledBy, DeviceSource, FileSystem, Fill, FillError, Guest, GuestSpec, GuestState,
    Health, IoLimits, JournalMode, Kind, Lab, LabShape, MountedBy, Provision, Recipe,
    RoleProvision, RunDirs, StorageRole, Template, Versions, VmShape, Volume, VolumeSpec, open_lab,
    patient, start_all,
};
use rookery_host::{Host, RealHost, RunId, in_netns};

/// Generous: a loaded machine is slow, not wrong.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Variable with the shape of a controller's machines, as JSON.
const SHAPE: &str = "ROOKERY_TEST_SHAPE";
/// Variable with the size of a volume for each of a controller's guests, MiB.
const VOLUME: &str = "ROOKERY_TEST_VOLUME";

/// Templates are shared by all cases of one execution.
static TEMPLATES: OnceLock<tempfile::TempDir> = OnceLock::new();

/// A static is never dropped.
pub(crate) fn discard_templates() {
    if let Some(directory) = TEMPLATES.get() {
        let _ = std::fs::remove_dir_all(directory);
    }
}

/// An own run with a directory that goes away.
pub(crate) struct Fixture {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) run: String,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let run = format!(
            "t{}x{}",
            std::process::id() % 100_000,
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        Self {
            dir: tempfile::tempdir().expect("temporary directory"),
            run,
        }
    }

    pub(crate) fn site(&self) -> RunDirs {
        site(&self.run, self.dir.path(), &templates())
    }

    pub(crate) fn lab(&self, kind: Kind) -> Box<dyn Lab> {
        self.lab_on(kind, Arc::new(RealHost)).expect("lab")
    }

    pub(crate) fn lab_on(
        &self,
        kind: Kind,
        host: Arc<dyn Host>,
    ) -> Result<Box<dyn Lab>, rookery_guest::GuestError> {
        self.lab_of(&kind.into(), host)
    }

    pub(crate) fn lab_of(
        &self,
        shape: &LabShape,
        host: Arc<dyn Host>,
    ) -> Result<Box<dyn Lab>, rookery_guest::GuestError> {
        open_lab(shape, self.site(), host)
    }

    /// Everything of this run that can be seen.
    pub(crate) fn traces(&self) -> Vec<String> {
        crate::traces::of_run(
            &self.run,
            &self.dir.path().canonicalize().expect("directory"),
        )
    }

    pub(crate) fn assert_no_traces(&self, when: &str) {
        let traces = self.traces();
        assert!(traces.is_empty(), "{when}: {traces:#?}");
    }
}

/// Those of virtual machines may be kept from one execution to the next: building their system
/// takes minutes.
fn templates() -> PathBuf {
    if let Some(kept) = std::env::var_os("ROOKERY_VM_TEMPLATES") {
        return kept.into();
    }
    TEMPLATES
        .get_or_init(|| tempfile::tempdir().expect("temporary directory"))
        .path()
        .to_owned()
}

fn site(run: &str, dir: &Path, templates: &Path) -> RunDirs {
    RunDirs {
        run: RunId::try_from(run.to_owned()).expect("run id"),
        dir: dir.to_owned(),
        templates: templates.to_owned(),
    }
}

/// The template of the suite: this executable, and a data directory with one file.
pub(crate) fn template(lab: &dyn Lab) -> Template {
    let fill = |data: &Path| {
        std::fs::write(data.join("row"), "first")
            .map(|()| None)
            .map_err(FillError::from)
    };
    build(lab, "conformance", None, Fill::Data(&fill))
}

pub(crate) fn build(
    lab: &dyn Lab,
    description: &str,
    base: Option<&Template>,
    fill: Fill<'_>,
) -> Template {
    let recipe = Recipe {
        description: description.into(),
        program: std::env::current_exe().expect("own path"),
        base,
        fill,
    };
    lab.template(&recipe, &patient).expect("template")
}

/// A root with one file, for layers to stand on.
pub(crate) fn base(lab: &dyn Lab) -> Template {
    let fill = |root: &Path| {
        std::fs::create_dir(root.join("etc"))
            .and_then(|()| std::fs::write(root.join("etc/release"), "base"))
            .map(|()| Versions::from([("toy".to_owned(), "1.0".to_owned())]))
            .map_err(FillError::from)
    };
    build(lab, "conformance, base", None, Fill::Root(&fill))
}

/// The program on data on the base. The data belong to user 33, if we may give them away.
pub(crate) fn layered(lab: &dyn Lab) -> Template {
    let fill = |data: &Path| {
        let row = data.join("row");
        let written = std::fs::write(&row, "layered");
        let given = written.and_then(|()| match rustix::process::geteuid().is_root() {
            true => [data, &row]
                .iter()
                .try_for_each(|path| std::os::unix::fs::chown(path, Some(33), Some(33))),
            false => Ok(()),
        });
        given.map(|()| None).map_err(FillError::from)
    };
    let data = build(
        lab,
        "conformance, layered",
        Some(&base(lab)),
        Fill::DataOnly(&fill),
    );
    data.with_program(&build(lab, "conformance, program", None, Fill::Program))
}

pub(crate) fn spec(number: u16, modes: &[&str]) -> GuestSpec {
    let mut args: Vec<String> = ["guest-program", "{data}", "{listen}"]
        .map(str::to_owned)
        .into();
    args.extend(modes.iter().map(|mode| (*mode).to_owned()));
    GuestSpec {
        number,
        name: format!("g{number}"),
        cpus: vec![],
        cpu_time: rookery_guest::CpuTime::Unlimited,
        cpu_weight: None,
        packet_cpus: Vec::new(),
        called_by: CalledBy::Users,
        memory_mib: Some(256),
        swap: rookery_study::Swap::None,
        pids: Some(64),
        args,
        port: 18099,
        health: Health::Http("/health".into()),
        files: vec![],
        user: None,
        sockets: Vec::new(),
    }
}

pub(crate) fn create(lab: &dyn Lab, spec: &GuestSpec) -> Box<dyn Guest> {
    lab.create(&template(lab), spec).expect("guest")
}

/// A guest whose data lie on a volume, if one is given.
pub(crate) fn create_on(
    lab: &dyn Lab,
    spec: &GuestSpec,
    volume: Option<Arc<Volume>>,
) -> Box<dyn Guest> {
    let provision = Provision {
        volume: volume.as_ref().map(|volume| volume.name().to_owned()),
        ..Provision::default()
    };
    lab.create_with(&template(lab), spec, &provision)
        .expect("guest")
}

/// A machine whose disk lies on a volume of this size, and that has another for its log.
fn on_volumes(lab: &dyn Lab, spec: &GuestSpec, size_mib: u64) -> Box<dyn Guest> {
    let data = lab.volume(&spec.name, &ext4(size_mib)).expect("a volume");
    let of_log = VolumeSpec {
        mounted_by: MountedBy::Guest,
        ..ext4(64)
    };
    let log = lab
        .volume(&format!("{}-log", spec.name), &of_log)
        .expect("a volume");
    let log = RoleProvision {
        volume: log.name().to_owned(),
        moved: Vec::new(),
        limits: IoLimits::default(),
    };
    let provision = Provision {
        volume: Some(data.name().to_owned()),
        roles: BTreeMap::from([(StorageRole::Log, log)]),
        ..Provision::default()
    };
    lab.create_with(&template(lab), spec, &provision)
        .expect("guest")
}

/// A volume with the options of the scale-out paper.
pub(crate) fn ext4(size_mib: u64) -> VolumeSpec {
    VolumeSpec {
        size_mib,
        file_system: Some(FileSystem::Ext4),
        mounted_by: MountedBy::Host,
        block_size: None,
        atime: AccessTimes::Noatime,
        barriers: Some(false),
        journal: Some(JournalMode::Writeback),
        discard: false,
        commit_s: None,
        direct: true,
        devices: 1,
        source: DeviceSource::RunDirectory,
    }
}

/// Make one guest and bring it up.
pub(crate) fn healthy(lab: &dyn Lab, spec: &GuestSpec) -> Box<dyn Guest> {
    let mut guests = vec![create(lab, spec)];
    up(lab, &mut guests);
    guests.remove(0)
}

pub(crate) fn up(lab: &dyn Lab, guests: &mut [Box<dyn Guest>]) {
    // Where they are translated, machines on a busy host take minutes.
    let patience = if lab.kind() == Kind::Vm {
        5 * PATIENCE
    } else {
        PATIENCE
    };
    start_all(guests, lab, patience, &|_| {}, &AtomicBool::new(false)).expect("healthy");
}

/// How the guest ended, once it has.
pub(crate) fn end_of(guest: &mut dyn Guest) -> GuestState {
    let deadline = Instant::now() + PATIENCE;
    while guest.state() == GuestState::Running && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(2));
    }
    guest.state()
}

/// Body of a page of the guest, asked from inside the lab's network; `None` when it does not
/// answer.
pub(crate) fn get(lab: &dyn Lab, address: SocketAddr, target: &str) -> Option<String> {
    get_from(lab.network(), address, target)
}

/// The same from another network namespace.
pub(crate) fn get_from(
    network: Option<&Path>,
    address: SocketAddr,
    target: &str,
) -> Option<String> {
    in_netns(network, || fetch(address, target).ok()).expect("network")
}

fn fetch(address: SocketAddr, target: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (_, body) = text
        .split_once("\r\n\r\n")
        .ok_or_else(|| std::io::Error::other("no answer"))?;
    Ok(body.to_owned())
}

/// A controller in a process of its own, with two healthy guests.
pub(crate) struct Controller {
    pub(crate) child: Child,
}

impl Controller {
    /// Start it and wait until its guests are healthy.
    pub(crate) fn start(fixture: &Fixture, kind: Kind) -> Self {
        Self::healthy(Self::spawn(fixture, kind, "waits", &[]))
    }

    /// The same with machines of a shape.
    pub(crate) fn start_shaped(fixture: &Fixture, shape: &VmShape) -> Self {
        Self::healthy(Self::spawn(
            fixture,
            Kind::Vm,
            "waits",
            &[(SHAPE, in_json(shape))],
        ))
    }

    /// The same with machines of a shape whose disks lie on a volume each, with another for a log.
    pub(crate) fn start_on_volumes(fixture: &Fixture, shape: &VmShape, size_mib: u64) -> Self {
        let variables = [(SHAPE, in_json(shape)), (VOLUME, size_mib.to_string())];
        Self::healthy(Self::spawn(fixture, Kind::Vm, "waits", &variables))
    }

    fn healthy(mut controller: Self) -> Self {
        let mut line = String::new();
        BufReader::new(controller.child.stdout.take().expect("piped"))
            .read_line(&mut line)
            .expect("read");
        assert_eq!(line, "healthy\n");
        controller
    }

    /// Start one that makes and removes guests again and again.
    pub(crate) fn churning(fixture: &Fixture, kind: Kind) -> Self {
        Self::spawn(fixture, kind, "churns", &[])
    }

    fn spawn(fixture: &Fixture, kind: Kind, mode: &str, variables: &[(&str, String)]) -> Self {
        let kind = match kind {
            Kind::Bare => "bare",
            Kind::Vm => "vm",
            Kind::Container | Kind::Fake | Kind::External => "container",
        };
        let mut command = Command::new(std::env::current_exe().expect("own path"));
        command
            .args(["controller", kind, &fixture.run])
            .arg(fixture.dir.path())
            .arg(templates())
            .arg(mode)
            .envs(variables.iter().cloned());
        Self {
            child: command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .spawn()
                .expect("controller"),
        }
    }

    /// SIGKILL, at once.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("kill");
        self.child.wait().expect("reap");
    }
}

fn in_json(shape: &VmShape) -> String {
    serde_json::to_string(shape).expect("JSON")
}

/// The controller's own main.
pub(crate) fn run_controller(words: &[String]) {
    let kind = match words[0].as_str() {
        "bare" => Kind::Bare,
        "vm" => Kind::Vm,
        _ => Kind::Container,
    };
    let site = site(&words[1], Path::new(&words[2]), Path::new(&words[3]));
    if words[4] == "churns" {
        loop {
            live(kind, &site, |guests| {
                rookery_guest::remove_all(guests).expect("removed");
            });
        }
    }
    live(kind, &site, |_| {
        std::io::stdout()
            .write_all(b"healthy\n")
            .expect("the case listens");
        std::thread::sleep(Duration::from_secs(600));
    });
}

/// A lab with two healthy guests, one of which has a child.
fn live(kind: Kind, site: &RunDirs, then: impl FnOnce(&mut [Box<dyn Guest>])) {
    let mut lab = match std::env::var(SHAPE) {
        Ok(shape) => open_lab(
            &LabShape::Vm(Box::new(serde_json::from_str(&shape).expect("a shape"))),
            site.clone(),
            Arc::new(RealHost),
        ),
        Err(_) => open_lab(&kind.into(), site.clone(), Arc::new(RealHost)),
    }
    .expect("lab");
    let size_mib = std::env::var(VOLUME)
        .ok()
        .map(|size| size.parse().expect("MiB"));
    let make = |spec: &GuestSpec| match size_mib {
        Some(size_mib) => on_volumes(&*lab, spec, size_mib),
        None => create(&*lab, spec),
    };
    let mut guests = vec![make(&spec(1, &["child"])), make(&spec(2, &[]))];
    up(&*lab, &mut guests);
    then(&mut guests);
    drop(guests);
    lab.close().expect("closed");
}
