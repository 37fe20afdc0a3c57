//! Trials that load databases under the clock, without users.

use std::time::Instant;

use rookery_stack::{DatabaseLoader, OpenStack};
use rookery_store::{LoadPlace, LoadRecord, Outcome, TrialRecord};
use rookery_study::{Point, Study, Trial};

use super::{
    context::TrialRunner,
    record::{failed, logs, reason},
    runner::TrialEnd,
};
use crate::{
    error::{LabError, TrialError},
    guest_set::GuestSet,
};

/// A trial that loads the databases of its guests.
pub(crate) struct LoadTrial<'a> {
    pub(crate) trial: &'a Trial,
    pub(crate) point: &'a Point,
    pub(crate) study: &'a Study,
    pub(crate) loader: Box<dyn DatabaseLoader>,
}

impl<'a> TrialRunner<'a> {
    /// All that the guests of a trial stand on which are to be loaded, built or found.
    ///
    /// # Errors
    /// When a part cannot be built, or the user wants no more.
    pub(crate) fn prepare_load(
        &self,
        trial: &'a Trial,
        point: &'a Point,
        study: &'a Study,
    ) -> Result<LoadTrial<'a>, LabError> {
        let OpenStack::Guests(stack) = rookery_stack::open(study)? else {
            return Err(LabError::NotSimulated);
        };
        let data = point.only_group().database;
        Ok(LoadTrial {
            trial,
            point,
            study,
            loader: self.context.loader(stack.as_ref(), data)?,
        })
    }

    /// Load the databases of all guests of a point, at the same time.
    ///
    /// # Errors
    /// What does not concern this trial alone: no host settings.
    pub(crate) fn perform_load(&self, load: &LoadTrial<'_>) -> Result<TrialEnd, LabError> {
        let mut guests = GuestSet::hold(self.context, load.study, self.run)?;
        self.report_start(load.trial, load.point);
        let began = Instant::now();
        let record = match load_all(load, &mut guests) {
            Ok(loads) => done(loads, &guests),
            Err(error) => TrialRecord {
                logs: logs(guests.guests()),
                outputs: Vec::new(),
                ..failed(&reason(&error), began.elapsed().as_secs_f64())
            },
        };
        self.finish(guests, record, began)
    }
}

fn load_all(
    load: &LoadTrial<'_>,
    guests: &mut GuestSet<'_>,
) -> Result<Vec<LoadRecord>, TrialError> {
    guests.clone_empty(load.study, &*load.loader, load.point)?;
    let loaded = guests.each_alone(|index, context, guest| {
        let planned = load.point.guest_at(index);
        let cpus = planned.map_or(&[][..], |planned| planned.cpus());
        load.loader.load(context, guest, cpus)
    })?;
    let database = load.point.only_group().database.to_string();
    let record = |(guest, load)| LoadRecord {
        place: LoadPlace::Guest(guest),
        database: database.clone(),
        load,
    };
    Ok(guests.names().into_iter().zip(loaded).map(record).collect())
}

fn done(loads: Vec<LoadRecord>, guests: &GuestSet<'_>) -> TrialRecord {
    TrialRecord {
        outcome: Outcome::Done,
        reasons: Vec::new(),
        measurement: None,
        verdict: None,
        further: Vec::new(),
        other_programs: Vec::new(),
        kernel: Vec::new(),
        resources: Vec::new(),
        machines: Vec::new(),
        audits: Vec::new(),
        logs: logs(guests.guests()),
        outputs: Vec::new(),
        tunings: Vec::new(),
        loads,
        ready_s: 0.0,
    }
}
