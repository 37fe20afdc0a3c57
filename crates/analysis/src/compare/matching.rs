//! Which points of several runs are the same, and which of these must not be compared.

use std::collections::HashMap;

use rookery_study::Point;
use serde::Serialize;

use crate::{Run, identity, meaning::meaning};

/// A point that is in every run, with its number in each: those of the base, then those of the new
/// side.
#[derive(Clone, Debug)]
pub(super) struct Matched {
    pub(super) label: String,
    pub(super) ids: Vec<u32>,
}

/// A point that is not compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its short name.
    pub label: String,
    /// Why.
    pub because: WhyLeftOut,
}

/// Why a point is not compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "why")]
pub enum WhyLeftOut {
    /// It is in the base alone.
    OnlyInBase,
    /// It is in the new side alone.
    OnlyInNew,
    /// It is in some runs of a side, not in all.
    NotInAllRuns,
    /// It was measured in ways that cannot be compared.
    Incomparable {
        /// What differs.
        what: &'static str,
        /// In the base.
        base: String,
        /// In the new side.
        new: String,
    },
}

/// The points of all runs. Points that searches tried are left aside: a search measures where its
/// answers lead it.
pub(super) fn points(base: &[Run], new: &[Run]) -> (Vec<Matched>, Vec<LeftOut>) {
    let runs: Vec<&Run> = base.iter().chain(new).collect();
    let (mut matched, mut left_out) = (Vec::new(), Vec::new());
    for found in in_all(&runs) {
        let Some(label) = found.iter().flatten().next().map(|point| point.label()) else {
            continue;
        };
        match whole(&found, base.len()) {
            Ok(points) => match incomparable(&runs, &points) {
                None => matched.push(Matched {
                    label,
                    ids: points.iter().map(|point| point.id).collect(),
                }),
                Some(because) => left_out.push(LeftOut { label, because }),
            },
            Err(because) => left_out.push(LeftOut { label, because }),
        }
    }
    (matched, left_out)
}

/// Every point that is in some run, with what each run has of it, in the order in which they are
/// met. Of several that are equal, the first.
fn in_all<'a>(runs: &[&'a Run]) -> Vec<Vec<Option<&'a Point>>> {
    let mut all: Vec<Vec<Option<&Point>>> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for (number, run) in runs.iter().enumerate() {
        let plan = &run.header.plan;
        for point in plan.study_points() {
            let kind = plan.study_of(point).guest.kind();
            let at = *known
                .entry(format!("{kind:?} {}", identity::of(point)))
                .or_insert(all.len());
            if at == all.len() {
                all.push(vec![None; runs.len()]);
            }
            all[at][number].get_or_insert(point);
        }
    }
    all
}

/// The point in every run, or where it is missing.
fn whole<'a>(found: &[Option<&'a Point>], base: usize) -> Result<Vec<&'a Point>, WhyLeftOut> {
    if let Some(points) = found.iter().copied().collect::<Option<Vec<&Point>>>() {
        return Ok(points);
    }
    let (in_base, in_new) = found.split_at(base);
    let none = |side: &[Option<&Point>]| side.iter().all(Option::is_none);
    Err(match (none(in_base), none(in_new)) {
        (_, true) => WhyLeftOut::OnlyInBase,
        (true, _) => WhyLeftOut::OnlyInNew,
        _ => WhyLeftOut::NotInAllRuns,
    })
}

fn incomparable(runs: &[&Run], points: &[&Point]) -> Option<WhyLeftOut> {
    let of = |at: usize| meaning(runs[at].header.plan.study_of(points[at]));
    let first = of(0);
    (1..runs.len()).find_map(|at| {
        let other = of(at);
        let (own, theirs) = first
            .iter()
            .zip(&other)
            .find(|(own, theirs)| own.1 != theirs.1)?;
        // Where runs of one side differ, "base" means the first of all.
        Some(WhyLeftOut::Incomparable {
            what: own.0,
            base: own.1.to_lowercase(),
            new: theirs.1.to_lowercase(),
        })
    })
}
