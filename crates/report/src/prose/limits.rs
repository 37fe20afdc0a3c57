//! Limits and what broke them, in words.

use rookery_analysis::{Run, points::BrokenLimit};
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

/// A limit that was broken, with its value: `g1 purchase p95 <= 250 ms, but was 312 ms`.
pub(crate) fn broken(limit: &BrokenLimit) -> String {
    let value = match (limit.percentile, limit.value) {
        (_, None) => "not finished at the end".to_owned(),
        (Some(_), Some(us)) => format::ms(us),
        (None, Some(share)) => format::percent(share),
    };
    format!("{}, but was {value}", limit.rule)
}
