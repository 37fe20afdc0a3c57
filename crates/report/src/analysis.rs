//! What the numbers of a run say: one summary per point over its good repeats. Pure.

use rookery_stats::{Fairness, Latencies, Measurement, ORDER, Ratio, Summary};
use rookery_store::{TrialRecord, TrialStatus};
use rookery_study::Point;

use crate::{Effects, Run, TrialData, answer, cpu};

/// The whole analysis.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// One summary per point, in the order of the plan.
    pub points: Vec<PointSummary>,
    /// What every level of every factor is worth; empty in a study without factors.
    pub effects: Effects,
    /// The answer in plain sentences.
    pub answer: Vec<String>,
    /// What did not hold, or must be known to read the answer rightly.
    pub caveats: Vec<String>,
}

/// One point over its repeats; void and failed trials are counted but never averaged.
#[derive(Clone, Debug)]
pub struct PointSummary {
    /// The point.
    pub point: Point,
    /// Trials that ended well.
    pub done: usize,
    /// Trials that failed their own checks.
    pub void: usize,
    /// Trials that could not be carried out.
    pub failed: usize,
    /// Trials that were not run, or not to their end.
    pub missing: usize,
    /// Orders per minute of all guests, of each good trial.
    pub trial_orders_per_minute: Vec<f64>,
    /// The block of each of these trials.
    pub trial_blocks: Vec<u32>,
    /// Orders per minute of all guests.
    pub orders_per_minute: Option<Summary>,
    /// Requests per second of all guests.
    pub requests_per_second: Option<Summary>,
    /// Every operation, with the latencies of all guests and repeats.
    pub operations: Vec<OperationSummary>,
    /// Requests started inside the windows.
    pub started: u64,
    /// Of these, failed or unfinished.
    pub bad: u64,
    /// Rolled-back orders, as a share of all orders.
    pub rollback_share: Option<f64>,
    /// Cores that all guests used.
    pub guest_cores: Option<Summary>,
    /// Use of the driver's CPUs, a share.
    pub driver_share: Option<Summary>,
    /// Worst scheduling lag p99 of the driver, us.
    pub lag_p99_us: Option<u64>,
    /// Verdicts.
    pub qos: QosCount,
    /// The rule that was broken worst, in words, with its value.
    pub broken: Option<String>,
    /// Throughput over that of the one-big point of equal capacity and users; `None` for that point itself.
    pub efficiency: Option<Ratio>,
    /// Mean orders per minute and user, of each guest.
    pub guests: Vec<(String, f64)>,
    /// How evenly the guests were served.
    pub fairness: Option<Fairness>,
    /// Throughput over the most that the users could ask for with answers in no time, N / Z.
    pub demand_met: Option<f64>,
}

/// One operation of a point.
#[derive(Clone, Debug)]
pub struct OperationSummary {
    /// Its name.
    pub name: String,
    /// Response times over all guests and repeats.
    pub latencies: Latencies,
    /// Of the started ones: failed or unfinished.
    pub bad: u64,
    /// Started.
    pub started: u64,
}

/// How the good trials of a point were judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QosCount {
    /// Within all limits.
    pub passed: usize,
    /// A limit was broken.
    pub failed: usize,
    /// It could not be said.
    pub unjudged: usize,
}

impl QosCount {
    /// Within the limits in every judged trial, and none unjudged.
    #[must_use]
    pub fn held(&self) -> bool {
        self.passed > 0 && self.failed == 0 && self.unjudged == 0
    }

    /// In words: `held`, `broken in 1 of 3`, `not judged`.
    #[must_use]
    pub fn words(&self) -> String {
        let total = self.passed + self.failed + self.unjudged;
        match (total, self.failed) {
            (0, _) => crate::format::NONE.to_owned(),
            (_, 0) if self.unjudged == 0 => "held".to_owned(),
            (_, 0) if self.passed == 0 => "not judged".to_owned(),
            (_, 0) => format!("held in {} of {total}", self.passed),
            (_, failed) if failed == total => "broken".to_owned(),
            (_, failed) => format!("broken in {failed} of {total}"),
        }
    }
}

impl Analysis {
    /// Analyse a run.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let mut points: Vec<PointSummary> = run.header.plan.points.iter().map(|point| summarise(run, point)).collect();
        let throughputs: Vec<(u32, Vec<f64>)> = points
            .iter()
            .map(|summary| (summary.point.id, summary.trial_orders_per_minute.clone()))
            .collect();
        for summary in &mut points {
            let baseline = summary.point.baseline.filter(|baseline| *baseline != summary.point.id);
            let of_baseline = throughputs.iter().find(|(id, _)| Some(*id) == baseline);
            summary.efficiency = of_baseline.and_then(|(_, base)| Ratio::of(&summary.trial_orders_per_minute, base));
        }
        let effects = Effects::of(run);
        let (answer, caveats) = (answer::answer(run, &points, &effects), answer::caveats(run, &points));
        Self {
            points,
            effects,
            answer,
            caveats,
        }
    }

    /// The summary of a point.
    #[must_use]
    pub fn point(&self, id: u32) -> Option<&PointSummary> {
        self.points.iter().find(|summary| summary.point.id == id)
    }
}

impl PointSummary {
    /// One operation.
    #[must_use]
    pub fn operation(&self, name: &str) -> Option<&OperationSummary> {
        self.operations.iter().find(|operation| operation.name == name)
    }

    /// The whole order.
    #[must_use]
    pub fn order(&self) -> Option<&OperationSummary> {
        self.operation(ORDER)
    }

    /// The single request with the largest p95.
    #[must_use]
    pub fn worst_request(&self) -> Option<&OperationSummary> {
        let requests = self
            .operations
            .iter()
            .filter(|operation| operation.name != ORDER && !operation.latencies.is_empty());
        requests.max_by_key(|operation| operation.latencies.percentile_us(95.0))
    }

    /// Failed and unfinished requests, as a share of all started; `None` when none was started.
    #[must_use]
    pub fn error_share(&self) -> Option<f64> {
        (self.started > 0).then(|| self.bad as f64 / self.started as f64)
    }

    /// Its layouts, joined.
    #[must_use]
    pub fn layouts(&self) -> String {
        self.point.layouts.join(", ")
    }
}

/// A trial that ended well: its record and measurement.
type Good<'a> = (&'a TrialRecord, &'a Measurement);

fn summarise(run: &Run, point: &Point) -> PointSummary {
    let trials: Vec<&TrialData> = run.trials.iter().filter(|trial| trial.row.trial.point == point.id).collect();
    let count = |status| trials.iter().filter(|trial| trial.row.status == status).count();
    let good: Vec<Good<'_>> = trials.iter().filter_map(|trial| trial.valid()).collect();
    let over = |value: &dyn Fn(&Good<'_>) -> Option<f64>| {
        let values: Vec<f64> = good.iter().filter_map(value).filter(|value| value.is_finite()).collect();
        Summary::of(&values)
    };
    let rates = trials.iter().filter_map(|trial| {
        let (_, measured) = trial.valid()?;
        Some((trial.row.trial.block, measured.orders_per_minute())).filter(|(_, rate)| rate.is_finite())
    });
    let (trial_blocks, trial_orders_per_minute): (Vec<u32>, Vec<f64>) = rates.unzip();
    let counts = good.iter().map(|(_, measured)| measured.started_and_bad());
    let (started, bad) = counts.fold((0u64, 0u64), |sum, next| {
        (sum.0.saturating_add(next.0), sum.1.saturating_add(next.1))
    });
    let guests = guest_rates(&good);
    let rates: Vec<f64> = guests.iter().map(|(_, rate)| *rate).collect();
    let orders_per_minute = Summary::of(&trial_orders_per_minute);
    PointSummary {
        done: count(TrialStatus::Done),
        void: count(TrialStatus::Void),
        failed: count(TrialStatus::Failed),
        missing: count(TrialStatus::Planned) + count(TrialStatus::Running),
        orders_per_minute,
        trial_orders_per_minute,
        trial_blocks,
        requests_per_second: over(&|(_, measured)| Some(measured.requests_per_second())),
        operations: operations(&good),
        started,
        bad,
        rollback_share: rollback_share(&good),
        guest_cores: over(&|(record, measured)| cpu::guest_cores(&record.resources, measured)),
        driver_share: over(&|(_, measured)| Some(measured.driver.cpu_share)),
        lag_p99_us: good.iter().map(|(_, measured)| measured.driver.lag_p99_us).max(),
        qos: qos(&good),
        broken: worst_broken_rule(&good),
        efficiency: None,
        fairness: Fairness::of(&rates),
        guests,
        demand_met: demand_met(run, point, &good, orders_per_minute),
        point: point.clone(),
    }
}

fn operations(good: &[Good<'_>]) -> Vec<OperationSummary> {
    let mut all: Vec<OperationSummary> = Vec::new();
    for (_, measured) in good {
        for operation in measured.guests.iter().flat_map(|guest| &guest.operations) {
            let latencies = operation.headline(measured.pacing);
            let (started, bad) = (operation.started, operation.bad());
            if let Some(known) = all.iter_mut().find(|known| known.name == operation.name) {
                known.latencies.merge(latencies);
                known.started = known.started.saturating_add(started);
                known.bad = known.bad.saturating_add(bad);
            } else {
                let (name, latencies) = (operation.name.clone(), latencies.clone());
                all.push(OperationSummary {
                    name,
                    latencies,
                    bad,
                    started,
                });
            }
        }
    }
    all.retain(|operation| operation.started > 0);
    all
}

/// Mean orders per minute and user, of each guest; guests of equal names in several repeats are one.
fn guest_rates(good: &[Good<'_>]) -> Vec<(String, f64)> {
    let mut sums: Vec<(String, f64, u32)> = Vec::new();
    for (_, measured) in good {
        for guest in measured.guests.iter().filter(|guest| guest.users > 0) {
            let rate = guest.orders_per_minute(&measured.window) / f64::from(guest.users);
            match sums.iter_mut().find(|(name, ..)| *name == guest.guest) {
                Some((_, sum, count)) => (*sum, *count) = (*sum + rate, *count + 1),
                None => sums.push((guest.guest.clone(), rate, 1)),
            }
        }
    }
    sums.into_iter().map(|(name, sum, count)| (name, sum / f64::from(count))).collect()
}

fn rollback_share(good: &[Good<'_>]) -> Option<f64> {
    let shops = good
        .iter()
        .flat_map(|(_, measured)| measured.guests.iter().map(|guest| &guest.shop));
    let (rolled, all) = shops.fold((0u64, 0u64), |(rolled, all), shop| {
        (rolled.saturating_add(shop.n_rollbacks_overall), all.saturating_add(shop.n_overall))
    });
    (all > 0).then(|| rolled as f64 / all as f64)
}

fn qos(good: &[Good<'_>]) -> QosCount {
    let mut count = QosCount::default();
    for verdict in good
        .iter()
        .filter_map(|(record, _)| record.verdict.as_ref())
        .filter(|verdict| !verdict.rules.is_empty())
    {
        match (verdict.failed(), verdict.passed) {
            (true, _) => count.failed += 1,
            (false, true) => count.passed += 1,
            (false, false) => count.unjudged += 1,
        }
    }
    count
}

fn worst_broken_rule(good: &[Good<'_>]) -> Option<String> {
    let verdicts = good
        .iter()
        .filter_map(|(record, _)| record.verdict.as_ref())
        .filter(|verdict| verdict.failed());
    let rules = verdicts.filter_map(|verdict| verdict.binding_rule());
    let worst = rules.max_by(|a, b| a.load().partial_cmp(&b.load()).unwrap_or(std::cmp::Ordering::Equal))?;
    Some(format!("{}, but was {}", worst.text(), answer::rule_value(worst)))
}

/// Arrivals per second that the schedules of good trials held.
fn drawn_per_s(good: &[Good<'_>]) -> Option<f64> {
    let (mut drawn, mut seconds) = (0.0, 0.0);
    for (_, measured) in good {
        drawn += measured.driver.arrivals.as_ref()?.drawn as f64;
        seconds += measured.window.seconds();
    }
    (seconds > 0.0).then(|| drawn / seconds)
}

fn demand_met(run: &Run, point: &Point, good: &[Good<'_>], orders_per_minute: Option<Summary>) -> Option<f64> {
    let study = run.header.plan.study_of(point);
    let most = match (&study.load.open, point.rate_per_s) {
        // What arrived, not the rate: of few Poisson arrivals it is another number.
        (Some(open), Some(_)) => 60.0 * drawn_per_s(good)? * open.visit.mean_acts(),
        _ => 60.0 * f64::from(point.total_users()) / study.workload.think_time.as_secs_f64(),
    };
    orders_per_minute
        .filter(|_| most.is_finite() && most > 0.0)
        .map(|summary| summary.mean / most)
}
