//! The stage of a trial: guests are made, started, driven, stopped, audited, removed.

use std::{
    fs::File,
    path::Path,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rookery_driver::Progress;
use rookery_guest::{
    Guest, GuestError, GuestSpec, GuestState, Kind, ProcessProbe, Template, remove_all, start_all,
};
use rookery_host::{RunId, Usage, UsageProbe, process_stat, residence::Residence};
use rookery_monitor::{Sampler, host_probe};
use rookery_stats::{DatabaseReadings, MachineLook, Measurement, ResourceSample};
use rookery_store::{GuestLog, Outcome, TrialRecord, Tuning};
use rookery_study::{GuestKind, Plan, Point, Study, Trial};
use rookery_workload::orderentry::{HitTarget, Isolation};

use crate::{
    Event, LabError,
    driving::Ground,
    fate::{Death, Starved, starved},
    host_settings::HostSettings,
    ledger,
    machines::Machines,
    readings::{self, Course, Databases},
    residence::{self, Looks},
    stack::{self, Found, OrderEntry, Place, Reading, Stack},
    storage,
    timekeeping::BothClocks,
    traffic::Traffic,
    trial::{Evidence, audit, judge},
};

/// How often the common start and the end of the load are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How often the living guests are looked at during load.
const WATCH_EVERY: Duration = Duration::from_millis(100);

/// How much of a guest's log is kept.
const LOG_BYTES: usize = 16 * 1024;

/// Everything that the trials of one run share.
pub(crate) struct Stage<'a> {
    pub(crate) place: Place<'a>,
    pub(crate) plan: &'a Plan,
    pub(crate) run: &'a RunId,
}

/// One trial at work: its point, what its variant asks for, its stack.
pub(crate) struct Act<'a> {
    pub(crate) trial: &'a Trial,
    pub(crate) point: &'a Point,
    pub(crate) study: &'a Study,
    pub(crate) stack: Box<dyn Stack>,
}

/// What was seen while the load was on.
pub(crate) struct Driven {
    pub(crate) measurement: Measurement,
    resources: Vec<ResourceSample>,
    /// Looks at the guests that are machines.
    machines: Vec<MachineLook>,
    pub(crate) deaths: Vec<Death>,
    /// Where the threads of each guest ran.
    seen: Vec<Residence>,
    /// A database that did not tell of its buffers, and why.
    pub(crate) silent: Option<String>,
}

impl Stage<'_> {
    /// What a trial is about.
    pub(crate) fn act<'t>(&'t self, trial: &'t Trial) -> Act<'t> {
        let point = self.point(trial);
        let study = self.plan.study_of(point);
        Act {
            trial,
            point,
            study,
            stack: stack::open(study),
        }
    }

    /// Perform one trial from clone to removal, database guests with buffer pools of `pool` bytes where it is given. `None` = the user stopped it.
    ///
    /// # Errors
    /// What is not the matter of this trial alone: no template, no driver, no host settings.
    pub(crate) fn perform(
        &self,
        trial: &Trial,
        pool: Option<u64>,
    ) -> Result<Option<TrialRecord>, LabError> {
        let point = self.point(trial);
        let study = self.plan.study_of(point);
        if let Some(system) = &study.stack.simulated {
            return self.compute(trial, point, system);
        }
        let act = self.act(trial);
        let template = match self.place.grounded(act.stack.as_ref(), point.database) {
            Err(_) if self.stopped() => return Ok(None),
            template => template?,
        };
        let held =
            match HostSettings::hold(study.host.settings.as_deref(), self.run, self.place.stop) {
                Err(_) if self.stopped() => return Ok(None),
                held => held?,
            };
        (self.place.listener)(&Event::TrialStarted {
            trial: trial.id,
            point: point.label(),
            repeat: trial.repeat,
        });
        quiet_disk(&template.root);
        let mut record = self.perform_on(&act, &template, pool)?;
        record.tunings.extend(held.tunings());
        held.put_back()?;
        Ok((!self.stopped()).then_some(record))
    }

    /// Everything between clone and removal.
    fn perform_on(
        &self,
        act: &Act<'_>,
        template: &Template,
        pool: Option<u64>,
    ) -> Result<TrialRecord, LabError> {
        let began = Instant::now();
        let mut guests =
            match self.clone_guests(act.study, act.stack.as_ref(), template, act.point, pool) {
                Ok(guests) => guests,
                Err(reason) => return Ok(failed(&reason, 0.0)),
            };
        let started = self
            .start(act.study, &mut guests)
            .map_err(|error| error.to_string())
            .map(|()| began.elapsed().as_secs_f64())
            .and_then(|ready_s| {
                (self.place.listener)(&Event::GuestsReady {
                    trial: act.trial.id,
                    guests: act.point.guests,
                    seconds: ready_s,
                });
                each_guest(&mut guests, |index, guest| {
                    self.ready(act, guest, pool)?;
                    self.settings(act, guest, index)
                })
                .map(|settings| (ready_s, settings))
            });
        let record = match started {
            Ok((ready_s, settings)) => self.drive_and_judge(act, &mut guests, &settings, ready_s),
            Err(reason) => Ok(TrialRecord {
                logs: logs(&guests),
                ..failed(&reason, began.elapsed().as_secs_f64())
            }),
        };
        let removed = remove_all(&mut guests);
        let mut record = record?;
        if let Err(error) = removed {
            record.reasons.push(format!("removing the guests: {error}"));
        }
        Ok(record)
    }

    pub(crate) fn stopped(&self) -> bool {
        self.place.go_on().is_break()
    }

    fn point(&self, trial: &Trial) -> &Point {
        // The store checks a plan when it is read: every trial has its point.
        self.plan
            .points
            .iter()
            .find(|point| point.id == trial.point)
            .expect("a plan whose trials have points")
    }

    /// Bring a healthy guest into the state in which the load shall find it.
    pub(crate) fn ready(
        &self,
        act: &Act<'_>,
        guest: &mut dyn Guest,
        pool: Option<u64>,
    ) -> Result<(), String> {
        if let (Some(bytes), Some(stack)) = (pool, act.stack.order_entry()) {
            stack.set_pool(&self.place, guest, bytes)?;
        }
        act.stack.warm(guest)
    }

    /// All settings in force in a guest: those of its stack, of its storage and of its place.
    fn settings(
        &self,
        act: &Act<'_>,
        guest: &dyn Guest,
        index: usize,
    ) -> Result<Vec<Reading>, String> {
        let mut readings = act.stack.settings(&self.place, guest, act.point, index)?;
        // The dial decides the size of the pool, whatever the tuning asked for.
        let dialled = act
            .study
            .workload
            .orderentry
            .as_ref()
            .is_some_and(|wanted| wanted.hit_target.is_some());
        if let Some(key) = act
            .stack
            .order_entry()
            .and_then(OrderEntry::pool_key)
            .filter(|_| dialled)
        {
            readings
                .iter_mut()
                .filter(|reading| reading.name == key)
                .for_each(|reading| reading.asked.clear());
        }
        readings.extend(act.speech(guest)?);
        readings.extend(storage::readings(guest));
        Ok(readings)
    }

    pub(crate) fn clone_guests(
        &self,
        study: &Study,
        stack: &dyn Stack,
        template: &Template,
        point: &Point,
        pool: Option<u64>,
    ) -> Result<Vec<Box<dyn Guest>>, String> {
        let shape = &study.guest;
        let limited = shape.kind != GuestKind::Bare;
        let provisions = storage::provisions(self.place.lab, study, point)?;
        let mut guests = Vec::with_capacity(point.guests as usize);
        for (index, provision) in provisions.into_iter().enumerate() {
            let mut service = stack.service(template, point, index)?;
            if let (Some(bytes), Some(databases)) = (pool, stack.order_entry()) {
                databases.hold_pool(&mut service, bytes);
            }
            let spec = GuestSpec {
                number: index as u16 + 1,
                name: format!("g{}", index + 1),
                cpus: point.pins[index].clone(),
                cpu_limit: limited.then(|| point.vcpus.cpus()),
                memory_mib: limited.then_some(point.memory_mib),
                pids: limited.then_some(shape.pids),
                args: service.args,
                port: service.port,
                health: service.health,
                files: service.files,
                user: service.user,
                sockets: service.sockets,
            };
            let guest = self.place.lab.create_with(template, &spec, &provision);
            guests.push(guest.map_err(|error| error.to_string())?);
        }
        // The data of a machine lie on its own disk.
        if let Some(databases) = stack
            .order_entry()
            .filter(|_| shape.kind == GuestKind::Container)
        {
            each_guest(&mut guests, |_, guest| {
                databases.prepare_clone(guest.data_dir())
            })?;
        }
        Ok(guests)
    }

    pub(crate) fn start(
        &self,
        study: &Study,
        guests: &mut [Box<dyn Guest>],
    ) -> Result<(), GuestError> {
        start_all(
            guests,
            self.place.lab,
            study.guest.ready_within,
            &|_| (),
            self.place.stop,
        )
        .map(|_| ())
    }

    fn drive_and_judge(
        &self,
        act: &Act<'_>,
        guests: &mut [Box<dyn Guest>],
        settings: &[Vec<Reading>],
        ready_s: f64,
    ) -> Result<TrialRecord, LabError> {
        let ground = Ground::of(act.stack.as_ref(), self.place.lab, guests);
        let traffic = Traffic::of(self.plan, act.trial, act.point, act.stack.as_ref(), &ground)?;
        let clocks = BothClocks::read();
        let Driven {
            measurement,
            resources,
            machines,
            deaths,
            seen,
            silent,
        } = match self.drive(&traffic, act, guests) {
            // What databases refuse is the matter of this trial, unless they were never to be asked.
            Err(LabError::Terminals(error)) if !self.stopped() => {
                return Ok(TrialRecord {
                    logs: logs(guests),
                    ..failed(&error.to_string(), ready_s)
                });
            }
            Err(LabError::Terminals(_)) => {
                return Ok(failed("stopped before the load began", ready_s));
            }
            driven => driven?,
        };
        // Nothing of a trial that was stopped counts: no audit is waited for.
        if self.stopped() {
            return Ok(failed("stopped under load", ready_s));
        }
        let clock_step = clocks.check();
        let starved: Vec<Starved> = starved(guests, &deaths, act.point.memory_mib);
        // One that lacks memory may be half dead: its web server still there, its database killed.
        let dead = |guest: &dyn Guest| {
            deaths.iter().any(|death| death.guest == guest.name())
                || starved.iter().any(|starved| starved.guest == guest.name())
        };
        let at_end = each_guest(guests, |index, guest| {
            // The dead cannot be asked, and of a guest that is too busy to answer the orders matter more.
            let asked = (!dead(guest)).then(|| self.settings(act, guest, index).ok());
            Ok(asked.flatten().unwrap_or_default())
        });
        let found = each_guest(guests, |_, guest| {
            let dead = dead(guest);
            Ok(self.audit(act, guest, dead))
        });
        let audits = guests
            .iter()
            .zip(&measurement.guests)
            .zip(found.unwrap_or_default())
            .map(|((guest, seen), found)| audit(guest.name(), seen, found, &deaths))
            .collect();
        let mut tunings = tunings(guests, settings, &at_end.unwrap_or_default());
        tunings.extend(silent.map(|why| Tuning {
            guest: "host".to_owned(),
            name: "orderentry.buffers".to_owned(),
            asked: String::new(),
            effective: format!("not read: {why}"),
            at_end: String::new(),
        }));
        let bound = matches!(act.study.guest.kind, GuestKind::Container | GuestKind::Vm);
        tunings.extend(residence::tunings(act.point, &names(guests), &seen, bound));
        Ok(judge(
            act.study,
            Evidence {
                measurement,
                resources,
                machines,
                clock_step,
                audits,
                deaths,
                starved,
                logs: logs(guests),
                tunings,
                ready_s,
            },
        ))
    }

    /// What the load left in a guest's database; the guest ends.
    fn audit(&self, act: &Act<'_>, guest: &mut dyn Guest, dead: bool) -> Result<Found, String> {
        match (act.stack.order_entry(), &act.study.workload.orderentry) {
            (Some(stack), Some(wanted)) => ledger::audit(
                stack,
                &self.place,
                guest,
                act.point.database,
                dead,
                wanted.verify,
            ),
            _ => act
                .stack
                .audit(&self.place, guest, act.point.database, dead),
        }
    }

    /// Put the load on while watching the guests: one that dies ends the load.
    pub(crate) fn drive(
        &self,
        traffic: &Traffic,
        act: &Act<'_>,
        guests: &mut [Box<dyn Guest>],
    ) -> Result<Driven, LabError> {
        let mut probes: Vec<_> = guests
            .iter()
            .map(|guest| (guest.name().to_owned(), guest.usage_probe()))
            .collect();
        probes.push(("host".to_owned(), host_probe()));
        probes.push(("driver".to_owned(), own_probe()));
        let databases = act.databases(guests);
        let machines = Machines::of(guests);
        let processes = guests.iter().map(|guest| guest.process_probe()).collect();
        let (end_load, beside) = (AtomicBool::new(false), Beside::default());
        let deaths = Mutex::new(Vec::new());
        let (measured, resources, seen, told, looks) = thread::scope(|scope| {
            let sampled = scope.spawn(|| beside.sample(probes, traffic));
            let seen = scope.spawn(|| beside.look(processes, traffic));
            let told = databases
                .as_ref()
                .map(|databases| scope.spawn(|| beside.ask(databases, traffic)));
            let looks = machines.map(|machines| scope.spawn(|| beside.look_at(machines, traffic)));
            scope.spawn(|| self.watch(guests, &end_load, &beside.over, &deaths));
            let begun = |start: Instant| {
                let _ = beside.begun.set(start);
            };
            let measured = traffic.run(&begun, &end_load, &|progress: Progress| {
                self.tell(act.trial.id, traffic, &progress);
            });
            beside.over.store(true, Ordering::Relaxed);
            let panicked = || Err(LabError::Internal("the sampler panicked".to_owned()));
            (
                measured,
                sampled.join().unwrap_or_else(|_| panicked()),
                seen.join().unwrap_or_default(),
                told.map(|told| told.join().unwrap_or_default()),
                looks.map(|looks| looks.join().unwrap_or_default()),
            )
        });
        let mut measurement = measured?;
        let silent = readings::attach(&mut measurement, told.unwrap_or_default());
        Ok(Driven {
            measurement,
            resources: resources?,
            machines: looks.unwrap_or_default(),
            deaths: deaths.into_inner().unwrap_or_default(),
            seen,
            silent,
        })
    }

    fn watch(
        &self,
        guests: &mut [Box<dyn Guest>],
        end_load: &AtomicBool,
        over: &AtomicBool,
        deaths: &Mutex<Vec<Death>>,
    ) {
        while !over.load(Ordering::Relaxed) {
            if self.stopped() {
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

    fn tell(&self, trial: u32, traffic: &Traffic, progress: &Progress) {
        (self.place.listener)(&Event::Load {
            trial,
            phase: progress.phase.to_string(),
            elapsed_s: progress.elapsed.as_secs_f64(),
            total_s: traffic.phases().load_end().as_secs_f64(),
            requests_per_s: progress.requests_per_s,
            errors_per_s: progress.errors_per_s,
        });
    }
}

/// What goes on beside the load: from the common start, which is known when everybody is ready, to the end.
#[derive(Default)]
struct Beside {
    begun: OnceLock<Instant>,
    over: AtomicBool,
}

impl Beside {
    /// The common start; nothing where the load ended before it.
    fn start(&self) -> Option<Instant> {
        loop {
            if let Some(start) = self.begun.get() {
                return Some(*start);
            }
            if self.over.load(Ordering::Relaxed) {
                return None;
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    fn sample(
        &self,
        probes: Vec<(String, UsageProbe)>,
        traffic: &Traffic,
    ) -> Result<Vec<ResourceSample>, LabError> {
        let Some(start) = self.start() else {
            return Ok(Vec::new());
        };
        let sampler = Sampler::start(probes, start, Duration::from_secs(1), traffic.cpus())
            .map_err(|error| {
                LabError::Internal(format!("the sampler could not be started: {error}"))
            })?;
        while !self.over.load(Ordering::Relaxed) {
            thread::sleep(LOOK_EVERY);
        }
        Ok(sampler.stop())
    }

    fn look(&self, processes: Vec<ProcessProbe>, traffic: &Traffic) -> Vec<Residence> {
        let Some((from, steady)) = self.window(traffic) else {
            return Vec::new();
        };
        let looks = Looks {
            from,
            steady,
            cpus: traffic.cpus(),
        };
        looks.take(processes, &self.over)
    }

    fn ask(
        &self,
        databases: &Databases<'_>,
        traffic: &Traffic,
    ) -> Vec<Result<DatabaseReadings, String>> {
        self.course(traffic)
            .map_or_else(Vec::new, |load| databases.watch(load, &self.over))
    }

    fn look_at(&self, machines: Machines, traffic: &Traffic) -> Vec<MachineLook> {
        residence::stay_on(traffic.cpus());
        self.course(traffic)
            .map_or_else(Vec::new, |load| machines.watch(load, &self.over))
    }

    fn course(&self, traffic: &Traffic) -> Option<Course> {
        let ((from, steady), start) = (self.window(traffic)?, self.start()?);
        let end = start + traffic.phases().load_end();
        Some(Course {
            start,
            from,
            steady,
            end,
        })
    }

    fn window(&self, traffic: &Traffic) -> Option<(Instant, Duration)> {
        let phases = traffic.phases();
        Some((
            self.start()? + phases.ramp_up + phases.settle,
            phases.steady,
        ))
    }
}

impl Act<'_> {
    /// The databases behind the guests, where they are asked about themselves.
    fn databases(&self, guests: &[Box<dyn Guest>]) -> Option<Databases<'_>> {
        let stack = self.stack.order_entry()?;
        let wanted = self.study.workload.orderentry.as_ref()?;
        Some(Databases {
            stack,
            places: guests
                .iter()
                .map(|guest| guest.sockets_dir().to_owned())
                .collect(),
            hit_target: wanted.hit_target.map(HitTarget::ratio),
        })
    }

    /// How the database is spoken to, as it answers.
    fn speech(&self, guest: &dyn Guest) -> Result<Vec<Reading>, String> {
        let (Some(stack), Some(wanted)) =
            (self.stack.order_entry(), &self.study.workload.orderentry)
        else {
            return Ok(Vec::new());
        };
        let server = rookery_oltp::server(&stack.inside(guest.sockets_dir()), wanted.isolation)
            .map_err(|error| error.to_string())?;
        let reading = |name: &str, asked: String, in_force: String| Reading {
            name: format!("orderentry.{name}"),
            asked,
            in_force,
        };
        let isolation = match wanted.isolation {
            Isolation::Default => String::new(),
            level => level.name().to_owned(),
        };
        let style = wanted.statements.name().to_owned();
        Ok(vec![
            reading("server", String::new(), server.version),
            reading("isolation", isolation, server.isolation.unwrap_or_default()),
            reading("statements", style.clone(), style),
        ])
    }
}

/// What this very process uses: the driver's threads are nearly all of it.
fn own_probe() -> UsageProbe {
    let page = rustix::param::page_size() as u64;
    Box::new(move || {
        let stat = process_stat(std::process::id())?;
        Some(Usage {
            cpu_us: stat.cpu_us,
            memory_bytes: stat.resident_pages.saturating_mul(page),
            ..Usage::default()
        })
    })
}

/// Write out what other work left dirty (a build, the trial before): else the kernel does so within the window, and commits wait behind it.
fn quiet_disk(path: &Path) {
    // Without it the numbers are noisier, not wrong.
    let _ = File::open(path).map(rustix::fs::syncfs);
}

/// The settings of all guests: asked for, before the load and after it.
fn tunings(
    guests: &[Box<dyn Guest>],
    at_start: &[Vec<Reading>],
    at_end: &[Vec<Reading>],
) -> Vec<Tuning> {
    let rows = guests
        .iter()
        .zip(at_start)
        .enumerate()
        .flat_map(|(index, (guest, readings))| {
            readings.iter().map(move |reading| {
                let later = at_end
                    .get(index)
                    .and_then(|later| later.iter().find(|later| later.name == reading.name));
                Tuning {
                    guest: guest.name().to_owned(),
                    name: reading.name.clone(),
                    asked: reading.asked.clone(),
                    effective: reading.in_force.clone(),
                    at_end: later.map_or_else(String::new, |later| later.in_force.clone()),
                }
            })
        });
    rows.collect()
}

/// Do `work` with all guests at once; the first failure is told with the guest's name.
pub(crate) fn each_guest<T: Send>(
    guests: &mut [Box<dyn Guest>],
    work: impl Fn(usize, &mut dyn Guest) -> Result<T, String> + Sync,
) -> Result<Vec<T>, String> {
    let work = &work;
    thread::scope(|scope| {
        let workers: Vec<_> = guests
            .iter_mut()
            .enumerate()
            .map(|(index, guest)| {
                let name = guest.name().to_owned();
                (name, scope.spawn(move || work(index, guest.as_mut())))
            })
            .collect();
        let results = workers.into_iter().map(|(name, worker)| {
            let result = worker
                .join()
                .unwrap_or_else(|_| Err("its thread panicked".to_owned()));
            result.map_err(|reason| format!("guest {name}: {reason}"))
        });
        // All of them are awaited before the first failure is told.
        results.collect::<Vec<_>>().into_iter().collect()
    })
}

/// The guest crate's name of a kind.
pub(crate) fn guest_kind(kind: GuestKind) -> Kind {
    match kind {
        GuestKind::Bare => Kind::Bare,
        GuestKind::Container => Kind::Container,
        GuestKind::Vm => Kind::Vm,
        GuestKind::Fake => Kind::Fake,
    }
}

fn names(guests: &[Box<dyn Guest>]) -> Vec<String> {
    guests.iter().map(|guest| guest.name().to_owned()).collect()
}

pub(crate) fn failed(reason: &str, ready_s: f64) -> TrialRecord {
    TrialRecord {
        outcome: Outcome::Failed,
        reasons: vec![reason.to_owned()],
        measurement: None,
        verdict: None,
        resources: Vec::new(),
        machines: Vec::new(),
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
