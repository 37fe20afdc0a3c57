//! The agent: the process on another machine that does what a controller asks for.
//!
//! One thread receives and answers at once. An agent that hears nothing for its lease ends; so does
//! one whose controller has closed the connection.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread::{self, Scope, ScopedJoinHandle},
    time::{Duration, Instant},
};

use rookery_diagnosis::{Diagnosis, ErrorFields};
use rookery_guest::CleanOptions;
use rookery_host::{
    Identity, RunId,
    free_space::{is_full, says_full},
};
use rookery_lab::{Conductor, Event, LabError, Labs, OneTrialEnd, PlanChanges, RemoteDriver};
use rookery_store::{Outcome, RunHeader, Store};
use rustix::{
    io::Errno,
    thread::{CpuSet, sched_setaffinity},
};

use crate::{
    bus::{Bus, BusError, End, NatsBus, NatsError},
    carry::{CarriedPart, CarryError},
    checks::{self, Lent},
    clock::{instant_at, now_us},
    message::{Answer, Build, DriveOrder, DriverPlace, Hello, LEASE, Order, read, send},
    own_server::{ServeError, ServerProcess},
    relay::{FromController, RelayedDriver, RelayedStart},
};

/// Name of the agent's log in its directory.
pub const LOG_FILE: &str = "agent.log";
/// Most bytes that are given of the log.
const MOST_LOG: u64 = 1 << 20;
/// The file that one agent at a time has locked.
const LOCK: &str = "agent.lock";
/// Directories of runs and of templates, in the agent's.
const RUNS: &str = "runs";
const TEMPLATES: &str = "templates";
/// Directory of what is kept of the networks of drivers, in the agent's.
const DRIVERS: &str = "drivers";
/// The program in the agent's directory.
const PROGRAM: &str = "rookery";
/// What is copied before it is whole.
const PART: &str = "rookery.part";
/// How often a wish to stop is looked for.
const LOOK: Duration = Duration::from_millis(200);

/// One agent.
pub struct Agent<'a> {
    /// Its end of the connection.
    pub bus: &'a dyn Bus,
    /// Where its program, its log and its runs lie.
    pub directory: PathBuf,
    /// What of the host it may use.
    pub lent: Lent,
    /// How long it lives without hearing anything.
    pub lease: Duration,
    /// Set by a signal.
    pub stop: &'a AtomicBool,
}

/// What an agent knows while it serves.
struct Service<'s> {
    /// Whether another controller has the agent of this host.
    busy: bool,
    /// What dead agents had left here.
    cleaned: &'s [String],
    /// Set when the trial that is performed is to end.
    stop: &'s AtomicBool,
    /// What the controller told of that trial.
    carried: &'s FromController,
}

/// What of a trial is performed here.
struct PartHere {
    /// Its number in the plan.
    trial: u32,
    /// Those who drive its users; none where this host does so itself.
    drivers: Vec<DriverPlace>,
    /// Guests on other hosts whose numbers are before those of this one.
    guests_before: u32,
}

/// Why an agent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentEnd {
    /// The controller closed the connection.
    Closed,
    /// Nothing was heard for the lease.
    LeaseEnded,
    /// A signal came.
    Stopped,
    /// It has removed what it had made, and its program.
    Removed,
}

/// Why an agent cannot work.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Its directory cannot be used.
    #[error("the agent's directory cannot be used: {source}")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The CPUs that are lent are not there.
    #[error("the CPUs that are lent cannot be used: {0}")]
    Cpus(#[source] Errno),
    /// What came is no message.
    #[error(transparent)]
    Bus(#[from] BusError),
    /// The NATS server cannot be used from here.
    #[error("from this host: {0}")]
    Nats(#[from] NatsError),
    /// The host cannot be described or cleaned.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// A part of a load cannot be carried.
    #[error(transparent)]
    Carry(#[from] CarryError),
    /// The NATS server of the fleet.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// Something stays on the host.
    #[error("not everything could be removed: {what}")]
    Left {
        /// What, in words.
        what: String,
    },
}

impl Diagnosis for AgentError {
    fn code(&self) -> &'static str {
        match self {
            Self::Directory { .. } => "fleet::agent-directory",
            Self::Cpus(_) => "fleet::lent-cpus",
            Self::Bus(_) => "fleet::bus",
            Self::Nats(error) => error.code(),
            Self::Lab(error) => error.code(),
            Self::Carry(error) => error.code(),
            Self::Serve(error) => error.code(),
            Self::Left { .. } => "fleet::left",
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            Self::Directory { path, .. } => Some(path.display().to_string()),
            Self::Lab(error) => error.place(),
            Self::Carry(error) => error.place(),
            Self::Cpus(_) | Self::Bus(_) | Self::Nats(_) | Self::Serve(_) | Self::Left { .. } => {
                None
            }
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::Cpus(_) => Some("name CPUs of that host in `cpus` of the hosts file".to_owned()),
            Self::Lab(error) => error.help(),
            Self::Nats(error) => error.help(),
            Self::Serve(error) => error.help(),
            Self::Left { .. } => Some("`rookery clean` on that host tries again".to_owned()),
            Self::Carry(error) => error.help(),
            Self::Directory { .. } | Self::Bus(_) => None,
        }
    }
}

impl Agent<'_> {
    /// Do what the controller asks for until it is gone.
    ///
    /// # Errors
    /// When the host cannot be used, or something else than messages comes.
    pub fn serve(&self) -> Result<AgentEnd, AgentError> {
        let lock = self.lock()?;
        let busy = lock.is_none();
        self.use_lent_cpus()?;
        let cleaned = if busy {
            Vec::new()
        } else {
            self.clean_dead_runs()?
        };
        tracing::info!(busy, ?cleaned, "the agent begins");
        let (stop, carried) = (AtomicBool::new(false), FromController::default());
        let service = Service {
            busy,
            cleaned: &cleaned,
            stop: &stop,
            carried: &carried,
        };
        let end = thread::scope(|scope| {
            let end = self.answer_all(scope, &service);
            // Whatever ended us: the load ends, and the guests go.
            stop.store(true, Ordering::Relaxed);
            end
        });
        tracing::info!(?end, "the agent ends");
        end
    }

    fn answer_all<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        service: &'s Service<'_>,
    ) -> Result<AgentEnd, AgentError> {
        let mut heard = Instant::now();
        let mut work: Option<ScopedJoinHandle<'s, ()>> = None;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(AgentEnd::Stopped);
            }
            if heard.elapsed() > self.lease {
                return Ok(AgentEnd::LeaseEnded);
            }
            let frame = match self.bus.receive(LOOK.min(self.lease)) {
                Ok(Some(frame)) => frame,
                Ok(None) => continue,
                Err(BusError::Closed) => return Ok(AgentEnd::Closed),
                Err(error) => return Err(error.into()),
            };
            heard = Instant::now();
            let order = read(&frame)?;
            if let Order::Carried { driver, end } = order {
                service.carried.put(driver, end, frame.body);
                continue;
            }
            if let Order::Begin { start_us } = order {
                service.carried.begin(start_us);
                continue;
            }
            if matches!(order, Order::Trial { .. } | Order::Drive(_)) {
                let idle = work.as_ref().is_none_or(ScopedJoinHandle::is_finished);
                if service.busy || !idle {
                    send(self.bus, &Answer::Busy, Vec::new())?;
                    continue;
                }
                service.stop.store(false, Ordering::Relaxed);
                service.carried.clear();
                work = Some(scope.spawn(move || self.work(order, service)));
                continue;
            }
            match self.answer(order, service) {
                Ok(true) => {}
                Ok(false) => return Ok(AgentEnd::Removed),
                Err(AgentError::Bus(BusError::Closed)) => return Ok(AgentEnd::Closed),
                Err(error) => return Err(error),
            }
        }
    }

    /// Answer one order at once; whether more are awaited.
    fn answer(&self, order: Order, service: &Service<'_>) -> Result<bool, AgentError> {
        let (busy, cleaned) = (service.busy, service.cleaned);
        let (answer, body) = match order {
            Order::Ping { number } => {
                let time_us = now_us();
                (Answer::Pong { number, time_us }, Vec::new())
            }
            Order::Hello => (or_refused(self.hello(busy, cleaned)), Vec::new()),
            Order::Log { most } => (Answer::Log, self.log(&self.directory.join(LOG_FILE), most)?),
            Order::ServerLog { most } => (Answer::Log, self.log(&self.server().log(), most)?),
            Order::Stop => {
                service.stop.store(true, Ordering::Relaxed);
                return Ok(true);
            }
            Order::Trial { .. }
            | Order::Drive(_)
            | Order::Carried { .. }
            | Order::Begin { .. }
            | Order::Dial(_) => (Answer::Busy, Vec::new()),
            Order::Serve { .. } | Order::Remove if busy => (Answer::Busy, Vec::new()),
            Order::Serve { files } => {
                let process = self.server().start(files.as_deref());
                let process = process.map_err(AgentError::from);
                let serving = process.map(|process| Answer::Serving { process });
                (or_refused(serving), Vec::new())
            }
            Order::Remove => (or_refused(self.remove(cleaned)), Vec::new()),
        };
        let last = matches!(answer, Answer::Removed { .. });
        send(self.bus, &answer, body)?;
        Ok(!last)
    }

    /// Do what takes as long as a load, and send what came of it.
    fn work(&self, order: Order, service: &Service<'_>) {
        let done = match order {
            Order::Trial {
                header,
                trial,
                drivers,
                guests_before,
            } => {
                let part = PartHere {
                    trial,
                    drivers,
                    guests_before,
                };
                self.perform(&header, &part, service)
            }
            Order::Drive(order) => self.drive(&order, service.stop),
            _ => return,
        };
        let (answer, body) = done.unwrap_or_else(|error| {
            tracing::error!(code = error.code(), "{error}");
            let refused = Answer::Refused(Box::new(ErrorFields::new(&error)));
            (refused, Vec::new())
        });
        if let Err(error) = send(self.bus, &answer, body) {
            // The controller is gone, and will have the trial performed again.
            tracing::warn!("nobody hears of the trial: {error}");
        }
    }

    /// Perform a trial. One that failed on a full disk says nothing of its guests.
    fn perform(
        &self,
        header: &RunHeader,
        part: &PartHere,
        service: &Service<'_>,
    ) -> Result<(Answer, Vec<u8>), AgentError> {
        let answer = match self.trial(header, part, service) {
            Ok(Some((_, Outcome::Failed))) if is_full(&self.directory) => Answer::DiskFull {
                words: "the trial failed".to_owned(),
            },
            Err(error) if says_full(&error) || is_full(&self.directory) => Answer::DiskFull {
                words: error.to_string(),
            },
            Ok(Some((store, _))) => return Ok((Answer::TrialEnded, store)),
            Ok(None) => Answer::TrialStopped,
            Err(error) => return Err(error),
        };
        Ok((answer, Vec::new()))
    }

    /// Carry a part of a load.
    fn drive(
        &self,
        order: &DriveOrder,
        stop: &AtomicBool,
    ) -> Result<(Answer, Vec<u8>), AgentError> {
        let lent = self.lent.cpus.as_ref();
        let foreign = |cpu: &&u32| lent.is_some_and(|lent| !lent.contains(cpu));
        let mut cpus = order.groups.iter().flat_map(|group| &group.config.cpus);
        if cpus.any(|cpu| foreign(&cpu)) {
            return Err(AgentError::Cpus(Errno::PERM));
        }
        let part = CarriedPart {
            groups: &order.groups,
            start: instant_at(order.start_us),
            networks: &self.directory.join(DRIVERS),
            stop,
        };
        let recordings = part.carry()?;
        let body = serde_json::to_vec(&recordings).map_err(LabError::from)?;
        Ok((Answer::Driven, body))
    }

    /// The store that holds a trial, and how it ended; nothing where it was stopped.
    fn trial(
        &self,
        header: &RunHeader,
        part: &PartHere,
        service: &Service<'_>,
    ) -> Result<Option<(Vec<u8>, Outcome)>, AgentError> {
        let start = RelayedStart {
            bus: self.bus,
            told: service.carried,
            stop: service.stop,
        };
        let drivers: Vec<RelayedDriver<'_>> = part
            .drivers
            .iter()
            .map(|place| RelayedDriver {
                place,
                bus: self.bus,
                carried: service.carried,
            })
            .collect();
        let drivers: Vec<&dyn RemoteDriver> = drivers.iter().map(|driver| driver as _).collect();
        let program = std::env::current_exe().map_err(|source| self.directory_error(source))?;
        let conductor = Conductor {
            runs: self.directory.join(RUNS),
            templates: self.directory.join(TEMPLATES),
            program,
            stop: service.stop,
            listener: &log,
            confirmed: Vec::new(),
            changes: PlanChanges::default(),
            labs: match drivers.as_slice() {
                [] => Labs::Here,
                drivers => Labs::PartOf {
                    drivers,
                    start: &start,
                    guests_before: part.guests_before,
                },
            },
        };
        let (directory, outcome) = match conductor.perform_one(header, part.trial)? {
            OneTrialEnd::Ended { directory, outcome } => (directory, Some(outcome)),
            OneTrialEnd::Stopped(directory) => (directory, None),
        };
        let read = || {
            let store = outcome
                .map(|_| fs::read(rookery_lab::store_in(&directory)))
                .transpose()?;
            fs::remove_dir_all(&directory)?;
            Ok(store.zip(outcome))
        };
        read().map_err(|source| self.directory_error(source))
    }

    fn hello(&self, busy: bool, cleaned: &[String]) -> Result<Answer, AgentError> {
        Ok(Answer::Hello(Box::new(Hello {
            build: own_build().map_err(|source| self.directory_error(source))?,
            host: checks::describe(&self.directory, &self.lent)?,
            root: rustix::process::geteuid().is_root(),
            kinds: checks::kinds(),
            cleaned: cleaned.to_vec(),
            busy,
            server: self.find_server()?.map(|server| server.pid),
        })))
    }

    /// The lock of the directory; nothing where another agent has it.
    fn lock(&self) -> Result<Option<File>, AgentError> {
        let locked = || {
            let file = File::create(self.directory.join(LOCK))?;
            match file.try_lock() {
                Ok(()) => Ok(Some(file)),
                Err(TryLockError::WouldBlock) => Ok(None),
                Err(TryLockError::Error(error)) => Err(error),
            }
        };
        locked().map_err(|source| self.directory_error(source))
    }

    /// Keep this process, and all that it starts, to the CPUs that are lent.
    fn use_lent_cpus(&self) -> Result<(), AgentError> {
        let Some(cpus) = &self.lent.cpus else {
            return Ok(());
        };
        let mut set = CpuSet::new();
        for cpu in cpus {
            let number = usize::try_from(*cpu).unwrap_or(usize::MAX);
            if number >= CpuSet::MAX_CPU {
                return Err(AgentError::Cpus(Errno::INVAL));
            }
            set.set(number);
        }
        sched_setaffinity(None, &set).map_err(AgentError::Cpus)
    }

    /// Remove from this host what dead agents of this directory left there, and their runs.
    fn clean_dead_runs(&self) -> Result<Vec<String>, AgentError> {
        let drivers = self.directory.join(DRIVERS);
        let dead = rookery_guest::dead_runs_below(&drivers);
        let mut removed = clean(dead)?;
        for run in rookery_lab::runs(&self.directory.join(RUNS)) {
            let header = Store::open_read_only(rookery_lab::store_in(&run))
                .and_then(|store| store.header())
                .map_err(LabError::from);
            if let Some(id) = header
                .ok()
                .and_then(|header| RunId::try_from(header.run_id).ok())
            {
                removed.extend(clean(rookery_lab::labels(&id))?);
            }
            fs::remove_dir_all(&run).map_err(|source| self.directory_error(source))?;
        }
        Ok(removed)
    }

    /// Remove all that agents have made here, and the program.
    fn remove(&self, cleaned: &[String]) -> Result<Answer, AgentError> {
        let server = self.server().remove()?;
        let server = server.map(|process| format!("NATS server, process {process}"));
        let removed = || {
            for name in [RUNS, TEMPLATES, DRIVERS] {
                absent_or(fs::remove_dir_all(self.directory.join(name)))?;
            }
            for name in [LOG_FILE, LOCK, PART, PROGRAM] {
                absent_or(fs::remove_file(self.directory.join(name)))?;
            }
            match fs::remove_dir(&self.directory) {
                // What someone else put there stays, and an empty directory in one of someone else.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::PermissionDenied
                    ) =>
                {
                    Ok(())
                }
                other => absent_or(other),
            }
        };
        removed().map_err(|source| self.directory_error(source))?;
        Ok(Answer::Removed {
            things: cleaned.iter().cloned().chain(server).collect(),
        })
    }

    /// The end of a log.
    fn log(&self, path: &Path, most: u64) -> Result<Vec<u8>, AgentError> {
        tail(path, most.min(MOST_LOG)).map_err(|source| self.directory_error(source))
    }

    /// The NATS server of the fleet, whose files lie in the agent's directory.
    fn server(&self) -> ServerProcess {
        ServerProcess::new(&self.directory)
    }

    fn find_server(&self) -> Result<Option<Identity>, AgentError> {
        Ok(self.server().find().map_err(ServeError::from)?)
    }

    fn directory_error(&self, source: io::Error) -> AgentError {
        AgentError::Directory {
            path: self.directory.clone(),
            source,
        }
    }
}

/// Connect to the NATS server that the controller names over `first`, and say there whether it went
/// well.
///
/// # Errors
/// When no order to do so comes within the lease, or the server cannot be used from here.
pub fn dial(first: &dyn Bus) -> Result<NatsBus, AgentError> {
    let frame = first.receive(LEASE)?.ok_or(BusError::Closed)?;
    let Order::Dial(session) = read(&frame)? else {
        send(first, &Answer::Busy, Vec::new())?;
        return Err(BusError::Closed.into());
    };
    let bus = NatsBus::open(*session, End::Agent).map_err(AgentError::from);
    let answer = match &bus {
        Ok(_) => Answer::Dialed,
        Err(error) => Answer::Refused(Box::new(ErrorFields::new(error))),
    };
    send(first, &answer, Vec::new())?;
    bus
}

/// Remove from this host what carries these labels; what it was, in words.
fn clean(labels: Vec<RunId>) -> Result<Vec<String>, AgentError> {
    let labels = Some(labels);
    let report = rookery_guest::clean(&CleanOptions { labels }).map_err(LabError::from)?;
    match report.failed.first() {
        Some(what) => Err(AgentError::Left { what: what.clone() }),
        None => Ok(report.removed),
    }
}

/// Log what happens in a trial.
fn log(event: &Event) {
    if let Ok(text) = serde_json::to_string(event) {
        tracing::debug!("{text}");
    }
}

fn or_refused(answer: Result<Answer, AgentError>) -> Answer {
    answer.unwrap_or_else(|error| Answer::Refused(Box::new(ErrorFields::new(&error))))
}

fn absent_or(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// The last bytes of a file; none where it is not there.
fn tail(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The build of this process, whose file may have been replaced or removed since.
///
/// # Errors
/// When its file cannot be read.
pub(crate) fn own_build() -> io::Result<Build> {
    Ok(Build {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        digest: rookery_guest::content_digest(Path::new("/proc/self/exe"))?,
    })
}

#[cfg(test)]
mod tests {
    use std::thread;

    use crate::bus::in_process;

    use super::*;

    /// Longer than anything here takes.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn ask(bus: &dyn Bus, order: &Order) -> (Answer, Vec<u8>) {
        send(bus, order, Vec::new()).expect("sent");
        let frame = bus.receive(PATIENCE).expect("open").expect("an answer");
        (read(&frame).expect("an answer"), frame.body)
    }

    /// Serve `controller` from an agent in a directory of its own.
    fn with_agent<T>(
        directory: &Path,
        lease: Duration,
        controller: impl FnOnce(&dyn Bus) -> T,
    ) -> (T, Result<AgentEnd, AgentError>) {
        let (own, other) = in_process();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let serving = scope.spawn(|| {
                let bus: &dyn Bus = &other;
                let agent = Agent {
                    bus,
                    directory: directory.to_owned(),
                    lent: Lent::default(),
                    lease,
                    stop: &stop,
                };
                agent.serve()
            });
            let answered = controller(&own);
            drop(own);
            (answered, serving.join().expect("no panic"))
        })
    }

    #[test]
    fn an_agent_says_who_it_is_and_ends_with_its_connection() {
        let place = tempfile::tempdir().expect("a directory");
        let (hello, end) = with_agent(place.path(), PATIENCE, |bus| ask(bus, &Order::Hello).0);
        let Answer::Hello(hello) = hello else {
            panic!("{hello:?}");
        };
        assert_eq!(hello.build, own_build().expect("readable"));
        assert!(!hello.busy && !hello.host.facts.cpus.is_empty());
        assert_eq!(hello.kinds.len(), 3);
        assert_eq!(end.expect("no fault"), AgentEnd::Closed);
    }

    #[test]
    fn an_agent_that_hears_nothing_ends_with_its_lease() {
        let place = tempfile::tempdir().expect("a directory");
        let (own, other) = in_process();
        let stop = AtomicBool::new(false);
        let agent = Agent {
            bus: &other,
            directory: place.path().to_owned(),
            lent: Lent::default(),
            lease: Duration::from_millis(50),
            stop: &stop,
        };
        assert_eq!(agent.serve().expect("no fault"), AgentEnd::LeaseEnded);
        drop(own);
    }

    #[test]
    fn a_second_agent_of_a_directory_only_says_that_it_is_busy() {
        let place = tempfile::tempdir().expect("a directory");
        let (second_end, first_end) = with_agent(place.path(), PATIENCE, |first| {
            ask(first, &Order::Ping { number: 1 });
            let ((), end) = with_agent(place.path(), PATIENCE, |second| {
                let (Answer::Hello(hello), _) = ask(second, &Order::Hello) else {
                    panic!("no hello");
                };
                assert!(hello.busy);
                assert_eq!(ask(second, &Order::Remove).0, Answer::Busy);
            });
            end
        });
        for end in [first_end, second_end] {
            assert_eq!(end.expect("no fault"), AgentEnd::Closed);
        }
        assert!(place.path().join(LOCK).exists());
    }

    #[test]
    fn removal_takes_what_agents_made_and_leaves_what_is_of_others() {
        let place = tempfile::tempdir().expect("a directory");
        let directory = place.path().join("fleet");
        fs::create_dir_all(directory.join(RUNS)).expect("made");
        for name in [PROGRAM, LOG_FILE] {
            fs::write(directory.join(name), b"x").expect("written");
        }
        let (answer, end) = with_agent(&directory, PATIENCE, |bus| ask(bus, &Order::Remove).0);
        assert_eq!(answer, Answer::Removed { things: Vec::new() });
        assert_eq!(end.expect("no fault"), AgentEnd::Removed);
        assert!(!directory.exists());

        fs::create_dir_all(&directory).expect("made");
        fs::write(directory.join("mine"), b"x").expect("written");
        let (_, end) = with_agent(&directory, PATIENCE, |bus| ask(bus, &Order::Remove).0);
        assert_eq!(end.expect("no fault"), AgentEnd::Removed);
        assert!(directory.join("mine").exists() && !directory.join(LOCK).exists());
    }

    #[test]
    fn the_end_of_the_log_is_given() {
        let place = tempfile::tempdir().expect("a directory");
        fs::write(place.path().join(LOG_FILE), b"one\ntwo\n").expect("written");
        let (log, _) = with_agent(place.path(), PATIENCE, |bus| {
            ask(bus, &Order::Log { most: 4 }).1
        });
        assert_eq!(log, b"two\n");
    }
}
