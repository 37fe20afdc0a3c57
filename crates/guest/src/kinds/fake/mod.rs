//! Guests in name only, for tests of what stands above: no process, no registration, a directory at
//! most.

use std::{
    collections::BTreeMap,
    collections::BTreeSet,
    fs,
    io::{self, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rookery_host::{RealHost, Usage, UsageProbe, volume::VolumeSpec, without_links};

use crate::{
    copy::copy_tree,
    error::{GuestError, StepError},
    files::{GuestPaths, write_files},
    guest::{Guest, GuestState},
    health::Health,
    kind::Kind,
    lab::Lab,
    log::tail,
    paths::{
        CloneClaim, RunDirs, SHARED, clone_dir, clones, log_file, open_directory, prepare,
        remove_tree,
    },
    spec::{GuestSpec, check_spec},
    storage::{IoLimiter, Provision, StorageAbility, Volume},
    template::{self, Patience, Recipe, Template},
};

/// What storage fakes can have.
pub(super) const STORAGE: StorageAbility = StorageAbility {
    keeps_data: false,
    io_limits: IoLimiter::Nothing,
};

/// Steps that a fake can be told to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FakeStep {
    /// [`Lab::create`].
    Create,
    /// [`Guest::start`].
    Start,
    /// [`Guest::kill`], [`Guest::stop`].
    Kill,
    /// [`Guest::remove`].
    Remove,
}

/// What fakes do wrong.
#[derive(Clone, Debug, Default)]
pub struct FakeBehaviour {
    /// Steps that fail, by guest number.
    pub failures: BTreeSet<(u16, FakeStep)>,
    /// Guests that start but never answer.
    pub never_ready: BTreeSet<u16>,
    /// Guests that end by themselves this long after their start.
    pub dies_after: Option<(u16, Duration)>,
}

/// The lab of fakes. Health pages answer on 127.0.0.1.
pub struct FakeLab {
    dirs: RunDirs,
    behaviour: FakeBehaviour,
    living: Arc<AtomicU64>,
}

impl FakeLab {
    /// A lab whose guests behave so.
    #[must_use]
    pub fn new(dirs: RunDirs, behaviour: FakeBehaviour) -> Self {
        Self {
            dirs,
            behaviour,
            living: Arc::new(AtomicU64::new(0)),
        }
    }

    /// Guests that were made and not yet removed.
    #[must_use]
    pub fn living(&self) -> u64 {
        self.living.load(Ordering::Relaxed)
    }
}

impl Lab for FakeLab {
    fn kind(&self) -> Kind {
        Kind::Fake
    }

    fn network(&self) -> Option<&Path> {
        None
    }

    fn template(
        &self,
        recipe: &Recipe<'_>,
        patience: Patience<'_>,
    ) -> Result<Template, GuestError> {
        template::build(&RealHost, &self.dirs.templates, recipe, patience)
    }

    fn volume(&self, name: &str, _spec: &VolumeSpec) -> Result<Arc<Volume>, GuestError> {
        let why = StepError::Refused("fake guests keep no data".to_owned());
        Err(GuestError::in_guest(name, "making its volume", why))
    }

    fn create_with(
        &self,
        template: &Template,
        spec: &GuestSpec,
        _provision: &Provision,
    ) -> Result<Box<dyn Guest>, GuestError> {
        check_spec(spec)?;
        template::check_top(template, &spec.name)?;
        let behaviour = &self.behaviour;
        let failures = behaviour
            .failures
            .iter()
            .filter(|(number, _)| *number == spec.number)
            .map(|(_, step)| *step)
            .collect();
        let mut guest = FakeGuest {
            clone: clone_dir(&self.dirs.dir, &spec.name),
            data: clone_dir(&self.dirs.dir, &spec.name).join("data"),
            log: log_file(&self.dirs.dir, &spec.name),
            program: String::new(),
            failures,
            answers: !behaviour.never_ready.contains(&spec.number),
            dies_after: behaviour
                .dies_after
                .filter(|(number, _)| *number == spec.number)
                .map(|(_, after)| after),
            spec: spec.clone(),
            address: own_address(),
            server: None,
            started: None,
            ended: Arc::new(Mutex::new(None)),
            living: None,
            claim: None,
        };
        guest.may(FakeStep::Create, "creating")?;
        let fail = |error: io::Error| GuestError::in_guest(&spec.name, "making the clone", error);
        guest.claim = Some(prepare(&self.dirs.dir, &spec.name).map_err(fail)?);
        self.living.fetch_add(1, Ordering::Relaxed);
        guest.living = Some(Arc::clone(&self.living));
        guest.program = template.program.to_string_lossy().into_owned();
        copy_tree(&template.root.join("data"), &guest.data)
            .and_then(|()| open_directory(&guest.clone.join("run")))
            .map_err(fail)?;
        let server = HealthServer::bind(guest.address, guest.answers).map_err(fail)?;
        guest.address = server.address;
        guest.server = Some(server);
        Ok(Box::new(guest))
    }

    fn close(&mut self) -> Result<(), GuestError> {
        let _ = fs::remove_dir(clones(&self.dirs.dir));
        Ok(())
    }
}

/// A loopback address of the guest's own, with any port: connections to others are made from
/// 127.0.0.1, so none of them can have the guest's port when it comes up again.
fn own_address() -> SocketAddr {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Processes at the same time begin at different addresses; the port tells two guests apart that
    // share one.
    let number = std::process::id()
        .wrapping_mul(61)
        .wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
    let [high, low, ..] = number.to_le_bytes();
    SocketAddr::from((Ipv4Addr::new(127, 78, high, low), 0))
}

struct FakeGuest {
    spec: GuestSpec,
    clone: PathBuf,
    data: PathBuf,
    log: PathBuf,
    program: String,
    failures: BTreeSet<FakeStep>,
    answers: bool,
    dies_after: Option<Duration>,
    address: SocketAddr,
    server: Option<HealthServer>,
    started: Option<Instant>,
    ended: Arc<Mutex<Option<String>>>,
    /// Its name, once its clone is made.
    claim: Option<CloneClaim>,
    /// Count of living guests; taken when this one is removed.
    living: Option<Arc<AtomicU64>>,
}

impl FakeGuest {
    fn may(&self, step: FakeStep, doing: &'static str) -> Result<(), GuestError> {
        if self.failures.contains(&step) {
            let why = StepError::Refused("told to fail".to_owned());
            return Err(GuestError::in_guest(&self.spec.name, doing, why));
        }
        Ok(())
    }

    fn end(&mut self, reason: &str) {
        if self.started.is_some() {
            self.ended
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get_or_insert_with(|| reason.to_owned());
        }
        self.server = None;
    }

    fn paths(&self) -> GuestPaths {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        GuestPaths {
            data: text(&self.data),
            shared: text(&self.data.join(SHARED)),
            conf: text(&self.clone.join("conf")),
            run: text(&self.clone.join("run")),
            program: self.program.clone(),
            listen: self.address,
            roles: BTreeMap::new(),
        }
    }

    /// Begin to serve, at the address of the time before.
    fn serve(&mut self) -> io::Result<()> {
        write_files(&self.clone.join("conf"), &self.spec, &self.paths())?;
        let mut server = match self.server.take() {
            Some(server) => server,
            None => HealthServer::bind(self.address, self.answers)?,
        };
        server.serve()?;
        self.server = Some(server);
        let mut log = without_links::append(&self.log)?;
        writeln!(log, "{} starts", self.spec.name)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.end("killed by signal 9");
        remove_tree(&self.clone)?;
        if let Some(living) = self.living.take() {
            living.fetch_sub(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Guest for FakeGuest {
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
        self.may(FakeStep::Start, "starting")?;
        if self.state() == GuestState::Running {
            let why = StepError::Refused("it runs already".to_owned());
            return Err(GuestError::in_guest(&self.spec.name, "starting", why));
        }
        self.serve()
            .map_err(|error| GuestError::in_guest(&self.spec.name, "starting", error))?;
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.started = Some(Instant::now());
        Ok(())
    }

    fn state(&mut self) -> GuestState {
        let Some(started) = self.started else {
            return GuestState::Created;
        };
        if self
            .dies_after
            .is_some_and(|after| started.elapsed() >= after)
        {
            self.end("exit code 1");
        }
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.clone().map_or(GuestState::Running, GuestState::Ended)
    }

    fn usage_probe(&self) -> UsageProbe {
        let ended = Arc::clone(&self.ended);
        let mut usage = Usage {
            cpu_us: 0,
            memory_bytes: 1 << 20,
            ..Usage::default()
        };
        Box::new(move || {
            usage.cpu_us += 1000;
            ended
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .is_none()
                .then_some(usage)
        })
    }

    fn data_dir(&self) -> &Path {
        &self.data
    }

    fn log_tail(&self, bytes: usize) -> String {
        tail(&self.log, bytes)
    }

    fn stop(&mut self, _grace: Duration) -> Result<(), GuestError> {
        self.may(FakeStep::Kill, "stopping")?;
        self.end("exit code 0");
        Ok(())
    }

    fn kill(&mut self) -> Result<(), GuestError> {
        self.may(FakeStep::Kill, "killing")?;
        self.end("killed by signal 9");
        Ok(())
    }

    fn remove(&mut self) -> Result<(), GuestError> {
        self.may(FakeStep::Remove, "removing")?;
        self.clear()
            .map_err(|error| GuestError::in_guest(&self.spec.name, "removing", error))
    }
}

impl Drop for FakeGuest {
    fn drop(&mut self) {
        let _ = self.clear();
    }
}

/// Answers every request with 200 (or 503), one connection at a time; ends with its drop.
struct HealthServer {
    address: SocketAddr,
    listener: Option<TcpListener>,
    answer: &'static str,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl HealthServer {
    fn bind(address: SocketAddr, healthy: bool) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let line = if healthy {
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n"
        } else {
            "HTTP/1.1 503 Busy\r\nConnection: close\r\n\r\n"
        };
        Ok(Self {
            address: listener.local_addr()?,
            listener: Some(listener),
            answer: line,
            stop: Arc::default(),
            thread: None,
        })
    }

    fn serve(&mut self) -> io::Result<()> {
        let Some(listener) = self.listener.take() else {
            return Ok(());
        };
        let (answer, stop) = (self.answer, Arc::clone(&self.stop));
        let body = move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(mut stream) = stream else { continue };
                let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(answer.as_bytes());
            }
        };
        self.thread = Some(
            thread::Builder::new()
                .name("fake guest".into())
                .spawn(body)?,
        );
        Ok(())
    }
}

impl Drop for HealthServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A last connection wakes the accepting thread.
            let _ = std::net::TcpStream::connect(self.address);
            let _ = thread.join();
        }
    }
}
