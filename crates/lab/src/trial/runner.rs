//! The life of a trial: guests are made, started, loaded, audited and removed.

use std::{fs::File, path::Path, time::Instant};

use rookery_guest::{GuestError, VolumeLook};
use rookery_host::residence::Residence;
use rookery_monitor::StorageLoss;
use rookery_stack::{AuditScope, EffectiveSetting, Found, OpenStack, StackError};
use rookery_stats::{GuestMeasurement, Measurement};
use rookery_store::{GuestAudit, Reason, Store, TrialRecord, Tuning};
use rookery_study::{GuestKind, Point, Trial};
use rookery_workload::Counters;

use super::{
    casualties::{Casualties, starved_before_load, storage_reasons},
    context::{TrialContext, TrialRunner},
    judgement::{Evidence, Measured, Told, audit, judge, texts},
    load::observe,
    placement,
    record::{failed, logs, reason, tunings, without_driver},
    template_loads::of_templates,
};
use crate::{
    context::LabContext,
    elsewhere::LostDriver,
    error::{Failure, LabError, TrialError},
    event::Event,
    group_context::GroupContext,
    guest_set::GuestSet,
    observed::Observed,
    tiers::{called_by, part_of},
    trial_load::DriverCpu,
    workloads::{self, Calibration},
};

/// How a trial ended.
pub(crate) enum TrialEnd {
    /// It was performed, well or not.
    Ended(Box<TrialRecord>),
    /// It is void, because the driver on another machine was lost meanwhile.
    DriverLost(Box<TrialRecord>, LostDriver),
    /// The user stopped it, and nothing of it counts; with what went wrong meanwhile.
    Stopped(Vec<String>),
    /// It was performed, but something of its guests stays on the host, so that every later trial
    /// would fail: the run cannot go on.
    Left(Box<TrialRecord>, GuestError),
}

impl LostDriver {
    /// The record of the trial that it drove.
    pub(crate) fn record(&self, began: Instant) -> TrialRecord {
        without_driver(&self.host, &self.reason, began.elapsed().as_secs_f64())
    }
}

impl<'a> TrialRunner<'a> {
    /// The groups of a trial with the templates of their stacks, built or found, each in its lab.
    ///
    /// # Errors
    /// When one cannot be built, or the user wants no more.
    pub(crate) fn prepare(
        &self,
        trial: &'a Trial,
        point: &'a Point,
        labs: &[LabContext<'a>],
    ) -> Result<TrialContext<'a>, LabError> {
        let (mut groups, mut before) = (Vec::new(), 0);
        let parts = self.plan.parts(point).into_iter().zip(labs);
        for (index, ((part, study), context)) in parts.enumerate() {
            let of_stack = part_of(point, index);
            let OpenStack::Guests(stack) = rookery_stack::open_part(study, of_stack)? else {
                return Err(LabError::NotSimulated);
            };
            let built = context.build(stack.as_ref(), part.only_group().database)?;
            let guests = part.guests() as usize;
            groups.push(GroupContext {
                point: part,
                study,
                stack: built,
                context: *context,
                driver_cpus: point.driver_cpus(index, &self.plan.driver_cpus),
                before,
                lower_numbers: self.labs.guests_before() + before,
                tier: point.tier_of(index),
            });
            before += guests;
        }
        Ok(TrialContext {
            trial,
            point,
            groups,
        })
    }

    /// Find what must be known of the guests before the first trial of their point, by trials that
    /// leave no record, or take it from the store.
    ///
    /// # Errors
    /// When a trial fails, or something that every trial needs.
    pub(crate) fn calibrate(
        &self,
        store: &Store,
        trial: &mut TrialContext<'_>,
    ) -> Result<(), Failure> {
        // Groups of a layout are never calibrated: the plan refuses it.
        let [group] = trial.groups.as_mut_slice() else {
            return Ok(());
        };
        let (point, study) = (&group.point, group.study);
        let calibration = workloads::calibration(self.plan, point, study, &group.stack, store)?;
        let Some(mut calibration) = calibration else {
            return Ok(());
        };
        if !calibration.apply_known(&mut group.stack) {
            let mut guests = GuestSet::hold(self.context, study, self.run)?;
            let searched = self.search(&mut calibration, trial, &mut guests);
            let closed = guests.close();
            searched?;
            closed?;
            if let Some(group) = trial.groups.first_mut() {
                calibration.keep(store, &mut group.stack)?;
            }
        }
        Ok(())
    }

    fn search(
        &self,
        calibration: &mut Calibration,
        trial: &mut TrialContext<'_>,
        guests: &mut GuestSet<'_>,
    ) -> Result<(), Failure> {
        loop {
            let stack = trial.groups.first_mut().map(|group| &mut group.stack);
            if !stack.is_some_and(|stack| calibration.next_round(stack)) {
                break;
            }
            let round = self.calibration_round(trial, guests);
            if self.context.stopped() {
                return Err(round.err().unwrap_or_else(|| StackError::Stopped.into()));
            }
            (self.context.listener)(&calibration.end_round(round)?);
        }
        Ok(())
    }

    /// The whole of a trial but for its audit and its record.
    fn calibration_round(
        &self,
        trial: &TrialContext<'_>,
        guests: &mut GuestSet<'_>,
    ) -> Result<Observed, Failure> {
        guests.bring_up(&trial.groups)?;
        guests.each(&trial.groups, |group, _, context, guest| {
            group.stack.guests().warm(context, guest)
        })?;
        let observed = observe(self, trial, guests)?;
        guests.remove().map_err(LabError::Left)?;
        Ok(observed)
    }

    /// Perform one trial from clone to removal.
    ///
    /// # Errors
    /// What does not concern this trial alone: no driver, no host settings.
    pub(crate) fn perform(&self, trial: &TrialContext<'_>) -> Result<TrialEnd, LabError> {
        let study = trial.study().ok_or(LabError::NothingToRehearse)?;
        let mut guests = GuestSet::hold(self.context, study, self.run)?;
        self.report_start(trial.trial, trial.point);
        for group in &trial.groups {
            let template = group.stack.guests().origin().template();
            template
                .into_iter()
                .for_each(|template| write_out(&template.root));
        }
        let began = Instant::now();
        let record = match self.measure(trial, &mut guests) {
            Ok(record) => TrialRecord {
                loads: of_templates(trial),
                ..record
            },
            Err(Failure::Trial(error)) => self.without_load(trial, &guests, &error, began),
            Err(Failure::Run(LabError::DriverLost { host, reason })) => {
                let lost = LostDriver { host, reason };
                let record = lost.record(began);
                return Ok(match self.finish(guests, record, began)? {
                    TrialEnd::Ended(record) => TrialEnd::DriverLost(record, lost),
                    other => other,
                });
            }
            Err(Failure::Run(error)) => return Err(error),
        };
        self.finish(guests, record, began)
    }

    /// The record of a trial whose guests did not come to their load; storage that does not hold is
    /// named first, then memory that was not enough.
    fn without_load(
        &self,
        trial: &TrialContext<'_>,
        guests: &GuestSet<'_>,
        error: &TrialError,
        began: Instant,
    ) -> TrialRecord {
        let losses = StorageLoss::all(guests.guests(), VolumeLook::Thorough);
        let mut record = failed(&reason(error), began.elapsed().as_secs_f64());
        let starved = starved_before_load(guests.guests(), &limits_mib(trial));
        let named_first = storage_reasons(&losses).into_iter().chain(starved);
        record.reasons.splice(0..0, named_first);
        record.logs = logs(guests.guests());
        record
    }

    /// Remove the guests of a trial, and put the settings of the host back.
    ///
    /// # Errors
    /// When a setting cannot be put back.
    pub(super) fn finish(
        &self,
        mut guests: GuestSet<'_>,
        record: TrialRecord,
        began: Instant,
    ) -> Result<TrialEnd, LabError> {
        let seconds = began.elapsed().as_secs_f64();
        tracing::info!(seconds, reasons = ?record.reasons, "the trial was performed");
        let removed = guests.remove();
        let mut record = Box::new(record);
        record.tunings.extend(guests.host_tunings());
        guests.close()?;
        Ok(match removed {
            Ok(_) if self.context.stopped() => TrialEnd::Stopped(texts(&record.reasons)),
            Ok(_) => TrialEnd::Ended(record),
            Err(error) => TrialEnd::Left(record, error),
        })
    }

    /// Report that a trial begins.
    pub(crate) fn report_start(&self, trial: &Trial, point: &Point) {
        (self.context.listener)(&Event::TrialStarted {
            trial: trial.id,
            point: point.label(),
            repeat: trial.repeat,
        });
    }

    /// Everything between clone and removal.
    fn measure(
        &self,
        trial: &TrialContext<'_>,
        guests: &mut GuestSet<'_>,
    ) -> Result<TrialRecord, Failure> {
        let times = guests.bring_up(&trial.groups)?;
        let ready_s = times.ready.as_secs_f64();
        (self.context.listener)(&Event::GuestsReady {
            trial: trial.trial.id,
            guests: trial.point.guests(),
            seconds: ready_s,
        });
        tracing::debug!("guests are warmed, their settings read");
        let at_start = guests.each(&trial.groups, |group, index, context, guest| {
            group.stack.guests().warm(context, guest)?;
            group.settings(context, guest, index)
        })?;
        let observed = tracing::info_span!("load").in_scope(|| observe(self, trial, guests))?;
        if self.context.stopped() {
            // Nothing of a stopped trial counts: no audit is waited for.
            return Ok(failed("stopped under load", ready_s));
        }
        Ok(self.record(trial, guests, observed, &at_start, ready_s))
    }

    /// Audit the guests, and judge what was measured.
    fn record(
        &self,
        trial: &TrialContext<'_>,
        guests: &mut GuestSet<'_>,
        observed: Observed,
        at_start: &[Vec<EffectiveSetting>],
        ready_s: f64,
    ) -> TrialRecord {
        let Observed {
            measured,
            seen,
            silent,
            driver_cpus,
            drivers,
            outputs,
        } = observed;
        let limits_mib = limits_mib(trial);
        let mut casualties =
            Casualties::after_load(guests.guests(), seen.deaths, seen.storage, &limits_mib);
        // The dead cannot be asked, and of a guest that is too busy to answer the audit matters
        // more.
        let at_end = guests.try_each(&trial.groups, |group, index, context, guest| {
            if casualties.has(guest.name()) {
                return Ok(Vec::new());
            }
            group.settings(context, guest, index)
        });
        let at_end: Vec<_> = at_end.into_iter().map(Result::unwrap_or_default).collect();
        let audits = audits(trial, guests, &measured, &casualties);
        casualties.after_audit(guests.guests(), &audits, &limits_mib);
        let mut tunings = tunings(guests.guests(), at_start, &at_end);
        tunings.extend(silent.as_deref().map(workloads::silent_tuning));
        tunings.extend(drivers);
        let names = guests.names();
        let placed = placed(trial, &names, &seen.placement);
        tunings.extend(placed.tunings);
        judge(Evidence {
            measured: with_studies(trial, measured.into_iter().zip(driver_cpus)),
            resources: seen.resources,
            machines: seen.machines,
            host: Some(self.host),
            other_programs: seen.other_programs,
            kernel: seen.kernel,
            clock_step: seen.clock_step,
            audits,
            casualties,
            logs: logs(guests.guests()),
            outputs,
            strayed: placed.strayed,
            tunings,
            ready_s,
        })
    }
}

/// The memory of each guest, MiB.
fn limits_mib(trial: &TrialContext<'_>) -> Vec<u64> {
    let guests = trial.point.each_guest();
    guests.map(|guest| guest.group.memory_mib).collect()
}

/// What was measured of each group, with the study that judges it.
fn with_studies<'t>(
    trial: &'t TrialContext<'_>,
    measured: impl Iterator<Item = (Measurement, Vec<DriverCpu>)>,
) -> Vec<Measured<'t>> {
    let groups = trial.loaded().zip(measured);
    let with_study = groups.map(|(group, (measurement, driver_cpus))| Measured {
        group: group.name(),
        study: group.study,
        measurement,
        driver_cpus,
    });
    with_study.collect()
}

/// Where guests ran beside their pins.
struct Placed {
    tunings: Vec<Tuning>,
    strayed: Vec<Reason>,
}

fn placed(trial: &TrialContext<'_>, names: &[String], seen: &[Residence]) -> Placed {
    let (mut tunings, mut strayed) = (Vec::new(), Vec::new());
    for group in &trial.groups {
        let kind = group.study.guest.kind();
        let bound = matches!(kind, GuestKind::Container | GuestKind::Vm);
        let range = group.range();
        let names = names.get(range.clone()).unwrap_or_default();
        // Fewer where a sampler failed.
        let seen = seen
            .get(range.start..range.end.min(seen.len()))
            .unwrap_or_default();
        tunings.extend(placement::tunings(&group.point, names, seen, bound));
        // Of a machine the emulator's idle threads are among those that are looked at.
        if matches!(kind, GuestKind::Bare | GuestKind::Container) {
            strayed.extend(placement::faults(&group.point, names, seen));
        }
    }
    Placed { tunings, strayed }
}

/// Look at what the load left in the databases of all guests that have one.
fn audits(
    trial: &TrialContext<'_>,
    guests: &mut GuestSet<'_>,
    measured: &[Measurement],
    casualties: &Casualties,
) -> Vec<GuestAudit> {
    tracing::debug!("guests are audited");
    let found = guests.try_each(&trial.groups, |group, _, context, guest| {
        if group.stack.guests().audit_scope() == AuditScope::Nothing {
            return Ok(Found::default());
        }
        if casualties.device_failed(guest.name()) {
            return Err(StackError::StorageFailed);
        }
        let died = casualties.has(guest.name());
        group.stack.guests().audit(context, guest, died)
    });
    let names = guests.names();
    let mut audits = Vec::new();
    for (index, (name, found)) in names.iter().zip(found).enumerate() {
        let scope = trial
            .group_of(index)
            .map_or(AuditScope::Nothing, |(group, _)| {
                group.stack.guests().audit_scope()
            });
        if scope == AuditScope::Nothing {
            continue;
        }
        let told = told(trial, measured, index, name);
        audits.extend(told.map(|told| audit(&told, found, scope, &casualties.deaths)));
    }
    audits
}

/// What users were told of what the guest at this place holds; nothing of a guest without a
/// database of its own. A guest of a tier holds what the users of all its callers were told.
fn told(
    trial: &TrialContext<'_>,
    measured: &[Measurement],
    index: usize,
    name: &str,
) -> Option<Told> {
    let (group, in_group) = trial.group_of(index)?;
    if group.tier.is_some() {
        return None;
    }
    let told: Vec<&GuestMeasurement> = if group.has_users() {
        guests_of(trial, measured, group)?
            .get(in_group)
            .into_iter()
            .collect()
    } else {
        let place = trial
            .groups
            .iter()
            .position(|other| other.before == group.before);
        let front = trial.groups.iter().find(|other| other.tier == place)?;
        let callers = guests_of(trial, measured, front)?;
        let tier = group.point.guests() as usize;
        let calls = |caller: &usize| called_by(*caller, callers.len(), tier) == in_group;
        let own = (0..callers.len()).filter(calls);
        own.filter_map(|caller| callers.get(caller)).collect()
    };
    let clients = told.first()?.info().clients.plural;
    let counters = Counters::together(told.iter().map(|guest| &guest.counters))?;
    Some(Told {
        guest: name.to_owned(),
        proof: counters.proof(),
        clients,
    })
}

/// What was measured of the guests of a group that has users.
fn guests_of<'m>(
    trial: &TrialContext<'_>,
    measured: &'m [Measurement],
    group: &GroupContext<'_>,
) -> Option<&'m [GuestMeasurement]> {
    let mut loaded = trial.loaded();
    let place = loaded.position(|loaded| loaded.before == group.before)?;
    Some(&measured.get(place)?.guests)
}

/// Write out what other work left dirty (a build, the trial before): else the kernel does so within
/// the window, and commits wait behind it.
fn write_out(path: &Path) {
    // Without it the numbers are noisier, not wrong.
    let _ = File::open(path).map(rustix::fs::syncfs);
}
