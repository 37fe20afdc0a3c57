//! Whether others may compute with a plan: its references hold, its sums fit.

use std::fmt;

use rookery_study::{Callers, GuestGroup, Plan, Point, Search, Study, Trial};

use crate::{RunHeader, cells::json_of};

/// What a plan holds under a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A point.
    Point,
    /// A search.
    Search,
    /// A trial.
    Trial,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Point => "point",
            Self::Search => "search",
            Self::Trial => "trial",
        })
    }
}

/// How a plan contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanFault {
    /// A number stands twice.
    #[error("the plan holds {entry} {id} twice")]
    Twice {
        /// What it numbers.
        entry: Entry,
        /// The number.
        id: u32,
    },
    /// A point whose groups of guests do not go with the studies of its variant.
    #[error("point {point} has {groups} groups of guests, its variant has {studies} studies")]
    Groups {
        /// The point.
        point: u32,
        /// How many groups it has.
        groups: usize,
        /// How many studies its variant has.
        studies: usize,
    },
    /// A tier of no group that has users, or first in its point.
    #[error("point {point} has a tier that no group with users calls, or that comes first")]
    Tier {
        /// The point.
        point: u32,
    },
    /// Users whose sum does not fit.
    #[error("point {point} has more users than can be counted")]
    TooManyUsers {
        /// The point.
        point: u32,
    },
    /// A rate of arrivals that is no number above 0.
    #[error("point {point} has a rate that is none")]
    Rate {
        /// The point.
        point: u32,
    },
    /// More guests than addresses.
    #[error("point {point} has more guests than any lab")]
    TooManyGuests {
        /// The point.
        point: u32,
    },
    /// Lists of a point that do not go with its guests.
    #[error(
        "point {point} has no layout, or not one number of users and one list of CPUs for each \
         guest"
    )]
    Lists {
        /// The point.
        point: u32,
    },
    /// A point of a variant that the plan lacks.
    #[error("point {point} is of variant {variant}, which is not in the plan")]
    NoVariant {
        /// The point.
        point: u32,
        /// The variant.
        variant: u32,
    },
    /// A point whose baseline the plan lacks.
    #[error("the baseline of point {point} is not in the plan")]
    NoBaseline {
        /// The point.
        point: u32,
    },
    /// A point of a search that the plan lacks.
    #[error("point {point} is of a search that is not in the plan")]
    NoSearch {
        /// The point.
        point: u32,
    },
    /// A search without what it searches.
    #[error("search {search} lacks its variant or its layout")]
    SearchSubject {
        /// The search.
        search: u32,
    },
    /// A search from a load to a lower one, or to one that is no number.
    #[error("search {search} has a range that is none")]
    SearchRange {
        /// The search.
        search: u32,
    },
    /// A search whose ladder has a point that the plan lacks.
    #[error("the ladder of search {search} has point {point}, which is not in the plan")]
    Ladder {
        /// The search.
        search: u32,
        /// The point.
        point: u32,
    },
    /// A trial of a point that the plan lacks.
    #[error("trial {trial} is of point {point}, which is not in the plan")]
    NoPoint {
        /// The trial.
        trial: u32,
        /// The point.
        point: u32,
    },
    /// A number that does not come back from JSON.
    #[error("the study or the plan holds a number that cannot be stored")]
    NotStorable,
    /// A plan that lost or changed what was planned.
    #[error("the new plan is not the old one with more")]
    NotGrown,
}

/// Refuses what would not come back: a plan that contradicts itself, or a number that JSON does not
/// know.
///
/// # Errors
/// The first fault.
pub(crate) fn check_header(header: &RunHeader) -> Result<(), PlanFault> {
    check_plan(&header.plan)?;
    let whole = serde_json::from_str(&json_of(&header.study))
        .is_ok_and(|study: Study| study == header.study)
        && serde_json::from_str(&json_of(&header.plan)).is_ok_and(|plan: Plan| plan == header.plan);
    if whole {
        Ok(())
    } else {
        Err(PlanFault::NotStorable)
    }
}

/// Refuses a plan that others must not compute with.
///
/// # Errors
/// The first fault.
pub(crate) fn check_plan(plan: &Plan) -> Result<(), PlanFault> {
    for (index, point) in plan.points.iter().enumerate() {
        check_point(plan, point, &plan.points[..index])?;
    }
    for (index, search) in plan.searches.iter().enumerate() {
        check_search(plan, search, &plan.searches[..index])?;
    }
    if let Some(point) = plan.points.iter().find(|point| {
        point
            .search
            .is_some_and(|id| !plan.searches.iter().any(|search| search.id == id))
    }) {
        return Err(PlanFault::NoSearch { point: point.id });
    }
    for (index, trial) in plan.trials.iter().enumerate() {
        check_trial(plan, trial, &plan.trials[..index])?;
    }
    Ok(())
}

fn has_point(plan: &Plan, id: u32) -> bool {
    plan.points.iter().any(|point| point.id == id)
}

fn has_variant(plan: &Plan, id: u32) -> bool {
    plan.variants.iter().any(|variant| variant.id == id)
}

fn check_point(plan: &Plan, point: &Point, earlier: &[Point]) -> Result<(), PlanFault> {
    let id = point.id;
    if earlier.iter().any(|other| other.id == id) {
        return Err(PlanFault::Twice {
            entry: Entry::Point,
            id,
        });
    }
    let Some(variant) = plan
        .variants
        .iter()
        .find(|variant| variant.id == point.variant)
    else {
        return Err(PlanFault::NoVariant {
            point: id,
            variant: point.variant,
        });
    };
    let studies = variant.studies().count();
    if point.groups.len() != studies {
        return Err(PlanFault::Groups {
            point: id,
            groups: point.groups.len(),
            studies,
        });
    }
    let mut users = 0u32;
    for (index, group) in point.groups.iter().enumerate() {
        check_group(point, index, group)?;
        let own = group
            .users
            .iter()
            .try_fold(users, |sum, users| sum.checked_add(*users));
        users = own.ok_or(PlanFault::TooManyUsers { point: id })?;
    }
    if point.layouts.is_empty() {
        return Err(PlanFault::Lists { point: id });
    }
    if point
        .baseline
        .is_some_and(|baseline| !has_point(plan, baseline))
    {
        return Err(PlanFault::NoBaseline { point: id });
    }
    Ok(())
}

fn check_group(point: &Point, index: usize, group: &GuestGroup) -> Result<(), PlanFault> {
    let id = point.id;
    if group
        .rate_per_s
        .is_some_and(|rate| !(rate > 0.0 && rate.is_finite()))
    {
        return Err(PlanFault::Rate { point: id });
    }
    let guests = u16::try_from(group.guests).map_err(|_| PlanFault::TooManyGuests { point: id })?;
    if [group.users.len(), group.pins.len()] != [usize::from(guests); 2] {
        return Err(PlanFault::Lists { point: id });
    }
    let Callers::Group(front) = &group.callers else {
        return Ok(());
    };
    let calls = |other: &GuestGroup| other.name == *front && other.callers == Callers::Users;
    if index == 0 || !point.groups.iter().any(calls) {
        return Err(PlanFault::Tier { point: id });
    }
    Ok(())
}

fn check_search(plan: &Plan, search: &Search, earlier: &[Search]) -> Result<(), PlanFault> {
    let id = search.id;
    if earlier.iter().any(|other| other.id == id) {
        return Err(PlanFault::Twice {
            entry: Entry::Search,
            id,
        });
    }
    if !has_variant(plan, search.variant) || search.layouts.is_empty() {
        return Err(PlanFault::SearchSubject { search: id });
    }
    if !(search.lowest > 0.0 && search.lowest <= search.highest && search.highest.is_finite()) {
        return Err(PlanFault::SearchRange { search: id });
    }
    match search.ladder.iter().find(|point| !has_point(plan, **point)) {
        Some(point) => Err(PlanFault::Ladder {
            search: id,
            point: *point,
        }),
        None => Ok(()),
    }
}

fn check_trial(plan: &Plan, trial: &Trial, earlier: &[Trial]) -> Result<(), PlanFault> {
    if earlier.iter().any(|other| other.id == trial.id) {
        return Err(PlanFault::Twice {
            entry: Entry::Trial,
            id: trial.id,
        });
    }
    if !has_point(plan, trial.point) {
        return Err(PlanFault::NoPoint {
            trial: trial.id,
            point: trial.point,
        });
    }
    Ok(())
}
