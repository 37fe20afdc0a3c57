//! An agent as its controller sees it.

use std::{
    fs, io,
    net::{IpAddr, Ipv4Addr, ToSocketAddrs as _},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rookery_diagnosis::ErrorFields;
use rookery_guest::WayKind;
use rookery_lab::{
    DrivenPart, LostDriver, PartOrder, RemoteDriver, RemoteEnd, RemoteError, RemoteLab, TrialOrder,
};
use rookery_store::{HostClock, HostDescription, Store};

use crate::{
    bus::{Bus, BusError, End, Frame, NatsBus, NatsServer, Session},
    clock::{ClockOffset, RoundTrip, now_us, time_of},
    error::{HostError, HostFault},
    guests_trial::{AwaitedStart, HandedParts},
    hosts::HostEntry,
    message::{Answer, Build, DriveOrder, DriverPlace, Hello, LEASE, Order, read, send},
    own_server::ServerFiles,
    ssh::{Connection, Ssh, as_agent, quoted},
};

/// How long an agent may take to begin, the connection included.
const BEGIN: Duration = Duration::from_secs(30);
/// An agent that is silent for so long is lost.
const SILENCE: Duration = Duration::from_secs(3);
/// Questions for the time at the begin.
const FIRST_PINGS: usize = 10;
/// How often the time is asked for during a trial, so that the lease does not end and a loss is
/// noticed.
const PING_EVERY: Duration = Duration::from_millis(500);
/// How often a wish to stop is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// How often an agent that is not at work is spoken to, so that its lease does not end.
const KEEP_EVERY: Duration = Duration::from_secs(2);
/// How long its answer is waited for.
const KEEP_WITHIN: Duration = Duration::from_millis(200);

/// One agent, from its begin to its end: it ends when this is dropped.
pub struct RemoteAgent<'a> {
    host: &'a HostEntry,
    hello: Hello,
    // Before the state: its thread lets go of that first.
    _keeper: Keeper,
    state: Arc<Mutex<State>>,
}

/// The thread that speaks to an agent while no one else does. It ends when this is dropped.
struct Keeper {
    /// Never sent to; the thread sees that it is gone.
    alive: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    fn start(state: &Arc<Mutex<State>>, every: Duration) -> io::Result<Self> {
        let (alive, ended) = channel();
        let state = Arc::clone(state);
        let keep = move || {
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                // Whoever has it speaks to the agent.
                if let Ok(mut state) = state.try_lock() {
                    state.keep();
                }
            }
        };
        let thread = thread::Builder::new()
            .name("keeper".to_owned())
            .spawn(keep)?;
        Ok(Self {
            alive: Some(alive),
            thread: Some(thread),
        })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.alive.take());
        if let Some(thread) = self.thread.take() {
            // It cannot have panicked.
            let _ = thread.join();
        }
    }
}

/// What came of a trial.
struct TrialAnswer {
    answer: Answer,
    /// The store that holds the trial, where it has ended.
    store: Vec<u8>,
    /// Drivers that were lost meanwhile.
    lost: Vec<LostDriver>,
    /// How long after the start that it was told its users began, microseconds.
    late_us: Option<i64>,
}

/// What changes while an agent is spoken to.
struct State {
    bus: Box<dyn Bus>,
    /// The ssh that carries the bus; none where a server does.
    connection: Option<Connection>,
    number: u64,
    asked: Option<(u64, i64)>,
    trips: Vec<RoundTrip>,
}

impl<'a> RemoteAgent<'a> {
    /// Start the agent of a host, and hear who it is: over `server` where there is one, else over
    /// ssh. The thread that calls this has to live as long as an agent that is spoken to over ssh.
    ///
    /// # Errors
    /// When the host cannot be reached, the program is not there or does not start, or the agent
    /// cannot use the server.
    pub(crate) fn connect(
        ssh: &Ssh<'_>,
        host: &'a HostEntry,
        server: Option<&NatsServer>,
    ) -> Result<Self, HostError> {
        let (connection, bus) = ssh.connect(host, &command(host, server.is_some()))?;
        Self::begin(host, Box::new(bus), Some(connection), server)
    }

    /// The agent at the other end of `bus`: hear who it is, over `server` where there is one.
    ///
    /// # Errors
    /// As [`RemoteAgent::connect`].
    pub(crate) fn begin(
        host: &'a HostEntry,
        bus: Box<dyn Bus>,
        connection: Option<Connection>,
        server: Option<&NatsServer>,
    ) -> Result<Self, HostError> {
        let mut state = State {
            bus,
            connection,
            number: 0,
            asked: None,
            trips: Vec::new(),
        };
        if let Some(server) = server {
            state.dial(host, server)?;
        }
        let hello = match state.ask(host, &Order::Hello, BEGIN)?.0 {
            Answer::Hello(hello) => *hello,
            other => return Err(unexpected(host, other)),
        };
        for _ in 0..FIRST_PINGS {
            state.ping_and_wait(host)?;
        }
        let state = Arc::new(Mutex::new(state));
        let keeper = Keeper::start(&state, KEEP_EVERY);
        Ok(Self {
            host,
            hello,
            _keeper: keeper
                .map_err(|error| HostError::new(host, HostFault::Bus(BusError::Failed(error))))?,
            state,
        })
    }

    /// Who it is.
    #[must_use]
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// How far its clock is ahead of the one here, by what was heard so far.
    #[must_use]
    pub fn clock(&self) -> Option<ClockOffset> {
        ClockOffset::from_round_trips(&self.state().trips)
    }

    /// Refuse another build than this one.
    ///
    /// # Errors
    /// When it is another.
    pub fn expect_build(&self, own: &Build) -> Result<(), HostError> {
        if self.hello.build == *own {
            return Ok(());
        }
        let (found, own) = (self.hello.build.to_string(), own.to_string());
        Err(HostError::new(
            self.host,
            HostFault::OtherBuild { found, own },
        ))
    }

    /// The end of its log.
    pub(crate) fn log(&self, most: u64) -> Result<Vec<u8>, HostError> {
        self.ask_for_log(&Order::Log { most })
    }

    /// The end of the log of the NATS server that it started.
    pub(crate) fn server_log(&self, most: u64) -> Result<Vec<u8>, HostError> {
        self.ask_for_log(&Order::ServerLog { most })
    }

    fn ask_for_log(&self, order: &Order) -> Result<Vec<u8>, HostError> {
        match self.state().ask(self.host, order, BEGIN)? {
            (Answer::Log, log) => Ok(log),
            (other, _) => Err(unexpected(self.host, other)),
        }
    }

    /// Have it start a NATS server with these files, or those that are there, unless it runs; the
    /// number of its process.
    pub(crate) fn serve(&self, files: Option<ServerFiles>) -> Result<u32, HostError> {
        let files = files.map(Box::new);
        let order = Order::Serve { files };
        match self.state().ask(self.host, &order, BEGIN)?.0 {
            Answer::Serving { process } => Ok(process),
            other => Err(unexpected(self.host, other)),
        }
    }

    /// Have it remove all that it made, and itself; what earlier runs had left, in words.
    pub(crate) fn remove(&self) -> Result<Vec<String>, HostError> {
        match self.state().ask(self.host, &Order::Remove, BEGIN)?.0 {
            Answer::Removed { things } => Ok(things),
            other => Err(unexpected(self.host, other)),
        }
    }

    /// Have it perform a trial, or its part of one.
    fn trial(
        &self,
        order: TrialOrder<'_>,
        drivers: Vec<DriverPlace>,
    ) -> Result<TrialAnswer, HostError> {
        let mut state = self.state();
        state.compare_clocks(self.host)?;
        let asked = Order::Trial {
            header: Box::new(order.header.clone()),
            trial: order.trial,
            drivers,
            guests_before: order.guests_before,
        };
        state.send(self.host, &asked, Vec::new())?;
        thread::scope(|scope| {
            // However it ends, the parts that drivers carry end then.
            let start = AwaitedStart::new(order.start);
            let mut parts = HandedParts::new(scope, order.drivers, Some(start));
            let (answer, store) = state.await_end(self.host, order.stop, &mut parts)?;
            let clock = ClockOffset::from_round_trips(&state.trips);
            Ok(TrialAnswer {
                answer,
                store,
                lost: parts.lost(),
                late_us: parts.late_us(clock),
            })
        })
    }

    /// The drivers of a trial, as the agent of its guests is told of them.
    fn places(&self, drivers: &[&dyn RemoteDriver]) -> Result<Vec<DriverPlace>, RemoteError> {
        if drivers.is_empty() {
            // Only a way needs the address: ssh may know the host by another name.
            return Ok(Vec::new());
        }
        let own = RemoteDriver::address(self, Ipv4Addr::LOCALHOST.into())?;
        let place = |driver: &&dyn RemoteDriver| {
            Ok(DriverPlace {
                name: driver.name().to_owned(),
                host: driver.host().clone(),
                address: driver.address(own)?,
                way: self.host.way.or(driver.way()),
            })
        };
        drivers.iter().map(place).collect()
    }

    /// Carry a part of a load; what was recorded, as JSON, and by how many microseconds its start
    /// lay after the one that was asked for.
    fn part(&self, order: &PartOrder<'_>) -> Result<(Vec<u8>, i64), HostError> {
        let mut state = self.state();
        state.compare_clocks(self.host)?;
        let ahead = ClockOffset::from_round_trips(&state.trips).map_or(0, |clock| clock.offset_us);
        let drive = DriveOrder {
            groups: order.groups.to_vec(),
            start_us: time_of(order.start).saturating_add(ahead),
        };
        state.send(self.host, &Order::Drive(Box::new(drive)), Vec::new())?;
        let ended = thread::scope(|scope| {
            let mut parts = HandedParts::new(scope, &[], None);
            state.await_end(self.host, order.stop, &mut parts)
        });
        let later = ClockOffset::from_round_trips(&state.trips).map_or(0, |clock| clock.offset_us);
        match ended? {
            (Answer::Driven, recording) => Ok((recording, ahead.saturating_sub(later))),
            (other, _) => Err(unexpected(self.host, other)),
        }
    }

    fn host_clock(&self) -> Option<HostClock> {
        self.clock().map(HostClock::from)
    }

    /// The record of a trial in the store that an agent sent.
    fn record(&self, order: TrialOrder<'_>, answer: TrialAnswer) -> Result<RemoteEnd, RemoteError> {
        let path = order
            .scratch
            .join(format!("from-{}.sqlite", self.host.name));
        let unreadable = |words: String| RemoteError::Lost {
            reason: format!("what it sent of the trial cannot be read: {words}"),
        };
        fs::write(&path, answer.store).map_err(|error| unreadable(error.to_string()))?;
        let record = Store::open_read_only(&path).and_then(|store| store.record(order.trial));
        let removed = fs::remove_file(&path);
        let record = record.map_err(|error| unreadable(error.to_string()))?;
        removed.map_err(|error| unreadable(error.to_string()))?;
        let record = record.ok_or_else(|| unreadable("it has no record".to_owned()))?;
        Ok(RemoteEnd::Ended {
            record: Box::new(record),
            clock: self.host_clock(),
            late_us: answer.late_us,
            lost: answer.lost,
        })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RemoteLab for RemoteAgent<'_> {
    fn name(&self) -> &str {
        &self.host.name
    }

    fn host(&self) -> &HostDescription {
        &self.hello.host
    }

    fn perform(&self, order: TrialOrder<'_>) -> Result<RemoteEnd, RemoteError> {
        let drivers = self.places(order.drivers)?;
        let mut ended = self.trial(order, drivers).map_err(refused_or_lost)?;
        match std::mem::replace(&mut ended.answer, Answer::TrialEnded) {
            Answer::TrialEnded => self.record(order, ended),
            Answer::TrialStopped => Ok(RemoteEnd::Stopped),
            Answer::DiskFull { words } => Ok(RemoteEnd::DiskFull {
                words,
                lost: ended.lost,
            }),
            other => Err(refused_or_lost(unexpected(self.host, other))),
        }
    }
}

impl RemoteDriver for RemoteAgent<'_> {
    fn name(&self) -> &str {
        &self.host.name
    }

    fn host(&self) -> &HostDescription {
        &self.hello.host
    }

    fn address(&self, _: IpAddr) -> Result<IpAddr, RemoteError> {
        let known = (self.host.address.as_str(), self.host.port)
            .to_socket_addrs()
            .and_then(|mut all| all.next().ok_or_else(|| io::ErrorKind::NotFound.into()));
        let known = known.map(|there| there.ip());
        known.map_err(|error| RemoteError::Lost {
            reason: format!("no way to {} is known: {error}", self.host.address),
        })
    }

    fn way(&self) -> WayKind {
        self.host.way
    }

    fn drive(&self, order: &PartOrder<'_>) -> Result<DrivenPart, RemoteError> {
        let (json, start_shift_us) = self.part(order).map_err(refused_or_lost)?;
        let recordings = serde_json::from_slice(&json).map_err(|error| RemoteError::Lost {
            reason: format!("what it sent of the load cannot be read: {error}"),
        })?;
        Ok(DrivenPart {
            recordings,
            start_shift_us,
            clock: self.host_clock(),
        })
    }

    fn lease(&self) -> Duration {
        LEASE
    }
}

/// Whether a host cannot do it, or is not there any more.
fn refused_or_lost(error: HostError) -> RemoteError {
    match error.fault {
        HostFault::Refused(fields) => RemoteError::Refused(fields),
        HostFault::Busy | HostFault::OtherBuild { .. } => {
            RemoteError::Refused(Box::new(ErrorFields::new(&error)))
        }
        _ => RemoteError::Lost {
            reason: error.to_string(),
        },
    }
}

/// How the agent is started.
fn command(host: &HostEntry, dials: bool) -> String {
    let mut words = vec![quoted(&host.program()), "agent".to_owned()];
    if dials {
        words.push("--dial".to_owned());
    }
    words.extend(["--directory".to_owned(), quoted(&host.directory)]);
    if let Some(cpus) = &host.cpus {
        let list = rookery_host::format_cpu_list(cpus.iter().copied());
        words.extend(["--cpus".to_owned(), list]);
    }
    if let Some(memory) = host.memory_mib {
        words.extend(["--memory-mib".to_owned(), memory.to_string()]);
    }
    as_agent(host, &words.join(" "))
}

/// An answer to another question, or that it cannot be given.
fn unexpected(host: &HostEntry, answer: Answer) -> HostError {
    let fault = match answer {
        Answer::Busy => HostFault::Busy,
        Answer::Refused(fields) => HostFault::Refused(fields),
        _ => HostFault::Agent {
            words: "it answers another question than it was asked".to_owned(),
        },
    };
    HostError::new(host, fault)
}

impl State {
    /// Have the agent connect to a server, connect to it too, and leave ssh.
    fn dial(&mut self, host: &HostEntry, server: &NatsServer) -> Result<(), HostError> {
        let fault = |error| HostError::new(host, HostFault::Nats(error));
        let session = Session::new(server).map_err(fault)?;
        let order = Order::Dial(Box::new(session.clone()));
        match self.ask(host, &order, BEGIN)?.0 {
            Answer::Dialed => {}
            other => return Err(unexpected(host, other)),
        }
        let bus = NatsBus::open(session, End::Controller).map_err(fault)?;
        self.bus = Box::new(bus);
        // The agent goes on without it.
        self.connection = None;
        Ok(())
    }

    /// Let an agent that is not at work hear something. What goes wrong is seen when it is needed.
    fn keep(&mut self) {
        self.number += 1;
        // Its answer is of no clock that is compared.
        self.asked = None;
        let ping = Order::Ping {
            number: self.number,
        };
        if send(self.bus.as_ref(), &ping, Vec::new()).is_ok() {
            let _ = self.bus.receive(KEEP_WITHIN);
        }
    }

    /// Ask, and wait for the answer. The time is asked for meanwhile.
    fn ask(
        &mut self,
        host: &HostEntry,
        order: &Order,
        limit: Duration,
    ) -> Result<(Answer, Vec<u8>), HostError> {
        self.send(host, order, Vec::new())?;
        let begun = Instant::now();
        loop {
            let frame = self.receive(host, limit.saturating_sub(begun.elapsed()))?;
            let Some(frame) = frame else {
                let seconds = begun.elapsed().as_secs_f64();
                return Err(HostError::new(host, HostFault::Silent { seconds }));
            };
            match self.read(host, &frame)? {
                Answer::Pong { number, time_us } => self.take_pong(number, time_us),
                answer => return Ok((answer, frame.body)),
            }
        }
    }

    /// Ask for the time several times, of which all that follows is told.
    fn compare_clocks(&mut self, host: &HostEntry) -> Result<(), HostError> {
        self.trips.clear();
        (0..FIRST_PINGS).try_for_each(|_| self.ping_and_wait(host))
    }

    /// Wait for the end of what takes as long as a load. The time is asked for meanwhile.
    fn await_end(
        &mut self,
        host: &HostEntry,
        stop: &dyn Fn() -> bool,
        parts: &mut HandedParts<'_, '_>,
    ) -> Result<(Answer, Vec<u8>), HostError> {
        let (mut heard, mut asked, mut stopped) = (Instant::now(), Instant::now(), false);
        loop {
            if !stopped && stop() {
                stopped = true;
                self.send(host, &Order::Stop, Vec::new())?;
            }
            let now = ClockOffset::from_round_trips(&self.trips);
            while let Some((carried, body)) = parts.ended(now) {
                self.send(host, &carried, body)?;
            }
            if let Some(begin) = now.and_then(|now| parts.start(now)) {
                self.send(host, &begin, Vec::new())?;
            }
            if asked.elapsed() >= PING_EVERY {
                asked = Instant::now();
                self.ping(host)?;
            }
            let Some(frame) = self.receive(host, LOOK)? else {
                self.refuse_silence(host, heard)?;
                continue;
            };
            heard = Instant::now();
            match self.read(host, &frame)? {
                Answer::Pong { number, time_us } => self.take_pong(number, time_us),
                Answer::Carry { driver, order } => {
                    let clock = self.clock_from_now_on();
                    parts.begin(driver, *order, clock);
                }
                Answer::EndPart { driver } => parts.end(&driver),
                Answer::Ready if parts.arrive() => {
                    self.clock_from_now_on();
                }
                answer => return Ok((answer, frame.body)),
            }
        }
    }

    /// The clock there by the last round trips; those before are forgotten, since clocks drift.
    fn clock_from_now_on(&mut self) -> ClockOffset {
        let old = self.trips.len().saturating_sub(FIRST_PINGS);
        self.trips.drain(..old);
        // The clocks were compared before the trial was asked for.
        ClockOffset::from_round_trips(&self.trips).unwrap_or(ClockOffset {
            offset_us: 0,
            bound_us: i64::MAX,
            stepped: true,
        })
    }

    /// An agent is lost that could be heard and was not, or whose lease has ended.
    fn refuse_silence(&self, host: &HostEntry, heard: Instant) -> Result<(), HostError> {
        let silence = heard.elapsed();
        if self.bus.silence(heard) <= SILENCE && silence <= LEASE {
            return Ok(());
        }
        let seconds = silence.as_secs_f64();
        Err(HostError::new(host, HostFault::Silent { seconds }))
    }

    /// Ask for the time, and wait for it.
    fn ping_and_wait(&mut self, host: &HostEntry) -> Result<(), HostError> {
        let asked = Instant::now();
        self.ping(host)?;
        loop {
            if let Some(frame) = self.receive(host, LOOK)? {
                if let Answer::Pong { number, time_us } = self.read(host, &frame)? {
                    self.take_pong(number, time_us);
                }
                return Ok(());
            }
            self.refuse_silence(host, asked)?;
        }
    }

    fn ping(&mut self, host: &HostEntry) -> Result<(), HostError> {
        self.number += 1;
        let number = self.number;
        self.asked = Some((number, now_us()));
        self.send(host, &Order::Ping { number }, Vec::new())
    }

    /// Take in the time there, if it answers the last question.
    fn take_pong(&mut self, number: u64, there_us: i64) {
        let received_us = now_us();
        if let Some((_, sent_us)) = self.asked.take_if(|(asked, _)| *asked == number) {
            self.trips.push(RoundTrip {
                sent_us,
                there_us,
                received_us,
            });
        }
    }

    fn send(&mut self, host: &HostEntry, order: &Order, body: Vec<u8>) -> Result<(), HostError> {
        let sent = send(self.bus.as_ref(), order, body);
        sent.map_err(|error| self.fault(host, error))
    }

    fn receive(&mut self, host: &HostEntry, within: Duration) -> Result<Option<Frame>, HostError> {
        let came = self.bus.receive(within);
        came.map_err(|error| self.fault(host, error))
    }

    fn read(&mut self, host: &HostEntry, frame: &Frame) -> Result<Answer, HostError> {
        read(frame).map_err(|error| self.fault(host, error))
    }

    /// Why nothing comes any more: the words of ssh say more than that the connection is closed.
    fn fault(&mut self, host: &HostEntry, error: BusError) -> HostError {
        let fault = match error {
            BusError::Closed | BusError::Failed(_) => {
                match self.connection.as_mut().map(Connection::fault) {
                    None => HostFault::Bus(error),
                    Some(HostFault::Agent { words }) if words.is_empty() => HostFault::Bus(error),
                    Some(fault) => fault,
                }
            }
            BusError::TooLong { .. } => HostFault::Bus(error),
        };
        HostError::new(host, fault)
    }
}

#[cfg(test)]
mod tests {
    use crate::bus::in_process;

    use super::*;

    #[test]
    fn an_agent_that_is_not_at_work_hears_of_its_controller() {
        let (own, other) = in_process();
        let state = State {
            bus: Box::new(own),
            connection: None,
            number: 0,
            asked: None,
            trips: Vec::new(),
        };
        let state = Arc::new(Mutex::new(state));
        let keeper = Keeper::start(&state, Duration::from_millis(1)).expect("a thread");
        for heard in 1..=3 {
            let frame = other.receive(BEGIN).expect("open").expect("an order");
            assert_eq!(
                read::<Order>(&frame).expect("an order"),
                Order::Ping { number: heard }
            );
            let pong = Answer::Pong {
                number: heard,
                time_us: 0,
            };
            send(&other, &pong, Vec::new()).expect("sent");
        }
        drop(keeper);
        let state = Arc::into_inner(state).expect("the thread has ended");
        assert!(state.into_inner().expect("no panic").trips.is_empty());
    }
}
