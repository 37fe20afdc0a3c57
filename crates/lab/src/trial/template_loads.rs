//! What is known of the loads of the templates that a trial stands on.

use rookery_store::{LoadPlace, LoadRecord};

use super::context::TrialContext;
use crate::group_context::GroupContext;

/// How the databases of a trial's templates were loaded, group by group; nothing of those without.
pub(super) fn of_templates(trial: &TrialContext<'_>) -> Vec<LoadRecord> {
    let record = |group: &GroupContext<'_>| {
        let template = group.stack.guests().origin().template()?;
        Some(LoadRecord {
            place: LoadPlace::Template {
                digest: template.digest.clone(),
                built: template.built,
            },
            database: group.point.only_group().database.to_string(),
            load: template.load?,
        })
    };
    trial.groups.iter().filter_map(record).collect()
}
