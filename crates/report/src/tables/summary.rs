//! The tables of the summary: throughput, response times, costs of every point.

use rookery_analysis::{
    Analysis, baselines::BaselineBasis, best::LayoutBest, points::PointSummary,
};

use super::{Table, table};
use crate::prose::{format, limits, words};

/// Throughput, its share of one big guest, and the limits.
pub(crate) fn throughput(analysis: &Analysis) -> Table {
    let row = |summary: &PointSummary| {
        vec![
            summary.point.label.clone(),
            summary.layouts(),
            format::or_none(summary.per_minute.as_ref(), format::estimate),
            format::or_none(summary.requests_per_second.as_ref(), format::estimate),
            limits(summary),
            share_of_one_big(analysis, summary),
        ]
    };
    let heads = [
        "point",
        "layout",
        words::rate_of_all(analysis.points.iter()),
        "requests/s",
        "limits",
        "share of one big",
    ];
    table(&heads, analysis.points.iter().map(row).collect())
}

/// Throughput as a share of one big guest; nothing for a big guest that no other point is compared
/// with.
fn share_of_one_big(analysis: &Analysis, summary: &PointSummary) -> String {
    if is_one_big(analysis, summary.point.id) {
        return "baseline".to_owned();
    }
    let ratio = summary.efficiency.as_ref();
    let of_itself = summary.point.baseline == Some(summary.point.id);
    format::or_none(ratio.filter(|_| !of_itself), format::ratio)
}

/// Other points are compared with this one, the one big guest of their capacity.
pub(crate) fn is_one_big(analysis: &Analysis, point: u32) -> bool {
    let mut others = analysis.points.iter().filter(|one| one.point.id != point);
    others.any(|other| other.point.baseline == Some(point))
}

/// How the limits were judged, with the value that came nearest to its limit.
pub(crate) fn limits(summary: &PointSummary) -> String {
    let judged = format::limits(&summary.limits);
    match &summary.nearest_limit {
        Some(limit) => format!("{judged}: {}", limits::used(limit)),
        None => judged,
    }
}

/// What each layout did at its best, for the answer; empty with a single layout, and where none has
/// a best point.
pub(crate) fn by_layout(analysis: &Analysis) -> Table {
    let row = |best: &LayoutBest| {
        let id = best.within_limits.or(best.highest);
        let Some(summary) = id.and_then(|id| analysis.point(id)) else {
            let none = || format::NONE.to_owned();
            return vec![best.layout.clone(), none(), none(), none(), none()];
        };
        vec![
            best.layout.clone(),
            summary.point.label.clone(),
            format::or_none(summary.per_minute.as_ref(), format::estimate),
            limits(summary),
            share(analysis, best, summary),
        ]
    };
    let heads = [
        "layout",
        "its best point",
        words::rate_of_all(analysis.points.iter()),
        "limits",
        match analysis.baselines.is_empty() {
            true => "share of one big",
            false => "share of its baseline",
        },
    ];
    let layouts = &analysis.best.layouts;
    let led = layouts.iter().any(|best| best.highest.is_some());
    let shown = layouts.len() > 1 && led && analysis.searches.is_empty();
    table(&heads, layouts.iter().filter(|_| shown).map(row).collect())
}

/// What a layout does at its best as a share of the layout that it names as its baseline, or else
/// of one big guest.
fn share(analysis: &Analysis, best: &LayoutBest, summary: &PointSummary) -> String {
    let mut named = analysis.baselines.iter();
    if analysis.baselines.is_empty() {
        return share_of_one_big(analysis, summary);
    }
    let own = named
        .find(|found| found.layout == best.layout && found.bases.contains(&BaselineBasis::Best));
    let is_baseline = || {
        analysis
            .baselines
            .iter()
            .any(|found| found.baseline == best.layout)
    };
    match own {
        Some(found) => format::ratio(&found.ratio),
        None if is_baseline() => "baseline".to_owned(),
        None => format::NONE.to_owned(),
    }
}

/// A percentile of an operation with its interval, ms.
fn at(summary: &PointSummary, operation: &str, percentile: f64) -> String {
    format::or_none(summary.quantile(operation, percentile), format::quantile)
}

/// The unit of work at a percentile, ms.
pub(crate) fn unit(summary: &PointSummary, percentile: f64) -> String {
    at(summary, summary.main_operation, percentile)
}

/// Response times of the unit of work and of the slowest request, for a wide page.
pub(crate) fn response(analysis: &Analysis) -> Table {
    response_at(analysis, &[50, 95, 99], &[95, 99])
}

/// Those that say most, for a terminal.
pub(crate) fn response_brief(analysis: &Analysis) -> Table {
    response_at(analysis, &[95, 99], &[95])
}

fn response_at(analysis: &Analysis, of_unit: &[u8], of_worst: &[u8]) -> Table {
    let row = |summary: &PointSummary| {
        let worst = summary.slowest_request.clone();
        let units = of_unit.iter().map(|at| unit(summary, f64::from(*at)));
        let slowest = of_worst.iter().map(|percentile| {
            format::or_none(worst.as_deref(), |name| {
                at(summary, name, f64::from(*percentile))
            })
        });
        let name = worst.clone().unwrap_or_else(|| format::NONE.to_owned());
        let label = std::iter::once(summary.point.label.clone());
        label.chain(units).chain([name]).chain(slowest).collect()
    };
    let unit = words::unit_of_all(analysis.points.iter());
    let units = of_unit.iter().map(|at| format!("{unit} p{at}, ms"));
    let slowest = of_worst.iter().map(|at| format!("its p{at}, ms"));
    let mut heads = vec!["point".to_owned()];
    heads.extend(units);
    heads.push("worst request".to_owned());
    heads.extend(slowest);
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    table(&heads, analysis.points.iter().map(row).collect())
}

/// Errors, and the CPU that guests and driver used.
pub(crate) fn costs(analysis: &Analysis) -> Table {
    let row = |summary: &PointSummary| {
        vec![
            summary.point.label.clone(),
            format::or_none(summary.error_share(), format::percent),
            format::or_none(summary.rollback_share, format::percent),
            format::or_none(summary.guest_cores.as_ref(), format::summary),
            format::or_none(summary.throttled_cores.as_ref(), format::summary),
            format::or_none(summary.driver_share.as_ref(), format::mean_percent),
        ]
    };
    let heads = [
        "point",
        "errors",
        "rollbacks",
        "guest CPU cores",
        "throttled CPUs",
        "driver CPU",
    ];
    table(&heads, analysis.points.iter().map(row).collect())
}
