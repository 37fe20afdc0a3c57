//! A whole run in memory.

use rookery_stats::Measurement;
use rookery_store::{
    Attempt, Note, PoolSizing, RunHeader, Store, StoreError, TrialRecord, TrialRow, TrialStatus,
};
use rookery_study::{Purpose, Study};

use crate::{grouped::GroupedPoint, reduce::Reducer};

/// Everything that the store of a run holds; long series of resources are merged to shorter ones.
#[derive(Clone, Debug)]
pub struct Run {
    /// Study, plan, host.
    pub header: RunHeader,
    /// All trials, in the order of execution.
    pub trials: Vec<TrialData>,
    /// Every begin of a trial.
    pub attempts: Vec<Attempt>,
    /// Remarks on the whole run.
    pub notes: Vec<Note>,
    /// Buffer pools that calibration sized to hold a hit ratio, by point.
    pub pools: Vec<PoolSizing>,
    /// Points with groups as they were planned: their groups stand among the points of the plan,
    /// each as a point of its own.
    pub groups: Vec<GroupedPoint>,
}

/// One trial.
#[derive(Clone, Debug)]
pub struct TrialData {
    /// Where it stands.
    pub row: TrialRow,
    /// What it yielded, if it ended.
    pub record: Option<TrialRecord>,
    /// Place of its group among those of its trial, from zero: a trial of several groups stands
    /// here once for each.
    pub place: usize,
}

impl Run {
    /// Read a run as it was planned.
    ///
    /// # Errors
    /// When a table is damaged.
    pub fn read_whole(store: &Store) -> Result<Self, StoreError> {
        let with_record = |row: TrialRow| {
            let record = record(store, row.trial.id)?;
            Ok(TrialData {
                row,
                record,
                place: 0,
            })
        };
        Ok(Self {
            header: store.header()?,
            trials: store
                .trials()?
                .into_iter()
                .map(with_record)
                .collect::<Result<_, StoreError>>()?,
            attempts: store.attempts()?,
            notes: store.notes()?,
            pools: store.pools()?,
            groups: Vec::new(),
        })
    }

    /// How many trials stand so.
    #[must_use]
    pub fn count(&self, status: TrialStatus) -> usize {
        self.whole_trials()
            .filter(|trial| trial.row.status == status)
            .count()
    }

    /// Every trial once, whatever the number of its groups.
    pub fn whole_trials(&self) -> impl Iterator<Item = &TrialData> {
        self.trials.iter().filter(|trial| trial.place == 0)
    }

    /// What a trial performed: the study of its point's variant.
    #[must_use]
    pub fn study_of(&self, trial: &TrialData) -> &Study {
        let plan = &self.header.plan;
        let point = plan
            .points
            .iter()
            .find(|point| point.id == trial.row.trial.point);
        point.map_or(&self.header.study, |point| plan.study_of(point))
    }
}

/// What a trial yielded, with at most about [`MOST_SAMPLES`](crate::reduce::MOST_SAMPLES) samples
/// of resources.
fn record(store: &Store, trial: u32) -> Result<Option<TrialRecord>, StoreError> {
    let Some(mut record) = store.outline(trial)? else {
        return Ok(None);
    };
    let window = record.measurement.as_ref().map(|measured| measured.window);
    let mut reducer = Reducer::new(store.resource_count(trial)?, window);
    store.visit_resources(trial, |sample| reducer.push(sample))?;
    record.resources = reducer.finish();
    record.machines = store.machines(trial)?;
    for guest in record.guests_mut() {
        guest.series = store.seconds(trial, &guest.guest)?;
    }
    Ok(Some(record))
}

impl TrialData {
    /// What it yielded, if it ended well; nothing of a pilot, which stands in no number of the run.
    #[must_use]
    pub fn done(&self) -> Option<&TrialRecord> {
        let counts =
            self.row.status == TrialStatus::Done && self.row.trial.purpose != Purpose::Pilot;
        self.record.as_ref().filter(|_| counts)
    }

    /// Its measurement, if it ended well: only these are summarised.
    #[must_use]
    pub fn valid(&self) -> Option<(&TrialRecord, &Measurement)> {
        let record = self.done()?;
        Some((record, record.measurement.as_ref()?))
    }

    /// Short name: `trial 3: point 2, repeat 1`.
    #[must_use]
    pub fn label(&self) -> String {
        let trial = &self.row.trial;
        format!(
            "trial {}: point {}, repeat {}",
            trial.id, trial.point, trial.repeat
        )
    }
}
