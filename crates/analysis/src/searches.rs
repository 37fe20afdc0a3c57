//! What the searches of a run found: the largest loads within the limits, with the trials behind
//! them.

use rookery_model::search::{Ending, Outcome};
use rookery_stats::qos::Verdict;
use rookery_study::{Level, Over, Purpose};

use crate::{
    Run, TrialData,
    points::{self, PointSummary},
    schema::data,
    search::{Found, Tried, found},
};

data! {
    /// One search with its answer and the trials behind it.
    #[derive(Clone, Debug, PartialEq)]
    pub struct SearchSummary {
        /// Number of the search in the plan.
        pub id: u32,
        /// Its short name: `2 x 0.5 vCPU`, with the levels of the variant.
        pub label: String,
        /// The layouts that ask for it.
        pub layouts: Vec<String>,
        /// Number of its variant; 1 is the first.
        pub variant: u32,
        /// The levels of the variant.
        pub levels: Vec<Level>,
        /// What is searched; of memory, a load is an amount of it in MiB, and the smallest within
        /// the limits is looked for.
        pub over: Over,
        /// Number of guests; of a search over guests the smallest number.
        pub guests: u32,
        /// vCPUs of each guest.
        pub vcpus: f64,
        /// The load in the words of the study, of a search over guests or over their memory.
        pub load_of_each: Option<String>,
        /// Smallest load that may be tried.
        pub lowest: f64,
        /// Largest load that may be tried.
        pub highest: f64,
        /// The largest load within the limits; null when none is known.
        pub load: Option<f64>,
        /// Whether fresh trials confirm that load.
        pub confirmed: bool,
        /// Ends of the 95 % interval of the edge, the load that half of the trials keep; an end is
        /// null where nothing bounds it.
        pub edge: (Option<f64>, Option<f64>),
        /// From the load that nine of ten trials keep to the one that one of ten keeps, as a share
        /// of the load.
        pub blur: f64,
        /// The limit that breaks first above the load.
        pub first_to_break: Option<String>,
        /// Why the search ended.
        pub ending: SearchEnding,
        /// Trials that it asked for.
        pub probes: usize,
        /// A load that was kept although a smaller one was not: both, the kept one first.
        pub contradiction: Option<(f64, f64)>,
        /// Every trial that it knows of: the ladder first, then its probes, in order.
        pub tried: Vec<TriedLoad>,
        /// The trials that confirm the load, together; where none does, those at that very load;
        /// null without a good one.
        pub at: Option<PointSummary>,
    }
}

data! {
    /// Why a search ended.
    #[derive(Clone, Debug, PartialEq)]
    pub enum SearchEnding {
        /// It found what it looked for.
        Found,
        /// Its budget was spent.
        BudgetSpent,
        /// Even the lowest load breaks the limits.
        NothingPasses,
        /// Even the highest load is within the limits.
        EverythingPasses,
        /// Trials were void again and again.
        Void {
            /// At which load.
            load: f64,
            /// Why the last one was.
            reason: String,
        },
        /// It is not at its end.
        Interrupted,
    }
}

data! {
    /// One trial of a search.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TriedLoad {
        /// Number of the trial.
        pub trial: u32,
        /// Its load.
        pub load: f64,
        /// What it was for; `study` is a step of the ladder.
        pub purpose: Purpose,
        /// What came of it.
        pub outcome: TriedOutcome,
        /// The limit that bound.
        pub binding: Option<BindingRule>,
        /// Throughput, units of work per minute.
        pub per_minute: Option<f64>,
    }
}

data! {
    /// What came of a trial of a search.
    #[derive(Clone, Debug, PartialEq)]
    pub enum TriedOutcome {
        /// The limits were kept.
        Kept,
        /// A limit was broken.
        Broken {
            /// Which.
            rule: String,
        },
        /// Nothing can be learned from it.
        Void {
            /// Why.
            reason: String,
        },
    }
}

data! {
    /// The limit that bound a trial.
    #[derive(Clone, Debug, PartialEq)]
    pub struct BindingRule {
        /// The limit: `g1 purchase p95 <= 250 ms`.
        pub rule: String,
        /// The value over its limit.
        pub share: f64,
    }
}

data! {
    /// Two searches of the same kind, the larger load over the smaller.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct SearchRatio {
        /// Number of the one.
        pub one: u32,
        /// Number of the other.
        pub other: u32,
        /// Load over load.
        pub ratio: f64,
        /// 95 % interval of edge over edge, where both have one.
        pub interval: Option<(f64, f64)>,
    }
}

/// All searches of a run, in the order of the plan. One that cannot be replayed (its plan is not
/// one that we made) is left out.
#[must_use]
pub fn searches(run: &Run) -> Vec<SearchSummary> {
    let searches = run.header.plan.searches.iter();
    searches
        .filter_map(|search| {
            let found = found(&run.header.plan, search, &run.trials).ok()?;
            Some(summary(run, found))
        })
        .collect()
}

fn summary(run: &Run, found: Found) -> SearchSummary {
    let at = at_answer(run, &found);
    let tried = found.tried.iter().map(|tried| tried_load(run, tried));
    let tried = tried.collect();
    let (search, answer) = (found.search, found.answer);
    SearchSummary {
        id: search.id,
        label: search.label(),
        layouts: search.layouts,
        variant: search.variant,
        levels: search.levels,
        over: search.over,
        guests: search.guests,
        vcpus: search.vcpus.cpus(),
        load_of_each: search.load.map(|amount| amount.to_string()),
        lowest: search.lowest,
        highest: search.highest,
        load: answer.load,
        confirmed: answer.confirmed,
        edge: answer.interval,
        blur: answer.blur,
        first_to_break: answer.binding.clone(),
        contradiction: answer.contradiction(),
        probes: answer.probes.len(),
        ending: match answer.ending {
            Ending::Found => SearchEnding::Found,
            Ending::Budget => SearchEnding::BudgetSpent,
            Ending::NothingPasses => SearchEnding::NothingPasses,
            Ending::EverythingPasses => SearchEnding::EverythingPasses,
            Ending::Invalid { load, reason } => SearchEnding::Void { load, reason },
            Ending::Interrupted => SearchEnding::Interrupted,
        },
        tried,
        at,
    }
}

fn tried_load(run: &Run, tried: &Tried) -> TriedLoad {
    let trial = run
        .trials
        .iter()
        .find(|trial| trial.row.trial.id == tried.trial);
    let record = trial.and_then(|trial| trial.record.as_ref());
    let measured = record.and_then(|record| record.measurement.as_ref());
    TriedLoad {
        trial: tried.trial,
        load: tried.load,
        purpose: tried.purpose,
        outcome: match &tried.outcome {
            Outcome::Pass => TriedOutcome::Kept,
            Outcome::Fail { rule } => TriedOutcome::Broken { rule: rule.clone() },
            Outcome::Invalid { reason } => TriedOutcome::Void {
                reason: reason.clone(),
            },
        },
        binding: record
            .and_then(|record| record.verdict.as_ref())
            .and_then(binding),
        per_minute: measured.map(|measured| measured.units_per_minute()),
    }
}

fn binding(verdict: &Verdict) -> Option<BindingRule> {
    let rule = verdict.binding_rule()?;
    Some(BindingRule {
        rule: rule.text(),
        share: rule.load().filter(|share| share.is_finite())?,
    })
}

/// The good trials at the load of the answer: those that confirm it where it is confirmed.
fn at_answer(run: &Run, found: &Found) -> Option<PointSummary> {
    let load = found.answer.load?;
    let counts = |tried: &&Tried| {
        tried.load == load && (!found.answer.confirmed || tried.purpose == Purpose::Confirm)
    };
    let numbers: Vec<u32> = found
        .tried
        .iter()
        .filter(counts)
        .map(|tried| tried.trial)
        .collect();
    let trials: Vec<&TrialData> = run
        .trials
        .iter()
        .filter(|trial| numbers.contains(&trial.row.trial.id))
        .collect();
    let point = trials.first()?.row.trial.point;
    let point = run
        .header
        .plan
        .points
        .iter()
        .find(|known| known.id == point)?;
    Some(points::summarise(run, point, &trials)).filter(|summary| summary.done > 0)
}

impl SearchSummary {
    /// vCPUs of all guests, to which their load is in proportion; `None` of a search over guests,
    /// where they grow, and of one over memory, which is that of each guest.
    #[must_use]
    pub fn total_vcpus(&self) -> Option<f64> {
        let over_load = matches!(self.over, Over::Users | Over::Rate);
        over_load.then(|| f64::from(self.guests) * self.vcpus)
    }

    /// Trials that were void or that nothing could be learned from.
    #[must_use]
    pub fn void_trials(&self) -> usize {
        self.tried
            .iter()
            .filter(|tried| matches!(tried.outcome, TriedOutcome::Void { .. }))
            .count()
    }
}

/// The ratio of two largest loads; `None` where a search found nothing, or they count different
/// things.
pub(crate) fn ratio(one: &SearchSummary, other: &SearchSummary) -> Option<SearchRatio> {
    if one.over != other.over {
        return None;
    }
    let ratio = one.load? / other.load?;
    ratio.is_finite().then(|| SearchRatio {
        one: one.id,
        other: other.id,
        ratio,
        interval: edge_ratio(one, other),
    })
}

/// The ratio of two edges: both intervals as half-widths of logarithms, which add as squares
/// because the searches are independent.
fn edge_ratio(one: &SearchSummary, other: &SearchSummary) -> Option<(f64, f64)> {
    let ends = |searched: &SearchSummary| {
        let (low, high) = (searched.edge.0?, searched.edge.1?);
        (low > 0.0 && high >= low)
            .then(|| (low.ln().midpoint(high.ln()), (high.ln() - low.ln()) / 2.0))
    };
    let ((a, reach_a), (b, reach_b)) = (ends(one)?, ends(other)?);
    let reach = reach_a.hypot(reach_b);
    Some(((a - b - reach).exp(), (a - b + reach).exp()))
}

/// Searches of variants against that of the first variant, of the same guests; none without
/// factors.
#[must_use]
pub fn across_variants(all: &[SearchSummary]) -> Vec<SearchRatio> {
    let mut found = Vec::new();
    for own in all.iter().filter(|own| own.variant != 1) {
        let first = all.iter().find(|first| {
            first.variant == 1
                && (first.guests, first.vcpus, &first.load_of_each)
                    == (own.guests, own.vcpus, &own.load_of_each)
        });
        found.extend(first.and_then(|first| ratio(own, first)));
    }
    found
}

/// Searches of several guests against that of one guest of as many vCPUs in all, in the same
/// variant.
#[must_use]
pub fn against_one_big(all: &[SearchSummary]) -> Vec<SearchRatio> {
    let mut found = Vec::new();
    for own in all.iter().filter(|own| own.guests > 1) {
        let big = all.iter().find(|big| {
            let equal = matches!(
                (big.total_vcpus(), own.total_vcpus()),
                (Some(a), Some(b)) if (a - b).abs() < 1e-6
            );
            big.guests == 1 && big.variant == own.variant && equal
        });
        found.extend(big.and_then(|big| ratio(own, big)));
    }
    found
}
