//! The truth about a simulated system: what it does without noise, over a long time.

use std::{ops::RangeInclusive, sync::atomic::AtomicBool, time::Duration};

use rookery_stats::{Measurement, qos};
use rookery_study::{Plan, Point, Purpose, Trial};

use super::{Model, compute, load, system::Demands};
use crate::error::LabError;

/// What the users of `point` see of the simulated system, without its noise, over a window of
/// `steady`. `users` (of all guests together, dealt evenly) stand in the place of those of the
/// point.
///
/// # Errors
/// When the point's study is not simulated, or the load makes no sense to the driver.
pub fn measure(
    plan: &Plan,
    point: &Point,
    users: u32,
    steady: Duration,
    seed: u64,
) -> Result<Measurement, LabError> {
    let study = plan.study_of(point);
    let Some(system) = study.stack.simulated() else {
        return Err(LabError::NotSimulated);
    };
    let mut point = point.clone();
    let guests = point.guests();
    let each = point.groups.iter_mut().flat_map(|group| &mut group.users);
    for (own, guest) in each.zip(0..) {
        *own = users / guests + u32::from(guest < users % guests);
    }
    let trial = Trial {
        id: 1,
        point: point.id,
        repeat: 1,
        block: 1,
        seed,
        purpose: Purpose::Study,
    };
    let mut load = load(plan, &trial, &point)?;
    load.config.phases.steady = steady;
    let model = Model {
        system,
        demands: Demands::new(system, point.guests(), load.requests_per_unit, 1.0),
        commits: load.commits,
        seed,
    };
    Ok(compute(&load.config, study, &point, &model, &AtomicBool::new(false))?.measurement)
}

/// The true knee of `point`: the largest number of users (of all guests together) with which the
/// simulated system keeps the limits of its study, judged over a window of `steady` without noise.
/// `None` = not even the fewest of the range do.
///
/// More users are taken to be never easier, so that the range is halved again and again.
///
/// # Errors
/// As [`measure`].
pub fn knee(
    plan: &Plan,
    point: &Point,
    range: RangeInclusive<u32>,
    steady: Duration,
) -> Result<Option<u32>, LabError> {
    let study = plan.study_of(point);
    let keeps = |users: u32| {
        measure(plan, point, users, steady, study.seed)
            .map(|measured| qos::judge(&study.qos, &measured).passed)
    };
    let (mut low, mut high) = (*range.start(), *range.end());
    if !keeps(low)? {
        return Ok(None);
    }
    if keeps(high)? {
        return Ok(Some(high));
    }
    while high - low > 1 {
        let middle = low.midpoint(high);
        *(if keeps(middle)? { &mut low } else { &mut high }) = middle;
    }
    Ok(Some(low))
}
