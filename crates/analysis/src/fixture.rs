//! Runs made in memory, for tests: study and plan are real, the records follow a formula.

use rookery_store::{RunHeader, TrialRecord, fixture::done};
use rookery_study::{Point, Trial};

use crate::{Run, TrialData};

/// The run of a header in which every planned trial is done, with what `record` makes of it.
pub(crate) fn run(
    header: RunHeader,
    mut record: impl FnMut(&RunHeader, &Point, &Trial) -> TrialRecord,
) -> Run {
    let trials = header
        .plan
        .trials
        .iter()
        .map(|trial| {
            let point = header
                .plan
                .points
                .iter()
                .find(|point| point.id == trial.point)
                .expect("a planned point");
            TrialData {
                row: done(trial),
                record: Some(record(&header, point, trial)),
                place: 0,
            }
        })
        .collect();
    Run {
        trials,
        attempts: Vec::new(),
        notes: Vec::new(),
        pools: Vec::new(),
        groups: Vec::new(),
        header,
    }
}
