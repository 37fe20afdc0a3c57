//! One run from its first trial to its last.

use std::{
    collections::{BTreeSet, HashSet, VecDeque},
    net::IpAddr,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use rookery_cast::count_u32;
use rookery_guest::{CleanOptions, LabShape, RunDirs};
use rookery_host::{RunId, format_cpu_list};
use rookery_store::{
    Damage, FleetHost, HostDescription, Outcome, RunHeader, Store, StoreError, StudyFile,
    TrialStatus,
};
use rookery_study::{GuestKind, Measure, Plan, Point, Study, Trial, Variant};

use crate::{
    ceiling,
    changes::{self, PlanChanges},
    clock::now,
    context::LabContext,
    elsewhere::{Labs, LostDriver, NumberedDriver, RemoteDriver, RemoteLab},
    error::{Failure, LabError},
    event::{Event, Listener},
    facts::{check_plan, describe_host, differences},
    far_users,
    growth::{self, Growth},
    host_parts::check_group_hosts,
    lab_pool::{self, LabPool},
    planned::planned,
    rest::Rest,
    run_dir::{RunDir, store_in},
    simulated,
    spread::{Spread, Standing},
    storage,
    trial::{TrialEnd, TrialRunner, ended, failed, reason},
};

/// Runs studies.
pub struct Conductor<'a> {
    /// Directory that holds the runs.
    pub runs: PathBuf,
    /// Directory of templates, shared between runs.
    pub templates: PathBuf,
    /// The program that guests run (this very binary).
    pub program: PathBuf,
    /// Set by Ctrl-C: load stops within seconds, guests go, the run can be resumed.
    pub stop: &'a AtomicBool,
    /// Called with everything that happens.
    pub listener: &'a Listener<'a>,
    /// Addresses of other machines that the user allowed to be loaded.
    pub confirmed: Vec<IpAddr>,
    /// Changes of the plan that the user asks for meanwhile.
    pub changes: PlanChanges,
    /// Where trials are performed.
    pub labs: Labs<'a>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Directory of the run.
    pub directory: PathBuf,
    /// Trials done.
    pub done: u32,
    /// Void ones.
    pub void: u32,
    /// Failed ones.
    pub failed: u32,
    /// Trials left because of an interruption.
    pub left: u32,
    /// Whether the run was interrupted before its repeats and searches had ended.
    pub unfinished: bool,
}

/// How often a wish to stop is looked for.
const LOOK: Duration = Duration::from_millis(100);
/// How long the host is looked at before the first trial.
const LOOK_AROUND: Duration = Duration::from_millis(500);

/// What is noted where the study file is another by now.
const CHANGED_STUDY: &str = "the study file has changed since the run began; the run goes on with \
                             the study as it was (`rookery run STUDY` begins a new one)";

impl Conductor<'_> {
    /// Make a new run of `study` (read from `file`) and conduct it. `files` are those that the
    /// study names; a run goes on only with the same.
    ///
    /// # Errors
    /// When the run cannot be made, or something fails that does not concern one trial alone.
    pub fn start(
        &self,
        file: &Path,
        text: &str,
        files: &[StudyFile],
        study: &Study,
        plan: &Plan,
    ) -> Result<Summary, LabError> {
        // Before anything is made: a run that could never begin would only be in the way of
        // `latest`.
        self.check(plan)?;
        let stem = file
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default();
        let dir = RunDir::create(&self.runs, &stem)?;
        let simulated = study.stack.simulated().is_some();
        let header = RunHeader {
            run_id: dir.run().to_string(),
            title: if simulated {
                simulated::title(&study.title)
            } else {
                study.title.clone()
            },
            study_file: file
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            study_text: text.to_owned(),
            study: study.clone(),
            plan: plan.clone(),
            host: self.host_of(study)?,
            rookery_version: env!("CARGO_PKG_VERSION").to_owned(),
            created_at: now(),
        };
        let mut store = Store::create(dir.store(), &header)?;
        store.keep_files(files)?;
        if simulated {
            store.note(&now(), simulated::NOTE)?;
        }
        self.conduct(&dir, &mut store, &header)
    }

    /// Go on with the run in `directory`: finished trials are kept, all others are run, by the
    /// study as it was at the begin. `study_now` is the text of the file that stands for the run
    /// now, if it was named by one: that it differs is reported and noted.
    ///
    /// # Errors
    /// As [`Conductor::start`]; also when `directory` is no run.
    pub fn resume(&self, directory: &Path, study_now: Option<&str>) -> Result<Summary, LabError> {
        let header = Store::open_read_only(store_in(directory))?.header()?;
        let damaged = |source: Damage| StoreError::Damaged {
            path: store_in(directory),
            table: "run",
            row: None,
            source: Box::new(source),
        };
        let run = RunId::try_from(header.run_id.clone()).map_err(|error| {
            damaged(Damage::Label {
                reason: error.to_string(),
            })
        })?;
        self.keep_to_grammar(&header, &store_in(directory))?;
        self.check(&header.plan)?;
        let dir = RunDir::reopen(directory, run)?;
        let mut store = Store::open(dir.store())?;
        // Whatever the dead controller left would hold the addresses and names that its trials need
        // again.
        let labels = Some(lab_pool::labels(dir.run()));
        rookery_guest::clean(&CleanOptions { labels })?;
        for trial in store.reset_running()? {
            store.note(
                &now(),
                &format!("trial {trial} was interrupted and is run again"),
            )?;
        }
        if study_now.is_some_and(|text| text != header.study_text) {
            self.remark(&store, CHANGED_STUDY)?;
        }
        // Of other machines it is said how they differ from each other.
        if !matches!(self.labs, Labs::Elsewhere { .. }) {
            for difference in differences(&header.host, &self.host_of(&header.study)?) {
                self.remark(&store, &format!("resumed on a changed host: {difference}"))?;
            }
        }
        self.conduct(&dir, &mut store, &header)
    }

    /// Whether this machine can run what is planned; other machines look themselves.
    fn check(&self, plan: &Plan) -> Result<(), LabError> {
        far_users::check(plan, self.labs.drivers())?;
        check_group_hosts(
            plan.points.iter().map(Point::hosts),
            &self.labs.guest_hosts(),
        )?;
        match self.labs {
            Labs::Here | Labs::DrivenFrom(_) | Labs::PartOf { .. } => {
                far_users::check_ways(plan, self.labs.drivers())?;
                check_plan(plan, &self.templates)?;
                storage::check_runs(plan, &self.runs)
            }
            Labs::Elsewhere { .. } => Ok(()),
        }
    }

    /// A store or a message may come from anywhere. What is performed keeps to the bounds of the
    /// grammar.
    pub(crate) fn keep_to_grammar(&self, header: &RunHeader, path: &Path) -> Result<(), LabError> {
        let variants = header.plan.variants.iter().flat_map(Variant::studies);
        for study in variants.chain([&header.study]) {
            let stored = Study::parse(&header.study_file, &study.to_toml());
            if stored.ok().as_ref() != Some(study) {
                return Err(StoreError::Damaged {
                    path: path.to_owned(),
                    table: "run",
                    row: None,
                    source: Box::new(Damage::Study),
                }
                .into());
            }
        }
        Ok(())
    }

    /// Keep a note in the store, and report it.
    fn remark(&self, store: &Store, text: &str) -> Result<(), LabError> {
        store.note(&now(), text)?;
        (self.listener)(&Event::Remark {
            text: text.to_owned(),
        });
        Ok(())
    }

    /// The host of a study's run: this one, or the simulated one.
    fn host_of(&self, study: &Study) -> Result<HostDescription, LabError> {
        match (study.stack.simulated(), self.labs) {
            (Some(system), _) => Ok(simulated::describe_host(system)),
            (None, Labs::Here | Labs::DrivenFrom(_) | Labs::PartOf { .. }) => {
                describe_host(&self.runs)
            }
            (None, Labs::Elsewhere { labs, .. }) => {
                let first = labs.first().ok_or(LabError::NoLabLeft)?;
                Ok(first.host().clone())
            }
        }
    }

    fn conduct(
        &self,
        dir: &RunDir,
        store: &mut Store,
        header: &RunHeader,
    ) -> Result<Summary, LabError> {
        let _span = tracing::info_span!("run", id = %header.run_id).entered();
        let (total, left) = (header.plan.trials.len(), planned(store)?.len());
        tracing::info!(trials = total, left, "the run begins");
        let share = left as f64 / total.max(1) as f64;
        (self.listener)(&Event::RunStarted {
            run: header.run_id.clone(),
            title: header.title.clone(),
            directory: dir.path().display().to_string(),
            trials: count_u32(total),
            finished_before: count_u32(total - left),
            expected_s: header.plan.estimate.duration.as_secs_f64() * share,
        });
        let mut growth = Growth::new(self.listener);
        if left > 0 || growth.grow(store)? {
            self.keep_drivers(store)?;
            if let Labs::Elsewhere { labs, drivers } = self.labs {
                self.conduct_elsewhere(labs, drivers, dir, store, &mut growth)?;
                return summarise(dir, store, self.listener);
            }
            if let Err(error) = ceiling::measure_run(dir, &header.plan, self.stop, self.listener) {
                self.unless_stopped(store, "while its storage was measured", error)?;
            }
            self.look_around(store, header)?;
            let mut labs = LabPool::new(RunDirs {
                run: dir.run().clone(),
                dir: dir.guests(),
                templates: self.templates.clone(),
            });
            let conducted = self.conduct_all(&mut labs, store, &mut growth);
            let closed = labs.close();
            conducted?;
            closed?;
        }
        summarise(dir, store, self.listener)
    }

    /// Keep what the machines of the drivers are, and say where users are.
    fn keep_drivers(&self, store: &Store) -> Result<(), LabError> {
        for driver in self.labs.drivers() {
            let host = driver.host();
            store.keep_host(&FleetHost::new(driver.name(), host))?;
            let text = format!(
                "users are driven from host {} (CPUs {})",
                driver.name(),
                format_cpu_list(host.facts.cpus.iter().copied())
            );
            self.remark(store, &text)?;
        }
        Ok(())
    }

    /// The same as [`Conductor::conduct_all`], on other machines.
    fn conduct_elsewhere(
        &self,
        labs: &[&dyn RemoteLab],
        drivers: &[&dyn RemoteDriver],
        dir: &RunDir,
        store: &mut Store,
        growth: &mut Growth<'_>,
    ) -> Result<(), LabError> {
        let spread = Spread {
            labs,
            stop: self.stop,
            listener: self.listener,
            changes: &self.changes,
            directory: dir.path(),
        };
        spread.begin(store)?;
        let mut standing = Standing::new(labs, &store.header()?.plan, drivers);
        loop {
            let left = planned(store)?;
            spread.perform(store, left, &mut standing)?;
            let changed = changes::make(&self.changes, store, self.listener)?;
            if self.stop.load(Ordering::Relaxed) {
                return self.note_interruption(store, "between trials or in them", &[]);
            }
            if !(growth.grow(store)? || changed) {
                return spread.compare_hosts(store);
            }
        }
    }

    /// All planned trials, then those that follow from them, until nothing does or the user stops
    /// it.
    fn conduct_all(
        &self,
        labs: &mut LabPool,
        store: &mut Store,
        growth: &mut Growth<'_>,
    ) -> Result<(), LabError> {
        let (mut others, mut drivers) = (HashSet::new(), self.labs.numbered_drivers());
        loop {
            let left = planned(store)?;
            self.conduct_trials(labs, store, left, &mut drivers, &mut others)?;
            let changed = changes::make(&self.changes, store, self.listener)?;
            let stopped = self.stop.load(Ordering::Relaxed);
            if stopped || !(growth.grow(store)? || changed) {
                return self.remark_on_others(store, &mut others);
            }
        }
    }

    /// Runs at the same time take each other's CPUs: the numbers of both suffer, and the reader
    /// must know.
    fn remark_on_others(&self, store: &Store, known: &mut HashSet<RunId>) -> Result<(), LabError> {
        let header = store.header()?;
        if header.study.stack.simulated().is_some() {
            return Ok(());
        }
        let own = RunId::try_from(header.run_id).map(|run| lab_pool::labels(&run));
        let own = own.unwrap_or_default();
        let things = rookery_guest::inventory()?.into_iter();
        let others = things.filter(|thing| thing.alive && !own.contains(&thing.run));
        let news: BTreeSet<String> = others
            .filter(|thing| known.insert(thing.run.clone()))
            .map(|thing| thing.run.to_string())
            .collect();
        if news.is_empty() {
            return Ok(());
        }
        let runs = if news.len() == 1 { "run" } else { "runs" };
        let were = if news.len() == 1 { "was" } else { "were" };
        let names: Vec<String> = news.into_iter().collect();
        let text = format!(
            "{runs} {} {were} under way on this host at the same time: runs disturb each other's \
             numbers",
            names.join(", ")
        );
        self.remark(store, &text)
    }

    /// Warn before the first trial of work on the host that would be in its way.
    fn look_around(&self, store: &Store, header: &RunHeader) -> Result<(), LabError> {
        if header.study.stack.simulated().is_some() {
            return Ok(());
        }
        let programs = rookery_monitor::look_around(LOOK_AROUND);
        match rookery_stats::busy_host(&programs, header.host.facts.size()) {
            Some(text) => self.remark(store, &format!("before the first trial {text}")),
            None => Ok(()),
        }
    }

    fn conduct_trials(
        &self,
        labs: &mut LabPool,
        store: &mut Store,
        left: Vec<Trial>,
        drivers: &mut Vec<NumberedDriver<'_>>,
        others: &mut HashSet<RunId>,
    ) -> Result<(), LabError> {
        let mut header = store.header()?;
        let mut left = VecDeque::from(left);
        let mut rest = Rest::new(&header.study);
        loop {
            if changes::make(&self.changes, store, self.listener)? {
                header = store.header()?;
                follow(&mut left, store)?;
            }
            let Some(trial) = &left.pop_front() else {
                break;
            };
            self.remark_on_others(store, others)?;
            rest.take(self.stop, self.listener);
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let end = match self.conduct_trial(labs, store, &header, trial, drivers) {
                Ok(end) => end,
                Err(error) => {
                    let when = format!("in trial {}", trial.id);
                    self.unless_stopped(store, &when, error)?;
                    store.reset_running()?;
                    continue;
                }
            };
            match end {
                TrialEnd::Ended(record) => {
                    tracing::info!(trial = trial.id, outcome = ?record.outcome, "trial ended");
                    store.end_trial(trial.id, &now(), &record)?;
                    (self.listener)(&ended(trial.id, &record));
                    // At once, while the block is still open.
                    if record.outcome == Outcome::Void
                        && let Some(again) = growth::retry(store, trial, self.listener)?
                    {
                        left.push_front(again);
                    }
                }
                TrialEnd::DriverLost(record, lost) => {
                    store.end_trial(trial.id, &now(), &record)?;
                    (self.listener)(&ended(trial.id, &record));
                    if let Some(again) = growth::retry_elsewhere(store, trial, self.listener)? {
                        left.push_front(again);
                    }
                    self.go_on_without(store, &header, drivers, lost)?;
                }
                TrialEnd::Stopped(reasons) => {
                    store.reset_running()?;
                    self.note_interruption(store, &format!("in trial {}", trial.id), &reasons)?;
                }
                TrialEnd::Left(record, error) => {
                    if record.outcome == Outcome::Failed {
                        // By the same fault of the host, as like as not: it is performed again.
                        store.reset_running()?;
                    } else {
                        store.end_trial(trial.id, &now(), &record)?;
                        (self.listener)(&ended(trial.id, &record));
                    }
                    return Err(LabError::Left(error));
                }
            }
        }
        Ok(())
    }

    pub(crate) fn conduct_trial(
        &self,
        labs: &mut LabPool,
        store: &Store,
        header: &RunHeader,
        trial: &Trial,
        drivers: &[NumberedDriver<'_>],
    ) -> Result<TrialEnd, LabError> {
        let plan = &header.plan;
        let point = point_of(plan, trial)?;
        let (id, repeat) = (trial.id, trial.repeat);
        let _span = tracing::info_span!("trial", id, point = %point.label(), repeat).entered();
        let study = plan.study_of(point);
        let parts = plan.parts(point);
        let shapes: Vec<&LabShape> = parts.iter().map(|(_, study)| &study.guest.lab).collect();
        let contexts: Vec<LabContext<'_>> = labs
            .open(&shapes)?
            .into_iter()
            .map(|(lab, dirs)| LabContext {
                lab,
                dirs,
                program: &self.program,
                stop: self.stop,
                listener: self.listener,
                confirmed: &self.confirmed,
            })
            .collect();
        let context = *contexts
            .first()
            .ok_or(LabError::NoPoint { trial: trial.id })?;
        let runner = TrialRunner {
            context,
            plan,
            run: &context.dirs.run,
            host: header.host.facts.size(),
            labs: self.labs,
            drivers,
        };
        if let Some(system) = study.stack.simulated() {
            store.begin_trial(trial.id, &now())?;
            return simulated::compute_trial(&runner, trial, point, system);
        }
        if study.measure == Measure::LoadTime {
            let load = runner.prepare_load(trial, point, study)?;
            store.begin_trial(trial.id, &now())?;
            return runner.perform_load(&load);
        }
        let mut prepared = runner.prepare(trial, point, &contexts)?;
        let began = Instant::now();
        let calibrated = runner.calibrate(store, &mut prepared);
        store.begin_trial(trial.id, &now())?;
        match calibrated {
            Ok(()) => runner.perform(&prepared),
            Err(Failure::Trial(error)) if self.stop.load(Ordering::Relaxed) => {
                let told = !error.is_stop();
                Ok(TrialEnd::Stopped(
                    told.then(|| reason(&error)).into_iter().collect(),
                ))
            }
            Err(Failure::Trial(error)) => {
                Ok(TrialEnd::Ended(Box::new(failed(&reason(&error), 0.0))))
            }
            Err(Failure::Run(LabError::DriverLost { host, reason })) => {
                let lost = LostDriver { host, reason };
                Ok(TrialEnd::DriverLost(Box::new(lost.record(began)), lost))
            }
            Err(Failure::Run(error)) => Err(error),
        }
    }

    /// Let the other drivers carry the users of a lost one from now on.
    ///
    /// # Errors
    /// When there are no others.
    fn go_on_without(
        &self,
        store: &Store,
        header: &RunHeader,
        drivers: &mut Vec<NumberedDriver<'_>>,
        lost: LostDriver,
    ) -> Result<(), LabError> {
        let is_lost = |driver: &NumberedDriver<'_>| driver.remote.name() == lost.host;
        let lease = drivers.iter().find(|driver| is_lost(driver));
        let lease = lease.map_or(Duration::ZERO, |driver| driver.remote.lease());
        drivers.retain(|driver| !is_lost(driver));
        if drivers.is_empty() {
            return Err(lost.into());
        }
        let left: Vec<&str> = drivers.iter().map(|driver| driver.remote.name()).collect();
        self.remark(store, &lost.note(&left))?;
        // It reaches a system that runs already without a way of the trial's.
        if header.study.guest.kind() == GuestKind::External {
            let end = Instant::now() + lease;
            while Instant::now() < end && !self.stop.load(Ordering::Relaxed) {
                thread::sleep(LOOK);
            }
        }
        Ok(())
    }

    /// Give the error back, unless the user has stopped the run: then it is kept as a note.
    fn unless_stopped(&self, store: &Store, when: &str, error: LabError) -> Result<(), LabError> {
        if !self.stop.load(Ordering::Relaxed) || matches!(error, LabError::Store(_)) {
            return Err(error);
        }
        let told = !error.is_stop();
        let reasons: Vec<String> = told.then(|| reason(&error)).into_iter().collect();
        self.note_interruption(store, when, &reasons)
    }

    /// Keep that the user stopped the run, and what went wrong meanwhile.
    fn note_interruption(
        &self,
        store: &Store,
        when: &str,
        reasons: &[String],
    ) -> Result<(), LabError> {
        let mut text = format!("the run was interrupted {when}");
        if !reasons.is_empty() {
            text += &format!(", which ended with: {}", reasons.join("; "));
            tracing::warn!("{text}");
            (self.listener)(&Event::Remark { text: text.clone() });
        }
        Ok(store.note(&now(), &text)?)
    }
}

/// The point of a trial.
fn point_of<'p>(plan: &'p Plan, trial: &Trial) -> Result<&'p Point, LabError> {
    plan.points
        .iter()
        .find(|point| point.id == trial.point)
        .ok_or(LabError::NoPoint { trial: trial.id })
}

/// Take in a plan that was changed: what was skipped is left out, what was added comes last.
fn follow(left: &mut VecDeque<Trial>, store: &Store) -> Result<(), LabError> {
    let now = planned(store)?;
    left.retain(|trial| now.iter().any(|other| other.id == trial.id));
    let known: HashSet<u32> = left.iter().map(|trial| trial.id).collect();
    left.extend(now.into_iter().filter(|trial| !known.contains(&trial.id)));
    Ok(())
}

fn summarise(dir: &RunDir, store: &Store, listener: &Listener<'_>) -> Result<Summary, LabError> {
    let rows = store.trials()?;
    let count =
        |status: TrialStatus| count_u32(rows.iter().filter(|row| row.status == status).count());
    let summary = Summary {
        directory: dir.path().to_owned(),
        done: count(TrialStatus::Done),
        void: count(TrialStatus::Void),
        failed: count(TrialStatus::Failed),
        left: count(TrialStatus::Planned) + count(TrialStatus::Running),
        unfinished: !growth::complete(store)?,
    };
    listener(&Event::RunEnded {
        done: summary.done,
        void: summary.void,
        failed: summary.failed,
        left: summary.left,
    });
    Ok(summary)
}
