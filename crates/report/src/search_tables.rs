//! The tables of searches: one row for each answer, one for each trial.

use rookery_judge::search::Tried;
use rookery_model::search::{Ending, Outcome};
use rookery_study::{Over, Purpose};

use crate::{
    Analysis, Run,
    figure::Table,
    format, search_figures,
    searches::{self, Searched},
    tables,
};

/// One row for each search: what it found, how sure that is.
pub(crate) fn answers(analysis: &Analysis) -> Table {
    let heads = [
        "search",
        "layout",
        "largest load",
        "state",
        "edge, 95 %",
        "breaks first",
        "trials",
        "per vCPU",
        "share of one big",
    ];
    Table {
        label: String::new(),
        heads: heads.map(str::to_owned).to_vec(),
        rows: analysis
            .searches
            .iter()
            .map(|searched| answer_row(analysis, searched))
            .collect(),
    }
}

fn answer_row(analysis: &Analysis, searched: &Searched) -> Vec<String> {
    let (search, answer) = (searched.search(), &searched.found.answer);
    let edge = match answer.interval {
        (None, None) => format::NONE.to_owned(),
        (Some(low), Some(high)) => format!("{} to {}", format::load(low), format::load(high)),
        (Some(low), None) => format!("above {}", format::load(low)),
        (None, Some(high)) => format!("below {}", format::load(high)),
    };
    let of_big = searches::against_one_big(&analysis.searches);
    let of_big = of_big
        .iter()
        .find(|against| against.one.search().id == search.id);
    let per_vcpu = answer
        .load
        .zip(searched.vcpus())
        .map(|(load, vcpus)| format::trimmed((10.0 * load / vcpus).round() / 10.0));
    let void = match searched.invalid() {
        0 => String::new(),
        count => format!(", {count} void"),
    };
    vec![
        search.label(),
        search.layouts.join(", "),
        format::or_none(answer.load, |load| searched.loaded(load)),
        state(searched).to_owned(),
        edge,
        answer
            .binding
            .clone()
            .unwrap_or_else(|| format::NONE.to_owned()),
        format!("{}{void}", searched.found.tried.len()),
        per_vcpu.unwrap_or_else(|| format::NONE.to_owned()),
        of_big.map_or_else(|| format::NONE.to_owned(), |against| against.words()),
    ]
}

/// How it stands with an answer, in a word or two.
fn state(searched: &Searched) -> &'static str {
    let answer = &searched.found.answer;
    match (&answer.ending, answer.confirmed) {
        (Ending::NothingPasses, _) => "nothing passes",
        (Ending::EverythingPasses, true) => "all passes, confirmed",
        (Ending::EverythingPasses, false) => "all passes",
        (_, true) => "confirmed",
        (Ending::Budget, false) => "budget spent",
        (Ending::Invalid { .. }, false) => "stopped: void trials",
        (Ending::Interrupted, false) => "not at its end",
        (Ending::Found, false) => "not confirmed",
    }
}

/// Throughput and response times at the largest loads, over the trials that confirm them.
pub(crate) fn confirmed(analysis: &Analysis) -> Table {
    let heads = [
        "at the largest load of",
        "orders/min",
        "order p95, ms",
        "order p99, ms",
        "worst request p95, ms",
        "guest CPU cores",
        "rests on",
    ];
    let row = |searched: &Searched| {
        let at = searched.at.as_ref()?;
        let worst = at
            .worst_request()
            .and_then(|worst| Some((worst.name.as_str(), at.quantile(&worst.name, 95.0)?)));
        let what = if searched.found.answer.confirmed {
            "confirming trial"
        } else {
            "trial"
        };
        Some(vec![
            searched.search().label(),
            format::or_none(at.orders_per_minute.as_ref(), format::estimate),
            tables::order(at, 95.0),
            tables::order(at, 99.0),
            format::or_none(worst, |(name, quantile)| {
                format!("{name} {}", format::quantile(quantile))
            }),
            format::or_none(at.guest_cores.as_ref(), format::summary),
            format::counted(at.done, what),
        ])
    };
    Table {
        label: String::new(),
        heads: heads.map(str::to_owned).to_vec(),
        rows: analysis.searches.iter().filter_map(row).collect(),
    }
}

/// Every trial that a search knows of, in its order.
pub(crate) fn tried(run: &Run, searched: &Searched) -> Table {
    let unit = match searched.search().over {
        Over::Users => crate::words::people(run),
        Over::Rate => "arrivals/s",
        Over::Guests => "guests",
    };
    let heads = [
        "trial",
        unit,
        "what for",
        "limits",
        "binding value, % of its limit",
        "orders/min",
        "reason",
    ];
    Table {
        label: searched.search().label(),
        heads: heads.map(str::to_owned).to_vec(),
        rows: searched
            .found
            .tried
            .iter()
            .map(|tried| tried_row(run, tried))
            .collect(),
    }
}

fn tried_row(run: &Run, tried: &Tried) -> Vec<String> {
    let trial = run
        .trials
        .iter()
        .find(|trial| trial.row.trial.id == tried.trial);
    let measured = trial.and_then(|trial| trial.record.as_ref()?.measurement.as_ref());
    let (state, reason) = match &tried.outcome {
        Outcome::Pass => ("kept", String::new()),
        Outcome::Fail { rule } => ("broken", rule.clone()),
        Outcome::Invalid { reason } => ("void", reason.clone()),
    };
    let purpose = if tried.purpose == Purpose::Study {
        "ladder"
    } else {
        tried.purpose.name()
    };
    let share = search_figures::share(run, tried);
    vec![
        tried.trial.to_string(),
        format::load(tried.load),
        purpose.to_owned(),
        state.to_owned(),
        format::or_none(share, |(share, _)| format!("{:.0}", 100.0 * share)),
        format::or_none(measured, |measured| {
            format::number(measured.orders_per_minute())
        }),
        reason,
    ]
}
