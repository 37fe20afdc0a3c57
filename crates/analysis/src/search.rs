//! What a search has found so far: the trials of its ladder and its probes, taken in again in their
//! order.
//!
//! The state of a search is nowhere stored: it follows from the plan (range, hint, ladder) and the
//! outcomes of its trials. Whoever conducts a run and whoever reports it replay the same outcomes
//! and so agree.

use rookery_diagnosis::Diagnosis;
use rookery_model::search::{
    Answer, Ending, Goal, Hint, Outcome, Search as Machine, Settings, SettingsError,
};
use rookery_stats::{
    Measurement,
    faults::{driver_bound, overload},
    qos::{RuleResult, Verdict},
};
use rookery_store::{OUT_OF_MEMORY, TrialRecord, TrialStatus};
use rookery_study::{Expected, Over, Plan, Purpose, Search, SearchUse};

use crate::TrialData;

/// A search that cannot be made or replayed.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// Its settings contradict each other: the stored plan is not one that we made.
    #[error("search {id}: {source}")]
    Settings {
        /// Number of the search.
        id: u32,
        /// What is wrong.
        source: SettingsError,
    },
    /// Its study asks for no search.
    #[error("search {0} is of a variant that searches nothing")]
    NotAsked(u32),
}

impl Diagnosis for SearchError {
    fn code(&self) -> &'static str {
        match self {
            Self::Settings { .. } => "analysis::search-settings",
            Self::NotAsked(_) => "analysis::search-not-asked",
        }
    }

    fn help(&self) -> Option<String> {
        Some("the stored plan was changed: run the study again".to_owned())
    }
}

/// One trial of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// Number of the trial.
    pub trial: u32,
    /// The load, in the unit of the search.
    pub load: f64,
    /// What it was for; [`Purpose::Study`] is a step of the ladder.
    pub purpose: Purpose,
    /// What came of it.
    pub outcome: Outcome,
}

/// What a search has found so far.
#[derive(Clone, Debug)]
pub struct Found {
    /// The search as planned.
    pub search: Search,
    /// The answer, as far as it is known.
    pub answer: Answer,
    /// Every trial that it knows of: the ladder first, then its probes, in order.
    pub tried: Vec<Tried>,
}

/// The state of a search after all trials that have ended so far; `trials` are those of the run in
/// their order.
///
/// # Errors
/// When the plan is not one that could have been made.
pub fn replay(
    plan: &Plan,
    search: &Search,
    trials: &[TrialData],
) -> Result<(Machine, Vec<Tried>), SearchError> {
    replay_to(plan, search, trials, |_, _| {})
}

/// [`replay`], and tell `after` of every trial and the machine as it then is.
fn replay_to(
    plan: &Plan,
    search: &Search,
    trials: &[TrialData],
    mut after: impl FnMut(&Tried, &Machine),
) -> Result<(Machine, Vec<Tried>), SearchError> {
    let variant = plan
        .variants
        .iter()
        .find(|variant| variant.id == search.variant);
    let study = &variant.ok_or(SearchError::NotAsked(search.id))?.study;
    let asked = study
        .load
        .search
        .as_ref()
        .ok_or(SearchError::NotAsked(search.id))?;
    let mut machine =
        Machine::new(settings(search, asked)).map_err(|source| SearchError::Settings {
            id: search.id,
            source,
        })?;
    let tried = tried(plan, search, trials);
    for step in &tried {
        let (load, passed) = (step.load, step.outcome.passed());
        match (step.purpose, machine.next_probe()) {
            // A trial that the machine asks for; in any other order it is knowledge all the same.
            (Purpose::Approach | Purpose::Confirm | Purpose::Above, Some(probe))
                if same(probe.load, load) =>
            {
                machine.observe(step.outcome.clone())
            }
            _ => passed
                .into_iter()
                .for_each(|passed| machine.learn(load, passed)),
        }
        after(step, &machine);
    }
    Ok((machine, tried))
}

/// A trial of a search, and what was believed after it.
#[derive(Clone, Debug)]
pub struct Step {
    /// The trial.
    pub tried: Tried,
    /// The load that half of the runs keep, as it was then believed.
    pub knee: f64,
    /// Its 95 % interval; an end is `None` where it lies outside the range searched.
    pub interval: (Option<f64>, Option<f64>),
}

/// How the belief of a search went, trial by trial, and its answer as far as it is known.
///
/// # Errors
/// As [`replay`].
pub fn course(
    plan: &Plan,
    search: &Search,
    trials: &[TrialData],
) -> Result<(Vec<Step>, Answer), SearchError> {
    let mut steps = Vec::new();
    let (machine, _) = replay_to(plan, search, trials, |tried, machine| {
        let answer = machine.clone().finish();
        steps.push(Step {
            tried: tried.clone(),
            knee: answer.knee,
            interval: answer.interval,
        });
    })?;
    Ok((steps, machine.finish()))
}

/// Whether two loads are one: a plan rounds rates to millionths.
#[must_use]
pub fn same(load: f64, other: f64) -> bool {
    (load - other).abs() <= 1e-6 * load.abs().max(1.0)
}

/// What a search has found so far.
///
/// # Errors
/// As [`replay`].
pub fn found(plan: &Plan, search: &Search, trials: &[TrialData]) -> Result<Found, SearchError> {
    let (machine, tried) = replay(plan, search, trials)?;
    Ok(Found {
        search: search.clone(),
        answer: machine.finish(),
        tried,
    })
}

/// Knees of equal shapes under other tunings lie within this factor of each other in two of three
/// cases.
const NEAR: f64 = 1.3;
/// Knees of other shapes, in proportion to their capacity.
const FAR: f64 = 1.5;

/// What may be expected of a search that is about to begin: what its neighbours have found. `None`
/// where none has ended.
///
/// # Errors
/// As [`replay`]; also when the plan has no such search.
pub fn expected(
    plan: &Plan,
    search: u32,
    trials: &[TrialData],
) -> Result<Option<Expected>, SearchError> {
    let Some(own) = plan.searches.iter().find(|planned| planned.id == search) else {
        return Err(SearchError::NotAsked(search));
    };
    let mut best: Option<(bool, Expected)> = None;
    for other in plan
        .searches
        .iter()
        .filter(|other| other.id != search && other.over == own.over)
    {
        // A search that has only its ladder yet has found nothing.
        let answer = found(plan, other, trials)?.answer;
        let Some(load) = answer
            .load
            .filter(|_| answer.confirmed || answer.ending == Ending::Found)
        else {
            continue;
        };
        let same = other.guests == own.guests && other.vcpus == own.vcpus;
        let capacity = |search: &Search| match search.over {
            Over::Guests => 1.0 / search.vcpus.cpus(),
            Over::Memory => 1.0,
            Over::Users | Over::Rate => f64::from(search.guests) * search.vcpus.cpus(),
        };
        let expected = Expected {
            load: (load * capacity(own) / capacity(other)).clamp(own.lowest, own.highest),
            factor: if same { NEAR } else { FAR },
        };
        if best.is_none_or(|(known, _)| same && !known) {
            best = Some((same, expected));
        }
    }
    Ok(best.map(|(_, expected)| expected))
}

fn settings(search: &Search, asked: &SearchUse) -> Settings {
    let hint = search.hint.map(|hint| Hint {
        load: hint.load.clamp(search.lowest, search.highest),
        factor: hint.factor,
    });
    Settings {
        goal: match search.over {
            Over::Users | Over::Rate | Over::Guests => Goal::Largest,
            Over::Memory => Goal::Smallest,
        },
        lowest: search.lowest,
        highest: search.highest,
        whole: search.over != Over::Rate,
        resolution: asked.resolution,
        interval: asked.interval,
        hint,
        most_probes: asked.probes,
        confirm: asked.confirm,
    }
}

/// The ended trials of the ladder, then those of the search itself.
fn tried(plan: &Plan, search: &Search, trials: &[TrialData]) -> Vec<Tried> {
    let step = |trial: &TrialData| {
        let point = plan
            .points
            .iter()
            .find(|point| point.id == trial.row.trial.point)?;
        let load = match search.over {
            Over::Users | Over::Rate => point.load(),
            Over::Guests => f64::from(point.guests()),
            Over::Memory => point.only_group().memory_mib as f64,
        };
        let purpose = trial.row.trial.purpose;
        let own = point.search == Some(search.id);
        if !(own || search.ladder.contains(&point.id)) {
            return None;
        }
        let outcome = outcome(trial, search.over)?;
        Some(Tried {
            trial: trial.row.trial.id,
            load,
            purpose,
            outcome,
        })
    };
    let all: Vec<Tried> = trials.iter().filter_map(step).collect();
    let (ladder, probes): (Vec<Tried>, Vec<Tried>) = all
        .into_iter()
        .partition(|tried| tried.purpose == Purpose::Study);
    [ladder, probes].concat()
}

/// What a trial says of its load, or its memory; `None` when it has not ended.
fn outcome(trial: &TrialData, over: Over) -> Option<Outcome> {
    let record = trial.record.as_ref()?;
    let reason = || {
        record.reasons.first().map_or_else(
            || "without a reason".to_owned(),
            |reason| first_line(&reason.text),
        )
    };
    let verdict = record.verdict.as_ref();
    let reported = matches!(trial.row.trial.purpose, Purpose::Confirm | Purpose::Above);
    match (trial.row.status, &record.measurement) {
        (TrialStatus::Done, Some(_)) => Some(judged(verdict, reported)),
        // More load than the system carries kills guests and drops arrivals: that is an answer.
        (TrialStatus::Failed, Some(_)) => Some(Outcome::Fail { rule: reason() }),
        // Guests with too little memory are killed before their load begins.
        (TrialStatus::Failed, None) if over == Over::Memory && out_of_memory(record) => {
            Some(Outcome::Fail { rule: reason() })
        }
        (TrialStatus::Void, Some(measurement)) => Some(void(measurement, verdict, reason())),
        (TrialStatus::Void | TrialStatus::Failed | TrialStatus::Done, _) => {
            Some(Outcome::Invalid { reason: reason() })
        }
        (TrialStatus::Planned | TrialStatus::Running | TrialStatus::Skipped, _) => None,
    }
}

/// Whether a trial failed because the kernel killed for want of memory.
fn out_of_memory(record: &TrialRecord) -> bool {
    let codes = record.reasons.iter().map(|reason| reason.code.as_str());
    codes.into_iter().any(|code| code == OUT_OF_MEMORY)
}

/// What a load that was put on says of its limits. `fault` is why its numbers cannot be relied on,
/// if they cannot; `reported` loads are those whose outcome is the answer.
#[must_use]
pub fn outcome_of(
    measurement: &Measurement,
    verdict: &Verdict,
    fault: Option<String>,
    reported: bool,
) -> Outcome {
    match fault {
        None => judged(Some(verdict), reported),
        Some(reason) => void(measurement, Some(verdict), reason),
    }
}

fn void(measurement: &Measurement, verdict: Option<&Verdict>, reason: String) -> Outcome {
    match overloaded(measurement, verdict) {
        Some(rule) => Outcome::Fail { rule },
        None => Outcome::Invalid { reason },
    }
}

/// So far beyond its limit a value must be to count although the trial is void.
const FAR_BEYOND: f64 = 1.25;

/// What a void trial says all the same: where the driver was not the limit, a load that drops
/// arrivals or is far beyond a limit is too much, steady state or not. A system that does not keep
/// up has none.
fn overloaded(measurement: &Measurement, verdict: Option<&Verdict>) -> Option<String> {
    if !driver_bound(measurement).is_empty() {
        return None;
    }
    if overload(measurement).is_some() {
        return Some("every arrival is served".to_owned());
    }
    let rule = verdict?.binding_rule()?;
    (rule.load()? >= FAR_BEYOND).then(|| rule_words(rule))
}

fn judged(verdict: Option<&Verdict>, reported: bool) -> Outcome {
    let Some(verdict) = verdict else {
        return Outcome::Invalid {
            reason: "its limits were not judged".to_owned(),
        };
    };
    if verdict.failed() {
        let rule = verdict.binding_rule().map_or_else(String::new, rule_words);
        return Outcome::Fail { rule };
    }
    // On the way, few operations within the limits are as good as many: a wrong step costs a trial.
    // What is reported must be judged.
    if verdict.passed || !reported {
        return Outcome::Pass;
    }
    Outcome::Invalid {
        reason: "too few operations to judge the limits; a longer steady phase has more".to_owned(),
    }
}

/// A rule without the guest that broke it: the next time it is another guest.
fn rule_words(rule: &RuleResult) -> String {
    let text = rule.text();
    let own = format!("{} ", rule.guest);
    text.strip_prefix(&own)
        .map_or_else(|| text.clone(), str::to_owned)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
