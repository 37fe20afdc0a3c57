//! One group of guests of a trial, with all that making and loading them needs.

use std::ops::Range;

use rookery_guest::Guest;
use rookery_stack::{BuiltStack, EffectiveSetting, StackContext, StackError};
use rookery_study::{Callers, CpuSet, Point, Study};

use crate::{context::LabContext, storage};

/// One group of a trial: what its variant asks for, its stack with a template.
pub(crate) struct GroupContext<'a> {
    /// The group as a point of its own.
    pub(crate) point: Point,
    pub(crate) study: &'a Study,
    pub(crate) stack: BuiltStack,
    /// Where its guests are made.
    pub(crate) context: LabContext<'a>,
    /// CPUs of the driver that put its load on.
    pub(crate) driver_cpus: CpuSet,
    /// Guests of the groups before it.
    pub(crate) before: usize,
    /// Guests with lower numbers than its own: those, and guests of the trial on other machines.
    pub(crate) lower_numbers: usize,
    /// The place of the group that its guests call.
    pub(crate) tier: Option<usize>,
}

impl GroupContext<'_> {
    /// Its name; empty where guests are all alike.
    pub(crate) fn name(&self) -> &str {
        &self.point.only_group().name
    }

    /// Whether users ask its guests for work; otherwise others do.
    pub(crate) fn has_users(&self) -> bool {
        self.point.only_group().callers == Callers::Users
    }

    /// Names of its guests.
    pub(crate) fn names(&self) -> Vec<String> {
        let guests = 1..=self.point.guests() as usize;
        guests
            .map(|place| format!("g{}", self.lower_numbers + place))
            .collect()
    }

    /// Its guests among all of a trial.
    pub(crate) fn range(&self) -> Range<usize> {
        self.before..self.before + self.point.guests() as usize
    }

    /// All settings in force in a guest, by its place in the group: those of its stack and of its
    /// storage.
    pub(crate) fn settings(
        &self,
        context: &StackContext<'_>,
        guest: &dyn Guest,
        index: usize,
    ) -> Result<Vec<EffectiveSetting>, StackError> {
        let stack = self.stack.guests();
        let mut settings = stack.settings(context, guest, &self.point, index)?;
        settings.extend(storage::readings(guest));
        Ok(settings)
    }
}
