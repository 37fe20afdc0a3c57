//! The parts of a trial whose groups of guests are on several hosts, one for each.

use rookery_store::RunHeader;
use rookery_study::{GuestGroup, Point, Trial, Variant};

use crate::{error::LabError, workloads::group_seed};

/// What one host performs of a trial: a trial of its own, with the groups that it has.
pub(crate) struct HostPart {
    /// Name of the host.
    pub(crate) host: String,
    /// The run, whose plan has this trial alone.
    pub(crate) header: RunHeader,
    /// Guests of the trial whose numbers are before those of this host.
    pub(crate) guests_before: u32,
    /// Guests of this host.
    pub(crate) guests: u32,
}

/// The parts of a trial, in the order of their guests; none where one host has all of them.
///
/// # Errors
/// When the plan lacks the point or the variant of the trial.
pub(crate) fn of_trial(header: &RunHeader, trial: &Trial) -> Result<Vec<HostPart>, LabError> {
    let missing = || LabError::NoPoint { trial: trial.id };
    let plan = &header.plan;
    let point = plan.points.iter().find(|point| point.id == trial.point);
    let point = point.ok_or_else(missing)?;
    let mut variants = plan.variants.iter();
    let variant = variants.find(|variant| variant.id == point.variant);
    let variant = variant.ok_or_else(missing)?;
    let (mut parts, mut guests_before) = (Vec::new(), 0);
    for host in point.hosts() {
        let has = |group: &GuestGroup| group.host.as_deref() == Some(host);
        let own = of_host(point, has);
        let guests = own.guests();
        let mut part = header.clone();
        part.plan.variants = vec![studies_of(point, variant, has).ok_or_else(missing)?];
        part.plan.points = vec![own];
        part.plan.searches = Vec::new();
        part.plan.wish = None;
        part.plan.trials = vec![Trial {
            // As on one host, where each group with users has a seed of its own.
            seed: group_seed(trial.seed, place_of(point, has)),
            ..trial.clone()
        }];
        parts.push(HostPart {
            host: host.to_owned(),
            header: part,
            guests_before,
            guests,
        });
        guests_before += guests;
    }
    Ok(parts)
}

/// The point with the groups of one host, on whose host they are then as any others.
fn of_host(point: &Point, has: impl Fn(&GuestGroup) -> bool) -> Point {
    let own = point.groups.iter().filter(|group| has(group)).cloned();
    Point {
        groups: own
            .map(|group| GuestGroup {
                host: None,
                ..group
            })
            .collect(),
        ..point.clone()
    }
}

/// The variant with the studies of these groups.
fn studies_of(
    point: &Point,
    variant: &Variant,
    has: impl Fn(&GuestGroup) -> bool,
) -> Option<Variant> {
    let studies = point.groups.iter().zip(variant.studies());
    let mut own = studies.filter(|(group, _)| has(group));
    let (_, first) = own.next()?;
    Some(Variant {
        study: first.clone(),
        further: own.map(|(_, study)| study.clone()).collect(),
        ..variant.clone()
    })
}

/// The place of the first of these groups that has users among all that have some.
fn place_of(point: &Point, has: impl Fn(&GuestGroup) -> bool) -> usize {
    let places = 0..point.groups.len();
    let mut loaded = places.filter(|place| {
        let callers = point.groups.get(*place).map(|group| &group.callers);
        callers == Some(&rookery_study::Callers::Users)
    });
    let first = loaded.position(|place| point.groups.get(place).is_some_and(&has));
    first.unwrap_or(0)
}

/// Whether the hosts that groups of a study name can be had: each set of `wanted` is that of one
/// trial. `known` are those of `--guests`; none where there is no such file.
///
/// # Errors
/// When one is missing.
pub fn check_group_hosts<'h>(
    wanted: impl IntoIterator<Item = Vec<&'h str>>,
    known: &[&str],
) -> Result<(), LabError> {
    let missing = wanted
        .into_iter()
        .flatten()
        .find(|host| !known.contains(host));
    match missing.map(ToOwned::to_owned) {
        None => Ok(()),
        Some(_) if known.is_empty() => Err(LabError::GroupsElsewhere),
        Some(host) => Err(LabError::NoSuchHost {
            host,
            known: known.join(", "),
        }),
    }
}
