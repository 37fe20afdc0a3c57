//! Which points are the same but for the kind of their guests.

use std::collections::HashMap;

use rookery_study::{GuestKind, Point, Study};

use super::KINDS;
use crate::{Run, identity, meaning::meaning};

/// A point of a run.
pub(super) struct Site<'a> {
    pub(super) run: &'a Run,
    /// Number of the run among those that are looked at.
    pub(super) number: u32,
    pub(super) point: &'a Point,
    pub(super) kind: GuestKind,
}

/// Points that differ in the kind of their guests alone.
pub(super) struct Group<'a> {
    pub(super) label: String,
    pub(super) sites: Vec<Site<'a>>,
}

/// All groups with two kinds or more, in the order in which their first point stands. Points that
/// searches tried are left aside: each search goes where its own answers lead it.
pub(super) fn groups<'a>(runs: &[&'a Run]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for (number, run) in (0..).zip(runs) {
        let plan = &run.header.plan;
        for point in plan.study_points() {
            let study = plan.study_of(point);
            let site = Site {
                run,
                number,
                point,
                kind: study.guest.kind(),
            };
            if !KINDS.contains(&site.kind) {
                continue;
            }
            let at = *known.entry(key(point, study)).or_insert(groups.len());
            match groups.get_mut(at) {
                Some(group) => group.sites.push(site),
                None => groups.push(Group {
                    label: identity::label(point),
                    sites: vec![site],
                }),
            }
        }
    }
    groups.retain(|group| {
        group
            .sites
            .iter()
            .any(|site| site.kind != group.sites[0].kind)
    });
    groups
}

/// Everything that must be equal: the point, what its numbers mean, and what runs in its guests.
fn key(point: &Point, study: &Study) -> String {
    format!(
        "{} {:?} {:?} {:?}",
        identity::of(point),
        meaning(study),
        study.stack,
        study.storage
    )
}
