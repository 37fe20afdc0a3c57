//! The tables of searches: one row for each answer, one for each trial.

use rookery_analysis::{
    Analysis, Run,
    searches::{SearchEnding, SearchSummary, TriedLoad, TriedOutcome},
};
use rookery_study::{Over, Purpose};

use super::{Table, labelled, summary, table};
use crate::prose::{
    format,
    searches::{loaded, over_memory, ratio, sought},
    words,
};

/// One row for each search: what it found, how sure that is.
pub(crate) fn answers(analysis: &Analysis) -> Table {
    let heads = [
        "search",
        "layout",
        sought(&analysis.searches),
        "state",
        "edge, 95 %",
        "missed first",
        "trials",
        "per vCPU",
        "share of one big",
    ];
    let columns = match over_memory(&analysis.searches) {
        true => heads.len() - OF_LOADS,
        false => heads.len(),
    };
    let row = |search| {
        let mut row = answer_row(analysis, search);
        row.truncate(columns);
        row
    };
    let rows = analysis.searches.iter().map(row);
    table(&heads[..columns], rows.collect())
}

/// The last columns of the answers say what only loads have: a part for each vCPU.
const OF_LOADS: usize = 2;

fn answer_row(analysis: &Analysis, search: &SearchSummary) -> Vec<String> {
    let edge = match search.edge {
        (None, None) => format::NONE.to_owned(),
        (Some(low), Some(high)) => format!("{} to {}", format::load(low), format::load(high)),
        (Some(low), None) => format!("above {}", format::load(low)),
        (None, Some(high)) => format!("below {}", format::load(high)),
    };
    let of_big = analysis
        .searches_against_one_big
        .iter()
        .find(|found| found.one == search.id);
    let per_vcpu = search
        .load
        .zip(search.total_vcpus())
        .map(|(load, vcpus)| format::trimmed((10.0 * load / vcpus).round() / 10.0));
    let void = match search.void_trials() {
        0 => String::new(),
        count => format!(", {count} void"),
    };
    vec![
        search.label.clone(),
        search.layouts.join(", "),
        format::or_none(search.load, |load| loaded(search, load)),
        state(search).to_owned(),
        edge,
        search
            .first_to_break
            .clone()
            .unwrap_or_else(|| format::NONE.to_owned()),
        format!("{}{void}", search.tried.len()),
        per_vcpu.unwrap_or_else(|| format::NONE.to_owned()),
        format::or_none(of_big, ratio),
    ]
}

/// How it stands with an answer, in a word or two.
fn state(search: &SearchSummary) -> &'static str {
    match (&search.ending, search.confirmed) {
        (SearchEnding::NothingPasses, _) => "nothing passes",
        (SearchEnding::EverythingPasses, true) => "all passes, confirmed",
        (SearchEnding::EverythingPasses, false) => "all passes",
        (_, true) => "confirmed",
        (SearchEnding::BudgetSpent, false) => "budget spent",
        (SearchEnding::Void { .. }, false) => "stopped: void trials",
        (SearchEnding::Interrupted, false) => "not at its end",
        (SearchEnding::Found, false) => "not confirmed",
    }
}

/// Throughput and response times at the largest loads, over the trials that confirm them.
pub(crate) fn confirmed(analysis: &Analysis) -> Table {
    let unit = words::unit_of_all(analysis.points.iter());
    let [p95, p99] = [95, 99].map(|percentile| format!("{unit} p{percentile}, ms"));
    let at = format!("at the {} of", sought(&analysis.searches));
    let heads = [
        at.as_str(),
        words::rate_of_all(analysis.points.iter()),
        &p95,
        &p99,
        "worst request p95, ms",
        "guest CPU cores",
        "rests on",
    ];
    let rows = analysis.searches.iter().filter_map(confirmed_row);
    table(&heads, rows.collect())
}

fn confirmed_row(search: &SearchSummary) -> Option<Vec<String>> {
    let at = search.at.as_ref()?;
    let slowest = at
        .slowest_request
        .as_deref()
        .and_then(|name| Some((name, at.quantile(name, 95.0)?)));
    let what = if search.confirmed {
        "confirming trial"
    } else {
        "trial"
    };
    Some(vec![
        search.label.clone(),
        format::or_none(at.per_minute.as_ref(), format::estimate),
        summary::unit(at, 95.0),
        summary::unit(at, 99.0),
        format::or_none(slowest, |(name, quantile)| {
            format!("{name} {}", format::quantile(quantile))
        }),
        format::or_none(at.guest_cores.as_ref(), format::summary),
        format::counted(at.done, what),
    ])
}

/// Every trial that a search knows of, in its order.
pub(crate) fn tried(run: &Run, search: &SearchSummary) -> Table {
    let unit = match search.over {
        Over::Users => words::people(run),
        Over::Rate => "arrivals/s",
        Over::Guests => "guests",
        Over::Memory => "MiB",
    };
    let heads = [
        "trial",
        unit,
        "what for",
        "limits",
        "binding value, % of its limit",
        words::rate(run),
        "reason",
    ];
    let rows = search.tried.iter().map(tried_row);
    labelled(&search.label, &heads, rows.collect())
}

fn tried_row(tried: &TriedLoad) -> Vec<String> {
    let (state, reason) = match &tried.outcome {
        TriedOutcome::Kept => ("kept", String::new()),
        TriedOutcome::Broken { rule } => ("broken", rule.clone()),
        TriedOutcome::Void { reason } => ("void", reason.clone()),
    };
    let purpose = if tried.purpose == Purpose::Study {
        "ladder"
    } else {
        tried.purpose.name()
    };
    vec![
        tried.trial.to_string(),
        format::load(tried.load),
        purpose.to_owned(),
        state.to_owned(),
        format::or_none(tried.binding.as_ref(), |binding| {
            format!("{:.0}", 100.0 * binding.share)
        }),
        format::or_none(tried.per_minute, format::number),
        reason,
    ]
}
