//! Layouts against the layouts that they name as their baselines.

use rookery_stats::Ratio;
use rookery_study::{Layout, Over, Study};

use crate::{
    estimate,
    points::PointSummary,
    schema::data,
    searches::{self, SearchRatio, SearchSummary},
};

data! {
    /// What two points have in common that are compared.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum BaselineBasis {
        /// The load on all guests together.
        SameLoad,
        /// The CPUs that all guests together can use; each side at the best of its loads.
        SameCpus,
        /// Nothing but the limits: each side at the best of its loads and sizes.
        Best,
    }
}

data! {
    /// A point of a layout against one of its baseline.
    #[derive(Clone, Debug, PartialEq)]
    pub struct BaselineRatio {
        /// Name of the layout.
        pub layout: String,
        /// Name of its baseline.
        pub baseline: String,
        /// What the two have in common, at least one.
        pub bases: Vec<BaselineBasis>,
        /// Number of the layout's point.
        pub point: u32,
        /// Number of the baseline's point.
        pub baseline_point: u32,
        /// Throughput of the point over that of the baseline's: the efficiency.
        pub ratio: Ratio,
    }
}

/// All comparisons of the points of a study, layout by layout. Of points of one shape (guests,
/// vCPUs and levels) at several loads, the best is the one of the highest throughput within the
/// limits, or, where none kept them, of the highest throughput.
pub(crate) fn of_points(study: &Study, points: &[PointSummary]) -> Vec<BaselineRatio> {
    let mut found = Vec::new();
    for (layout, baseline) in named(study) {
        let own = of_layout(points, &layout.name);
        for shape in shapes(&own) {
            let others = comparable(&of_layout(points, baseline), shape[0]);
            let mut pairs: Vec<(BaselineBasis, &PointSummary, &PointSummary)> = Vec::new();
            for point in &shape {
                pairs.extend(
                    same_load(point, &others).map(|other| (BaselineBasis::SameLoad, *point, other)),
                );
            }
            let best_own = best(&shape);
            let equal = |other: &&&PointSummary| {
                (other.point.capacity_cpus - shape[0].point.capacity_cpus).abs() < EQUAL_CPUS
            };
            let equal: Vec<&PointSummary> = others.iter().filter(equal).copied().collect();
            for (basis, side) in [
                (BaselineBasis::SameCpus, &equal),
                (BaselineBasis::Best, &others),
            ] {
                pairs.extend(
                    best_own
                        .zip(best(side))
                        .map(|(own, other)| (basis, own, other)),
                );
            }
            for (basis, point, other) in pairs {
                add(&mut found, layout, baseline, basis, point, other);
            }
        }
    }
    found
}

/// The largest loads of searches against those of the baselines of their layouts: the largest of
/// all sizes that the baseline has; of memory the least.
pub(crate) fn of_searches(study: &Study, all: &[SearchSummary]) -> Vec<SearchRatio> {
    let mut found: Vec<SearchRatio> = Vec::new();
    for (layout, baseline) in named(study) {
        let has = |search: &SearchSummary, name: &String| search.layouts.contains(name);
        let others = all
            .iter()
            .filter(|search| has(search, baseline) && search.load.is_some());
        let best = others.max_by(|a, b| merit(a).total_cmp(&merit(b)));
        for own in all.iter().filter(|search| has(search, &layout.name)) {
            let ratio = best.and_then(|other| searches::ratio(own, other));
            found.extend(ratio.filter(|ratio| ratio.one != ratio.other && !found.contains(ratio)));
        }
    }
    found
}

/// How good the answer of a search is: more is better.
fn merit(search: &SearchSummary) -> f64 {
    let load = search.load.unwrap_or(0.0);
    match search.over {
        Over::Users | Over::Rate | Over::Guests => load,
        Over::Memory => -load,
    }
}

/// Capacities are sums of thousandths of a CPU; half of one apart is equal.
const EQUAL_CPUS: f64 = 0.0005;

/// Layouts with the names of their baselines.
fn named(study: &Study) -> impl Iterator<Item = (&Layout, &String)> {
    let layouts = study.layouts.iter();
    layouts.filter_map(|layout| Some((layout, layout.baseline.as_ref()?)))
}

/// The measured points of a layout.
fn of_layout<'a>(points: &'a [PointSummary], layout: &str) -> Vec<&'a PointSummary> {
    let own = |summary: &&PointSummary| {
        summary.per_minute.is_some() && summary.point.layouts.iter().any(|name| name == layout)
    };
    points.iter().filter(own).collect()
}

/// Points that differ in their loads alone.
fn shapes<'a>(points: &[&'a PointSummary]) -> Vec<Vec<&'a PointSummary>> {
    let mut shapes: Vec<Vec<&PointSummary>> = Vec::new();
    for point in points {
        let same = |shape: &&mut Vec<&PointSummary>| {
            let (a, b) = (&shape[0].point, &point.point);
            (a.guests, a.vcpus, a.variant) == (b.guests, b.vcpus, b.variant)
        };
        match shapes.iter_mut().find(same) {
            Some(shape) => shape.push(point),
            None => shapes.push(vec![point]),
        }
    }
    shapes
}

/// The points of a baseline with the workload of a point that have its levels where both have one;
/// all of that workload where none has.
fn comparable<'a>(baseline: &[&'a PointSummary], point: &PointSummary) -> Vec<&'a PointSummary> {
    let agrees = |other: &&&PointSummary| {
        point.point.levels.iter().all(|own| {
            let mut same = other
                .point
                .levels
                .iter()
                .filter(|level| level.key == own.key);
            same.all(|level| level.value == own.value)
        })
    };
    let same = |other: &&&PointSummary| other.workload == point.workload;
    let same: Vec<&PointSummary> = baseline.iter().filter(same).copied().collect();
    let alike: Vec<&PointSummary> = same.iter().filter(agrees).copied().collect();
    if alike.is_empty() { same } else { alike }
}

/// The point of the same load whose CPUs are nearest.
fn same_load<'a>(point: &PointSummary, others: &[&'a PointSummary]) -> Option<&'a PointSummary> {
    let load = point.point.load();
    let equal = others.iter().filter(|other| {
        let same_kind = other.point.rate_per_s.is_some() == point.point.rate_per_s.is_some();
        same_kind && (other.point.load() - load).abs() <= 1e-9 * load
    });
    let apart =
        |other: &PointSummary| (other.point.capacity_cpus - point.point.capacity_cpus).abs();
    equal.copied().min_by(|a, b| apart(a).total_cmp(&apart(b)))
}

fn best<'a>(points: &[&'a PointSummary]) -> Option<&'a PointSummary> {
    let rate = |point: &PointSummary| point.per_minute.map_or(0.0, |estimate| estimate.mean);
    let highest = |of: &mut dyn Iterator<Item = &'a PointSummary>| {
        of.max_by(|a, b| rate(a).total_cmp(&rate(b)))
    };
    highest(&mut points.iter().copied().filter(|point| point.limits.held()))
        .or_else(|| highest(&mut points.iter().copied()))
}

fn add(
    found: &mut Vec<BaselineRatio>,
    layout: &Layout,
    baseline: &str,
    basis: BaselineBasis,
    point: &PointSummary,
    other: &PointSummary,
) {
    let known = found.iter_mut().find(|known| {
        known.layout == layout.name
            && (known.point, known.baseline_point) == (point.point.id, other.point.id)
    });
    if let Some(known) = known {
        known.bases.push(basis);
        return;
    }
    let side = |summary: &PointSummary| Some((summary.per_minute?, summary.rates()));
    let ratio = side(point)
        .zip(side(other))
        .and_then(|((own, values), (base, base_values))| {
            estimate::ratio((&own, &values), (&base, &base_values))
        });
    found.extend(ratio.map(|ratio| BaselineRatio {
        layout: layout.name.clone(),
        baseline: baseline.to_owned(),
        bases: vec![basis],
        point: point.point.id,
        baseline_point: other.point.id,
        ratio,
    }));
}
