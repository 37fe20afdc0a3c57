//! The searches of a run as its page shows them: what is believed of each knee, probe by probe.

use std::collections::HashSet;

use rookery_analysis::{
    TrialData,
    search::{Step, course},
};
use rookery_model::search::Outcome;
use rookery_store::{RunHeader, Store, StoreError, TrialRow, TrialStatus};
use rookery_study::Search;
use serde::Serialize;

/// A search and how far it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct SearchView {
    pub(crate) id: u32,
    /// Its layout and variant in words.
    pub(crate) label: String,
    pub(crate) layouts: String,
    /// What the load counts: `users`.
    pub(crate) unit: String,
    pub(crate) lowest: f64,
    pub(crate) highest: f64,
    /// The answer as far as it is known, in a sentence; empty before the first trial has ended.
    pub(crate) answer: String,
    /// Whether it goes on.
    pub(crate) open: bool,
    pub(crate) steps: Vec<StepView>,
}

/// A trial of a search, and what was believed after it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct StepView {
    pub(crate) trial: u32,
    pub(crate) load: f64,
    /// `approach`, `confirm`, `above`; `study` is a step of the ladder.
    pub(crate) purpose: String,
    /// `kept`, `missed`, `void`.
    pub(crate) outcome: String,
    /// The rule that was missed, or why the trial is void.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) why: String,
    /// The load that half of the runs keep.
    pub(crate) knee: f64,
    /// Its 95 % interval; nothing where an end lies outside the range.
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
}

/// The searches of a run, whose trials stand as `rows` say. One that cannot be replayed has no
/// steps.
///
/// # Errors
/// When the store cannot be read.
pub(crate) fn views(
    store: &Store,
    header: &RunHeader,
    rows: &[TrialRow],
) -> Result<Vec<SearchView>, StoreError> {
    let plan = &header.plan;
    if plan.searches.is_empty() {
        return Ok(Vec::new());
    }
    // Of a run only those trials are read that a search knows of.
    let ladder: HashSet<u32> = plan
        .searches
        .iter()
        .flat_map(|search| search.ladder.clone())
        .collect();
    let probed = plan.points.iter().filter(|point| point.search.is_some());
    let points: HashSet<u32> = probed.map(|point| point.id).chain(ladder).collect();
    let mut trials = Vec::new();
    for row in rows {
        let ended = !matches!(row.status, TrialStatus::Planned | TrialStatus::Running);
        if ended && points.contains(&row.trial.point) {
            trials.push(TrialData {
                row: row.clone(),
                record: store.outline(row.trial.id)?,
                place: 0,
            });
        }
    }
    Ok(plan
        .searches
        .iter()
        .map(|search| view(header, search, &trials))
        .collect())
}

fn view(header: &RunHeader, search: &Search, trials: &[TrialData]) -> SearchView {
    let (steps, answer) = match course(&header.plan, search, trials) {
        Ok((steps, answer)) => (steps, Some(answer)),
        Err(_) => (Vec::new(), None),
    };
    let unit = search.over.unit();
    let open = search.stuck.is_none()
        && answer
            .as_ref()
            .is_none_or(|answer| answer.ending == rookery_model::search::Ending::Interrupted);
    let said = answer.filter(|_| !steps.is_empty());
    let said = said.map_or_else(String::new, |answer| {
        let sentence = answer.sentence(unit);
        // It goes on: nothing was interrupted.
        if open {
            sentence.replace("; interrupted", "")
        } else {
            sentence
        }
    });
    SearchView {
        id: search.id,
        label: search.label(),
        layouts: search.layouts.join(", "),
        unit: unit.to_owned(),
        lowest: search.lowest,
        highest: search.highest,
        answer: search
            .stuck
            .as_ref()
            .map_or(said, |stuck| format!("ended early: {stuck}")),
        open,
        steps: steps.into_iter().map(step_view).collect(),
    }
}

fn step_view(step: Step) -> StepView {
    let (outcome, why) = match step.tried.outcome {
        Outcome::Pass => ("kept", String::new()),
        Outcome::Fail { rule } => ("missed", rule),
        Outcome::Invalid { reason } => ("void", reason),
    };
    let (low, high) = step.interval;
    StepView {
        trial: step.tried.trial,
        load: step.tried.load,
        purpose: step.tried.purpose.name().to_owned(),
        outcome: outcome.to_owned(),
        why,
        knee: step.knee,
        low,
        high,
    }
}
