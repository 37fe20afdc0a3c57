//! What the searches of a run found: the largest loads within the limits, with the trials that confirm them. Pure.

use rookery_judge::search::{Found, Tried, found};
use rookery_model::search::{Ending, Outcome};
use rookery_study::{Over, Purpose, Search};

use crate::{PointSummary, Run, TrialData, analysis, format};

/// One search with its answer and the trials behind it.
#[derive(Clone, Debug)]
pub struct Searched {
    /// Plan, answer and everything that was tried.
    pub found: Found,
    /// The trials that confirm the load, together; where none does, those of the search at that very load. `None` without a good one.
    pub at: Option<PointSummary>,
}

/// All searches of a run, in the order of the plan. One that cannot be replayed (its plan is not one that we made) is left out.
pub(crate) fn of(run: &Run) -> Vec<Searched> {
    let searches = run.header.plan.searches.iter();
    searches
        .filter_map(|search| {
            let found = found(&run.header.plan, search, &run.trials).ok()?;
            Some(Searched {
                at: at_answer(run, &found),
                found,
            })
        })
        .collect()
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
    Some(analysis::summarise(run, point, &trials)).filter(|summary| summary.done > 0)
}

impl Searched {
    /// The search as planned.
    #[must_use]
    pub fn search(&self) -> &Search {
        &self.found.search
    }

    /// What its load counts, of one or of many: `user`, `users`.
    pub(crate) fn unit(&self, load: f64) -> &'static str {
        match (self.search().over, load == 1.0) {
            (Over::Users, true) => "user",
            (Over::Guests, true) => "guest",
            (over, _) => over.unit(),
        }
    }

    /// `560 users`.
    pub(crate) fn loaded(&self, load: f64) -> String {
        format!("{} {}", format::load(load), self.unit(load))
    }

    /// What carries the load: `One guest of 1 vCPU`, `2 guests of 0.5 vCPU, tuning=stock`; of a search over guests `This host`.
    pub(crate) fn subject(&self) -> String {
        let search = self.search();
        let mut subject = match (search.over, search.guests) {
            (Over::Guests, _) => format!("This host, with guests of {} vCPU", search.vcpus),
            (_, 1) => format!("One guest of {} vCPU", search.vcpus),
            (_, guests) => format!("{guests} guests of {} vCPU", search.vcpus),
        };
        for level in &search.levels {
            subject += &format!(", {}={}", level.short_key(), level.value);
        }
        subject
    }

    /// vCPUs of all guests; `None` of a search over guests, where they grow.
    pub(crate) fn vcpus(&self) -> Option<f64> {
        let search = self.search();
        (search.over != Over::Guests).then(|| f64::from(search.guests) * search.vcpus.cpus())
    }

    /// The edge in words: `between 540 and 590 with 95 %`; `None` where nothing bounds it.
    pub(crate) fn edge(&self) -> Option<String> {
        match self.found.answer.interval {
            (Some(low), Some(high)) => Some(format!(
                "between {} and {} with 95 %",
                format::load(low),
                format::load(high)
            )),
            (None, Some(high)) => Some(format!("below {} with 95 %", format::load(high))),
            (Some(low), None) => Some(format!("above {} with 95 %", format::load(low))),
            (None, None) => None,
        }
    }

    /// Why it ended, where that is to be known; `None` where it simply found what it looked for.
    pub(crate) fn ending(&self) -> Option<String> {
        let probes = format::counted(self.found.answer.probes.len(), "trial");
        match &self.found.answer.ending {
            Ending::Found => None,
            Ending::Budget => Some(format!(
                "its budget of {probes} was spent before it was sure"
            )),
            Ending::NothingPasses => Some(format!(
                "even {}, the fewest that it may try, break the limits",
                self.loaded(self.search().lowest)
            )),
            Ending::EverythingPasses => Some(format!(
                "even {}, the most that it may try, are within the limits: search higher",
                self.loaded(self.search().highest)
            )),
            Ending::Invalid { load, reason } => Some(format!(
                "it stopped at {}, where trials were void twice running: {}",
                self.loaded(*load),
                reason.trim_end_matches('.')
            )),
            Ending::Interrupted if self.found.tried.is_empty() => {
                Some("it has not begun".to_owned())
            }
            Ending::Interrupted => Some("it is not at its end".to_owned()),
        }
    }

    /// The answer in one sentence: what carries how much, how sure that is, and what breaks first.
    pub(crate) fn sentence(&self) -> String {
        let answer = &self.found.answer;
        let (subject, ending) = (self.subject(), self.ending());
        let Some(load) = answer.load else {
            let what = if self.search().over == Over::Guests {
                "number of guests"
            } else {
                "load"
            };
            let why = ending.map_or_else(String::new, |ending| format!(": {ending}"));
            return match answer.ending {
                Ending::NothingPasses => format!(
                    "{subject}: no {what} is within the limits{why}{}.",
                    self.breaks()
                ),
                _ => format!("{subject}: no {what} is known to be within the limits{why}."),
            };
        };
        let verb = if self.search().guests == 1 || self.search().over == Over::Guests {
            "carries"
        } else {
            "carry"
        };
        let least = if answer.ending == Ending::EverythingPasses {
            "at least "
        } else {
            ""
        };
        let mut aside = vec![if answer.confirmed {
            "confirmed".to_owned()
        } else {
            "not confirmed".to_owned()
        }];
        aside.extend(self.edge().map(|edge| format!("edge {edge}")));
        let ending = ending.map_or_else(String::new, |ending| format!(" The search: {ending}."));
        format!(
            "{subject} {verb} {least}{} within the limits ({}){}.{ending}",
            self.loaded(load),
            aside.join("; "),
            self.breaks()
        )
    }

    /// `; first to break: purchase p95 <= 250 ms`.
    fn breaks(&self) -> String {
        let rule = self.found.answer.binding.as_deref();
        rule.map_or_else(String::new, |rule| {
            format!("; first to break: {}", rule.trim_end_matches('.'))
        })
    }

    /// Trials that were void or that nothing could be learned from.
    pub(crate) fn invalid(&self) -> usize {
        let invalid = |tried: &&Tried| matches!(tried.outcome, Outcome::Invalid { .. });
        self.found.tried.iter().filter(invalid).count()
    }
}

/// Two searches of the same kind, the larger load over the smaller.
pub(crate) struct Against<'a> {
    pub(crate) one: &'a Searched,
    pub(crate) other: &'a Searched,
    /// Load over load.
    pub(crate) ratio: f64,
    /// 95 % interval of edge over edge, where both have one.
    pub(crate) interval: Option<(f64, f64)>,
}

impl<'a> Against<'a> {
    /// `None` where one found nothing, or they count different things.
    pub(crate) fn of(one: &'a Searched, other: &'a Searched) -> Option<Self> {
        let (a, b) = (&one.found.answer, &other.found.answer);
        if one.search().over != other.search().over {
            return None;
        }
        let ratio = a.load? / b.load?;
        ratio.is_finite().then(|| Self {
            one,
            other,
            ratio,
            interval: edge_ratio(one, other),
        })
    }

    /// What may be said: more, less, or that it cannot be told.
    pub(crate) fn judgement(&self) -> &'static str {
        match self.interval {
            None => "an edge is not known on both sides, so no difference can be told",
            Some((low, _)) if low > 1.0 => "more, with 95 % confidence",
            Some((_, high)) if high < 1.0 => "less, with 95 % confidence",
            Some(_) => {
                "no difference can be told: the intervals of the edges leave both more and less open"
            }
        }
    }

    /// The ratio and its interval in words: `108 % (95 % interval of the edges 101 to 115 %)`.
    pub(crate) fn words(&self) -> String {
        let interval = self.interval.map_or_else(String::new, |(low, high)| {
            format!(
                " (edges {:.0} to {:.0} % with 95 %)",
                100.0 * low,
                100.0 * high
            )
        });
        format!("{}{interval}", format::percent(self.ratio))
    }
}

/// The ratio of two edges: both intervals as half-widths of logarithms, which add as squares because the searches are independent.
fn edge_ratio(one: &Searched, other: &Searched) -> Option<(f64, f64)> {
    let ends = |searched: &Searched| {
        let (low, high) = searched.found.answer.interval;
        let (low, high) = (low?, high?);
        (low > 0.0 && high >= low)
            .then(|| (low.ln().midpoint(high.ln()), (high.ln() - low.ln()) / 2.0))
    };
    let ((a, reach_a), (b, reach_b)) = (ends(one)?, ends(other)?);
    let reach = reach_a.hypot(reach_b);
    Some(((a - b - reach).exp(), (a - b + reach).exp()))
}

/// Searches of variants against that of the first variant, of the same guests; none without factors.
pub(crate) fn across_variants(all: &[Searched]) -> Vec<Against<'_>> {
    let mut found = Vec::new();
    for own in all.iter().filter(|own| own.search().variant != 1) {
        let same = |first: &&Searched| {
            let (a, b) = (first.search(), own.search());
            a.variant == 1 && (a.guests, a.vcpus, &a.load) == (b.guests, b.vcpus, &b.load)
        };
        found.extend(
            all.iter()
                .find(same)
                .and_then(|first| Against::of(own, first)),
        );
    }
    found
}

/// Searches of several guests against that of one guest of as many vCPUs in all, in the same variant.
pub(crate) fn against_one_big(all: &[Searched]) -> Vec<Against<'_>> {
    let mut found = Vec::new();
    for own in all.iter().filter(|own| own.search().guests > 1) {
        let same = |big: &&Searched| {
            let equal =
                matches!((big.vcpus(), own.vcpus()), (Some(a), Some(b)) if (a - b).abs() < 1e-6);
            big.search().guests == 1 && big.search().variant == own.search().variant && equal
        };
        found.extend(all.iter().find(same).and_then(|big| Against::of(own, big)));
    }
    found
}

/// What load and edge are: a load may lie below the whole interval of its edge.
pub(crate) const LOAD_AND_EDGE: &str = "The largest load is one that nearly all trials keep. The edge, which half of the trials keep, mostly lies a little higher.";

/// The sentences that open the answer: what carries how much, what variants and splits change.
pub(crate) fn sentences(all: &[Searched]) -> Vec<String> {
    let mut sentences: Vec<String> = all.iter().map(Searched::sentence).collect();
    if sentences.len() > MOST_SENTENCES {
        let more = sentences.len() - MOST_SENTENCES;
        sentences.truncate(MOST_SENTENCES);
        sentences.push(format!("The table has {more} more."));
    }
    for against in across_variants(all).iter().take(MOST_SENTENCES) {
        sentences.push(format!(
            "{} against {}: {} of its largest load: {}.",
            against.one.search().label(),
            against.other.search().label(),
            against.words(),
            against.judgement()
        ));
    }
    for against in against_one_big(all).iter().take(MOST_SENTENCES) {
        sentences.push(format!(
            "Consolidation by largest load: {} carry {} of what {} carries: {}.",
            against.one.search().label(),
            against.words(),
            against.other.search().label(),
            against.judgement()
        ));
    }
    sentences
}

/// More sentences of a kind than this stand in the tables alone.
const MOST_SENTENCES: usize = 8;

/// What must be known of searches: contradictions, and answers that nothing confirms.
pub(crate) fn caveats(all: &[Searched]) -> Vec<String> {
    let mut caveats = Vec::new();
    let guesses = all.iter().filter(|searched| {
        searched.found.answer.load.is_some() && !searched.found.answer.confirmed
    });
    let guesses: Vec<String> = guesses.map(|searched| searched.search().label()).collect();
    if !guesses.is_empty() {
        caveats.push(format!(
            "Not confirmed: the largest load of {}. It is the best guess of what most trials keep, not a result.",
            guesses.join("; ")
        ));
    }
    for searched in all {
        let answer = &searched.found.answer;
        let label = searched.search().label();
        if let Some((passed, failed)) = answer.contradiction() {
            caveats.push(format!(
                "{label}: a trial with {} kept the limits although another with {} broke them: the edge is a range, not a line.",
                searched.loaded(passed),
                format::load(failed)
            ));
        }
        match searched.invalid() {
            0 => {}
            count => caveats.push(format!(
                "{label}: {} of the search taught nothing; the reasons stand in its table.",
                format::counted(count, "trial")
            )),
        }
    }
    caveats
}
