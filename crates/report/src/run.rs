//! A whole run in memory.

use rookery_stats::Measurement;
use rookery_store::{Attempt, Note, RunHeader, Store, StoreError, TrialRecord, TrialRow, TrialStatus};
use rookery_study::{Arrivals, OpenLoad, Study, Visit};

/// Everything that the store of a run holds.
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
}

/// One trial.
#[derive(Clone, Debug)]
pub struct TrialData {
    /// Where it stands.
    pub row: TrialRow,
    /// What it yielded, if it ended.
    pub record: Option<TrialRecord>,
}

impl Run {
    /// Read a run.
    ///
    /// # Errors
    /// When a table is damaged.
    pub fn read(store: &Store) -> Result<Self, StoreError> {
        let with_record = |row: TrialRow| {
            let record = store.record(row.trial.id)?;
            Ok(TrialData { row, record })
        };
        Ok(Self {
            header: store.header()?,
            trials: store.trials()?.into_iter().map(with_record).collect::<Result<_, StoreError>>()?,
            attempts: store.attempts()?,
            notes: store.notes()?,
        })
    }

    /// How many trials stand so.
    #[must_use]
    pub fn count(&self, status: TrialStatus) -> usize {
        self.trials.iter().filter(|trial| trial.row.status == status).count()
    }

    /// What a trial performed: the study of its point's variant.
    pub(crate) fn study_of(&self, trial: &TrialData) -> &Study {
        let plan = &self.header.plan;
        let point = plan.points.iter().find(|point| point.id == trial.row.trial.point);
        point.map_or(&self.header.study, |point| plan.study_of(point))
    }

    /// Whether all variants agree in something.
    fn same_in_all_variants<T: PartialEq>(&self, of: impl Fn(&Study) -> T) -> bool {
        let mut variants = self.header.plan.variants.iter().map(|variant| of(&variant.study));
        variants.next().is_none_or(|first| variants.all(|other| other == first))
    }

    /// `Open loop, Poisson arrivals at 200/s, response times from the intended start`.
    fn open_loop(&self, open: &OpenLoad, think: &str) -> String {
        let mut rates: Vec<f64> = self.header.plan.points.iter().filter_map(|point| point.rate_per_s).collect();
        rates.dedup();
        let rate = match rates[..] {
            [rate] => format!("at {}/s", crate::format::trimmed(rate)),
            _ => "at the rate of each point".to_owned(),
        };
        let spacing = match open.arrivals {
            Arrivals::Poisson => "Poisson",
            Arrivals::Uniform => "uniform",
        };
        let stay = match open.visit {
            Visit::Single => String::new(),
            visit => format!(
                ", {} orders of each visitor on average, think time {think} between them",
                crate::format::trimmed(visit.mean_acts())
            ),
        };
        let kind = if stay.is_empty() { "Open" } else { "Partly open" };
        format!("{kind} loop, {spacing} arrivals {rate}{stay}, response times from the intended start")
    }

    /// Loop type and think time, as they stand beside every figure of response times.
    #[must_use]
    pub fn loop_type(&self) -> String {
        let study = &self.header.study;
        if study.load.open.is_some() && !self.same_in_all_variants(|study| (study.load.open.clone(), study.workload.think_time)) {
            return "Open loop, arrivals as the variant says, response times from the intended start".to_owned();
        }
        if !self.same_in_all_variants(|study| (study.workload.think_time, study.workload.pacing)) {
            return "Closed loop, think time as the variant says".to_owned();
        }
        let think = crate::format::seconds(study.workload.think_time.as_secs_f64());
        if let Some(open) = &study.load.open {
            return self.open_loop(open, &think);
        }
        match study.workload.pacing {
            rookery_stats::Pacing::Think => format!("Closed loop, think time {think} on average, after each order"),
            rookery_stats::Pacing::Arrivals => "Arrivals on a schedule that does not wait for answers".to_owned(),
            rookery_stats::Pacing::Cycle => format!("Closed loop, one order per user every {think} (cycle time)"),
        }
    }
}

impl TrialData {
    /// Its measurement, if it ended well: only these are summarised.
    #[must_use]
    pub fn valid(&self) -> Option<(&TrialRecord, &Measurement)> {
        let record = self.record.as_ref().filter(|_| self.row.status == TrialStatus::Done)?;
        Some((record, record.measurement.as_ref()?))
    }

    /// Short name: `trial 3: point 2, repeat 1`.
    #[must_use]
    pub fn label(&self) -> String {
        let trial = &self.row.trial;
        format!("trial {}: point {}, repeat {}", trial.id, trial.point, trial.repeat)
    }
}
