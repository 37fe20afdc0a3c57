//! Changes of the plan that the user asks for while a run is under way.
//!
//! They wait in a queue and are made between two trials. Each is journaled like any growth of the
//! plan: in the store's plan and trials, and as a note in the user's words, which the report shows.
//! A resumed run goes on with the plan as it was changed.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use rookery_cast::count_u32;
use rookery_store::{Store, TrialStatus};
use rookery_study::{CannotPlan, HostFacts, Plan, Point};
use serde::{Deserialize, Serialize};

use crate::{
    clock::now,
    error::LabError,
    event::{Event, Listener},
};

/// Most repeats that are added at once.
pub const MOST_REPEATS: u32 = 100;
/// Most changes that wait.
const MOST_WAITING: usize = 32;
/// Trials beyond which a plan takes no more by hand.
const MOST_TRIALS: usize = 100_000;
/// Why a search has ended whose point was skipped.
const SKIPPED_SEARCH: &str = "the user skipped it";

/// A change that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "kebab-case", deny_unknown_fields)]
pub enum PlanChange {
    /// Perform none of the trials of a point that have not begun; of a point that a search tries,
    /// end the search.
    Skip {
        /// The point.
        point: u32,
    },
    /// Repeat a point, with all its variants, so many times more.
    Repeat {
        /// The point.
        point: u32,
        /// How often, 1 to [`MOST_REPEATS`].
        count: u32,
    },
    /// Add a point like another under another load, with all its variants.
    AddPoint {
        /// The point that it is like.
        like: u32,
        /// Users, or arrivals per second, on all its guests together.
        load: f64,
    },
}

/// Changes that wait to be made; clones share one queue.
#[derive(Clone, Debug, Default)]
pub struct PlanChanges(Arc<Mutex<VecDeque<PlanChange>>>);

/// Why a change is not made.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum ChangeError {
    /// Too many wait already.
    #[error("too many changes wait already; they are made when the present trial has ended")]
    TooManyWait,
    /// A number that is out of range.
    #[error("{what} must be {range}")]
    OutOfRange {
        /// What the number is of.
        what: &'static str,
        /// What it may be.
        range: &'static str,
    },
    /// A number that names no point.
    #[error("there is no point {point} in the plan")]
    NoPoint {
        /// The number.
        point: u32,
    },
    /// Nothing of the point is left.
    #[error("no trial of point {point} is left to skip")]
    NothingLeft {
        /// Its number.
        point: u32,
    },
    /// The point was taken out of the plan.
    #[error("point {point} was skipped")]
    Skipped {
        /// Its number.
        point: u32,
    },
    /// A search decides which trials its points get.
    #[error("point {point} is of a search, which decides itself what it tries")]
    OfSearch {
        /// Its number.
        point: u32,
    },
    /// The trials of a study with a wish follow from its budget.
    #[error("the study has a wish for intervals within a time: its plan skips no point")]
    Wish,
    /// The plan would be too long.
    #[error("the plan would have more than 100 000 trials")]
    TooLong,
    /// The plan takes no such point.
    #[error(transparent)]
    CannotPlan(#[from] CannotPlan),
}

impl PlanChange {
    fn check(self) -> Result<(), ChangeError> {
        let (sound, what, range) = match self {
            Self::Skip { .. } => return Ok(()),
            Self::Repeat { count, .. } => (
                (1..=MOST_REPEATS).contains(&count),
                "the number of repeats",
                "1 to 100",
            ),
            Self::AddPoint { load, .. } => (load.is_finite() && load > 0.0, "a load", "above 0"),
        };
        if sound {
            Ok(())
        } else {
            Err(ChangeError::OutOfRange { what, range })
        }
    }
}

impl PlanChanges {
    /// Ask for a change; it is made when the present trial has ended.
    ///
    /// # Errors
    /// When it can never be made, or too many wait.
    pub fn ask(&self, change: PlanChange) -> Result<(), ChangeError> {
        change.check()?;
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() >= MOST_WAITING {
            return Err(ChangeError::TooManyWait);
        }
        waiting.push_back(change);
        Ok(())
    }

    fn next(&self) -> Option<PlanChange> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front()
    }
}

/// Make all changes that wait; whether the plan is another now. One that cannot be made is told and
/// changes nothing.
///
/// # Errors
/// When the store cannot be read or written.
pub(crate) fn make(
    changes: &PlanChanges,
    store: &mut Store,
    listener: &Listener<'_>,
) -> Result<bool, LabError> {
    let mut changed = false;
    while let Some(change) = changes.next() {
        match make_one(change, store)? {
            Ok(text) => {
                changed = true;
                store.note(&now(), &text)?;
                listener(&Event::Remark { text });
                let trials = count_u32(store.header()?.plan.trials.len());
                listener(&Event::Grown { trials });
            }
            Err(error) => listener(&Event::ChangeRefused {
                text: error.to_string(),
            }),
        }
    }
    Ok(changed)
}

/// Make one change; what was done, in words.
fn make_one(
    change: PlanChange,
    store: &mut Store,
) -> Result<Result<String, ChangeError>, LabError> {
    let header = store.header()?;
    let mut plan = header.plan.clone();
    let done = match change {
        PlanChange::Skip { point } => return skip(point, plan, store),
        PlanChange::Repeat { point, count } => repeat(point, count, &mut plan, store)?,
        PlanChange::AddPoint { like, load } => add(like, load, &mut plan, &header.host.facts),
    };
    let done = done.and_then(|text| {
        if plan.trials.len() > MOST_TRIALS {
            Err(ChangeError::TooLong)
        } else {
            Ok(text)
        }
    });
    if done.is_ok() {
        store.grow_plan(plan)?;
    }
    Ok(done)
}

fn find(plan: &Plan, id: u32) -> Result<&Point, ChangeError> {
    let found = plan.points.iter().find(|point| point.id == id);
    found.ok_or(ChangeError::NoPoint { point: id })
}

fn skip(
    id: u32,
    mut plan: Plan,
    store: &mut Store,
) -> Result<Result<String, ChangeError>, LabError> {
    let (label, search) = match find(&plan, id) {
        Ok(point) => (point.label(), point.search),
        Err(error) => return Ok(Err(error)),
    };
    if plan.wish.is_some() {
        return Ok(Err(ChangeError::Wish));
    }
    let of_search = search.and_then(|id| plan.searches.iter_mut().find(|search| search.id == id));
    let Some(search) = of_search else {
        return Ok(match store.skip_point(id)? {
            0 => Err(ChangeError::NothingLeft { point: id }),
            count => Ok(format!(
                "the user skipped point {id} ({label}): {} not performed",
                trials(count)
            )),
        });
    };
    if search.stuck.is_some() {
        return Ok(Err(ChangeError::Skipped { point: id }));
    }
    search.stuck = Some(SKIPPED_SEARCH.to_owned());
    let (number, label) = (search.id, search.label());
    let of_it = plan
        .points
        .iter()
        .filter(|point| point.search == Some(number));
    let points: Vec<u32> = of_it.map(|point| point.id).collect();
    store.grow_plan(plan)?;
    for point in points {
        store.skip_point(point)?;
    }
    Ok(Ok(format!("the user skipped search {number} ({label})")))
}

fn repeat(
    id: u32,
    count: u32,
    plan: &mut Plan,
    store: &Store,
) -> Result<Result<String, ChangeError>, LabError> {
    let label = match find(plan, id) {
        Ok(point) if point.search.is_some() => return Ok(Err(ChangeError::OfSearch { point: id })),
        Ok(point) => point.label(),
        Err(error) => return Ok(Err(error)),
    };
    if skipped(store)?.contains(&id) {
        return Ok(Err(ChangeError::Skipped { point: id }));
    }
    let before = plan.trials.len();
    plan.add_repeats(id, count);
    let added = trials(plan.trials.len() - before);
    Ok(Ok(format!(
        "the user added {count} repeats of point {id} ({label}): {added} more"
    )))
}

fn add(like: u32, load: f64, plan: &mut Plan, host: &HostFacts) -> Result<String, ChangeError> {
    let before = plan.trials.len();
    let ids = plan.add_point(like, load, host)?;
    let labels: Vec<String> = ids
        .iter()
        .filter_map(|id| plan.points.iter().find(|point| point.id == *id))
        .map(|point| format!("{} ({})", point.id, point.label()))
        .collect();
    let added = trials(plan.trials.len() - before);
    Ok(format!(
        "the user added point {}: {added} more",
        labels.join(", ")
    ))
}

/// The points that the user took out of the plan: those with a trial that was skipped.
///
/// # Errors
/// When the store cannot be read.
pub(crate) fn skipped(store: &Store) -> Result<Vec<u32>, LabError> {
    let mut points: Vec<u32> = store
        .trials()?
        .iter()
        .filter(|row| row.status == TrialStatus::Skipped)
        .map(|row| row.trial.point)
        .collect();
    points.sort_unstable();
    points.dedup();
    Ok(points)
}

fn trials(count: usize) -> String {
    format!("{count} trial{}", if count == 1 { "" } else { "s" })
}
