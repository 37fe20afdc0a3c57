//! What of a run is left.

use rookery_store::{Store, TrialStatus};
use rookery_study::Trial;

use crate::error::LabError;

/// The trials that are still to be performed, in the order of the plan.
///
/// # Errors
/// When the store cannot be read.
pub(crate) fn planned(store: &Store) -> Result<Vec<Trial>, LabError> {
    let rows = store.trials()?.into_iter();
    Ok(rows
        .filter(|row| row.status == TrialStatus::Planned)
        .map(|row| row.trial)
        .collect())
}
