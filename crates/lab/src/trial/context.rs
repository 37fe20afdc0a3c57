//! What a trial is about, and what all trials of a run share.

use rookery_host::RunId;
use rookery_stats::HostSize;
use rookery_study::{Plan, Point, Study, Trial};

use crate::{
    context::LabContext,
    elsewhere::{Labs, NumberedDriver},
    group_context::GroupContext,
};

/// Everything that the trials of one run share. The context is that of the first lab.
#[derive(Clone, Copy)]
pub(crate) struct TrialRunner<'a> {
    pub(crate) context: LabContext<'a>,
    pub(crate) plan: &'a Plan,
    pub(crate) run: &'a RunId,
    /// The machine.
    pub(crate) host: HostSize,
    /// Where trials are performed.
    pub(crate) labs: Labs<'a>,
    /// Drivers on other machines; none where users are driven from this one.
    pub(crate) drivers: &'a [NumberedDriver<'a>],
}

/// One trial: its point, and what each of its groups needs.
pub(crate) struct TrialContext<'a> {
    pub(crate) trial: &'a Trial,
    /// The whole point.
    pub(crate) point: &'a Point,
    /// Its groups in their order, at least one.
    pub(crate) groups: Vec<GroupContext<'a>>,
}

impl<'a> TrialContext<'a> {
    /// The study that stands for the trial where one must: that of its first group.
    pub(crate) fn study(&self) -> Option<&'a Study> {
        self.groups.first().map(|group| group.study)
    }

    /// The group of a guest, by the guest's place among all, and its place in the group.
    pub(crate) fn group_of(&self, guest: usize) -> Option<(&GroupContext<'a>, usize)> {
        let own = self
            .groups
            .iter()
            .rev()
            .find(|group| group.before <= guest)?;
        Some((own, guest - own.before))
    }

    /// Names of the guests that those of a group call.
    pub(crate) fn names_of_tier(&self, group: &GroupContext<'_>) -> Vec<String> {
        let tier = group.tier.and_then(|tier| self.groups.get(tier));
        tier.into_iter().flat_map(GroupContext::names).collect()
    }

    /// The groups that have users.
    pub(crate) fn loaded(&self) -> impl Iterator<Item = &GroupContext<'a>> {
        self.groups.iter().filter(|group| group.has_users())
    }
}
