//! Layouts against the layouts that they name as their baselines, in words.

use rookery_analysis::{
    Analysis,
    baselines::{BaselineBasis, BaselineRatio},
};

use super::{MOST_SENTENCES, format};

/// Layouts against their baselines, each at its best; where there are searches, they say it better.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    if !analysis.searches_against_baselines.is_empty() {
        return Vec::new();
    }
    let at_best = analysis
        .baselines
        .iter()
        .filter(|found| found.bases.contains(&BaselineBasis::Best));
    let sentence = |found: &BaselineRatio| {
        let (own, base) = (
            analysis.point(found.point)?,
            analysis.point(found.baseline_point)?,
        );
        let interval = found.ratio.interval.map_or_else(
            || " (too few repeats for an interval)".to_owned(),
            |(low, high)| {
                format!(
                    " (95 % interval {:.1} to {:.1} %)",
                    100.0 * low,
                    100.0 * high
                )
            },
        );
        Some(format!(
            "{} ({}) did {}{interval} of what its baseline {} ({}) did, compared at {}.",
            found.layout,
            own.point.label,
            format::percent(found.ratio.value),
            found.baseline,
            base.point.label,
            bases(found, own.point.clients)
        ))
    };
    at_best.filter_map(sentence).take(MOST_SENTENCES).collect()
}

/// `the same users, the same CPUs`.
pub(crate) fn bases(found: &BaselineRatio, clients: &str) -> String {
    let name = |basis: &BaselineBasis| match basis {
        BaselineBasis::SameLoad => format!("the same {clients}"),
        BaselineBasis::SameCpus => "the same CPUs".to_owned(),
        BaselineBasis::Best => "the best within the limits".to_owned(),
    };
    found.bases.iter().map(name).collect::<Vec<_>>().join(", ")
}
