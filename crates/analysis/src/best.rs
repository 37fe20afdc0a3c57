//! Which point leads: the highest throughput, and the highest within the limits; and from which
//! other points the repeats cannot tell it.

use rookery_stats::{Contrast, Design, Observation, Ratio, effect};

use crate::{points::PointSummary, schema::data, tiles::TileSummary};

data! {
    /// The points that lead, among those that can be compared: groups that run together have
    /// throughputs of their own, and none of them leads. Where points count different units of
    /// work, each kind of unit has a point that leads, and none leads all.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Best {
        /// The highest throughput of all points; null without a good trial, or where their units
        /// of work differ.
        pub highest: Option<Leader>,
        /// The highest of those that kept the limits in every judged trial; null where none did, or
        /// where the study sets no limits.
        pub within_limits: Option<Leader>,
        /// The highest of each kind of unit, where these differ; else empty.
        pub of_units: Vec<Leader>,
        /// The same, layout by layout, but for layouts of several groups with users.
        pub layouts: Vec<LayoutBest>,
    }
}

data! {
    /// The leading points of a layout.
    #[derive(Clone, Debug, PartialEq)]
    pub struct LayoutBest {
        /// Name of the layout.
        pub layout: String,
        /// Number of the point with the highest throughput; null without a good trial, or where its
        /// points have different units of work.
        pub highest: Option<u32>,
        /// Number of the highest that kept the limits; null where none did.
        pub within_limits: Option<u32>,
    }
}

data! {
    /// A point that leads, and how surely.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Leader {
        /// Number of the point.
        pub point: u32,
        /// Other points whose throughput cannot be told from it, the highest first.
        pub alike: Vec<u32>,
        /// Other points of which too few repeats tell, the highest first.
        pub untold: Vec<u32>,
    }
}

impl Best {
    /// Of the points of a study; `layouts` are the names of its layouts in their order, `tiles` its
    /// points with groups.
    #[must_use]
    pub fn from_points(points: &[PointSummary], layouts: &[String], tiles: &[TileSummary]) -> Self {
        let together: Vec<u32> = tiles
            .iter()
            .filter(|tile| tile.loaded().count() > 1)
            .flat_map(|tile| tile.loaded().filter_map(|group| group.point))
            .collect();
        let measured: Vec<&PointSummary> = points
            .iter()
            .filter(|summary| summary.per_minute.is_some())
            .filter(|summary| !together.contains(&summary.point.id))
            .collect();
        let grouped = |layout: &&String| {
            let mut own = tiles.iter().filter(|tile| tile.layout == **layout);
            own.any(|tile| tile.loaded().count() > 1)
        };
        let layout_best = |layout: &String| {
            let own: Vec<&PointSummary> = measured
                .iter()
                .filter(|summary| summary.point.layouts.contains(layout))
                .copied()
                .collect();
            let leading = |points: &[&PointSummary]| {
                let first = highest(points).filter(|_| comparable(&own))?;
                Some(first.point.id)
            };
            LayoutBest {
                layout: layout.clone(),
                highest: leading(&own),
                within_limits: leading(&within(&own)),
            }
        };
        let leading = |points: &[&PointSummary]| leader(points).filter(|_| comparable(&measured));
        let kinds = kinds_of_units(&measured);
        let of_units = kinds.iter().filter_map(|own| leader(own));
        Self {
            of_units: of_units.filter(|_| kinds.len() > 1).collect(),
            highest: leading(&measured),
            within_limits: leading(&within(&measured)),
            layouts: layouts
                .iter()
                .filter(|layout| !grouped(layout))
                .map(layout_best)
                .collect(),
        }
    }
}

/// Whether their throughputs count the same.
fn comparable(points: &[&PointSummary]) -> bool {
    points.windows(2).all(|pair| unit(pair[0]) == unit(pair[1]))
}

/// What the throughput of a point counts.
fn unit(point: &PointSummary) -> (&'static str, Option<u32>) {
    (point.workload, point.unit_bytes)
}

/// The points with each kind of unit, in the order of the plan.
fn kinds_of_units<'a>(points: &[&'a PointSummary]) -> Vec<Vec<&'a PointSummary>> {
    let mut kinds: Vec<Vec<&PointSummary>> = Vec::new();
    for point in points {
        match kinds.iter_mut().find(|own| unit(own[0]) == unit(point)) {
            Some(own) => own.push(point),
            None => kinds.push(vec![point]),
        }
    }
    kinds
}

/// Those that kept the limits.
fn within<'a>(points: &[&'a PointSummary]) -> Vec<&'a PointSummary> {
    points
        .iter()
        .filter(|summary| summary.limits.held())
        .copied()
        .collect()
}

fn throughput(summary: &PointSummary) -> f64 {
    summary.per_minute.map_or(0.0, |estimate| estimate.mean)
}

fn highest<'a>(points: &[&'a PointSummary]) -> Option<&'a PointSummary> {
    points
        .iter()
        .copied()
        .max_by(|a, b| throughput(a).total_cmp(&throughput(b)))
}

fn leader(points: &[&PointSummary]) -> Option<Leader> {
    let best = highest(points)?;
    let mut others: Vec<&PointSummary> = points
        .iter()
        .copied()
        .filter(|other| other.point.id != best.point.id)
        .collect();
    // Of equal ones the last leads, as above.
    others.reverse();
    others.sort_by(|a, b| throughput(b).total_cmp(&throughput(a)));
    let those = |wanted: Option<bool>| {
        others
            .iter()
            .filter(|other| differ(best, other) == wanted)
            .map(|other| other.point.id)
            .collect()
    };
    Some(Leader {
        point: best.point.id,
        alike: those(Some(false)),
        untold: those(None),
    })
}

/// Whether the throughputs of two points differ; `None` where the repeats do not tell. Trials of
/// common blocks are compared in pairs.
fn differ(one: &PointSummary, other: &PointSummary) -> Option<bool> {
    let shared = one
        .trials
        .iter()
        .filter(|trial| other.trials.iter().any(|known| known.block == trial.block))
        .count();
    if shared >= 2 {
        let mut both = observations(other, 0);
        both.extend(observations(one, 1));
        let contrast = Contrast {
            factor: 0,
            reference: 0,
            level: 1,
        };
        let found = effect(&both, &Design::new([vec![0], vec![1]]), contrast)?;
        return found.interval.map(|_| found.excludes_one());
    }
    let (low, high) = Ratio::between(&one.rates(), &other.rates())?.interval?;
    Some(low > 1.0 || high < 1.0)
}

fn observations(summary: &PointSummary, level: u32) -> Vec<Observation> {
    let trials = summary.trials.iter();
    trials
        .map(|trial| Observation {
            block: trial.block,
            stratum: 0,
            levels: vec![level],
            value: trial.per_minute,
        })
        .collect()
}
