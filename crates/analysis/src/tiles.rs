//! Points with groups as wholes: what each group carried against its reference, their score, how
//! evenly tiles were served, what each tier used.

use rookery_stats::Fairness;
use rookery_study::{Callers, Layout, Study};

use crate::{
    Run,
    grouped::{GroupPart, GroupedPoint},
    points::{LimitCount, PointSummary},
    schema::data,
};

data! {
    /// A point whose layout has groups.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TileSummary {
        /// Its number in the plan.
        pub point: u32,
        /// Short name.
        pub label: String,
        /// Its layout.
        pub layout: String,
        /// How often the groups are repeated.
        pub tiles: u32,
        /// What throughput is compared with; null where there is nothing.
        pub reference: Option<String>,
        /// The groups, in their order.
        pub groups: Vec<TileGroup>,
        /// Geometric mean over the groups that have users of their throughput over its reference;
        /// null where one of them has none.
        pub score: Option<f64>,
        /// How evenly the tiles were served; null of a single tile.
        pub fairness: Option<Fairness>,
    }
}

data! {
    /// One group of such a point.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TileGroup {
        /// Its name.
        pub name: String,
        /// Number of guests.
        pub guests: u32,
        /// The group whose guests call it, of a tier; null where users do.
        pub called_by: Option<String>,
        /// Number of the point that stands for the group among all points; null of a tier.
        pub point: Option<u32>,
        /// Units of its work per minute in words: `orders/min`.
        pub rate: &'static str,
        /// Units of work per minute of all its guests; null of a tier, and without a good trial.
        pub per_minute: Option<f64>,
        /// The same of its reference.
        pub reference_per_minute: Option<f64>,
        /// The one over the other.
        pub share: Option<f64>,
        /// How its own limits were judged.
        pub limits: LimitCount,
        /// Cores that its guests used together.
        pub cores: Option<f64>,
        /// Memory that its guests used together, bytes.
        pub memory_bytes: Option<f64>,
        /// Reads from block devices per second of its guests together.
        pub reads_per_s: Option<f64>,
        /// Writes to block devices per second of its guests together.
        pub writes_per_s: Option<f64>,
    }
}

impl TileSummary {
    /// Its groups that have users.
    pub fn loaded(&self) -> impl Iterator<Item = &TileGroup> {
        self.groups.iter().filter(|group| group.called_by.is_none())
    }
}

/// All points with groups, in the order of the plan.
pub(crate) fn summaries(run: &Run, points: &[PointSummary]) -> Vec<TileSummary> {
    let of = |grouped: &GroupedPoint| summary(&run.header.study, &run.groups, grouped, points);
    run.groups.iter().map(of).collect()
}

fn summary(
    study: &Study,
    all: &[GroupedPoint],
    grouped: &GroupedPoint,
    points: &[PointSummary],
) -> TileSummary {
    let point = &grouped.point;
    let layout = study
        .layouts
        .iter()
        .find(|layout| point.layouts.contains(&layout.name));
    let reference = layout.and_then(|layout| reference(layout, all, grouped, points));
    let groups: Vec<TileGroup> = point
        .groups
        .iter()
        .zip(&grouped.groups)
        .map(|(group, part)| {
            let own = part.point.and_then(|id| by_id(points, id));
            let per_minute = own.and_then(|own| own.per_minute).map(|rate| rate.mean);
            let reference_per_minute = reference
                .as_ref()
                .and_then(|reference| reference.rate(&group.name));
            TileGroup {
                name: group.name.clone(),
                guests: group.guests,
                called_by: match &group.callers {
                    Callers::Users => None,
                    Callers::Group(front) => Some(front.clone()),
                },
                point: part.point,
                rate: group.database.kind().info().unit.rate,
                per_minute,
                reference_per_minute,
                share: per_minute
                    .zip(reference_per_minute)
                    .filter(|(_, reference)| *reference > 0.0)
                    .map(|(own, reference)| own / reference),
                limits: own.map(|own| own.limits).unwrap_or_default(),
                cores: part.used.cores,
                memory_bytes: part.used.memory_bytes,
                reads_per_s: part.used.reads_per_s,
                writes_per_s: part.used.writes_per_s,
            }
        })
        .collect();
    TileSummary {
        point: point.id,
        label: point.label(),
        layout: point.layouts.join(", "),
        tiles: point.tiles,
        reference: reference.map(|reference| reference.words),
        score: score(&groups),
        fairness: fairness(grouped, points),
        groups,
    }
}

fn by_id(points: &[PointSummary], id: u32) -> Option<&PointSummary> {
    points.iter().find(|summary| summary.point.id == id)
}

/// What the throughput of groups is compared with.
struct Reference {
    words: String,
    /// Throughput by the names of groups.
    rates: Vec<(String, f64)>,
}

impl Reference {
    fn rate(&self, group: &str) -> Option<f64> {
        let found = self.rates.iter().find(|(name, _)| name == group);
        found.map(|(_, rate)| *rate)
    }
}

/// The groups of the named baseline by their names, or, where it has no groups, its point as the
/// reference of all; without a baseline the same layout as a single tile, where it is repeated.
fn reference(
    layout: &Layout,
    all: &[GroupedPoint],
    grouped: &GroupedPoint,
    points: &[PointSummary],
) -> Option<Reference> {
    let name = layout.baseline.as_ref().unwrap_or(&layout.name);
    let of_layout = |other: &&GroupedPoint| {
        other.point.layouts.contains(name) && other.point.levels == grouped.point.levels
    };
    let fewest = all
        .iter()
        .filter(of_layout)
        .min_by_key(|other| other.point.tiles);
    let words = match &layout.baseline {
        Some(baseline) => format!("the layout {baseline}"),
        None => "one tile".to_owned(),
    };
    let rate = |part: &GroupPart| {
        let own = by_id(points, part.point?)?;
        own.per_minute.map(|rate| rate.mean)
    };
    if let Some(other) = fewest {
        let is_repeated = || {
            let mut points = all.iter().filter(of_layout);
            points.any(|more| more.point.tiles > other.point.tiles)
        };
        // A layout that is not repeated would be compared with itself.
        if layout.baseline.is_none() && (other.point.tiles > 1 || !is_repeated()) {
            return None;
        }
        let parts = other.point.groups.iter().zip(&other.groups);
        let rates = parts.filter_map(|(group, part)| Some((group.name.clone(), rate(part)?)));
        return Some(Reference {
            words,
            rates: rates.collect(),
        });
    }
    // A layout whose guests are all alike stands for the groups of its workload.
    let plain = points
        .iter()
        .find(|summary| summary.point.layouts.contains(name) && summary.per_minute.is_some())?;
    let per_minute = plain.per_minute?.mean;
    let same = grouped
        .point
        .groups
        .iter()
        .filter(|group| group.database.kind().info().unit.rate == plain.rate);
    Some(Reference {
        words,
        rates: same.map(|group| (group.name.clone(), per_minute)).collect(),
    })
}

/// Geometric mean of the shares of all groups that have users.
fn score(groups: &[TileGroup]) -> Option<f64> {
    let loaded: Vec<&TileGroup> = groups
        .iter()
        .filter(|group| group.called_by.is_none())
        .collect();
    let logarithms: Option<Vec<f64>> = loaded
        .iter()
        .map(|group| group.share.filter(|share| *share > 0.0).map(f64::ln))
        .collect();
    let logarithms = logarithms?;
    (!logarithms.is_empty())
        .then(|| (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
}

/// How evenly tiles were served: of each tile the geometric mean over its groups of the throughput
/// of its guests over that of all guests of the group.
fn fairness(grouped: &GroupedPoint, points: &[PointSummary]) -> Option<Fairness> {
    let tiles = grouped.point.tiles as usize;
    let mut of_tiles = vec![0.0; tiles];
    let mut count = 0;
    for part in &grouped.groups {
        let Some(own) = part.point.and_then(|id| by_id(points, id)) else {
            continue;
        };
        let rates: Vec<f64> = own
            .guests
            .iter()
            .map(|guest| guest.per_minute_and_client)
            .collect();
        let each = rates.len() / tiles.max(1);
        if each == 0 || !rates.len().is_multiple_of(tiles) {
            return None;
        }
        let all = rates.iter().sum::<f64>() / rates.len() as f64;
        for (tile, rates) in of_tiles.iter_mut().zip(rates.chunks(each)) {
            let own = rates.iter().sum::<f64>() / each as f64;
            *tile += (own / all).max(f64::MIN_POSITIVE).ln();
        }
        count += 1;
    }
    let means: Vec<f64> = of_tiles
        .iter()
        .map(|sum| (sum / f64::from(count.max(1))).exp())
        .collect();
    Fairness::from_values(&means)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(share: Option<f64>, called_by: Option<&str>) -> TileGroup {
        TileGroup {
            name: "a".to_owned(),
            guests: 1,
            called_by: called_by.map(str::to_owned),
            point: None,
            rate: "orders/min",
            per_minute: None,
            reference_per_minute: None,
            share,
            limits: LimitCount::default(),
            cores: None,
            memory_bytes: None,
            reads_per_s: None,
            writes_per_s: None,
        }
    }

    #[test]
    fn a_score_is_the_geometric_mean_of_all_groups_with_users() {
        let of = |groups: &[TileGroup]| score(groups);
        let both = [group(Some(2.0), None), group(Some(0.5), None)];
        assert!((of(&both).expect("a score") - 1.0).abs() < 1e-12);
        let with_tier = [group(Some(4.0), None), group(None, Some("a"))];
        assert!((of(&with_tier).expect("a score") - 4.0).abs() < 1e-12);
        assert_eq!(of(&[group(Some(2.0), None), group(None, None)]), None);
        assert_eq!(of(&[]), None);
    }
}
