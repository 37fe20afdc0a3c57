//! The runs of a study over time, in words.

use rookery_analysis::trend::{LEVEL, Trend, TrendChange};
use rookery_text::Zone;

use super::{
    compare::{difference, value},
    format,
};

/// Fewest runs in which a change can be told from chance.
const FEWEST: usize = 10;

/// What changed and when; what did not; and how that was found. Dates are those of `zone`.
#[must_use]
pub fn trend_sentences(trends: &[Trend], zone: &Zone) -> Vec<String> {
    let mut sentences: Vec<String> = trends
        .iter()
        .flat_map(|trend| {
            let changes = trend.changes.iter();
            changes.map(|change| changed(trend, change, zone))
        })
        .collect();
    let steady: Vec<&Trend> = trends
        .iter()
        .filter(|trend| trend.changes.is_empty() && trend.runs.len() >= FEWEST)
        .collect();
    if let Some(first) = steady.first() {
        let names: Vec<&str> = steady.iter().map(|trend| trend.name.as_str()).collect();
        sentences.push(format!(
            "No change was found in {} over {}.",
            names.join(", "),
            format::counted(first.runs.len(), "run")
        ));
    }
    let most = trends.iter().map(|trend| trend.runs.len()).max();
    if most.is_some_and(|most| most < FEWEST) {
        sentences.push(format!(
            "Fewer than {FEWEST} runs cannot show that a change is more than chance."
        ));
    }
    if let Some(left_out) = trends
        .iter()
        .map(|trend| trend.left_out)
        .max()
        .filter(|out| *out > 0)
    {
        sentences.push(format!(
            "Points of the newest run are missing in {}: left out.",
            format::counted(left_out, "run")
        ));
    }
    if !trends.is_empty() {
        sentences.push(format!(
            "Changes are found by E-Divisive (Matteson, James 2014) with 999 shufflings; a study \
             that does not change shows one in {} of cases, over all metrics.",
            format::percent(LEVEL)
        ));
    }
    sentences
}

fn changed(trend: &Trend, change: &TrendChange, zone: &Zone) -> String {
    let metric = trend.metric;
    let date = trend
        .runs
        .get(change.at)
        .map(|run| zone.to_minute(&run.created_at));
    format!(
        "{}: {} since run {} ({}), from {} to {}, {}; p = {}.",
        trend.name,
        difference(metric, change.change),
        change.run_id,
        date.unwrap_or_default(),
        value(metric, Some(change.before)),
        value(metric, Some(change.after)),
        if change.better { "better" } else { "worse" },
        format::number(change.p)
    )
}
