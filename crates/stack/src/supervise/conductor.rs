//! Brings the services up in order, stays with them, takes them down in reverse.

use rookery_diagnosis::Diagnosis as _;
use std::{
    io,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, Signal, kill_process, set_child_subreaper},
};

use super::{
    Ready, Service, Services, SuperviseError,
    output::{Stream, remark},
    process::{End, kill_all, reap, spawn},
    ready::is_ready,
    secrets,
    signals::Signals,
};

/// Pause between two looks at a file or a socket that is not there yet.
const LOOK_PAUSE: Duration = Duration::from_millis(10);
/// A stop of the whole process group reaches services too, and one of them may be seen to end
/// before our own signal is.
const ASKED_SOON: Duration = Duration::from_millis(200);
/// How long a service may take to vanish after SIGKILL.
const KILL_LIMIT: Duration = Duration::from_secs(10);
/// Portions of output that are read at most when all is over.
const LAST_PORTIONS: usize = 64;

/// One service at work.
struct Unit<'a> {
    service: &'a Service,
    process: Option<Pid>,
    /// Its readiness was heard in its output.
    heard: bool,
    end: Option<End>,
}

impl Unit<'_> {
    fn lives(&self) -> bool {
        self.process.is_some() && self.end.is_none()
    }

    fn is_ready(&self) -> bool {
        match &self.service.ready {
            None => true,
            Some(Ready::Log(_)) => self.heard,
            Some(ready) => is_ready(ready),
        }
    }

    fn fault(&self, what: String, help: &'static str) -> SuperviseError {
        SuperviseError::Service {
            service: self.service.name.clone(),
            what,
            help,
        }
    }
}

/// Conducts the services of one guest.
pub(super) struct Conductor<'a> {
    units: Vec<Unit<'a>>,
    streams: Vec<Stream>,
    signals: Signals,
    secrets: Vec<(String, String)>,
    ends_when_done: bool,
}

impl<'a> Conductor<'a> {
    pub(super) fn new(services: &'a Services) -> Result<Self, SuperviseError> {
        let system = |what| move |reason: io::Error| SuperviseError::System { what, reason };
        // Orphans come to us even where we are not process 1.
        set_child_subreaper(Pid::from_raw(1))
            .map_err(|error| system("become the reaper of orphans")(error.into()))?;
        let secrets = match &services.guest.secrets {
            Some(directory) => secrets::read(directory)?,
            None => Vec::new(),
        };
        let signals = Signals::install().map_err(system("take over signals"))?;
        let unit = |service| Unit {
            service,
            process: None,
            heard: false,
            end: None,
        };
        Ok(Self {
            units: services.services.iter().map(unit).collect(),
            streams: Vec::new(),
            signals,
            secrets,
            ends_when_done: services.guest.ends_when_done,
        })
    }

    /// From the first start to the last end.
    pub(super) fn run(mut self) -> Result<(), SuperviseError> {
        let lived = self.bring_up().and_then(|()| match self.ends_when_done {
            // Whoever waits for the work must not take half of it for the whole.
            true if self.signals.stop_asked() => Err(SuperviseError::System {
                what: "do all of its work",
                reason: io::Error::other("it was asked to stop"),
            }),
            true => Ok(()),
            false => self.stay(),
        });
        match &lived {
            Ok(()) if self.ends_when_done => remark("stopping, because all is done"),
            Ok(()) => remark("stopping, as asked"),
            Err(error) => remark(&format!("stopping, because {}", one_line(error))),
        }
        let downed = self.take_down();
        if let Err(error) = &downed {
            remark(&one_line(error));
        }
        lived.and(downed)
    }

    /// Start the services, each when the one before it is ready; ends early when asked to stop.
    fn bring_up(&mut self) -> Result<(), SuperviseError> {
        for number in 0..self.units.len() {
            let service = self.units[number].service;
            if service.creates.as_ref().is_some_and(|path| path.exists()) {
                remark(&format!("{} is done already", service.name));
                continue;
            }
            let begin = Instant::now();
            self.start(number)?;
            if !self.await_ready(number, begin)? {
                return Ok(());
            }
            let done = if service.oneshot { "done" } else { "ready" };
            remark(&format!(
                "{} {done} after {:.2} s",
                service.name,
                begin.elapsed().as_secs_f64()
            ));
        }
        Ok(())
    }

    fn start(&mut self, number: usize) -> Result<(), SuperviseError> {
        let unit = &mut self.units[number];
        let help = "look whether the program exists in the guest and may be run by its user";
        let (process, pipe) = spawn(unit.service, &self.secrets)
            .map_err(|error| unit.fault(format!("cannot be started: {error}"), help))?;
        unit.process = Some(process);
        let stream = Stream::new(number, &unit.service.name, pipe).map_err(|reason| {
            SuperviseError::System {
                what: "read the output of a service",
                reason,
            }
        })?;
        self.streams.push(stream);
        Ok(())
    }

    /// Wait until a service is ready (a oneshot: done). Gives false when the guest was asked to
    /// stop.
    fn await_ready(&mut self, number: usize, begin: Instant) -> Result<bool, SuperviseError> {
        let service = self.units[number].service;
        let limit = service.ready_within();
        loop {
            if self.signals.stop_asked() {
                return Ok(false);
            }
            if let Some(fault) = self.unasked_end() {
                return if self.asked_soon() {
                    Ok(false)
                } else {
                    Err(fault)
                };
            }
            let unit = &self.units[number];
            if service.oneshot && unit.end.is_some() || !service.oneshot && unit.is_ready() {
                return Ok(true);
            }
            let left = limit.saturating_sub(begin.elapsed());
            if left.is_zero() {
                let what = format!(
                    "not {} within {limit:?}",
                    if service.oneshot { "done" } else { "ready" }
                );
                return Err(unit.fault(
                    what,
                    "read its lines in the log above; give it more time or CPU if it was only slow",
                ));
            }
            // What is heard or ends wakes us; what must be looked for does not.
            let looked_for = matches!(
                service.ready,
                Some(Ready::File(_) | Ready::Socket(_) | Ready::Tcp(_))
            );
            self.turn(Some(if looked_for {
                left.min(LOOK_PAUSE)
            } else {
                left
            }));
        }
    }

    /// Stay until asked to stop.
    fn stay(&mut self) -> Result<(), SuperviseError> {
        while !self.signals.stop_asked() {
            if let Some(fault) = self.unasked_end() {
                return if self.asked_soon() {
                    Ok(())
                } else {
                    Err(fault)
                };
            }
            self.turn(None);
        }
        Ok(())
    }

    /// The first service that ended although nobody asked it to; a oneshot's orderly end is none.
    fn unasked_end(&self) -> Option<SuperviseError> {
        let fault = |unit: &Unit<'_>| match unit.end {
            Some(End::Code(0)) if unit.service.oneshot => None,
            Some(end) => Some(unit.fault(
                format!("ended unasked: {end}"),
                "read its last lines in the log above",
            )),
            None => None,
        };
        self.units.iter().find_map(fault)
    }

    /// Whether the request to stop comes within a moment.
    fn asked_soon(&mut self) -> bool {
        let begin = Instant::now();
        while !self.signals.stop_asked() && begin.elapsed() < ASKED_SOON {
            self.turn(Some(LOOK_PAUSE));
        }
        self.signals.stop_asked()
    }

    /// Stop what lives, last started first, then kill whatever is still ours. Gives the first
    /// service that had to be killed.
    fn take_down(&mut self) -> Result<(), SuperviseError> {
        let mut outcome = Ok(());
        for number in (0..self.units.len()).rev() {
            outcome = outcome.and(self.stop(number));
        }
        let killed = kill_all().map_err(|reason| SuperviseError::System {
            what: "end its processes",
            reason,
        });
        for _ in 0..LAST_PORTIONS {
            self.pump();
        }
        self.streams.iter_mut().for_each(Stream::finish);
        match killed {
            Ok(0) => {}
            Ok(killed) => remark(&format!(
                "killed {killed} processes that services left behind"
            )),
            Err(error) => outcome = outcome.and(Err(error)),
        }
        outcome
    }

    fn stop(&mut self, number: usize) -> Result<(), SuperviseError> {
        let service = self.units[number].service;
        let Some(process) = self.units[number]
            .process
            .filter(|_| self.units[number].lives())
        else {
            return Ok(());
        };
        let begin = Instant::now();
        let _ = kill_process(process, service.stop_signal.signal());
        if self.await_end(number, service.grace()) {
            remark(&format!(
                "{} stopped after {:.2} s",
                service.name,
                begin.elapsed().as_secs_f64()
            ));
            return Ok(());
        }
        let _ = kill_process(process, Signal::KILL);
        self.await_end(number, KILL_LIMIT);
        let what = format!(
            "did not end within {:?} of its stop signal and was killed",
            service.grace()
        );
        Err(self.units[number].fault(
            what,
            "read its last lines in the log above; give it a longer grace if it was only slow",
        ))
    }

    /// Wait up to `limit` for the end of a service.
    fn await_end(&mut self, number: usize, limit: Duration) -> bool {
        let begin = Instant::now();
        while self.units[number].lives() {
            let left = limit.saturating_sub(begin.elapsed());
            if left.is_zero() {
                return false;
            }
            self.turn(Some(left));
        }
        true
    }

    /// Wait up to `limit` for output or a signal, and see to both.
    fn turn(&mut self, limit: Option<Duration>) {
        let mut fds = vec![PollFd::from_borrowed_fd(
            self.signals.wakes(),
            PollFlags::IN,
        )];
        fds.extend(
            self.streams
                .iter()
                .map(|stream| PollFd::from_borrowed_fd(stream.fd(), PollFlags::IN)),
        );
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        match poll(&mut fds, limit.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            // Without poll (no memory): go on, slowly.
            Err(_) => std::thread::sleep(LOOK_PAUSE),
        }
        self.signals.clear();
        // Output first: what a service says before it ends belongs before its end.
        self.pump();
        for (process, end) in reap() {
            if let Some(unit) = self
                .units
                .iter_mut()
                .find(|unit| unit.process == Some(process))
            {
                unit.end = Some(end);
            }
        }
    }

    /// Write what services have written to the log, a portion of each.
    fn pump(&mut self) {
        let units = &mut self.units;
        self.streams.retain_mut(|stream| {
            let unit = &mut units[stream.service];
            stream.pump(|line| {
                if let Some(Ready::Log(text)) = &unit.service.ready {
                    unit.heard |= line.contains(text.as_str());
                }
            })
        });
    }
}

/// An error as one line of the log.
fn one_line(error: &SuperviseError) -> String {
    let mut text = error.to_string();
    if let Some(help) = error.help() {
        text = format!("{text}\nhelp: {help}");
    }
    text.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}
