//! Many guests at once: start until healthy, remove.

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rookery_host::in_netns;
use tracing::{Span, debug, debug_span};

use crate::{
    error::{GuestError, NotReadyReason},
    guest::{Guest, GuestState},
    lab::Lab,
    log::indented,
};

/// Guests that are being started at the same time. More would only queue for CPUs: starting is work
/// for runc and the kernel.
const STARTERS: usize = 4;
/// Threads that ask for health. Asking is waiting, mostly.
const ASKERS: usize = 2;
/// Pause after every guest that waits has been asked once.
const ASK_PAUSE: Duration = Duration::from_millis(3);
/// Longest wait for one answer.
const ASK_LIMIT: Duration = Duration::from_millis(500);
/// Threads that kill and remove.
const REMOVERS: usize = 8;
/// How much of a guest's log goes into an error, bytes.
const LOG_TAIL: usize = 4096;

/// How far [`start_all`] has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartProgress {
    /// Guests that answer.
    pub healthy: usize,
    /// All guests.
    pub total: usize,
}

impl fmt::Display for StartProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} guests healthy", self.healthy, self.total)
    }
}

/// Start all guests, a few at a time, and wait until every one answers as a healthy one does (see
/// [`crate::Health`]), asked from inside the lab's network.
///
/// `deadline` is the time for all of them together. Gives the time that it took. On an error the
/// guests stay as they are: the caller removes (or drops) them.
///
/// # Errors
/// The first guest that cannot be started, dies or is late (with its log), or
/// [`GuestError::Stopped`] soon after `stop` is set.
pub fn start_all(
    guests: &mut [Box<dyn Guest>],
    lab: &dyn Lab,
    deadline: Duration,
    progress: &(dyn Fn(StartProgress) + Sync),
    stop: &AtomicBool,
) -> Result<Duration, GuestError> {
    let begin = Instant::now();
    let launch = Launch {
        total: guests.len(),
        created: Mutex::new(guests.iter_mut().collect()),
        asked: Mutex::new(VecDeque::new()),
        healthy: AtomicUsize::new(0),
        failure: Mutex::new(None),
        deadline: begin + deadline,
        limit: deadline,
        progress,
        stop,
    };
    let network = lab.network();
    // What the threads log belongs to the span of the caller.
    let span = debug_span!("start guests", guests = launch.total);
    thread::scope(|scope| {
        for _ in 0..STARTERS.min(launch.total) {
            scope.spawn(|| span.in_scope(|| launch.start_some()));
        }
        for _ in 0..ASKERS.min(launch.total) {
            scope.spawn(|| {
                let _entered = span.enter();
                if let Err(error) = in_netns(network, || launch.ask_some()) {
                    launch.fail(GuestError::in_lab("entering the lab's network", error));
                }
            });
        }
    });
    match launch
        .failure
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
    {
        Some(error) => Err(error),
        None => {
            span.in_scope(|| debug!(took = ?begin.elapsed(), "all guests are healthy"));
            Ok(begin.elapsed())
        }
    }
}

type Queue<'a> = Mutex<VecDeque<&'a mut Box<dyn Guest>>>;

struct Launch<'a> {
    total: usize,
    created: Queue<'a>,
    asked: Queue<'a>,
    healthy: AtomicUsize,
    failure: Mutex<Option<GuestError>>,
    deadline: Instant,
    limit: Duration,
    progress: &'a (dyn Fn(StartProgress) + Sync),
    stop: &'a AtomicBool,
}

impl<'a> Launch<'a> {
    fn start_some(&self) {
        while !self.over() {
            let Some(guest) = locked(&self.created).pop_front() else {
                return;
            };
            match guest.start() {
                Ok(()) => locked(&self.asked).push_back(guest),
                Err(error) => self.fail(error),
            }
        }
    }

    fn ask_some(&self) {
        let mut asked_since_pause = 0;
        while !self.over() {
            let next = locked(&self.asked).pop_front();
            let waiting = usize::from(next.is_some()) + locked(&self.asked).len();
            if let Some(guest) = next {
                self.ask(guest);
                asked_since_pause += 1;
            }
            if asked_since_pause >= waiting {
                thread::sleep(ASK_PAUSE);
                asked_since_pause = 0;
            }
        }
    }

    fn ask(&self, guest: &'a mut Box<dyn Guest>) {
        let answer = guest.health().ask(guest.address(), ASK_LIMIT);
        let Err(refusal) = answer else {
            let healthy = self.healthy.fetch_add(1, Ordering::Relaxed) + 1;
            debug!(guest = guest.name(), "healthy");
            return (self.progress)(StartProgress {
                healthy,
                total: self.total,
            });
        };
        if let GuestState::Ended(reason) = guest.state() {
            self.fail(not_ready(&**guest, NotReadyReason::Ended(reason)));
        } else if Instant::now() > self.deadline {
            self.fail(not_ready(
                &**guest,
                NotReadyReason::Late {
                    limit: self.limit,
                    answer: refusal.to_string(),
                },
            ));
        } else {
            locked(&self.asked).push_back(guest);
        }
    }

    /// All are healthy, one has failed, or the caller wants to stop.
    fn over(&self) -> bool {
        if self.stop.load(Ordering::Relaxed) {
            self.fail(GuestError::Stopped {
                doing: "starting guests",
            });
        }
        self.healthy.load(Ordering::Relaxed) == self.total || locked(&self.failure).is_some()
    }

    fn fail(&self, error: GuestError) {
        locked(&self.failure).get_or_insert(error);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn not_ready(guest: &dyn Guest, reason: NotReadyReason) -> GuestError {
    GuestError::NotReady {
        guest: guest.name().to_owned(),
        reason,
        log: indented(&guest.log_tail(LOG_TAIL)),
    }
}

/// Kill all guests at once, then remove them, several at a time. Gives the time that it took. Every
/// guest is tried.
///
/// # Errors
/// The first guest of which something stays.
pub fn remove_all(guests: &mut [Box<dyn Guest>]) -> Result<Duration, GuestError> {
    let begin = Instant::now();
    // A kill that fails is tried again by the removal, which then tells.
    let _ = each(guests, |guest| guest.kill());
    each(guests, |guest| guest.remove())?;
    Ok(begin.elapsed())
}

fn each(
    guests: &mut [Box<dyn Guest>],
    work: impl Fn(&mut dyn Guest) -> Result<(), GuestError> + Sync,
) -> Result<(), GuestError> {
    let workers = REMOVERS.min(guests.len());
    let queue: Queue<'_> = Mutex::new(guests.iter_mut().collect());
    let failure = Mutex::new(None);
    let span = Span::current();
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let _entered = span.enter();
                loop {
                    let Some(guest) = locked(&queue).pop_front() else {
                        return;
                    };
                    if let Err(error) = work(&mut **guest) {
                        locked(&failure).get_or_insert(error);
                    }
                }
            });
        }
    });
    failure
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::Path};

    use rookery_host::RunId;

    use super::*;
    use crate::CpuTime;
    use crate::{CalledBy, FakeBehaviour, FakeLab, FakeStep, GuestSpec, Recipe, RunDirs, Subject};

    /// Four fakes that behave so, in a directory that goes away.
    fn fakes(behaviour: FakeBehaviour) -> (tempfile::TempDir, FakeLab, Vec<Box<dyn Guest>>) {
        let dir = tempfile::tempdir().expect("temporary directory");
        let run = RunId::try_from("launch".to_owned()).expect("valid");
        let lab = FakeLab::new(
            RunDirs {
                run,
                dir: dir.path().join("run"),
                templates: dir.path().join("templates"),
            },
            behaviour,
        );
        let program = dir.path().join("program");
        std::fs::write(&program, "#!/bin/sh\n").expect("written");
        let fill = |_: &Path| Ok(None);
        let template = lab
            .template(
                &Recipe {
                    description: "empty".into(),
                    program,
                    base: None,
                    fill: crate::Fill::Data(&fill),
                },
                &crate::patient,
            )
            .expect("template");
        let spec = |number| GuestSpec {
            number,
            name: format!("g{number}"),
            cpus: vec![],
            cpu_time: CpuTime::Unlimited,
            cpu_weight: None,
            packet_cpus: Vec::new(),
            called_by: CalledBy::Users,
            memory_mib: None,
            swap: rookery_study::Swap::None,
            pids: None,
            args: vec![],
            port: 80,
            health: crate::Health::Http("/health".into()),
            files: vec![],
            user: None,
            sockets: Vec::new(),
        };
        let guests = (1..=4)
            .map(|number| lab.create(&template, &spec(number)).expect("created"))
            .collect();
        (dir, lab, guests)
    }

    #[test]
    fn progress_counts_up_to_all() {
        let (_dir, lab, mut guests) = fakes(FakeBehaviour::default());
        let seen = Mutex::new(BTreeSet::new());
        let note = |progress: StartProgress| {
            locked(&seen).insert(progress.healthy);
        };
        start_all(
            &mut guests,
            &lab,
            Duration::from_secs(60),
            &note,
            &AtomicBool::new(false),
        )
        .expect("healthy");
        assert_eq!(*locked(&seen), BTreeSet::from([1, 2, 3, 4]));
        remove_all(&mut guests).expect("removed");
        assert_eq!(lab.living(), 0);
    }

    #[test]
    fn nothing_to_start_is_started() {
        let (_dir, lab, _guests) = fakes(FakeBehaviour::default());
        start_all(
            &mut [],
            &lab,
            Duration::from_secs(60),
            &|_| (),
            &AtomicBool::new(false),
        )
        .expect("at once");
    }

    #[test]
    fn one_that_cannot_start_is_named() {
        let (_dir, lab, mut guests) = fakes(FakeBehaviour {
            failures: BTreeSet::from([(3, FakeStep::Start)]),
            ..FakeBehaviour::default()
        });
        let error = start_all(
            &mut guests,
            &lab,
            Duration::from_secs(60),
            &|_| (),
            &AtomicBool::new(false),
        )
        .expect_err("told to fail");
        assert!(
            matches!(&error, GuestError::Step { subject: Subject::Guest(name), .. } if name == "g3"),
            "{error}"
        );
    }

    #[test]
    fn one_that_is_late_is_named_with_its_answer_and_log() {
        let (_dir, lab, mut guests) = fakes(FakeBehaviour {
            never_ready: BTreeSet::from([2]),
            ..FakeBehaviour::default()
        });
        let error = start_all(
            &mut guests,
            &lab,
            Duration::from_millis(50),
            &|_| (),
            &AtomicBool::new(false),
        )
        .expect_err("late");
        let text = error.to_string();
        assert!(
            text.contains("guest g2") && text.contains("503") && text.contains("g2 starts"),
            "{text}"
        );
    }

    #[test]
    fn one_that_dies_is_named() {
        let behaviour = FakeBehaviour {
            never_ready: BTreeSet::from([4]),
            dies_after: Some((4, Duration::ZERO)),
            ..FakeBehaviour::default()
        };
        let (_dir, lab, mut guests) = fakes(behaviour);
        let error = start_all(
            &mut guests,
            &lab,
            Duration::from_secs(60),
            &|_| (),
            &AtomicBool::new(false),
        )
        .expect_err("dead");
        assert!(
            matches!(&error, GuestError::NotReady { guest, reason: NotReadyReason::Ended(how), .. }
                if guest == "g4" && how == "exit code 1"),
            "{error}"
        );
    }

    #[test]
    fn removal_tries_every_guest() {
        let (_dir, lab, mut guests) = fakes(FakeBehaviour {
            failures: BTreeSet::from([(1, FakeStep::Remove)]),
            ..FakeBehaviour::default()
        });
        let error = remove_all(&mut guests).expect_err("told to fail");
        assert!(error.to_string().contains("g1"), "{error}");
        assert_eq!(lab.living(), 1, "the other three are gone");
    }
}
