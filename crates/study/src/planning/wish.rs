//! What a wish makes of a plan: pilots before the trials of the study, a budget of time, and times
//! that are chosen while the run is under way.

use std::time::Duration;

use rookery_cast::count_u32;

use super::{estimate, trials};
use crate::{
    BUDGETS, ChosenTimes, Document, Plan, Point, Purpose, RepeatGoal, Study, Trial, Variant, Wish,
    WishPlan, WishTimes,
    plan::parts,
    problem::{Code, Finding},
    time_text::plain_time,
};

/// The shortest window of a pilot: of fewer seconds nothing is known of their dependence.
const LEAST_PILOT: Duration = Duration::from_secs(60);
/// A pilot measures for so many windows of the study.
const PILOT_WINDOWS: u32 = 2;
/// Most pilots of a run.
const MOST_PILOTS: usize = 8;
/// Pilots may take one in so many parts of the budget.
const PARTS_OF_PILOTS: u32 = 3;
/// The shortest times that pilots may choose.
pub(crate) const LEAST_SETTLE: Duration = Duration::from_secs(5);
pub(crate) const LEAST_STEADY: Duration = Duration::from_secs(10);

/// What a study with a wish plans beside its points.
pub(super) struct Planned {
    pub(super) wish: WishPlan,
    /// The trials to begin with.
    pub(super) trials: Vec<Trial>,
    /// What the first trials of all points take with the times that are written, in real time.
    pub(super) written_take: Duration,
    /// What pilots and first trials take at most.
    pub(super) first_take: Duration,
}

/// The first trials of a study with a wish, and its budget; nothing where the study has no wish.
///
/// # Errors
/// When the time does not even carry the pilots and the first trials at their shortest.
pub(super) fn plan(
    document: &Document,
    combinations: &[Vec<Point>],
) -> Result<Option<Planned>, Finding> {
    let study = document.study();
    let Some(wish) = study.load.wish() else {
        return Ok(None);
    };
    let variants = document.variants();
    let points: Vec<&Point> = combinations.iter().flatten().collect();
    let pilots = match points.iter().any(|point| open(variants, point)) {
        true => pilot_points(combinations),
        false => Vec::new(),
    };
    let first_lot = |times: fn(&Study) -> (Duration, Duration)| -> Duration {
        let each = points.iter().map(|point| time_of(variants, point, times));
        each.sum::<Duration>() * study.load.repeats
    };
    let written_take = first_lot(written);
    let budget = wish.within.unwrap_or(written_take * BUDGETS);
    let window = pilot_window(variants, &pilots, budget);
    let pilots_take = pilots_time(variants, &pilots, window);
    let least = pilots_take + first_lot(shortest);
    if budget < least {
        return Err(too_short(document, budget, least));
    }
    let (times, trials) = match pilots.is_empty() {
        true => (WishTimes::Given, trials::order(study, &ids(combinations))),
        false => (
            WishTimes::Open { pilot: window },
            pilot_trials(study.seed, &pilots),
        ),
    };
    Ok(Some(Planned {
        wish: WishPlan { budget, times },
        trials,
        written_take,
        first_take: (pilots_take + written_take).min(budget),
    }))
}

/// The points of combinations by their numbers.
pub(super) fn ids(combinations: &[Vec<Point>]) -> Vec<Vec<u32>> {
    let of = |points: &Vec<Point>| points.iter().map(|point| point.id).collect();
    combinations.iter().map(of).collect()
}

fn variant_of<'v>(variants: &'v [Variant], point: &Point) -> Option<&'v Variant> {
    variants.iter().find(|variant| variant.id == point.variant)
}

/// Whether a time of the trials of a point is left to pilots.
fn open(variants: &[Variant], point: &Point) -> bool {
    let wish = variant_of(variants, point).and_then(|variant| variant.study.load.wish());
    wish.is_some_and(|wish| wish.open.any())
}

/// The times as they are written, or their defaults.
fn written(study: &Study) -> (Duration, Duration) {
    (study.load.settle, study.load.steady)
}

/// The shortest times that can come of it.
fn shortest(study: &Study) -> (Duration, Duration) {
    let open = study.load.wish().map(|wish| wish.open).unwrap_or_default();
    let time = |open: bool, least, written| if open { least } else { written };
    (
        time(open.settle, LEAST_SETTLE, study.load.settle),
        time(open.steady, LEAST_STEADY, study.load.steady),
    )
}

/// One trial of a point.
fn time_of(
    variants: &[Variant],
    point: &Point,
    times: impl Fn(&Study) -> (Duration, Duration),
) -> Duration {
    let Some(variant) = variant_of(variants, point) else {
        return Duration::ZERO;
    };
    let (settle, steady) = times(&variant.study);
    estimate::trial_time(&parts(point, variant), settle, steady)
}

/// The smallest and the largest load of each shape of guests, in the first variant that has them;
/// of many the largest loads first.
fn pilot_points(combinations: &[Vec<Point>]) -> Vec<&Point> {
    let firsts: Vec<&Point> = combinations
        .iter()
        .filter_map(|points| points.first())
        .collect();
    let alike = |a: &Point, b: &Point| {
        a.guests() == b.guests()
            && a.only_group().vcpus == b.only_group().vcpus
            && a.variant == b.variant
    };
    let beyond = |point: &Point, more: fn(f64, f64) -> bool| {
        let others = firsts.iter().filter(|other| alike(other, point));
        others
            .into_iter()
            .any(|other| more(other.load(), point.load()))
    };
    let (largest, others): (Vec<&Point>, Vec<&Point>) = firsts
        .iter()
        .partition(|point| !beyond(point, |a, b| a > b));
    let smallest = others
        .into_iter()
        .filter(|point| !beyond(point, |a, b| a < b));
    let mut pilots: Vec<&Point> = largest.into_iter().chain(smallest).collect();
    pilots.truncate(MOST_PILOTS);
    pilots.sort_by_key(|point| point.id);
    pilots
}

/// The window of every pilot: twice that of the study where it is to be chosen, shorter where the
/// budget is small.
fn pilot_window(variants: &[Variant], pilots: &[&Point], budget: Duration) -> Duration {
    let asked = |point: &&Point| {
        let load = &variant_of(variants, point)?.study.load;
        let open = load.wish().is_some_and(|wish| wish.open.steady);
        Some(match open {
            true => load.steady * PILOT_WINDOWS,
            false => load.steady.max(LEAST_PILOT),
        })
    };
    let asked = pilots.iter().filter_map(asked).max().unwrap_or_default();
    let around = pilots_time(variants, pilots, Duration::ZERO);
    let left = (budget / PARTS_OF_PILOTS).saturating_sub(around);
    let share = left / count_u32(pilots.len()).max(1);
    // Whole seconds are what is read of it.
    Duration::from_secs(share.as_secs()).clamp(LEAST_PILOT.min(asked), asked)
}

/// All pilots, each with a window of this length.
fn pilots_time(variants: &[Variant], pilots: &[&Point], window: Duration) -> Duration {
    let each = pilots
        .iter()
        .map(|point| time_of(variants, point, |study| (study.load.settle, window)));
    each.sum()
}

fn pilot_trials(seed: u64, pilots: &[&Point]) -> Vec<Trial> {
    let trial = |(id, point): (u32, &&Point)| Trial {
        id,
        point: point.id,
        repeat: 1,
        block: id,
        seed: trials::pilot_seed(seed, point.id),
        purpose: Purpose::Pilot,
    };
    (1..).zip(pilots).map(trial).collect()
}

fn too_short(document: &Document, budget: Duration, least: Duration) -> Finding {
    // To the next minute: nobody needs the seconds.
    let minutes = least.as_secs().div_ceil(60);
    Finding {
        code: Code::Contradiction,
        span: document.spans(0).nearest("load.precision.within"),
        message: format!(
            "`load.precision.within` is {}, and the shortest trials that could tell anything take \
             {minutes} min: pilots, then three of each point",
            plain_time(budget)
        ),
        help: format!(
            "write `within = \"{}min\"` or more, or compare fewer points",
            2 * minutes
        ),
    }
}

impl Plan {
    /// One trial of this point as its variant has it now: its phases, the pause after it, and what
    /// its guests take. Nothing of a point that the plan lacks.
    #[must_use]
    pub fn trial_time(&self, point: u32) -> Duration {
        let point = self.points.iter().find(|known| known.id == point);
        point.map_or(Duration::ZERO, |point| {
            time_of(&self.variants, point, written)
        })
    }

    /// Take the times that pilots have chosen where the study left them open, and append the first
    /// trials of all points.
    pub fn choose_times(&mut self, chosen: ChosenTimes) {
        for variant in &mut self.variants {
            let load = &mut variant.study.load;
            let Some(RepeatGoal::Wish(Wish { open, .. })) = &mut load.goal else {
                continue;
            };
            if open.settle {
                load.settle = chosen.settle;
            }
            if open.steady {
                load.steady = chosen.steady;
            }
            *open = crate::OpenTimes::default();
        }
        if let Some(wish) = &mut self.wish {
            wish.times = WishTimes::Chosen(chosen);
        }
        let Some(variant) = self.variants.first() else {
            return;
        };
        let (trials, blocks) = (count_u32(self.trials.len()), self.last_block());
        let first_lot = trials::order(&variant.study, &self.combinations());
        self.trials.extend(first_lot.into_iter().map(|trial| Trial {
            id: trials + trial.id,
            block: blocks + trial.block,
            ..trial
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostFacts;

    const STUDY: &str = r#"
        title = "t"
        workload = { kind = "dvdstore", database = "5MB" }
        stack = { kind = "lamp", tuning = ["stock", "pureflex"] }
        guest = { kind = "container", memory = "512MiB" }
        layout = [{ name = "a", guests = [1, 2], vcpus = 0.5 }]
        load = { users = ["10 per host", "20 per host", "40 per host"], precision = { throughput = "2%", p99 = "5%" } }
    "#;

    fn host() -> HostFacts {
        HostFacts {
            cpus: vec![0, 1, 2],
            memory_mib: 8192,
            disk_free_mib: 8192,
            root: true,
            places: Vec::new(),
        }
    }

    fn plan(text: &str) -> Result<Plan, String> {
        let document =
            Document::parse("s.toml", text).unwrap_or_else(|problems| panic!("{problems}"));
        Plan::of(&document, &host()).map_err(|problems| problems.to_string())
    }

    fn planned(text: &str) -> (Plan, WishPlan) {
        let plan = plan(text).unwrap_or_else(|problems| panic!("{problems}"));
        let wish = plan.wish.clone().expect("a wish");
        (plan, wish)
    }

    #[test]
    fn pilots_stand_at_the_smallest_and_the_largest_load_of_each_shape() {
        let (plan, wish) = planned(STUDY);
        let pilots: Vec<(u32, f64, u32)> = plan
            .trials
            .iter()
            .map(|trial| {
                let point = &plan.points[trial.point as usize - 1];
                (point.guests(), point.load(), point.variant)
            })
            .collect();
        assert_eq!(
            pilots,
            [(1, 10.0, 1), (1, 40.0, 1), (2, 10.0, 1), (2, 40.0, 1)]
        );
        assert!(
            plan.trials
                .iter()
                .all(|trial| trial.purpose == Purpose::Pilot)
        );
        assert_eq!(wish.pilot(), Some(Duration::from_secs(120)));
        // Three times 36 trials of 75 s and what guests take.
        assert!(wish.budget > Duration::from_secs(3 * 36 * 75), "{wish:?}");
    }

    #[test]
    fn chosen_times_stand_in_the_plan_as_if_they_were_written() {
        let (mut plan, _) = planned(STUDY);
        let pilots = plan.trials.clone();
        plan.choose_times(ChosenTimes {
            settle: Duration::from_secs(15),
            steady: Duration::from_secs(45),
            wanted: None,
        });
        assert_eq!(plan.trials[..4], pilots[..]);
        assert_eq!(plan.trials.len(), 4 + 3 * 12);
        let ids: Vec<u32> = plan.trials.iter().map(|trial| trial.id).collect();
        assert_eq!(ids, (1..=40).collect::<Vec<_>>());
        assert!(plan.trials[4].block > plan.trials[3].block);
        for variant in &plan.variants {
            let load = &variant.study.load;
            assert_eq!((load.settle.as_secs(), load.steady.as_secs()), (15, 45));
            let back = Study::parse("s.toml", &variant.study.to_toml());
            assert_eq!(
                back.ok().as_ref(),
                Some(&variant.study),
                "a resumed run reads it"
            );
        }
        // The trials are those of a study that has the times written down.
        let fixed = STUDY.replace(
            "precision =",
            "settle = \"15s\", steady = \"45s\", precision =",
        );
        let (fixed, wish) = planned(&fixed);
        assert_eq!(wish.times, WishTimes::Given);
        let seeds = |trials: &[Trial]| -> Vec<(u32, u64)> {
            trials
                .iter()
                .map(|trial| (trial.point, trial.seed))
                .collect()
        };
        assert_eq!(seeds(&plan.trials[4..]), seeds(&fixed.trials));
    }

    #[test]
    fn a_budget_is_divided_or_refused() {
        let within = |time: &str| STUDY.replace("p99 = \"5%\"", &format!("within = \"{time}\""));
        let (_, wish) = planned(&within("25min"));
        assert_eq!(wish.budget, Duration::from_secs(1500));
        let pilot = wish.pilot().expect("pilots").as_secs();
        assert!((60..120).contains(&pilot), "{pilot}");
        let refused = plan(&within("5min")).expect_err("too short");
        assert!(
            refused.contains("`load.precision.within` is 5min") && refused.contains("or more"),
            "{refused}"
        );
    }
}
