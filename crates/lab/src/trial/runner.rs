//! The life of a trial: guests are made, started, loaded, audited and removed.

use std::{fs::File, path::Path, time::Instant};

use rookery_guest::GuestError;
use rookery_stack::{EffectiveSetting, Stack, StackError};
use rookery_store::{Store, TrialRecord};
use rookery_study::{GuestKind, Point, Study, Trial};

use super::{
    casualties::{casualties, is_casualty},
    context::{TrialContext, TrialRunner},
    judgement::{Evidence, audit, judge, texts},
    load::observe,
    placement,
    record::{failed, logs, reason, tunings},
};
use crate::{
    error::{Failure, LabError},
    event::Event,
    guest_set::GuestSet,
    observed::Observed,
    workloads::{self, Calibration},
};

/// How a trial ended.
pub(crate) enum TrialEnd {
    /// It was performed, well or not.
    Ended(Box<TrialRecord>),
    /// The user stopped it, and nothing of it counts; with what went wrong meanwhile.
    Stopped(Vec<String>),
    /// It was performed, but something of its guests stays on the host, so that every later trial
    /// would fail: the run cannot go on.
    Left(Box<TrialRecord>, GuestError),
}

impl<'a> TrialRunner<'a> {
    /// The template of a trial's stack, built or found.
    ///
    /// # Errors
    /// When it cannot be built, or the user wants no more.
    pub(crate) fn prepare(
        &self,
        trial: &'a Trial,
        point: &'a Point,
        study: &'a Study,
        stack: &dyn Stack,
    ) -> Result<TrialContext<'a>, LabError> {
        Ok(TrialContext {
            trial,
            point,
            study,
            stack: self.context.build(stack, point.only_group().database)?,
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
        let calibration =
            workloads::calibration(self.plan, trial.point, trial.study, &trial.stack, store)?;
        let Some(mut calibration) = calibration else {
            return Ok(());
        };
        if !calibration.apply_known(&mut trial.stack) {
            let mut guests = GuestSet::hold(self.context, trial.study, self.run)?;
            let searched = self.search(&mut calibration, trial, &mut guests);
            let closed = guests.close();
            searched?;
            closed?;
            calibration.keep(store, &mut trial.stack)?;
        }
        Ok(())
    }

    fn search(
        &self,
        calibration: &mut Calibration,
        trial: &mut TrialContext<'_>,
        guests: &mut GuestSet<'_>,
    ) -> Result<(), Failure> {
        while calibration.next_round(&mut trial.stack) {
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
        guests.bring_up(trial.study, &trial.stack, trial.point)?;
        let stack = trial.stack.guests();
        guests.each(|_, context, guest| stack.warm(context, guest))?;
        let observed = observe(self, trial, guests)?;
        guests.remove().map_err(LabError::Left)?;
        Ok(observed)
    }

    /// Perform one trial from clone to removal.
    ///
    /// # Errors
    /// What does not concern this trial alone: no driver, no host settings.
    pub(crate) fn perform(&self, trial: &TrialContext<'_>) -> Result<TrialEnd, LabError> {
        let mut guests = GuestSet::hold(self.context, trial.study, self.run)?;
        self.report_start(trial.trial, trial.point);
        write_out(&trial.stack.guests().template().root);
        let began = Instant::now();
        let record = match self.measure(trial, &mut guests) {
            Ok(record) => record,
            Err(Failure::Trial(error)) => TrialRecord {
                logs: logs(guests.guests()),
                ..failed(&reason(&error), began.elapsed().as_secs_f64())
            },
            Err(Failure::Run(error)) => return Err(error),
        };
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
        let times = guests.bring_up(trial.study, &trial.stack, trial.point)?;
        let ready_s = times.ready.as_secs_f64();
        (self.context.listener)(&Event::GuestsReady {
            trial: trial.trial.id,
            guests: trial.point.guests(),
            seconds: ready_s,
        });
        let stack = trial.stack.guests();
        tracing::debug!("guests are warmed, their settings read");
        let at_start = guests.each(|index, context, guest| {
            stack.warm(context, guest)?;
            trial.settings(context, guest, index)
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
            measurement,
            seen,
            silent,
        } = observed;
        let starved = casualties(
            guests.guests(),
            &seen.deaths,
            trial.point.only_group().memory_mib,
        );
        // The dead cannot be asked, and of a guest that is too busy to answer the audit matters
        // more.
        let at_end = guests.try_each(|index, context, guest| {
            if is_casualty(guest.name(), &seen.deaths, &starved) {
                return Ok(Vec::new());
            }
            trial.settings(context, guest, index)
        });
        let at_end: Vec<_> = at_end.into_iter().map(Result::unwrap_or_default).collect();
        let stack = trial.stack.guests();
        tracing::debug!("guests are audited");
        let found = guests.try_each(|_, context, guest| {
            let died = is_casualty(guest.name(), &seen.deaths, &starved);
            stack.audit(context, guest, died)
        });
        let audits = measurement
            .guests
            .iter()
            .zip(found)
            .map(|(measured, found)| audit(measured, found, &seen.deaths))
            .collect();
        let mut tunings = tunings(guests.guests(), at_start, &at_end);
        tunings.extend(silent.as_deref().map(workloads::silent_tuning));
        let bound = matches!(
            trial.study.guest.kind(),
            GuestKind::Container | GuestKind::Vm
        );
        let names = guests.names();
        tunings.extend(placement::tunings(
            trial.point,
            &names,
            &seen.placement,
            bound,
        ));
        // Of a machine the emulator's idle threads are among those that are looked at.
        let strayed = match trial.study.guest.kind() {
            GuestKind::Bare | GuestKind::Container => {
                placement::faults(trial.point, &names, &seen.placement)
            }
            GuestKind::Vm | GuestKind::Fake => Vec::new(),
        };
        judge(
            trial.study,
            Evidence {
                measurement,
                resources: seen.resources,
                machines: seen.machines,
                clock_step: seen.clock_step,
                audits,
                deaths: seen.deaths,
                starved,
                logs: logs(guests.guests()),
                strayed,
                tunings,
                ready_s,
            },
        )
    }
}

/// Write out what other work left dirty (a build, the trial before): else the kernel does so within
/// the window, and commits wait behind it.
fn write_out(path: &Path) {
    // Without it the numbers are noisier, not wrong.
    let _ = File::open(path).map(rustix::fs::syncfs);
}
