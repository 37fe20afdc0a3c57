//! What a study wishes of its intervals: what its pilots say of the times of trials, how many
//! repeats its points still need within the budget, and where the wish was met.
//!
//! Everything follows from the plan and the trials that have ended, so that a run that was
//! interrupted, and the report, come to what the run came to. What is chosen once, the times,
//! stands in the plan.

use std::{collections::HashSet, time::Duration};

use rookery_cast::count_u32;
use rookery_stats::{
    Measurement, PercentilePoint, SecondSample,
    adaptive::{Decision, Rule},
    pilot::{self, Window},
    steady::SteadyFrom,
};
use rookery_store::TrialStatus;
use rookery_study::{
    ChosenTimes, Load, OpenTimes, Plan, Point, Purpose, Wish, WishTimes, WishedMetric,
};

use crate::{Run, TrialData, estimate, schema::data};

/// The shortest window that is chosen.
const LEAST_STEADY_S: f64 = 10.0;
/// A window must be so short that the budget carries so many trials of each point.
const TRIALS_WITHIN: f64 = 5.0;

data! {
    /// How the wish of a study was kept.
    #[derive(Clone, Debug, PartialEq)]
    pub struct WishSummary {
        /// What is wished.
        pub goals: Vec<WishGoal>,
        /// Time that all trials together may take, s.
        pub budget_s: f64,
        /// What they have taken, s.
        pub spent_s: f64,
        /// Whether what is left of the budget carries no further trial of a point that missed the
        /// wish.
        pub exhausted: bool,
        /// Trials that were void or failed: they took their time and count for no interval.
        pub lost: u32,
        /// What these have taken, s.
        pub lost_s: f64,
        /// How long users settle, s; null until pilots have chosen it.
        pub settle_s: Option<f64>,
        /// The measured window, s; null until pilots have chosen it.
        pub steady_s: Option<f64>,
        /// Whether pilots chose these times, or are to choose them.
        pub chosen: bool,
        /// The window that the wish asks for by its pilots, s; null where they cannot tell, and
        /// where there are none.
        pub wanted_s: Option<f64>,
        /// What each pilot showed.
        pub pilots: Vec<PilotSummary>,
        /// Every point of the study.
        pub points: Vec<WishedPoint>,
        /// At how many points the wish was met.
        pub met: usize,
    }
}

data! {
    /// One part of a wish.
    #[derive(Clone, Debug, PartialEq)]
    pub struct WishGoal {
        /// `throughput`, or a percentile of the main operation: `p99`.
        pub metric: String,
        /// Half of the 95 % interval as a share of the mean.
        pub within: f64,
    }
}

data! {
    /// What a pilot showed.
    #[derive(Clone, Debug, PartialEq)]
    pub struct PilotSummary {
        /// Number of the trial.
        pub trial: u32,
        /// Number of its point.
        pub point: u32,
        /// How long all users ran in it, s.
        pub length_s: f64,
        /// When it was steady, s after all users ran; null where it was so nowhere.
        pub steady_from_s: Option<f64>,
        /// The window that the wish asks for at its point, s; null where it cannot tell.
        pub wanted_s: Option<f64>,
        /// Whether its seconds are independent enough, and many enough, to tell that.
        pub independent: bool,
    }
}

data! {
    /// A point and its wish.
    #[derive(Clone, Debug, PartialEq)]
    pub struct WishedPoint {
        /// Number of the point.
        pub point: u32,
        /// Its short name.
        pub label: String,
        /// Its good trials.
        pub trials: u32,
        /// Every part of the wish, in its order.
        pub reached: Vec<WishReached>,
        /// Whether all of them were met.
        pub met: bool,
    }
}

data! {
    /// How near a point came to a part of the wish.
    #[derive(Clone, Debug, PartialEq)]
    pub struct WishReached {
        /// `throughput`, or a percentile.
        pub metric: String,
        /// Half of the 95 % interval as a share of the mean; null with too few trials.
        pub half_width: Option<f64>,
        /// Trials that the wish needs by the scatter of the first; null with too few.
        pub needed: Option<u32>,
        /// Whether it is within the wish.
        pub met: bool,
    }
}

/// The value of a metric in one trial.
fn value(metric: WishedMetric, point: &Point, measured: &Measurement) -> Option<f64> {
    let value = match metric {
        WishedMetric::Throughput => measured.units_per_minute(),
        WishedMetric::Percentile(percentile) => {
            let latencies = measured.latencies(main_operation(point));
            latencies.percentile_us(percentile)? as f64
        }
    };
    value.is_finite().then_some(value)
}

fn main_operation(point: &Point) -> &'static str {
    point.only_group().database.kind().info().main_operation()
}

/// The rule by which a part of a wish decides how often a point is repeated.
#[must_use]
pub fn rule(load: &Load, share: f64) -> Option<Rule> {
    Rule::new(load.repeats, load.max_repeats, share).ok()
}

/// The rule of a percentile of the main operation, where the study wishes for one.
pub(crate) fn percentile_rule(load: &Load, percentile: f64) -> Option<Rule> {
    let goals = load.wish()?.goals().into_iter();
    let mut own = goals.filter(|(metric, _)| *metric == WishedMetric::Percentile(percentile));
    rule(load, own.next()?.1)
}

/// The values of the good trials of a point, in the order of the trials; `None` where one lacks it.
fn values(metric: WishedMetric, point: &Point, trials: &[&TrialData]) -> Option<Vec<f64>> {
    let good = trials.iter().filter_map(|trial| trial.valid());
    good.map(|(_, measured)| value(metric, point, measured))
        .collect()
}

/// The trials of a point, but its pilot.
fn own<'t>(point: &Point, trials: &'t [TrialData]) -> Vec<&'t TrialData> {
    let of_point = |trial: &&TrialData| {
        trial.row.trial.point == point.id && trial.row.trial.purpose == Purpose::Study
    };
    trials.iter().filter(of_point).collect()
}

/// What the trials that have ended took, s: from the start of their guests to the end of their
/// load, and the pause after it. What was not measured counts as it was planned.
#[must_use]
pub fn spent_s(plan: &Plan, trials: &[TrialData]) -> f64 {
    let ended = trials.iter().filter(|trial| ended(trial));
    ended.map(|trial| took_s(plan, trial)).sum()
}

/// Whether a trial has ended; of one of several groups its first alone.
fn ended(trial: &TrialData) -> bool {
    let waits = matches!(
        trial.row.status,
        TrialStatus::Planned | TrialStatus::Running
    );
    trial.place == 0 && !waits
}

fn took_s(plan: &Plan, trial: &TrialData) -> f64 {
    let measured = trial
        .record
        .as_ref()
        .and_then(|record| Some((record.ready_s, record.measurement.as_ref()?)));
    match (point_of(plan, trial), measured) {
        (Some(point), Some((ready_s, measured))) => {
            let load = &plan.study_of(point).load;
            ready_s + measured.window.end_s + (load.ramp_down + load.rest).as_secs_f64()
        }
        _ => plan.trial_time(trial.row.trial.point).as_secs_f64(),
    }
}

/// Whether the budget of a wish carries one more trial of `point`, besides the trials that are
/// planned and have not ended. Without a wish there is no budget, and the answer is yes.
#[must_use]
pub fn carries(plan: &Plan, trials: &[TrialData], point: u32) -> bool {
    let Some(planned) = &plan.wish else {
        return true;
    };
    let over: HashSet<u32> = trials
        .iter()
        .filter(|trial| ended(trial))
        .map(|trial| trial.row.trial.id)
        .collect();
    let waiting = plan.trials.iter().filter(|trial| !over.contains(&trial.id));
    let waiting: Duration = waiting.map(|trial| plan.trial_time(trial.point)).sum();
    let with_it = spent_s(plan, trials) + (waiting + plan.trial_time(point)).as_secs_f64();
    // Sums of the same times in another order may differ in their last digit.
    with_it <= planned.budget.as_secs_f64() + 1e-6
}

fn point_of<'p>(plan: &'p Plan, trial: &TrialData) -> Option<&'p Point> {
    let id = trial.row.trial.point;
    plan.points.iter().find(|point| point.id == id)
}

/// What a pilot says: its summary, and how long trials must settle by it, s.
struct Pilot {
    summary: PilotSummary,
    settle_s: f64,
}

/// What the pilots say that were measured, void ones included: whether a trial may be averaged is
/// another question.
fn pilots(plan: &Plan, wish: &Wish, trials: &[TrialData]) -> Vec<Pilot> {
    let own = trials
        .iter()
        .filter(|trial| trial.row.trial.purpose == Purpose::Pilot);
    own.filter_map(|trial| read_pilot(plan, wish, trial))
        .collect()
}

fn read_pilot(plan: &Plan, wish: &Wish, trial: &TrialData) -> Option<Pilot> {
    let point = point_of(plan, trial)?;
    let measured = trial.record.as_ref()?.measurement.as_ref()?;
    let load = &plan.study_of(point).load;
    let ramp_up = load.ramp_up.lasting(point.total_users(), point.guests());
    let seconds = PilotSeconds::new(measured, ramp_up.as_secs_f64());
    let length_s = seconds.units.len() as f64;
    let from = pilot::all_steady_from(&[seconds.requests, seconds.times_us]);
    let begin = match from {
        SteadyFrom::Value(second) => second,
        SteadyFrom::Nowhere => seconds.units.len() / 2,
    };
    let steady = seconds.units.get(begin..).unwrap_or_default();
    let window = |(metric, share)| match metric {
        WishedMetric::Throughput => Window::of_mean(steady, share),
        WishedMetric::Percentile(percentile) => {
            percentile_window(point, measured, percentile, share)
        }
    };
    let windows: Vec<Option<Window>> = wish.goals().into_iter().map(window).collect();
    let lengths: Option<Vec<f64>> = windows
        .iter()
        .map(|window| window.map(|window| window.seconds))
        .collect();
    Some(Pilot {
        settle_s: pilot::settle_s(from, length_s),
        summary: PilotSummary {
            trial: trial.row.trial.id,
            point: point.id,
            length_s,
            steady_from_s: match from {
                SteadyFrom::Value(second) => Some(second as f64),
                SteadyFrom::Nowhere => None,
            },
            wanted_s: lengths.map(|lengths| lengths.into_iter().fold(0.0, f64::max)),
            independent: windows.iter().flatten().all(|window| window.reliable),
        },
    })
}

/// What a pilot shows second by second, from the moment on when all users run.
struct PilotSeconds {
    /// Units of work.
    units: Vec<f64>,
    requests: Vec<f64>,
    /// Median response times, us, of the seconds that have one.
    times_us: Vec<f64>,
}

impl PilotSeconds {
    fn new(measured: &Measurement, from_s: f64) -> Self {
        let sum = |of: fn(&SecondSample) -> u32| {
            estimate::seconds_from(measured, from_s, |samples| {
                samples.iter().map(|sample| f64::from(of(sample))).sum()
            })
        };
        let mut times_us = estimate::seconds_from(measured, from_s, estimate::median_us);
        times_us.retain(|us| *us > 0.0);
        Self {
            units: sum(|sample| sample.orders),
            requests: sum(|sample| sample.requests),
            times_us,
        }
    }
}

fn percentile_window(
    point: &Point,
    measured: &Measurement,
    percentile: f64,
    share: f64,
) -> Option<Window> {
    let name = main_operation(point);
    let unfinished = measured
        .guests
        .iter()
        .filter_map(|guest| guest.operation(name));
    let found = PercentilePoint::from_latencies(
        &measured.latencies(name),
        unfinished.map(|own| own.unfinished).sum(),
        percentile,
        estimate::design_effect(measured),
    )?;
    Window::of_percentile(&found, measured.window.seconds(), share)
}

/// The times that pilots choose, now that they have ended; `None` where the plan leaves nothing
/// open, or one of them has not ended.
///
/// The longest settling and the longest window of all pilots are those of every trial: points are
/// compared, and must have the same times. Where the budget does not carry five such trials of each
/// point, the window is shorter, and what it lacks is left to repeats.
#[must_use]
pub fn choose(plan: &Plan, trials: &[TrialData]) -> Option<ChosenTimes> {
    let planned = plan.wish.as_ref()?;
    planned.pilot()?;
    let load = &plan.variants.first()?.study.load;
    let wish = load.wish()?;
    let ended = |id: u32| {
        let mut own = trials.iter().filter(|trial| trial.row.trial.id == id);
        own.any(|trial| trial.record.is_some())
    };
    if !plan.trials.iter().all(|trial| ended(trial.id)) {
        return None;
    }
    let pilots = pilots(plan, wish, trials);
    let settles = pilots.iter().map(|pilot| pilot.settle_s);
    let settle_s = settles
        .reduce(f64::max)
        .unwrap_or(load.settle.as_secs_f64());
    let wanted: Option<Vec<f64>> = pilots.iter().map(|pilot| pilot.summary.wanted_s).collect();
    let wanted_s = wanted.and_then(|wanted| wanted.into_iter().reduce(f64::max));
    let left_s = (planned.budget.as_secs_f64() - spent_s(plan, trials)).max(0.0);
    let settle = Duration::from_secs_f64(settle_s);
    let longest_s = longest_window_s(plan, settle_s, left_s);
    let steady_s = match wanted_s.map(pilot::rounded_up) {
        Some(wanted_s) if wanted_s <= longest_s => wanted_s,
        _ => longest_s.floor(),
    };
    let steady = Duration::from_secs_f64(steady_s.max(LEAST_STEADY_S));
    let open = open_times(plan);
    Some(ChosenTimes {
        settle: if open.settle { settle } else { load.settle },
        steady: if open.steady { steady } else { load.steady },
        wanted: wanted_s.map(|seconds| Duration::from_secs_f64(seconds.min(WEEK_S))),
    })
}

/// What is left to pilots by some layout.
fn open_times(plan: &Plan) -> OpenTimes {
    let wishes = plan
        .variants
        .iter()
        .filter_map(|variant| variant.study.load.wish());
    wishes.fold(OpenTimes::default(), |all, wish| OpenTimes {
        settle: all.settle || wish.open.settle,
        steady: all.steady || wish.open.steady,
    })
}

/// Longer windows are not told apart.
const WEEK_S: f64 = 7.0 * 24.0 * 3600.0;

/// The window with which five trials of each point fit into what is left of the budget, s.
fn longest_window_s(plan: &Plan, settle_s: f64, left_s: f64) -> f64 {
    let points: Vec<&Point> = plan.study_points().collect();
    let around = |point: &&Point| {
        let load = &plan.study_of(point).load;
        let own = plan.trial_time(point.id).as_secs_f64() - load.steady.as_secs_f64();
        match load.wish().is_some_and(|wish| wish.open.settle) {
            true => own - load.settle.as_secs_f64() + settle_s,
            false => own,
        }
    };
    let around_s: f64 = points.iter().map(around).sum();
    ((left_s / TRIALS_WITHIN - around_s) / points.len().max(1) as f64).max(0.0)
}

/// Further repeats that fit into what is left of the budget: a point of each combination that needs
/// some, with how many. What needs least goes first: so most points have their wish.
#[must_use]
pub fn repeats(plan: &Plan, trials: &[TrialData]) -> Vec<(u32, u32)> {
    let Some(planned) = &plan.wish else {
        return Vec::new();
    };
    if planned.pilot().is_some() {
        return Vec::new();
    }
    let mut left_s = planned.budget.as_secs_f64() - spent_s(plan, trials);
    let mut asked: Vec<(u32, u32, f64)> = Vec::new();
    for combination in plan.combinations() {
        let own = |id: &u32| plan.points.iter().find(|point| point.id == *id);
        let points: Vec<&Point> = combination.iter().filter_map(own).collect();
        let needed = points.iter().map(|point| needed(plan, point, trials)).max();
        let each = points.iter().map(|point| plan.trial_time(point.id));
        let each_s = each.sum::<Duration>().as_secs_f64();
        if let (Some(first), Some(more @ 1..)) = (points.first(), needed) {
            asked.push((first.id, more, each_s));
        }
    }
    asked.sort_by(|a, b| (f64::from(a.1) * a.2).total_cmp(&(f64::from(b.1) * b.2)));
    let fitting = asked.into_iter().map(|(point, more, each_s)| {
        let fits = if each_s > 0.0 {
            rookery_cast::truncate_u32((left_s / each_s).max(0.0))
        } else {
            more
        };
        let more = more.min(fits);
        left_s -= f64::from(more) * each_s;
        (point, more)
    });
    fitting.filter(|(_, more)| *more > 0).collect()
}

/// Repeats that this point still needs for all parts of the wish. Void and failed trials count
/// against the largest number: a point that keeps failing does so no longer than that.
fn needed(plan: &Plan, point: &Point, trials: &[TrialData]) -> u32 {
    let load = &plan.study_of(point).load;
    let own = own(point, trials);
    let goals = load.wish().map(Wish::goals).unwrap_or_default();
    let more = goals.into_iter().filter_map(|(metric, share)| {
        match rule(load, share)?.decide(&values(metric, point, &own)?) {
            Decision::More(more) => Some(more),
            Decision::Reached | Decision::Spent { .. } => None,
        }
    });
    let most = load.max_repeats.saturating_sub(count_u32(own.len()));
    more.max().unwrap_or(0).min(most)
}

impl WishSummary {
    /// Of a run; `None` where its study wishes for nothing.
    #[must_use]
    pub fn from_run(run: &Run) -> Option<Self> {
        let plan = &run.header.plan;
        let wish = run.header.study.load.wish()?;
        let planned = plan.wish.as_ref()?;
        let load = &plan.variants.first()?.study.load;
        let open = planned.pilot().is_some();
        let known = |time: Duration, open: bool| (!open).then_some(time.as_secs_f64());
        let points: Vec<WishedPoint> = plan
            .study_points()
            .map(|point| wished_point(plan, point, wish, &run.trials))
            .collect();
        let pilots = pilots(plan, wish, &run.trials).into_iter();
        let lost = run.trials.iter().filter(|trial| {
            trial.place == 0
                && trial.row.trial.purpose == Purpose::Study
                && matches!(trial.row.status, TrialStatus::Void | TrialStatus::Failed)
        });
        let lost: Vec<f64> = lost.map(|trial| took_s(plan, trial)).collect();
        let mut missed = points.iter().filter(|point| !point.met);
        Some(Self {
            goals: wish
                .goals()
                .into_iter()
                .map(|(metric, within)| WishGoal {
                    metric: metric.to_string(),
                    within,
                })
                .collect(),
            budget_s: planned.budget.as_secs_f64(),
            spent_s: spent_s(plan, &run.trials),
            exhausted: missed.any(|point| !carries(plan, &run.trials, point.point)),
            lost: count_u32(lost.len()),
            lost_s: lost.iter().sum(),
            settle_s: known(load.settle, open && wish.open.settle),
            steady_s: known(load.steady, open && wish.open.steady),
            chosen: planned.times != WishTimes::Given,
            wanted_s: planned
                .chosen()
                .and_then(|chosen| chosen.wanted)
                .map(|wanted| wanted.as_secs_f64()),
            pilots: pilots.map(|pilot| pilot.summary).collect(),
            met: points.iter().filter(|point| point.met).count(),
            points,
        })
    }
}

fn wished_point(plan: &Plan, point: &Point, wish: &Wish, trials: &[TrialData]) -> WishedPoint {
    let load = &plan.study_of(point).load;
    let own = own(point, trials);
    let reached: Vec<WishReached> = wish
        .goals()
        .into_iter()
        .map(|(metric, share)| {
            let values = values(metric, point, &own).unwrap_or_default();
            let result = rule(load, share).and_then(|rule| rule.result(&values));
            let half_width = result
                .map(|result| result.half_width / result.mean.abs())
                .filter(|half| half.is_finite());
            WishReached {
                metric: metric.to_string(),
                half_width,
                needed: rule(load, share).and_then(|rule| rule.needed_repeats(&values)),
                // Rounding makes no miss of a wish that is just met.
                met: half_width.is_some_and(|half| half <= share * (1.0 + 1e-9)),
            }
        })
        .collect();
    WishedPoint {
        point: point.id,
        label: point.label(),
        trials: count_u32(own.iter().filter(|trial| trial.valid().is_some()).count()),
        met: reached.iter().all(|reached| reached.met),
        reached,
    }
}
