//! The stage of a trial: guests are made, started, driven, stopped, audited, removed.

use std::{
    borrow::Cow,
    fs::File,
    ops::ControlFlow,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rookery_driver::{Assignment, Config, Limits, Phases, Progress, Script};
use rookery_guest::{Fill, Guest, GuestError, GuestSpec, GuestState, Kind, Lab, Recipe, Template, remove_all, start_all};
use rookery_monitor::{Sampler, host_probe};
use rookery_stack::embedded::{self, Behaviour};
use rookery_stats::{Measurement, ResourceSample};
use rookery_store::{GuestLog, Outcome, TrialRecord};
use rookery_study::{GuestKind, Pages, Plan, Point, Study, Trial};
use rookery_workload::dvdstore::{ShopperParams, Size, WordLists};

use crate::{
    Event, LabError, Listener,
    trial::{Evidence, audit, judge},
};

/// How long a guest may take to end by itself after a trial.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// From the decision to start until the first user: every driver thread must be up by then.
const START_DELAY: Duration = Duration::from_millis(200);

/// How often the living guests are looked at during load.
const WATCH_EVERY: Duration = Duration::from_millis(100);

/// How much of a guest's log is kept.
const LOG_BYTES: usize = 16 * 1024;

/// Everything that the trials of one run share.
pub(crate) struct Stage<'a> {
    pub(crate) lab: &'a dyn Lab,
    pub(crate) study: &'a Study,
    pub(crate) plan: &'a Plan,
    pub(crate) program: &'a Path,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) listener: &'a Listener<'a>,
}

impl Stage<'_> {
    /// Perform one trial from clone to removal. `None` = the user stopped it.
    ///
    /// # Errors
    /// What is not the matter of this trial alone: no template, no driver.
    pub(crate) fn perform(&self, trial: &Trial) -> Result<Option<TrialRecord>, LabError> {
        let point = self.point(trial);
        let template = match self.template(point.database) {
            Err(_) if self.stop.load(Ordering::Relaxed) => return Ok(None),
            template => template?,
        };
        (self.listener)(&Event::TrialStarted {
            trial: trial.id,
            point: point.label(),
            repeat: trial.repeat,
        });
        quiet_disk(&template.root);
        let began = Instant::now();
        let mut guests = match self.clone_guests(&template, point) {
            Ok(guests) => guests,
            Err(error) => return Ok(self.unless_stopped(failed(&error.to_string(), 0.0))),
        };
        let record = match self.start(&mut guests) {
            Ok(()) => {
                let ready_s = began.elapsed().as_secs_f64();
                (self.listener)(&Event::GuestsReady {
                    trial: trial.id,
                    guests: point.guests,
                    seconds: ready_s,
                });
                self.drive_and_judge(trial, point, &mut guests, ready_s)
            }
            Err(error) => Ok(TrialRecord {
                logs: logs(&guests),
                ..failed(&error.to_string(), began.elapsed().as_secs_f64())
            }),
        };
        let removed = remove_all(&mut guests);
        let mut record = record?;
        if let Err(error) = removed {
            record.reasons.push(format!("removing the guests: {error}"));
        }
        Ok(self.unless_stopped(record))
    }

    fn go_on(&self) -> ControlFlow<()> {
        if self.stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn unless_stopped(&self, record: TrialRecord) -> Option<TrialRecord> {
        (!self.stop.load(Ordering::Relaxed)).then_some(record)
    }

    fn point(&self, trial: &Trial) -> &Point {
        // The store checks a plan when it is read: every trial has its point.
        self.plan
            .points
            .iter()
            .find(|point| point.id == trial.point)
            .expect("a plan whose trials have points")
    }

    fn template(&self, size: Size) -> Result<Template, LabError> {
        let began = Instant::now();
        let words = WordLists::own();
        let recipe = Recipe {
            description: format!("embedded dvdstore {size}, own words"),
            program: self.program.to_owned(),
            base: None,
            fill: Fill::Data(&|data| {
                embedded::load(&data.join(embedded::DATABASE_FILE), size, words, &|_| self.go_on())
                    .map(|_| ())
                    .map_err(|error| error.to_string())
            }),
        };
        let template = self.lab.template(&recipe)?;
        (self.listener)(&Event::Template {
            database: size.to_string(),
            seconds: began.elapsed().as_secs_f64(),
        });
        Ok(template)
    }

    fn clone_guests(&self, template: &Template, point: &Point) -> Result<Vec<Box<dyn Guest>>, GuestError> {
        let limited = self.study.guest.kind != GuestKind::Bare;
        (0..point.guests as usize)
            .map(|index| {
                let spec = GuestSpec {
                    number: index as u16 + 1,
                    name: format!("g{}", index + 1),
                    cpus: point.pins[index].clone(),
                    cpu_limit: limited.then(|| point.vcpus.cpus()),
                    memory_mib: limited.then_some(point.memory_mib),
                    pids: limited.then_some(self.study.guest.pids),
                    args: embedded::guest_args(point.vcpus.whole_cpus() as usize, self.behaviour()),
                    port: embedded::PORT,
                    health_path: embedded::HEALTH_PATH.to_owned(),
                    files: Vec::new(),
                    user: None,
                };
                self.lab.create(template, &spec)
            })
            .collect()
    }

    fn behaviour(&self) -> Behaviour {
        match self.study.stack.pages {
            Pages::Faithful => Behaviour::Faithful,
            Pages::Corrected => Behaviour::Corrected,
        }
    }

    fn start(&self, guests: &mut [Box<dyn Guest>]) -> Result<(), GuestError> {
        start_all(guests, self.lab, self.study.guest.ready_within, &|_| (), self.stop).map(|_| ())
    }

    fn drive_and_judge(&self, trial: &Trial, point: &Point, guests: &mut [Box<dyn Guest>], ready_s: f64) -> Result<TrialRecord, LabError> {
        let config = self.config(trial, point, guests);
        let (measurement, resources, deaths) = self.drive(&config, trial, guests)?;
        thread::scope(|scope| {
            for guest in guests.iter_mut() {
                // A guest that does not end is killed with its removal; its data are audited all the same.
                scope.spawn(|| guest.stop(STOP_GRACE));
            }
        });
        let audits = guests
            .iter()
            .zip(&measurement.guests)
            .map(|(guest, seen)| {
                audit(
                    guest.name(),
                    &guest.data_dir().join(embedded::DATABASE_FILE),
                    seen,
                    self.behaviour(),
                    &deaths,
                )
            })
            .collect();
        Ok(judge(
            self.study,
            Evidence {
                measurement,
                resources,
                audits,
                deaths,
                logs: logs(guests),
                ready_s,
            },
        ))
    }

    /// Put the load on while watching the guests: one that dies ends the load.
    fn drive(
        &self,
        config: &Config,
        trial: &Trial,
        guests: &mut [Box<dyn Guest>],
    ) -> Result<(Measurement, Vec<ResourceSample>, Vec<Death>), LabError> {
        let start = Instant::now() + START_DELAY;
        let mut probes: Vec<_> = guests.iter().map(|guest| (guest.name().to_owned(), guest.usage_probe())).collect();
        probes.push(("host".to_owned(), host_probe()));
        let sampler = Sampler::start(probes, start, Duration::from_secs(1), &config.cpus)
            .map_err(|error| LabError::Internal(format!("the sampler could not be started: {error}")))?;
        let (end_load, over) = (AtomicBool::new(false), AtomicBool::new(false));
        let deaths = Mutex::new(Vec::new());
        let measured = thread::scope(|scope| {
            scope.spawn(|| self.watch(guests, &end_load, &over, &deaths));
            let measured = rookery_driver::run(config, start, &end_load, &|progress: Progress| {
                self.tell(trial.id, config, &progress)
            });
            over.store(true, Ordering::Relaxed);
            measured
        });
        let resources = sampler.stop();
        Ok((measured?, resources, deaths.into_inner().unwrap_or_default()))
    }

    fn watch(&self, guests: &mut [Box<dyn Guest>], end_load: &AtomicBool, over: &AtomicBool, deaths: &Mutex<Vec<Death>>) {
        while !over.load(Ordering::Relaxed) {
            if self.stop.load(Ordering::Relaxed) {
                end_load.store(true, Ordering::Relaxed);
            }
            let dead: Vec<Death> = guests
                .iter_mut()
                .filter_map(|guest| match guest.state() {
                    GuestState::Ended(reason) => Some(Death {
                        guest: guest.name().to_owned(),
                        reason,
                    }),
                    GuestState::Created | GuestState::Running => None,
                })
                .collect();
            if !dead.is_empty() {
                end_load.store(true, Ordering::Relaxed);
                if let Ok(mut deaths) = deaths.lock() {
                    deaths.extend(dead);
                }
                return;
            }
            thread::sleep(WATCH_EVERY);
        }
    }

    fn config(&self, trial: &Trial, point: &Point, guests: &[Box<dyn Guest>]) -> Config {
        let (workload, load) = (&self.study.workload, &self.study.load);
        let shopper = ShopperParams {
            size: point.database,
            new_customers: workload.new_customers,
            searches: workload.searches,
            search_batch: workload.search_batch,
            line_items: workload.line_items,
        };
        let assignments = guests
            .iter()
            .zip(&point.users)
            .map(|(guest, users)| Assignment {
                guest: guest.name().to_owned(),
                target: guest.address(),
                users: *users,
                script: Script::DvdStore {
                    directory: embedded::DIRECTORY.to_owned(),
                    page_type: "php".to_owned(),
                    shopper,
                },
            })
            .collect();
        Config {
            assignments,
            network: self.lab.network().map(Path::to_owned),
            cpus: self.plan.driver_cpus.clone(),
            phases: Phases {
                ramp_up: load.ramp_up,
                settle: load.settle,
                steady: load.steady,
                ramp_down: load.ramp_down,
                drain: load.drain,
            },
            pacing: workload.pacing,
            think_time: workload.think_time,
            timeout: load.timeout,
            limits: Limits::default(),
            words: Cow::Borrowed(WordLists::own()),
            seed: trial.seed,
            confirmed_targets: Vec::new(),
        }
    }

    fn tell(&self, trial: u32, config: &Config, progress: &Progress) {
        (self.listener)(&Event::Load {
            trial,
            phase: progress.phase.to_string(),
            elapsed_s: progress.elapsed.as_secs_f64(),
            total_s: config.phases.load_end().as_secs_f64(),
            requests_per_s: progress.requests_per_s,
            errors_per_s: progress.errors_per_s,
        });
    }
}

/// Write out what other work left dirty (a build, the trial before): else the kernel does so within the window, and commits wait behind it.
fn quiet_disk(path: &Path) {
    // Without it the numbers are noisier, not wrong.
    let _ = File::open(path).map(rustix::fs::syncfs);
}

/// A guest that ended while it should have served.
#[derive(Clone, Debug)]
pub(crate) struct Death {
    pub(crate) guest: String,
    pub(crate) reason: String,
}

/// The guest crate's name of a kind.
pub(crate) fn guest_kind(kind: GuestKind) -> Kind {
    match kind {
        GuestKind::Bare => Kind::Bare,
        GuestKind::Container => Kind::Container,
        GuestKind::Fake => Kind::Fake,
    }
}

fn failed(reason: &str, ready_s: f64) -> TrialRecord {
    TrialRecord {
        outcome: Outcome::Failed,
        reasons: vec![reason.to_owned()],
        measurement: None,
        verdict: None,
        resources: Vec::new(),
        audits: Vec::new(),
        logs: Vec::new(),
        tunings: Vec::new(),
        ready_s,
    }
}

fn logs(guests: &[Box<dyn Guest>]) -> Vec<GuestLog> {
    guests
        .iter()
        .map(|guest| GuestLog {
            guest: guest.name().to_owned(),
            text: guest.log_tail(LOG_BYTES),
        })
        .collect()
}
