//! What a run does beyond its first plan: trials with the times that pilots have chosen, more
//! repeats where intervals are wide, then its searches, probe by probe.
//!
//! Nothing of it is kept beside the store: what comes next follows from the plan and the trials
//! that have ended, so that a resumed run goes on as if it had never stopped.

use std::collections::HashSet;

use rookery_analysis::{
    Run, TrialData,
    predict::predicted_knee,
    search::{self, Tried},
    wish,
};
use rookery_cast::count_u32;
use rookery_model::search::{Probe, Purpose as ProbePurpose};
use rookery_stats::adaptive::{Decision, Rule};
use rookery_store::{RunHeader, Store, TrialStatus};
use rookery_study::{
    Expected, HostFacts, Over, Plan, Purpose, RepeatGoal, Search, Study, Trial, WishPlan,
};

use crate::{
    changes,
    clock::now,
    error::LabError,
    event::{Event, Listener},
};

/// No search has so large a budget: one that asks for more is a fault of ours.
const MOST_PROBES: usize = 400;

/// The growth of one run.
pub(crate) struct Growth<'a> {
    listener: &'a Listener<'a>,
    /// The ended trials, as far as they were read.
    known: Vec<TrialData>,
    /// Searches whose end was told.
    told: HashSet<u32>,
}

impl<'a> Growth<'a> {
    pub(crate) fn new(listener: &'a Listener<'a>) -> Self {
        Self {
            listener,
            known: Vec::new(),
            told: HashSet::new(),
        }
    }

    /// Plan what comes next, now that every planned trial has ended. `false` = nothing: the run is
    /// at its end.
    ///
    /// # Errors
    /// When the store cannot be read or written, or its plan is not one that we made.
    pub(crate) fn grow(&mut self, store: &mut Store) -> Result<bool, LabError> {
        let header = store.header()?;
        if !grows(&header) {
            return Ok(false);
        }
        self.read(store)?;
        let mut plan = header.plan.clone();
        let before = plan.trials.len();
        add_retries(&mut plan, &header.study, &self.known);
        if plan.trials.len() == before {
            add_repeats(&mut plan, &header.study, &self.known);
        }
        if plan.trials.len() == before {
            self.add_probes(&header, &mut plan, store)?;
        }
        let grown = plan.trials.len() > before;
        let chosen = plan.wish.as_ref().and_then(WishPlan::chosen);
        let known = header.plan.wish.as_ref().and_then(WishPlan::chosen);
        if let Some(times) = chosen.filter(|_| known.is_none()) {
            (self.listener)(&Event::TimesChosen {
                settle_s: times.settle.as_secs_f64(),
                steady_s: times.steady.as_secs_f64(),
            });
        }
        if grown {
            (self.listener)(&Event::Grown {
                trials: count_u32(plan.trials.len()),
            });
        }
        if plan != header.plan {
            store.grow_plan(plan)?;
            // A block is planned as a whole, whichever of its points were skipped.
            for point in skipped_points(&self.known) {
                store.skip_point(point)?;
            }
        }
        Ok(grown)
    }

    /// Read the trials that have ended since.
    fn read(&mut self, store: &Store) -> Result<(), LabError> {
        for row in store.trials()?.into_iter().skip(self.known.len()) {
            if matches!(row.status, TrialStatus::Planned | TrialStatus::Running) {
                break;
            }
            let record = store.record(row.trial.id)?;
            self.known.push(TrialData {
                row,
                record,
                place: 0,
            });
        }
        Ok(())
    }

    /// One probe for each search of the first layout whose searches have not all ended: its
    /// variants take turns, so that what drifts does so for all.
    fn add_probes(
        &mut self,
        header: &RunHeader,
        plan: &mut Plan,
        store: &Store,
    ) -> Result<(), LabError> {
        let same =
            |a: &Search, b: &Search| a.guests == b.guests && a.vcpus == b.vcpus && a.load == b.load;
        let groups: Vec<Vec<u32>> = plan
            .searches
            .chunk_by(same)
            .map(|group| group.iter().map(|search| search.id).collect())
            .collect();
        for group in groups {
            self.expect(header, plan, &group)?;
            let before = plan.trials.len();
            for id in group {
                self.add_probe(plan, id, &header.host.facts, store)?;
            }
            if plan.trials.len() > before {
                return Ok(());
            }
        }
        Ok(())
    }

    /// What is expected of searches that are about to begin.
    fn expect(&self, header: &RunHeader, plan: &mut Plan, group: &[u32]) -> Result<(), LabError> {
        let begun = |plan: &Plan| {
            plan.points
                .iter()
                .any(|point| point.search.is_some_and(|search| group.contains(&search)))
        };
        if begun(plan) {
            return Ok(());
        }
        for id in group {
            let neighbours = search::expected(plan, *id, &self.known)?;
            let hint = neighbours.or_else(|| self.predicted(header, plan, *id));
            if let Some(search) = plan.searches.iter_mut().find(|search| search.id == *id) {
                search.hint = hint;
            }
        }
        Ok(())
    }

    /// What the queueing model, calibrated by the trials so far, expects of a layout that has no
    /// neighbour.
    fn predicted(&self, header: &RunHeader, plan: &Plan, id: u32) -> Option<Expected> {
        let search = plan.searches.iter().find(|search| search.id == id)?;
        let over_load = matches!(search.over, Over::Users | Over::Rate);
        if !over_load || self.known.is_empty() {
            return None;
        }
        let run = Run {
            header: header.clone(),
            trials: self.known.clone(),
            attempts: Vec::new(),
            notes: Vec::new(),
            pools: Vec::new(),
            groups: Vec::new(),
        };
        let expected = predicted_knee(&run, search.variant, search.guests, search.vcpus)?;
        let load = expected.load.clamp(search.lowest, search.highest);
        Some(Expected { load, ..expected })
    }

    fn add_probe(
        &mut self,
        plan: &mut Plan,
        id: u32,
        host: &HostFacts,
        store: &Store,
    ) -> Result<(), LabError> {
        let Some(planned) = plan.searches.iter().find(|search| search.id == id).cloned() else {
            return Ok(());
        };
        if planned.stuck.is_some() {
            return Ok(());
        }
        let (machine, tried) = search::replay(plan, &planned, &self.known)?;
        let Some(probe) = machine.next_probe() else {
            if self.told.insert(id) {
                let text = machine.finish().sentence(planned.over.unit());
                (self.listener)(&Event::SearchEnded {
                    search: id,
                    subject: planned.label(),
                    text,
                });
            }
            return Ok(());
        };
        let attempt = attempt(&tried, &probe);
        let probes = tried
            .iter()
            .filter(|tried| tried.purpose != Purpose::Study)
            .count();
        if probes > MOST_PROBES {
            return Err(LabError::EndlessSearch {
                search: id,
                load: probe.load,
            });
        }
        if let Err(error) = plan.add_probe(id, probe.load, purpose(probe.purpose), attempt, host) {
            // The ends of the range fit; a rule of the study that has no value between them is the
            // study's own fault.
            let text = format!("search {id} ({}) ends early: {error}", planned.label());
            if let Some(search) = plan.searches.iter_mut().find(|search| search.id == id) {
                search.stuck = Some(error.to_string());
            }
            store.note(&now(), &text)?;
            (self.listener)(&Event::Remark { text });
        }
        Ok(())
    }
}

/// How often the search has tried this load itself.
fn attempt(tried: &[Tried], probe: &Probe) -> u32 {
    let same =
        |tried: &&Tried| tried.purpose != Purpose::Study && search::same(tried.load, probe.load);
    count_u32(tried.iter().filter(same).count())
}

fn purpose(purpose: ProbePurpose) -> Purpose {
    match purpose {
        ProbePurpose::Approach => Purpose::Approach,
        ProbePurpose::Confirm => Purpose::Confirm,
        ProbePurpose::Above => Purpose::Above,
    }
}

/// Plan another attempt at a trial that has just been void; `None` where its attempts are spent, or
/// the time that the study's wish leaves.
///
/// # Errors
/// When the store cannot be read or written.
pub(crate) fn retry(
    store: &mut Store,
    void: &Trial,
    listener: &Listener<'_>,
) -> Result<Option<Trial>, LabError> {
    let most = store.header()?.study.load.retry_void;
    retry_within(store, void, most, listener)
}

/// Plan another attempt at a trial whose machine was lost, whatever the study allows for void ones:
/// there are only so many machines to lose.
///
/// # Errors
/// When the store cannot be read or written.
pub(crate) fn retry_elsewhere(
    store: &mut Store,
    void: &Trial,
    listener: &Listener<'_>,
) -> Result<Option<Trial>, LabError> {
    retry_within(store, void, u32::MAX, listener)
}

fn retry_within(
    store: &mut Store,
    void: &Trial,
    most: u32,
    listener: &Listener<'_>,
) -> Result<Option<Trial>, LabError> {
    let header = store.header()?;
    if changes::skipped(store)?.contains(&void.point) {
        return Ok(None);
    }
    let mut plan = header.plan.clone();
    let Some(again) = plan.add_retry(void.id, most) else {
        return Ok(None);
    };
    let wishes = header.plan.wish.is_some();
    if wishes && !wish::carries(&header.plan, &ended_trials(store)?, void.point) {
        let text = format!(
            "trial {} was void; what is left of the budget of time carries no other attempt",
            void.id
        );
        store.note(&now(), &text)?;
        listener(&Event::Remark { text });
        return Ok(None);
    }
    let (attempt, trials) = (plan.attempts(&again), count_u32(plan.trials.len()));
    store.grow_plan(plan)?;
    listener(&Event::Grown { trials });
    listener(&Event::Retried {
        trial: void.id,
        again: again.id,
        attempt,
    });
    Ok(Some(again))
}

/// The trials that have ended, without their samples of resources.
fn ended_trials(store: &Store) -> Result<Vec<TrialData>, LabError> {
    let mut ended = Vec::new();
    for row in store.trials()? {
        if matches!(row.status, TrialStatus::Planned | TrialStatus::Running) {
            continue;
        }
        let record = store.outline(row.trial.id)?;
        ended.push(TrialData {
            row,
            record,
            place: 0,
        });
    }
    Ok(ended)
}

/// Attempts at void trials that an interruption has kept from being planned, as far as the budget
/// of a wish carries them.
fn add_retries(plan: &mut Plan, study: &Study, known: &[TrialData]) {
    for void in known
        .iter()
        .filter(|trial| trial.row.status == TrialStatus::Void)
    {
        let last = plan
            .trials
            .iter()
            .rfind(|other| other.is_attempt_of(&void.row.trial));
        if last.is_some_and(|last| last.id == void.row.trial.id)
            && wish::carries(plan, known, void.row.trial.point)
        {
            plan.add_retry(void.row.trial.id, study.load.retry_void);
        }
    }
}

/// Repeats that the intervals of the study's points still need, and before them the trials that
/// follow from its pilots.
fn add_repeats(plan: &mut Plan, study: &Study, known: &[TrialData]) {
    match study.load.goal {
        Some(RepeatGoal::HalfWidth(target)) => add_for_width(plan, study, target, known),
        Some(RepeatGoal::Wish(_)) => add_for_wish(plan, known),
        None => {}
    }
}

/// What a wish still needs, as far as its budget carries it.
fn add_for_wish(plan: &mut Plan, known: &[TrialData]) {
    if let Some(chosen) = wish::choose(plan, known) {
        plan.choose_times(chosen);
        return;
    }
    for (point, more) in wish::repeats(plan, known) {
        plan.add_repeats(point, more);
    }
}

/// Repeats until the interval of the throughput is narrow.
fn add_for_width(plan: &mut Plan, study: &Study, target: f64, known: &[TrialData]) {
    let load = &study.load;
    let Ok(rule) = Rule::new(load.repeats, load.max_repeats, target) else {
        return;
    };
    for combination in plan.combinations() {
        let needs = combination
            .iter()
            .map(|point| repeats_needed(rule, *point, load.max_repeats, known));
        let (Some(first), Some(more)) = (combination.first(), needs.max()) else {
            continue;
        };
        plan.add_repeats(*first, more);
    }
}

/// The points that the user took out of the plan.
fn skipped_points(known: &[TrialData]) -> HashSet<u32> {
    let skipped = known
        .iter()
        .filter(|trial| trial.row.status == TrialStatus::Skipped);
    skipped.map(|trial| trial.row.trial.point).collect()
}

/// Repeats that this point still needs. Void and failed trials count against the budget: a point
/// that keeps failing does so no longer than that.
fn repeats_needed(rule: Rule, point: u32, most: u32, known: &[TrialData]) -> u32 {
    let of_point: Vec<&TrialData> = known
        .iter()
        .filter(|trial| trial.row.trial.point == point && trial.row.trial.purpose == Purpose::Study)
        .collect();
    if skipped_points(known).contains(&point) {
        return 0;
    }
    let valid = of_point.iter().filter_map(|trial| trial.valid());
    let values: Vec<f64> = valid
        .map(|(_, measured)| measured.units_per_minute())
        .collect();
    match rule.decide(&values) {
        Decision::More(more) => more.min(most.saturating_sub(count_u32(of_point.len()))),
        Decision::Reached | Decision::Spent { .. } => 0,
    }
}

/// Whether a run may need more than its first plan.
fn grows(header: &RunHeader) -> bool {
    let load = &header.study.load;
    load.retry_void > 0 || load.goal.is_some() || !header.plan.searches.is_empty()
}

/// Whether everything that a stored run was to do is done: no repeat and no probe is left.
///
/// # Errors
/// When the store cannot be read.
pub(crate) fn complete(store: &Store) -> Result<bool, LabError> {
    if !grows(&store.header()?) {
        return Ok(true);
    }
    let run = Run::read_whole(store)?;
    let mut plan = run.header.plan.clone();
    let before = plan.trials.len();
    add_retries(&mut plan, &run.header.study, &run.trials);
    add_repeats(&mut plan, &run.header.study, &run.trials);
    let asks = |search: &Search| {
        search::replay(&plan, search, &run.trials)
            .is_ok_and(|(machine, _)| machine.next_probe().is_some())
    };
    let ended = |search: &Search| search.stuck.is_some() || !asks(search);
    Ok(plan.trials.len() == before && plan.searches.iter().all(ended))
}

#[cfg(test)]
mod tests;
