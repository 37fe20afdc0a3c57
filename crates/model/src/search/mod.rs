//! The saturation search: the largest load that keeps the limits, found with few probes although
//! every probe is noisy.
//!
//! [`Search`] is a state machine without clock or file: it says which load to try, is told what
//! came of it, and ends with an [`Answer`]. A load is whatever is searched: users (of one guest, or
//! of each of N guests at once), a rate, a number of guests; or with [`Goal::Smallest`] what is
//! harder to live with the less there is of it, the memory of a guest. The caller runs the probes.
//!
//! ```
//! use rookery_model::search::{Outcome, Search, Settings};
//! let mut search = Search::new(Settings { highest: 1_000.0, ..Settings::users() }).unwrap();
//! while let Some(probe) = search.next_probe() {
//!     let p95_ms = 40.0 + probe.load; // a trial at this load would be run here, full if probe.purpose.full()
//!     let outcome = if p95_ms <= 250.0 { Outcome::Pass } else { Outcome::Fail { rule: "purchase p95 <= 250 ms".to_owned() } };
//!     search.observe(outcome);
//! }
//! let answer = search.finish();
//! assert!(answer.confirmed && (205.0..=210.0).contains(&answer.load.unwrap()));
//! ```
//!
//! How it goes on:
//! 1. **Approach.** The first probe is at the hint, or in the (logarithmic) middle of the range.
//!    Each further one is where the knee lies below, or in turn above, with probability 0.35:
//!    almost the middle, which halves what is unknown, but aside enough to tell noise from place.
//!    Never above twice the largest load that passed: overload far beyond the knee costs time and
//!    tells little. Every outcome is taken as noisy, so loads near the edge are tried again where
//!    outcomes contradict each other.
//! 2. **Confirmation.** When a pass and a failure lie a step apart, or the interval is as narrow as
//!    the resolution, or the rest of the budget is just enough, fresh full runs are made at that
//!    pass, or at the largest load that most runs (85 %) should keep: all of [`Settings::confirm`]
//!    must pass, or all but one of two more. Otherwise a lower load is tried.
//! 3. **Above.** One full run above must fail, at the next load where four of five should; if it
//!    passes, the search goes on from there.
//! 4. **Narrowing**, where [`Settings::interval`] asks for it: what is left of the budget is tried
//!    as on the way to the knee, until its interval is as narrow. The answer stays.
//!
//! How well it does, by simulation: servers with knees from 40 to 340 users in a range of 20 to
//! 400, at most 18 probes (60 % of a ladder of ten loads with three repeats), 200 seeds a row.
//! "Steep" is one station of 10 ms with 1 s think time, "gentle" a 95th percentile that grows as
//! the load does; noise is the deviation of the percentile from run to run. The tests keep it
//! there, up to 10 % of noise.
//!
//! | server | noise | interval holds the knee | knee off by, mean | confirmed |
//! |---|---|---|---|---|
//! | steep | 2 % | 200 of 200 | 0.7 % | 100 % |
//! | steep | 5 % | 197 | 1.4 % | 98 % |
//! | steep | 10 % | 196 | 2.4 % | 93 % |
//! | steep | 20 % | 193 | 4.1 % | 86 % |
//! | gentle | 2 % | 199 | 1.1 % | 98 % |
//! | gentle | 5 % | 195 | 2.2 % | 94 % |
//! | gentle | 10 % | 194 | 3.7 % | 91 % |
//! | gentle | 20 % | 180: too few, reduce the noise first | 6.4 % | 81 % |
//!
//! Where the smallest load is the answer, all of this is mirrored: "above" is less, "higher" is
//! harder.
//!
//! For a study: one `Search` per point (layout x variant). Start it with [`Hint`]s from neighbours
//! that are done (factor 1.3), from the queueing model (factor 1.5), or from the bound N* = (R + Z)
//! / D_max (factor 2). Trials of a ladder of loads, needed for figures, are handed in by
//! [`Search::learn`] first. Every probe takes fresh data and its own seed from [`Probe::attempt`].
//! To resume, make the same search and observe the stored outcomes in order: it asks the same
//! questions again.

mod answer;
mod belief;
mod probe;
mod settings;

pub use answer::{Answer, Ending};
pub use probe::{Outcome, Probe, Purpose};
pub use settings::{Goal, Hint, Settings, SettingsError};

use answer::edges;
use belief::Belief;
use rookery_cast::count_u32;

/// A load is believed to be kept when so many runs keep it.
const KEPT: f64 = 0.85;
/// A load is believed to be too much when so few runs keep it.
const BROKEN: f64 = 0.2;
/// What each end of the interval of the knee leaves out. A little less than 2.5 %: the belief
/// thinks in a few degrees of noise, not in all.
const TAIL: f64 = 0.02;
/// So many invalid probes running end the search. Near saturation chance alone makes a tenth of
/// them invalid, where a steady state is asked for.
const MOST_INVALID: usize = 3;
/// On the way to the knee, probes go in turn to where it lies below, and above, with this
/// probability.
const ASIDE: f64 = 0.35;
/// The knee is outside the range when that is so likely.
const SURE: f64 = 0.95;

/// The search of one knee.
#[derive(Clone, Debug)]
pub struct Search {
    settings: Settings,
    belief: Belief,
    /// Largest load that passed, to bound the next step upwards.
    largest_pass: Option<f64>,
    /// Their loads, as all loads of these fields, are [strains](Settings::strain).
    probes: Vec<(Probe, Outcome)>,
    stage: Stage,
    /// The largest load that is confirmed.
    confirmed: Option<f64>,
    /// The smallest load that was to be confirmed and was not; infinite while there is none.
    refused: f64,
}

#[derive(Clone, Debug, PartialEq)]
enum Stage {
    Approach,
    Confirm {
        load: f64,
        passed: u32,
        failed: u32,
    },
    Above {
        load: f64,
    },
    /// The answer is found; the interval is to become narrower.
    Narrow,
    Done(Ending),
}

impl Search {
    /// A search that has not begun.
    ///
    /// # Errors
    /// When a setting is out of range.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        settings.check()?;
        let strained = |hint: Hint| Hint {
            load: settings.strain(hint.load),
            ..hint
        };
        let settings = Settings {
            hint: settings.hint.map(strained),
            ..settings
        };
        Ok(Self {
            settings,
            belief: Belief::new(&settings),
            largest_pass: None,
            probes: Vec::new(),
            stage: Stage::Approach,
            confirmed: None,
            refused: f64::INFINITY,
        })
    }

    /// Take in a result that was not asked for and costs nothing of the budget: a step of a ladder,
    /// a trial of an earlier run. Loads that are not above 0 are ignored.
    pub fn learn(&mut self, load: f64, passed: bool) {
        if load > 0.0 && load.is_finite() {
            self.take_in(self.settings.strain(load), passed);
            if self.stage == Stage::Approach {
                self.stage = self.after_approach();
            }
        }
    }

    /// What to try next; the same until it is observed. `None` when the search has ended.
    #[must_use]
    pub fn next_probe(&self) -> Option<Probe> {
        self.next_strain().map(|probe| self.loaded(probe))
    }

    /// A probe as the caller knows it.
    fn loaded(&self, probe: Probe) -> Probe {
        Probe {
            load: self.settings.load(probe.load),
            ..probe
        }
    }

    /// What to try next, as a strain.
    fn next_strain(&self) -> Option<Probe> {
        let (load, purpose) = match self.stage {
            Stage::Approach | Stage::Narrow => (self.approach(), Purpose::Approach),
            Stage::Confirm { load, .. } => (load, Purpose::Confirm),
            Stage::Above { load } => (load, Purpose::Above),
            Stage::Done(_) => return None,
        };
        let same = self
            .probes
            .iter()
            .filter(|(probe, _)| probe.load == load)
            .count();
        Some(Probe {
            load,
            purpose,
            attempt: count_u32(same),
        })
    }

    /// Say what came of [`Self::next_probe`]; without effect when the search has ended.
    pub fn observe(&mut self, outcome: Outcome) {
        let Some(probe) = self.next_strain() else {
            return;
        };
        let passed = outcome.passed();
        let before = self
            .probes
            .iter()
            .rev()
            .take_while(|(_, last)| last.passed().is_none())
            .count();
        if let Outcome::Invalid { reason } = &outcome
            && before + 1 >= MOST_INVALID
        {
            self.stage = Stage::Done(Ending::Invalid {
                load: self.settings.load(probe.load),
                reason: reason.clone(),
            });
        }
        self.probes.push((probe, outcome));
        if let Some(passed) = passed {
            self.take_in(probe.load, passed);
            self.stage = self.after(probe.load, passed);
        }
        if self.left() == 0 {
            self.stage = match &self.stage {
                Stage::Done(ending) => Stage::Done(ending.clone()),
                Stage::Narrow => Stage::Done(Ending::Found),
                _ => Stage::Done(Ending::Budget),
            };
        }
    }

    /// The answer as far as it is known.
    #[must_use]
    pub fn finish(self) -> Answer {
        let ending = match &self.stage {
            Stage::Done(ending) => ending.clone(),
            _ => Ending::Interrupted,
        };
        let load = self.confirmed.or_else(|| self.kept(self.settings.highest));
        let load = load.filter(|_| ending != Ending::NothingPasses && self.largest_pass.is_some());
        let (low, high) = self.interval();
        let settings = &self.settings;
        let (lowest, highest) = (settings.lowest, settings.highest);
        let low = (low >= lowest).then(|| settings.load_within(low));
        let high = (high <= highest).then(|| settings.load_within(high));
        let knee = self.belief.quantile(0.5).clamp(lowest, highest);
        let all = self.probes.iter();
        Answer {
            goal: settings.goal,
            load: load.map(|load| settings.load(load)),
            confirmed: load.is_some() && self.confirmed.is_some(),
            knee: settings.strain(knee).clamp(lowest, highest),
            interval: match settings.goal {
                Goal::Largest => (low, high),
                Goal::Smallest => (high, low),
            },
            blur: self.belief.blur(),
            binding: binding(&self.probes, load),
            probes: all
                .map(|(probe, outcome)| (self.loaded(*probe), outcome.clone()))
                .collect(),
            ending,
        }
    }

    /// The interval of the knee.
    fn interval(&self) -> (f64, f64) {
        let (low, high) = (self.belief.quantile(TAIL), self.belief.quantile(1.0 - TAIL));
        // Where no outcome contradicts another, nothing between the last pass and the first failure
        // is ruled out.
        bracket(&self.probes).map_or((low, high), |(passed, failed)| {
            (low.min(passed), high.max(self.settings.easier(failed)))
        })
    }

    fn take_in(&mut self, load: f64, passed: bool) {
        self.belief.learn(load, passed);
        if passed {
            self.largest_pass = Some(self.largest_pass.map_or(load, |largest| largest.max(load)));
        }
    }

    /// Probes that may still be made.
    fn left(&self) -> u32 {
        self.settings
            .most_probes
            .saturating_sub(count_u32(self.probes.len()))
    }

    /// The next load on the way to the knee.
    fn approach(&self) -> f64 {
        if let Some((invalid, _)) = self
            .probes
            .last()
            .filter(|(_, outcome)| outcome.passed().is_none())
        {
            return invalid.load;
        }
        let first = self.probes.is_empty() && self.largest_pass.is_none();
        let wanted = match (self.settings.hint, first) {
            (Some(hint), true) => hint.load,
            (None, true) => self.belief.quantile(0.5),
            (_, false) if self.probes.len().is_multiple_of(2) => self.belief.quantile(ASIDE),
            (_, false) => self.belief.quantile(1.0 - ASIDE),
        };
        let bound = self
            .largest_pass
            .map_or(f64::INFINITY, |largest| 2.0 * largest);
        self.settings.snap(wanted.min(bound))
    }

    fn after(&mut self, load: f64, passed: bool) -> Stage {
        match self.stage {
            Stage::Approach => self.after_approach(),
            Stage::Confirm {
                passed: before,
                failed: wrong,
                ..
            } => {
                self.after_confirming(load, before + u32::from(passed), wrong + u32::from(!passed))
            }
            Stage::Above { .. } if passed => self.go_higher(),
            Stage::Above { .. } | Stage::Narrow => self.found(),
            Stage::Done(ref ending) => Stage::Done(ending.clone()),
        }
    }

    fn after_approach(&self) -> Stage {
        let Settings {
            lowest, highest, ..
        } = self.settings;
        if self.belief.below(lowest) > SURE {
            return Stage::Done(Ending::NothingPasses);
        }
        let next_to = |(passed, failed): &(f64, f64)| self.settings.higher(*passed) >= *failed;
        if let Some((passed, _)) = bracket(&self.probes).filter(next_to) {
            return self.confirm(passed);
        }
        let beyond = 1.0 - self.belief.below(highest) > SURE;
        // One run more than confirms, to see that more is too much; of a small budget at most half.
        let reserve = (self.settings.confirm + 1).min(self.settings.most_probes / 2);
        let spent = self.left() <= reserve && !self.probes.is_empty();
        let (low, high) = (self.belief.quantile(TAIL), self.belief.quantile(1.0 - TAIL));
        if beyond || spent || high - low <= self.settings.resolution * low {
            self.confirm(self.kept(highest).unwrap_or(lowest))
        } else {
            Stage::Approach
        }
    }

    fn confirm(&self, load: f64) -> Stage {
        if self.settings.confirm == 0 {
            return match self.ending() {
                Ending::Found => self.found(),
                ending => Stage::Done(ending),
            };
        }
        Stage::Confirm {
            load,
            passed: 0,
            failed: 0,
        }
    }

    fn ending(&self) -> Ending {
        if 1.0 - self.belief.below(self.settings.highest) > SURE {
            Ending::EverythingPasses
        } else {
            Ending::Found
        }
    }

    fn after_confirming(&mut self, load: f64, passed: u32, failed: u32) -> Stage {
        let wanted = self.settings.confirm;
        match failed {
            0 | 1 if passed >= wanted + failed => {
                self.confirmed = Some(load);
                self.larger(load)
                    .map_or_else(|| self.above(load), |larger| self.confirm(larger))
            }
            0 | 1 => Stage::Confirm {
                load,
                passed,
                failed,
            },
            _ if load <= self.settings.lowest => Stage::Done(Ending::NothingPasses),
            _ => {
                self.refused = self.refused.min(load);
                let lower = self.settings.lower(load);
                let next = self.kept(lower).unwrap_or(self.settings.lowest);
                // Back at a load that is confirmed already: what passed above it passed by luck.
                if self.confirmed.is_some_and(|confirmed| next <= confirmed) {
                    return self.found();
                }
                self.confirm(next)
            }
        }
    }

    /// A larger load that most runs should keep, now that they kept this one: worth confirming, if
    /// the budget carries it and what is above.
    fn larger(&self, load: f64) -> Option<f64> {
        let worth = |larger: &f64| *larger > load && *larger < self.refused;
        self.kept(self.settings.highest)
            .filter(worth)
            .filter(|_| self.left() > self.settings.confirm)
    }

    fn above(&self, load: f64) -> Stage {
        if load >= self.settings.highest {
            return Stage::Done(Ending::EverythingPasses);
        }
        let mut above = self.settings.higher(load);
        while above < self.settings.highest && self.belief.chance(above) > BROKEN {
            above = self.settings.higher(above);
        }
        let known = |probe: &Probe, outcome: &Outcome| {
            probe.purpose.full() && probe.load <= above && outcome.passed() == Some(false)
        };
        let mut higher = self.probes.iter().filter(|(probe, _)| probe.load > load);
        if higher.any(|(probe, outcome)| known(probe, outcome)) {
            return self.found();
        }
        Stage::Above { load: above }
    }

    /// The answer is found: what is left of the budget goes to the interval, while it is too wide.
    fn found(&self) -> Stage {
        let (low, high) = self.interval();
        let wide = |wanted: f64| high - low > wanted * low;
        if self.settings.interval.is_some_and(wide) && self.left() > 0 {
            Stage::Narrow
        } else {
            Stage::Done(Ending::Found)
        }
    }

    /// After a run above passed: confirm a larger load, if there is one and the budget carries it.
    fn go_higher(&self) -> Stage {
        let larger = |load: &f64| self.confirmed.is_none_or(|confirmed| *load > confirmed);
        match self.kept(self.settings.highest).filter(larger) {
            None => self.found(),
            Some(_) if self.left() < self.settings.confirm => Stage::Done(Ending::Budget),
            Some(load) => self.confirm(load),
        }
    }

    /// The largest load of the grid, up to `most`, that most runs should keep; `None` when the
    /// lowest is none.
    fn kept(&self, most: f64) -> Option<f64> {
        let settings = &self.settings;
        let holds = |load: f64| self.belief.chance(load) >= KEPT;
        if holds(most) {
            return Some(most);
        }
        let (mut low, mut high) = (0, settings.place(most));
        while low + 1 < high {
            let middle = low.midpoint(high);
            if holds(settings.grid(middle)) {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(settings.grid(low)).filter(|load| holds(*load))
    }
}

/// The largest load that passed and the smallest that failed, if the first is smaller: no outcome
/// contradicts another.
fn bracket(probes: &[(Probe, Outcome)]) -> Option<(f64, f64)> {
    edges(probes, Goal::Largest).filter(|(passed, failed)| passed < failed)
}

/// The rule that failed at the smallest load above `load`; of several there, the most frequent.
fn binding(probes: &[(Probe, Outcome)], load: Option<f64>) -> Option<String> {
    let failures: Vec<(f64, &String)> = probes
        .iter()
        .filter_map(|(probe, outcome)| match outcome {
            Outcome::Fail { rule } if load.is_none_or(|load| probe.load > load) => {
                Some((probe.load, rule))
            }
            _ => None,
        })
        .collect();
    let nearest = failures.iter().map(|(load, _)| *load).reduce(f64::min)?;
    let there: Vec<&String> = failures
        .iter()
        .filter(|(load, _)| *load == nearest)
        .map(|(_, rule)| *rule)
        .collect();
    let count = |rule: &String| there.iter().filter(|other| **other == rule).count();
    there
        .iter()
        .max_by_key(|rule| count(rule))
        .map(|rule| (*rule).clone())
}

#[cfg(test)]
mod tests;
