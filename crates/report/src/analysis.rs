//! What the numbers of a run say: one summary per point over its good repeats. Pure.

use rookery_judge::{
    cpu,
    layers::{self, LayeredPoint},
};
use rookery_stats::{
    Fairness, Latencies, Measurement, NEW_ORDER, ORDER, Ratio, SecondSample, Summary,
    main_operation,
};
use rookery_store::{TrialRecord, TrialStatus};
use rookery_study::{Point, Purpose};

use crate::{
    Effects, Run, TrialData, answer,
    interval::{self, Estimate, Quantile},
    scaling::{self, Scaling},
    searches::{self, Searched},
    trust::{self, Trust},
};

/// The whole analysis.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// One summary per point of the study, in the order of the plan; points that searches tried are not among them.
    pub points: Vec<PointSummary>,
    /// What the searches found, in the order of the plan.
    pub searches: Vec<Searched>,
    /// How throughput grows with users and with guests.
    pub scaling: Vec<Scaling>,
    /// How far to trust all this.
    pub trust: Trust,
    /// What every level of every factor is worth; empty in a study without factors.
    pub effects: Effects,
    /// Points that stand on several kinds of guest, with what each kind costs.
    pub layers: Vec<LayeredPoint>,
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
    pub orders_per_minute: Option<Estimate>,
    /// Requests per second of all guests.
    pub requests_per_second: Option<Estimate>,
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
    /// [`PERCENTILES`] with their intervals, those that the values support.
    pub quantiles: Vec<Quantile>,
    /// Of the started ones: failed or unfinished.
    pub bad: u64,
    /// Started.
    pub started: u64,
}

/// The percentiles that are reported.
pub const PERCENTILES: [f64; 4] = [50.0, 95.0, 99.0, 99.9];

/// How the good trials of a point were judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QosCount {
    /// Within all limits.
    pub passed: usize,
    /// A limit was broken.
    pub failed: usize,
    /// It could not be said.
    pub unjudged: usize,
    /// Of the first two: so near a limit that chance may have decided.
    pub marginal: usize,
}

impl QosCount {
    /// Within the limits in every judged trial, and none unjudged.
    #[must_use]
    pub fn held(&self) -> bool {
        self.passed > 0 && self.failed == 0 && self.unjudged == 0
    }

    /// In words: `held`, `broken in 1 of 3`, `not judged`; `held, marginal in 2` where chance may have decided.
    #[must_use]
    pub fn words(&self) -> String {
        let total = self.passed + self.failed + self.unjudged;
        match (self.marginal, total) {
            (0, _) => self.plain_words(),
            (_, 1) => format!("{}, marginal", self.plain_words()),
            (marginal, _) => format!("{}, marginal in {marginal}", self.plain_words()),
        }
    }

    fn plain_words(&self) -> String {
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
        let study_points = run.header.plan.study_points();
        let mut points: Vec<PointSummary> =
            study_points.map(|point| of_point(run, point)).collect();
        let baselines: Vec<(u32, Option<Estimate>, Vec<f64>)> = points
            .iter()
            .map(|summary| {
                (
                    summary.point.id,
                    summary.orders_per_minute,
                    summary.trial_orders_per_minute.clone(),
                )
            })
            .collect();
        for summary in &mut points {
            let baseline = summary
                .point
                .baseline
                .filter(|baseline| *baseline != summary.point.id);
            let of_baseline = baselines.iter().find(|(id, ..)| Some(*id) == baseline);
            summary.efficiency = of_baseline.and_then(|(_, base, values)| {
                let own = (
                    summary.orders_per_minute.as_ref()?,
                    &summary.trial_orders_per_minute[..],
                );
                interval::ratio(own, (base.as_ref()?, values))
            });
        }
        let effects = Effects::of(run);
        let searches = searches::of(run);
        let scaling = scaling::of(run);
        let trust = trust::of(run, &points, &searches, &scaling);
        let layers = layers::of(&[run]);
        let mut answer = crate::layers::sentences(&layers);
        answer.extend(answer::answer(run, &points, &effects, &searches));
        let caveats = answer::caveats(run, &points, &searches, &trust.checks);
        Self {
            points,
            searches,
            scaling,
            trust,
            effects,
            layers,
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
        self.operations
            .iter()
            .find(|operation| operation.name == name)
    }

    /// Name of the operation that the workload is known by: the whole order, or the New-Order.
    #[must_use]
    pub fn main_operation(&self) -> &'static str {
        main_operation(
            self.operations
                .iter()
                .map(|operation| operation.name.as_str()),
        )
    }

    /// The whole order, or the New-Order.
    #[must_use]
    pub fn order(&self) -> Option<&OperationSummary> {
        self.operation(self.main_operation())
    }

    /// Response times of a percentile of an operation, with their interval.
    #[must_use]
    pub fn quantile(&self, operation: &str, percentile: f64) -> Option<&Quantile> {
        let quantiles = &self.operation(operation)?.quantiles;
        quantiles
            .iter()
            .find(|quantile| quantile.percentile == percentile)
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

/// A point of the study over all its trials.
fn of_point(run: &Run, point: &Point) -> PointSummary {
    let own = |trial: &&TrialData| {
        trial.row.trial.point == point.id && trial.row.trial.purpose == Purpose::Study
    };
    summarise(
        run,
        point,
        &run.trials.iter().filter(own).collect::<Vec<_>>(),
    )
}

/// A point over some of its trials.
pub(crate) fn summarise(run: &Run, point: &Point, trials: &[&TrialData]) -> PointSummary {
    let count = |status| {
        trials
            .iter()
            .filter(|trial| trial.row.status == status)
            .count()
    };
    let good: Vec<Good<'_>> = trials.iter().filter_map(|trial| trial.valid()).collect();
    let over = |value: &dyn Fn(&Good<'_>) -> Option<f64>| {
        let values: Vec<f64> = good
            .iter()
            .filter_map(value)
            .filter(|value| value.is_finite())
            .collect();
        Summary::of(&values)
    };
    let rates = trials.iter().filter_map(|trial| {
        let (_, measured) = trial.valid()?;
        Some((trial.row.trial.block, measured.orders_per_minute()))
            .filter(|(_, rate)| rate.is_finite())
    });
    let (trial_blocks, trial_orders_per_minute): (Vec<u32>, Vec<f64>) = rates.unzip();
    let counts = good.iter().map(|(_, measured)| measured.started_and_bad());
    let (started, bad) = counts.fold((0u64, 0u64), |sum, next| {
        (sum.0.saturating_add(next.0), sum.1.saturating_add(next.1))
    });
    let guests = guest_rates(&good);
    let rates: Vec<f64> = guests.iter().map(|(_, rate)| *rate).collect();
    // Trials of a search are repeated for an answer, not for an interval.
    let rule = point
        .search
        .is_none()
        .then(|| interval::rule(&run.header.plan.study_of(point).load))
        .flatten();
    let in_seconds = |of: fn(&SecondSample) -> u32, factor: f64| {
        let series = good.first().map(|(_, measured)| {
            interval::seconds(measured, |samples| {
                factor
                    * samples
                        .iter()
                        .map(|sample| f64::from(of(sample)))
                        .sum::<f64>()
            })
        });
        series.unwrap_or_default()
    };
    let orders_per_minute = Estimate::of(&trial_orders_per_minute, rule, || {
        in_seconds(|sample| sample.orders, 60.0)
    });
    let requests: Vec<f64> = good
        .iter()
        .map(|(_, measured)| measured.requests_per_second())
        .collect();
    PointSummary {
        done: count(TrialStatus::Done),
        void: count(TrialStatus::Void),
        failed: count(TrialStatus::Failed),
        missing: count(TrialStatus::Planned) + count(TrialStatus::Running),
        orders_per_minute,
        trial_orders_per_minute,
        trial_blocks,
        requests_per_second: Estimate::of(&requests, rule, || {
            in_seconds(|sample| sample.requests, 1.0)
        }),
        operations: operations(&good),
        started,
        bad,
        rollback_share: rollback_share(&good),
        guest_cores: over(&|(record, measured)| cpu::guest_cores(&record.resources, measured)),
        driver_share: over(&|(_, measured)| Some(measured.driver.cpu_share)),
        lag_p99_us: good
            .iter()
            .map(|(_, measured)| measured.driver.lag_p99_us)
            .max(),
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
    let mut names: Vec<&str> = Vec::new();
    for (_, measured) in good {
        names.extend(measured.operation_names());
    }
    let mut known = std::collections::HashSet::new();
    names.retain(|name| known.insert(*name));
    let effect = match good {
        [(_, measured)] => interval::design_effect(measured),
        _ => 1.0,
    };
    names
        .into_iter()
        .filter_map(|name| operation(good, name, effect))
        .collect()
}

/// One operation over all guests of all good trials; `None` where it was never started.
fn operation(good: &[Good<'_>], name: &str, design_effect: f64) -> Option<OperationSummary> {
    let (mut started, mut bad) = (0_u64, 0_u64);
    let mut trials: Vec<(Latencies, u64)> = Vec::new();
    for (_, measured) in good {
        let mut unfinished = 0_u64;
        for own in measured
            .guests
            .iter()
            .filter_map(|guest| guest.operation(name))
        {
            started = started.saturating_add(own.started);
            bad = bad.saturating_add(own.bad());
            unfinished = unfinished.saturating_add(own.unfinished);
        }
        trials.push((measured.latencies(name), unfinished));
    }
    let mut latencies = Latencies::new();
    trials.iter().for_each(|(own, _)| latencies.merge(own));
    let quantiles = PERCENTILES
        .iter()
        .filter(|p| latencies.supported_percentile_us(**p).is_some())
        .filter_map(|p| Quantile::of(&trials, *p, design_effect))
        .collect();
    (started > 0).then(|| OperationSummary {
        name: name.to_owned(),
        quantiles,
        latencies,
        bad,
        started,
    })
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
    sums.into_iter()
        .map(|(name, sum, count)| (name, sum / f64::from(count)))
        .collect()
}

fn rollback_share(good: &[Good<'_>]) -> Option<f64> {
    let guests = good.iter().flat_map(|(_, measured)| &measured.guests);
    let (rolled, all) = guests.fold((0u64, 0u64), |(rolled, all), guest| {
        let of_shop = (guest.shop.n_rollbacks_overall, guest.shop.n_overall);
        let of_guest = guest.orderentry.as_ref().map_or(of_shop, |counters| {
            let committed = counters
                .transaction(NEW_ORDER)
                .map_or(0, |new_orders| new_orders.completed);
            (
                counters.rolled_back,
                counters.rolled_back.saturating_add(committed),
            )
        });
        (
            rolled.saturating_add(of_guest.0),
            all.saturating_add(of_guest.1),
        )
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
        let decided = verdict.passed || verdict.failed();
        count.marginal +=
            usize::from(decided && verdict.binding_rule().is_some_and(|rule| rule.marginal));
    }
    count
}

fn worst_broken_rule(good: &[Good<'_>]) -> Option<String> {
    let verdicts = good
        .iter()
        .filter_map(|(record, _)| record.verdict.as_ref())
        .filter(|verdict| verdict.failed());
    let rules = verdicts.filter_map(|verdict| verdict.binding_rule());
    let worst = rules.max_by(|a, b| {
        a.load()
            .partial_cmp(&b.load())
            .unwrap_or(std::cmp::Ordering::Equal)
    })?;
    Some(format!(
        "{}, but was {}",
        worst.text(),
        answer::rule_value(worst)
    ))
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

fn mean_of(good: &[Good<'_>], of: fn(&Measurement) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = good
        .iter()
        .filter_map(|(_, measured)| of(measured))
        .collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Transactions of order entry for each committed New-Order.
fn per_order(good: &[Good<'_>]) -> Option<f64> {
    mean_of(good, Measurement::transactions_per_order)
}

fn demand_met(
    run: &Run,
    point: &Point,
    good: &[Good<'_>],
    orders_per_minute: Option<Estimate>,
) -> Option<f64> {
    let study = run.header.plan.study_of(point);
    let most = match (&study.load.open, point.rate_per_s) {
        // What arrived, not the rate: of few Poisson arrivals it is another number.
        (Some(_), Some(_)) if study.workload.orderentry.is_some() => {
            60.0 * drawn_per_s(good)? / per_order(good)?
        }
        (Some(open), Some(_)) => 60.0 * drawn_per_s(good)? * open.visit.mean_acts(),
        _ if study.workload.orderentry.is_some() => {
            let pauses =
                mean_of(good, Measurement::pause_per_order_s).filter(|pause_s| *pause_s > 0.0)?;
            60.0 * f64::from(point.total_users()) / pauses
        }
        _ => 60.0 * f64::from(point.total_users()) / study.workload.think_time.as_secs_f64(),
    };
    orders_per_minute
        .filter(|_| most.is_finite() && most > 0.0)
        .map(|estimate| estimate.mean / most)
}
