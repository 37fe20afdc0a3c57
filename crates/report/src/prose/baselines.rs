//! Layouts against the layouts that they name as their baselines, in words.

use rookery_analysis::{
    Analysis,
    baselines::{BaselineBasis, BaselineRatio},
};

use super::{MOST_SENTENCES, format};

/// Layouts of one sentence.
const MOST_SHARES: usize = 6;

/// Layouts against their baselines, each at its best, one sentence for each baseline; where there
/// are searches, they say it better.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    if !analysis.searches_against_baselines.is_empty() {
        return Vec::new();
    }
    let mut by_baseline: Vec<Vec<&BaselineRatio>> = Vec::new();
    let at_best = analysis
        .baselines
        .iter()
        .filter(|found| found.bases.contains(&BaselineBasis::Best));
    for found in at_best {
        let alike = |other: &BaselineRatio| {
            other.baseline_point == found.baseline_point && other.bases == found.bases
        };
        match by_baseline.iter_mut().find(|all| alike(all[0])) {
            Some(all) => all.push(found),
            None => by_baseline.push(vec![found]),
        }
    }
    // What has most in common is said first.
    by_baseline.sort_by_key(|all| std::cmp::Reverse(all[0].bases.len()));
    by_baseline
        .iter()
        .filter_map(|all| of_baseline(analysis, all))
        .take(MOST_SENTENCES)
        .collect()
}

/// `Throughput against the baseline bare metal (1 x 1 vCPU, 50 users), at the same users: one big
/// (...) 97.7 % (91.1 to 104.8); ...`, of many the first.
fn of_baseline(analysis: &Analysis, all: &[&BaselineRatio]) -> Option<String> {
    let first = all.first()?;
    let base = analysis.point(first.baseline_point)?;
    let shares: Vec<String> = all
        .iter()
        .filter_map(|found| {
            let own = analysis.point(found.point)?;
            let told = match found.ratio.interval {
                Some(_) => format::ratio(&found.ratio),
                None => format!(
                    "{} (too few repeats for an interval)",
                    format::percent(found.ratio.value)
                ),
            };
            Some(format!("{} ({}) {told}", found.layout, own.point.label))
        })
        .collect();
    let more = match shares.len().saturating_sub(MOST_SHARES) {
        0 => String::new(),
        more => format!("; the table has {more} more"),
    };
    Some(format!(
        "Throughput against the baseline {} ({}), at {}: {}{more}.",
        first.baseline,
        base.point.label,
        bases(first, base.point.clients),
        shares[..shares.len().min(MOST_SHARES)].join("; ")
    ))
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
