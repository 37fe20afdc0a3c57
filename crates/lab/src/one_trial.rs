//! One trial of a run that another machine conducts.

use std::path::PathBuf;

use rookery_guest::RunDirs;
use rookery_store::{Outcome, RunHeader, Store};

use crate::{
    clock::now, conduct::Conductor, error::LabError, facts::check_plan, far_users,
    lab_pool::LabPool, run_dir::RunDir, trial::TrialEnd,
};

/// How a trial for another machine ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OneTrialEnd {
    /// It is over.
    Ended {
        /// The directory whose store has it, no longer held.
        directory: PathBuf,
        /// How it ended.
        outcome: Outcome,
    },
    /// The controller or the user stopped it; the directory holds nothing of worth.
    Stopped(PathBuf),
}

impl Conductor<'_> {
    /// Perform one trial of the run that `header` describes, in a run directory of its own, whose
    /// store has the whole plan and the record of this trial alone.
    ///
    /// # Errors
    /// When the study is not one of the grammar, this host cannot run it, or something fails that
    /// does not concern the trial alone; nothing stays on the host then but the directory.
    pub fn perform_one(&self, header: &RunHeader, trial: u32) -> Result<OneTrialEnd, LabError> {
        let planned = header
            .plan
            .trials
            .iter()
            .find(|planned| planned.id == trial);
        let planned = planned.ok_or(LabError::NoPoint { trial })?;
        std::fs::create_dir_all(&self.runs)
            .map_err(|error| LabError::file("make the directory of runs", &self.runs, error))?;
        let dir = RunDir::create(&self.runs, "trial")?;
        self.keep_to_grammar(header, &dir.store())?;
        far_users::check(&header.plan, self.labs.drivers())?;
        far_users::check_ways(&header.plan, self.labs.drivers())?;
        check_plan(&header.plan, &self.templates)?;
        let header = RunHeader {
            run_id: dir.run().to_string(),
            ..header.clone()
        };
        let store = Store::create(dir.store(), &header)?;
        let mut labs = LabPool::new(RunDirs {
            run: dir.run().clone(),
            dir: dir.guests(),
            templates: self.templates.clone(),
        });
        let drivers = self.labs.numbered_drivers();
        let conducted = self.conduct_trial(&mut labs, &store, &header, planned, &drivers);
        let closed = labs.close();
        let end = conducted?;
        closed?;
        let path = dir.path().to_owned();
        match end {
            // Whoever has the drivers knows which of them was lost.
            TrialEnd::Ended(record) | TrialEnd::DriverLost(record, _) => {
                store.end_trial(trial, &now(), &record)?;
                Ok(OneTrialEnd::Ended {
                    directory: path,
                    outcome: record.outcome,
                })
            }
            TrialEnd::Stopped(_) => Ok(OneTrialEnd::Stopped(path)),
            TrialEnd::Left(_, error) => Err(LabError::Left(error)),
        }
    }
}
