//! What a trial is about, and what all trials of a run share.

use rookery_guest::Guest;
use rookery_host::RunId;
use rookery_stack::{BuiltStack, EffectiveSetting, StackContext, StackError};
use rookery_study::{Plan, Point, Study, Trial};

use crate::{context::LabContext, storage};

/// Everything that the trials of one run in one lab share.
#[derive(Clone, Copy)]
pub(crate) struct TrialRunner<'a> {
    pub(crate) context: LabContext<'a>,
    pub(crate) plan: &'a Plan,
    pub(crate) run: &'a RunId,
}

/// One trial: its point, what its variant asks for, its stack with a template.
pub(crate) struct TrialContext<'a> {
    pub(crate) trial: &'a Trial,
    pub(crate) point: &'a Point,
    pub(crate) study: &'a Study,
    pub(crate) stack: BuiltStack,
}

impl TrialContext<'_> {
    /// All settings in force in a guest: those of its stack and of its storage.
    pub(super) fn settings(
        &self,
        context: &StackContext<'_>,
        guest: &dyn Guest,
        index: usize,
    ) -> Result<Vec<EffectiveSetting>, StackError> {
        let stack = self.stack.guests();
        let mut settings = stack.settings(context, guest, self.point, index)?;
        settings.extend(storage::readings(guest));
        Ok(settings)
    }
}
