//! Layouts beside the layouts that they name as their baselines.

use rookery_analysis::{Analysis, baselines::BaselineRatio};

use super::{Table, table};
use crate::prose::{baselines::bases, format, words};

/// Every comparison; no rows where no layout has a baseline.
pub(crate) fn against(analysis: &Analysis) -> Table {
    let rate = words::rate_of_all(analysis.points.iter());
    let of_baseline = format!("{rate} of the baseline");
    let heads = [
        "layout",
        "point",
        "baseline",
        "its point",
        "compared at",
        rate,
        &of_baseline,
        "share of the baseline",
    ];
    let row = |found: &BaselineRatio| {
        let (own, base) = (
            analysis.point(found.point)?,
            analysis.point(found.baseline_point)?,
        );
        Some(vec![
            found.layout.clone(),
            own.point.label.clone(),
            found.baseline.clone(),
            base.point.label.clone(),
            bases(found, own.point.clients),
            format::or_none(own.per_minute.as_ref(), format::estimate),
            format::or_none(base.per_minute.as_ref(), format::estimate),
            format::ratio(&found.ratio),
        ])
    };
    table(&heads, analysis.baselines.iter().filter_map(row).collect())
}
