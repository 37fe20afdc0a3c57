//! Limits and what broke them, in words.

use rookery_analysis::{
    Run,
    points::{BrokenLimit, LimitUse, PointSummary},
};
use rookery_stats::qos::Qos;
use rookery_study::Layout;

use super::format;

/// The limits in words: `p95 of every request within 250 ms, errors at most 0.1 %`.
fn limits(qos: &Qos) -> Option<String> {
    let mut parts: Vec<String> = qos
        .percentiles
        .iter()
        .map(|limit| {
            let of = limit
                .operation
                .as_deref()
                .map_or("every request".to_owned(), |name| format!("`{name}`"));
            format!(
                "p{} of {of} within {} ms",
                limit.percentile,
                format::trimmed(limit.limit_us as f64 / 1000.0)
            )
        })
        .collect();
    parts.extend(
        qos.error_ratio
            .map(|ratio| format!("errors at most {} %", format::trimmed(100.0 * ratio))),
    );
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The limits of a run in words; a layout with limits of its own is said to have them.
pub(crate) fn of_run(run: &Run) -> Option<String> {
    let header = &run.header;
    let text = limits(&header.study.qos)?;
    let has_own = |layout: &&Layout| {
        layout
            .overrides
            .iter()
            .any(|said| said.key.starts_with("qos."))
    };
    let own: Vec<&str> = header
        .study
        .layouts
        .iter()
        .filter(has_own)
        .map(|layout| &*layout.name)
        .collect();
    Some(match own.as_slice() {
        [] => text,
        names => format!("{text}; {} with limits of its own", names.join(", ")),
    })
}

/// From this share of a limit on it counts as reached.
const REACHED: f64 = 0.9;

/// How near the limits a run came, where it came near none: `the nearest was 70.3 of 250 ms,
/// purchase p95, with 4 x 0.25 vCPU, 800 users`.
pub(crate) fn not_reached(points: &[PointSummary]) -> Option<String> {
    let near = |summary: &PointSummary| {
        let nearest = summary.nearest_limit.as_ref();
        summary.limits.failed > 0
            || summary.limits.marginal > 0
            || nearest.is_some_and(|limit| limit.share() >= REACHED)
    };
    if points.iter().any(near) {
        return None;
    }
    let uses = points
        .iter()
        .filter_map(|summary| Some((summary, summary.nearest_limit.as_ref()?)));
    let (summary, limit) = uses.max_by(|a, b| a.1.share().total_cmp(&b.1.share()))?;
    Some(format!(
        "the nearest was {}, with {}",
        used(limit),
        summary.point.label
    ))
}

/// A value beside its limit: `70.3 of 250 ms, purchase p95`; `0.05 of 0.1 %, errors`.
pub(crate) fn used(limit: &LimitUse) -> String {
    let of = limit
        .operation
        .as_deref()
        .map_or_else(String::new, |name| format!("{name} "));
    match limit.percentile {
        Some(percentile) => format!(
            "{} of {} ms, {of}p{percentile}",
            format::or_none(limit.value, format::ms_value),
            format::trimmed(limit.limit / 1000.0)
        ),
        None => format!(
            "{} of {} %, {of}errors",
            format::or_none(limit.value, |share| format::trimmed(
                (10_000.0 * share).round() / 100.0
            )),
            format::trimmed(100.0 * limit.limit)
        ),
    }
}

/// A limit that was broken, with its value: `g1 purchase p95 <= 250 ms, but was 312 ms`.
pub(crate) fn broken(limit: &BrokenLimit) -> String {
    let value = match (limit.percentile, limit.value) {
        (_, None) => "not finished at the end".to_owned(),
        (Some(_), Some(us)) => format::ms(us),
        (None, Some(share)) => format::percent(share),
    };
    format!("{}, but was {value}", limit.rule)
}
