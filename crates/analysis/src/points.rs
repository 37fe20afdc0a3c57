//! One summary per point over its good repeats.

use rookery_stats::{
    Fairness, Latencies, Measurement, OtherWork, Ratio, SecondSample, Summary, adaptive::Rule,
    qos::Limited,
};
use rookery_store::{TrialRecord, TrialStatus};
use rookery_study::{Level, Point, Purpose};
use rookery_workload::WorkloadInfo;

use crate::{
    Run, TrialData, cpu,
    estimate::{self, Estimate, Quantile},
    io,
    layers::Limit,
    mean::mean,
    metrics::{self, MetricSummary},
    schema::data,
    units, wish,
};

data! {
    /// A point as it was planned.
    #[derive(Clone, Debug, PartialEq)]
    pub struct PlannedPoint {
        /// Its number in the plan.
        pub id: u32,
        /// Short name: `4 x 0.25 vCPU, 200 users`, and the levels where the study has factors.
        pub label: String,
        /// Number of its variant.
        pub variant: u32,
        /// The levels of its variant.
        pub levels: Vec<Level>,
        /// The layouts that contain it.
        pub layouts: Vec<String>,
        /// Number of guests.
        pub guests: u32,
        /// vCPUs of each guest; of the first group where guests differ (`groups` has each).
        pub vcpus: f64,
        /// Memory limit of each guest, MiB; as with `vcpus`.
        pub memory_mib: u64,
        /// Who makes the load of a closed loop: `users`, `terminals`.
        pub clients: &'static str,
        /// How many of them, over all guests; 0 of an open load.
        pub client_count: u32,
        /// Arrivals per second at all guests together; null of a closed load.
        pub rate_per_s: Option<f64>,
        /// The load in words: `200 users`, `20 arrivals/s`.
        pub load_label: String,
        /// Host CPUs that its guests together can use at most.
        pub capacity_cpus: f64,
        /// Number of the point with one big guest of equal capacity and load; may be itself.
        pub baseline: Option<u32>,
    }
}

data! {
    /// One point over its repeats; void and failed trials are counted but never averaged.
    #[derive(Clone, Debug, PartialEq)]
    pub struct PointSummary {
        /// The point.
        pub point: PlannedPoint,
        /// The name of its workload.
        pub workload: &'static str,
        /// How large a unit of work is, bytes; null where the workload does not say.
        pub unit_bytes: Option<u32>,
        /// Trials that ended well.
        pub done: usize,
        /// Trials that failed their own checks.
        pub void: usize,
        /// Trials that could not be carried out.
        pub failed: usize,
        /// Trials that were not run, or not to their end.
        pub missing: usize,
        /// Throughput of each good trial.
        pub trials: Vec<TrialRate>,
        /// Units of work per minute of all guests.
        pub per_minute: Option<Estimate>,
        /// Requests per second of all guests.
        pub requests_per_second: Option<Estimate>,
        /// What throughput counts, one of it: `order`.
        pub unit: &'static str,
        /// Several of it: `orders`.
        pub units: &'static str,
        /// So many of it per minute: `orders/min`.
        pub rate: &'static str,
        /// The workload's own metrics that have a value.
        pub metrics: Vec<MetricSummary>,
        /// Name of the operation that the unit of work is.
        pub main_operation: &'static str,
        /// Every operation, with the latencies of all guests and repeats.
        pub operations: Vec<OperationSummary>,
        /// Name of the request, other than the main operation, with the largest p95.
        pub slowest_request: Option<String>,
        /// Requests started inside the windows.
        pub started: u64,
        /// Of these, failed or unfinished.
        pub bad: u64,
        /// Rolled-back units of work, as a share of all.
        pub rollback_share: Option<f64>,
        /// Cores that all guests used.
        pub guest_cores: Option<Summary>,
        /// Cores of the host that neither guests nor the driver used, in the trial with the most;
        /// null where that was not measured, or is not worth a word.
        pub other_cores: Option<f64>,
        /// Requests per second of all guests to their disks; null where nobody counts them.
        pub disk_requests_per_s: Option<f64>,
        /// CPUs of all guests that stood still because quotas were used up; null where nobody
        /// counts them.
        pub throttled_cores: Option<Summary>,
        /// Use of the driver's CPUs, a share.
        pub driver_share: Option<Summary>,
        /// Worst scheduling lag p99 of the driver, us.
        pub lag_p99_us: Option<u64>,
        /// How the limits were judged.
        pub limits: LimitCount,
        /// The limit that was broken worst; null where all were kept.
        pub worst_broken: Option<BrokenLimit>,
        /// The limit that came nearest, or was broken worst, with its value; null where none could
        /// be judged.
        pub nearest_limit: Option<LimitUse>,
        /// Throughput over that of the one-big point of equal capacity and load; null for that
        /// point itself.
        pub efficiency: Option<Ratio>,
        /// Mean throughput of each guest.
        pub guests: Vec<GuestRate>,
        /// How evenly the guests were served.
        pub fairness: Option<Fairness>,
        /// Throughput over the most that the load could ask for with answers in no time.
        pub demand_met: Option<f64>,
        /// What held the throughput back; null without a good trial.
        pub limited_by: Option<Limit>,
    }
}

data! {
    /// Throughput of a good trial.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct TrialRate {
        /// Number of the trial.
        pub trial: u32,
        /// Its block: trials of one block ran back to back and differ in factor levels alone.
        pub block: u32,
        /// Which repeat of its point it is, from 1: trials of equal repeat ran in one round through
        /// all points.
        pub repeat: u32,
        /// Units of work per minute of all guests.
        pub per_minute: f64,
    }
}

data! {
    /// Throughput of a guest.
    #[derive(Clone, Debug, PartialEq)]
    pub struct GuestRate {
        /// Its name.
        pub guest: String,
        /// Units of work per minute and client; mean over the good trials.
        pub per_minute_and_client: f64,
    }
}

data! {
    /// A limit that was broken.
    #[derive(Clone, Debug, PartialEq)]
    pub struct BrokenLimit {
        /// The limit: `g1 purchase p95 <= 250 ms`.
        pub rule: String,
        /// The percentile of response times that it limits; null of a limit of errors.
        pub percentile: Option<f64>,
        /// The value: us of a percentile, else a share; null where the percentile lies among
        /// operations that never finished.
        pub value: Option<f64>,
    }
}

data! {
    /// How much of a limit was used up.
    #[derive(Clone, Debug, PartialEq)]
    pub struct LimitUse {
        /// The operation that it limits; null of all requests together.
        pub operation: Option<String>,
        /// The percentile of response times that it limits; null of a limit of errors.
        pub percentile: Option<f64>,
        /// The limit: us of a percentile, else a share.
        pub limit: f64,
        /// The value in the same unit; null where the percentile lies among operations that never
        /// finished.
        pub value: Option<f64>,
    }
}

impl LimitUse {
    /// The value as a share of the limit; infinite where nothing finished.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.value.map_or(f64::INFINITY, |value| value / self.limit)
    }
}

data! {
    /// One operation of a point.
    #[derive(Clone, Debug, PartialEq)]
    pub struct OperationSummary {
        /// Its name.
        pub name: String,
        /// Operations of all guests and repeats with a response time.
        pub count: u64,
        /// Their mean response time, us.
        pub mean_us: Option<f64>,
        /// Their largest response time, us.
        pub max_us: Option<u64>,
        /// Percentiles with their intervals, those that the values support.
        pub quantiles: Vec<Quantile>,
        /// Of the started ones: failed or unfinished.
        pub bad: u64,
        /// Started.
        pub started: u64,
    }
}

/// The percentiles that are reported.
pub const PERCENTILES: [f64; 4] = [50.0, 95.0, 99.0, 99.9];

data! {
    /// How the limits were judged in the good trials of a point.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct LimitCount {
        /// Within all limits.
        pub passed: usize,
        /// A limit was broken.
        pub failed: usize,
        /// It could not be said.
        pub unjudged: usize,
        /// Of the first two: so near a limit that chance may have decided.
        pub marginal: usize,
    }
}

impl LimitCount {
    /// Within the limits in every judged trial, and none unjudged.
    #[must_use]
    pub fn held(&self) -> bool {
        self.passed > 0 && self.failed == 0 && self.unjudged == 0
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

    /// Response times of a percentile of an operation, with their interval.
    #[must_use]
    pub fn quantile(&self, operation: &str, percentile: f64) -> Option<&Quantile> {
        let quantiles = &self.operation(operation)?.quantiles;
        quantiles
            .iter()
            .find(|quantile| quantile.percentile == percentile)
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

    /// Whether all that was asked for was done: the load, not the guests, set the pace.
    #[must_use]
    pub fn kept_up(&self) -> bool {
        let enough = if self.point.rate_per_s.is_some() {
            KEPT_UP
        } else {
            UNSATURATED
        };
        self.demand_met.is_some_and(|met| met >= enough)
    }

    /// Units of work per minute of each good trial.
    #[must_use]
    pub fn rates(&self) -> Vec<f64> {
        self.trials.iter().map(|trial| trial.per_minute).collect()
    }

    /// What held the point back, as far as it was measured: its load, the CPU of its guests, or
    /// neither.
    fn limit(&self) -> Option<Limit> {
        let busy = self
            .guest_cores
            .map(|cores| cores.mean / self.point.capacity_cpus)
            .filter(|busy| busy.is_finite());
        let open = self.point.rate_per_s.is_some();
        match busy {
            _ if self.trials.is_empty() => None,
            _ if open && self.kept_up() => Some(Limit::OfferedLoad),
            Some(busy) if busy >= SATURATED => Some(Limit::Cpu),
            _ if self.kept_up() => Some(Limit::OfferedLoad),
            _ => Some(Limit::Waiting),
        }
    }
}

impl PlannedPoint {
    fn new(point: &Point) -> Self {
        Self {
            id: point.id,
            label: point.label(),
            variant: point.variant,
            levels: point.levels.clone(),
            layouts: point.layouts.clone(),
            guests: point.guests(),
            vcpus: point.only_group().vcpus.cpus(),
            memory_mib: point.only_group().memory_mib,
            clients: point.people(),
            client_count: point.total_users(),
            rate_per_s: point.rate_per_s(),
            load_label: point.load_words(),
            capacity_cpus: point.capacity_cpus,
            baseline: point.baseline,
        }
    }

    /// Load on all guests: clients, or arrivals per second.
    #[must_use]
    pub fn load(&self) -> f64 {
        self.rate_per_s
            .unwrap_or_else(|| f64::from(self.client_count))
    }
}

/// Throughput above this share of what the clients could ask for means that the clients, not the
/// guests, set the pace.
const UNSATURATED: f64 = 0.9;
/// Arrivals that do not wait are a backlog where fewer of their units of work are made.
const KEPT_UP: f64 = 0.98;
/// Guests that use more than this share of the CPU they may use are limited by it.
const SATURATED: f64 = 0.9;

/// A trial that ended well: its record and measurement.
type Good<'a> = (&'a TrialRecord, &'a Measurement);

/// A point of the study over all its trials.
pub(crate) fn of_point(run: &Run, point: &Point) -> PointSummary {
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
        Summary::from_values(&values)
    };
    let rates = trials.iter().filter_map(|trial| {
        let (_, measured) = trial.valid()?;
        let per_minute = measured.units_per_minute();
        per_minute.is_finite().then_some(TrialRate {
            trial: trial.row.trial.id,
            block: trial.row.trial.block,
            repeat: trial.row.trial.repeat,
            per_minute,
        })
    });
    let rates: Vec<TrialRate> = rates.collect();
    let per_minutes: Vec<f64> = rates.iter().map(|rate| rate.per_minute).collect();
    let counts = good.iter().map(|(_, measured)| measured.started_and_bad());
    let (started, bad) = counts.fold((0u64, 0u64), |sum, next| {
        (sum.0.saturating_add(next.0), sum.1.saturating_add(next.1))
    });
    let guests = guest_rates(&good);
    let of_guests: Vec<f64> = guests
        .iter()
        .map(|guest| guest.per_minute_and_client)
        .collect();
    // Trials of a search are repeated for an answer, not for an interval.
    let rule = point
        .search
        .is_none()
        .then(|| estimate::rule(&run.header.plan.study_of(point).load))
        .flatten();
    let in_seconds = |of: fn(&SecondSample) -> u32, factor: f64| {
        let series = good.first().map(|(_, measured)| {
            estimate::seconds(measured, |samples| {
                factor
                    * samples
                        .iter()
                        .map(|sample| f64::from(of(sample)))
                        .sum::<f64>()
            })
        });
        series.unwrap_or_default()
    };
    let per_minute = Estimate::from_values(&per_minutes, rule, || {
        in_seconds(|sample| sample.orders, 60.0)
    });
    let requests: Vec<f64> = good
        .iter()
        .map(|(_, measured)| measured.requests_per_second())
        .collect();
    let info = point.only_group().database.kind().info();
    let load = &run.header.plan.study_of(point).load;
    let operations = operations(&good, |name, percentile| {
        (name == info.main_operation())
            .then(|| wish::percentile_rule(load, percentile))
            .flatten()
    });
    let numbered = trials
        .iter()
        .filter_map(|trial| Some((trial.row.trial.id, trial.valid()?.1)));
    // Empty where no trial recorded it.
    let main_operation = operations
        .iter()
        .find(|operation| operation.name == info.main_operation())
        .map_or("", |_| info.main_operation());
    let mut summary = PointSummary {
        done: count(TrialStatus::Done),
        void: count(TrialStatus::Void),
        failed: count(TrialStatus::Failed),
        missing: count(TrialStatus::Planned) + count(TrialStatus::Running),
        trials: rates,
        per_minute,
        requests_per_second: Estimate::from_values(&requests, rule, || {
            in_seconds(|sample| sample.requests, 1.0)
        }),
        unit: info.unit.singular,
        units: info.unit.plural,
        rate: info.unit.rate,
        workload: info.name,
        unit_bytes: run.header.plan.study_of(point).workload.unit_bytes(),
        metrics: metrics::summarise(numbered),
        main_operation,
        slowest_request: slowest_request(&good, &operations, info),
        operations,
        started,
        bad,
        rollback_share: units::rollback_share(good.iter().map(|(_, measured)| *measured)),
        guest_cores: over(&|(record, measured)| cpu::guest_cores(&record.resources, measured)),
        other_cores: other_cores(run, &good),
        disk_requests_per_s: over(&|(record, measured)| {
            let io = io::guest_io(&record.resources, measured)?;
            Some(io.reads_per_s + io.writes_per_s)
        })
        .map(|rate| rate.mean),
        throttled_cores: over(&|(record, measured)| cpu::throttled(&record.resources, measured)),
        driver_share: over(&|(_, measured)| Some(measured.driver.cpu_share)),
        lag_p99_us: good
            .iter()
            .map(|(_, measured)| measured.driver.lag_p99_us)
            .max(),
        limits: limits(&good),
        worst_broken: worst_broken(&good),
        nearest_limit: nearest_limit(&good),
        efficiency: None,
        fairness: Fairness::from_values(&of_guests),
        guests,
        demand_met: demand_met(run, point, &good, per_minute),
        limited_by: None,
        point: PlannedPoint::new(point),
    };
    summary.limited_by = summary.limit();
    summary
}

/// The most that other work used in a trial, where it is worth a word.
fn other_cores(run: &Run, good: &[Good<'_>]) -> Option<f64> {
    let host = run.header.host.facts.size();
    let simulated = run.header.study.stack.simulated().is_some();
    good.iter()
        .filter_map(|(record, measured)| {
            let work = OtherWork::from_samples(&record.resources, &measured.window)?;
            Some(work.without_stolen(&record.kernel, &measured.window))
        })
        .filter(|work| !simulated && work.matters(host.cpus))
        .map(|work| work.cores)
        .max_by(f64::total_cmp)
}

/// The request, other than the whole unit of work, with the largest p95.
fn slowest_request(
    good: &[Good<'_>],
    operations: &[OperationSummary],
    info: &WorkloadInfo,
) -> Option<String> {
    let p95 = |name: &str| {
        let mut all = Latencies::new();
        good.iter()
            .for_each(|(_, measured)| all.merge(&measured.latencies(name)));
        all.percentile_us(95.0)
    };
    let requests = operations
        .iter()
        .filter(|operation| info.is_request(&operation.name) && operation.count > 0);
    let slowest = requests.max_by_key(|operation| p95(&operation.name))?;
    Some(slowest.name.clone())
}

/// `rule_of` an operation and a percentile, where the study repeats for it.
fn operations(
    good: &[Good<'_>],
    rule_of: impl Fn(&str, f64) -> Option<Rule>,
) -> Vec<OperationSummary> {
    let mut names: Vec<&str> = Vec::new();
    for (_, measured) in good {
        names.extend(measured.operation_names());
    }
    let mut known = std::collections::HashSet::new();
    names.retain(|name| known.insert(*name));
    let effect = match good {
        [(_, measured)] => estimate::design_effect(measured),
        _ => 1.0,
    };
    names
        .into_iter()
        .filter_map(|name| operation(good, name, effect, |percentile| rule_of(name, percentile)))
        .collect()
}

/// One operation over all guests of all good trials; `None` where it was never started.
fn operation(
    good: &[Good<'_>],
    name: &str,
    design_effect: f64,
    rule_of: impl Fn(f64) -> Option<Rule>,
) -> Option<OperationSummary> {
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
        .filter_map(|p| Quantile::from_trials(&trials, *p, design_effect, rule_of(*p)))
        .collect();
    (started > 0).then(|| OperationSummary {
        name: name.to_owned(),
        quantiles,
        count: latencies.count(),
        mean_us: latencies.mean_us(),
        max_us: latencies.max_us(),
        bad,
        started,
    })
}

/// Mean throughput of each guest; guests of equal names in several repeats are one.
fn guest_rates(good: &[Good<'_>]) -> Vec<GuestRate> {
    let mut sums: Vec<(String, f64, u32)> = Vec::new();
    for (_, measured) in good {
        for guest in measured.guests.iter().filter(|guest| guest.users > 0) {
            let rate = guest.units_per_minute(&measured.window) / f64::from(guest.users);
            match sums.iter_mut().find(|(name, ..)| *name == guest.guest) {
                Some((_, sum, count)) => (*sum, *count) = (*sum + rate, *count + 1),
                None => sums.push((guest.guest.clone(), rate, 1)),
            }
        }
    }
    sums.into_iter()
        .map(|(guest, sum, count)| GuestRate {
            guest,
            per_minute_and_client: sum / f64::from(count),
        })
        .collect()
}

fn limits(good: &[Good<'_>]) -> LimitCount {
    let mut count = LimitCount::default();
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

fn worst_broken(good: &[Good<'_>]) -> Option<BrokenLimit> {
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
    Some(BrokenLimit {
        rule: worst.text(),
        percentile: match worst.limited {
            Limited::Percentile(percentile) => Some(percentile),
            Limited::ErrorRatio => None,
        },
        value: worst.value,
    })
}

/// The rule with the largest value over its limit, in all good trials.
fn nearest_limit(good: &[Good<'_>]) -> Option<LimitUse> {
    let verdicts = good
        .iter()
        .filter_map(|(record, _)| record.verdict.as_ref());
    let rules = verdicts.filter_map(|verdict| verdict.binding_rule());
    let loaded = rules.filter_map(|rule| Some((rule, rule.load()?)));
    let (rule, _) = loaded.max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(LimitUse {
        operation: rule.operation.clone(),
        percentile: match rule.limited {
            Limited::Percentile(percentile) => Some(percentile),
            Limited::ErrorRatio => None,
        },
        limit: rule.limit,
        value: rule.value,
    })
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

fn mean_of(good: &[Good<'_>], of: impl Fn(&Measurement) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = good
        .iter()
        .filter_map(|(_, measured)| of(measured))
        .collect();
    mean(&values)
}

/// Throughput over the most that the load could ask for.
fn demand_met(
    run: &Run,
    point: &Point,
    good: &[Good<'_>],
    per_minute: Option<Estimate>,
) -> Option<f64> {
    let study = run.header.plan.study_of(point);
    let most = match point.rate_per_s() {
        // What arrived, not the rate: of few Poisson arrivals it is another number.
        Some(_) => {
            let units = mean_of(good, |measured| units::units_per_arrival(study, measured));
            60.0 * drawn_per_s(good)? * units?
        }
        None => {
            let cycle_s = |measured: &Measurement| {
                Some(units::cycle_s(measured)? * units::cycles_kept(measured)?)
            };
            let shortest_s = |measured: &Measurement| {
                units::pause_s(study, measured).or_else(|| cycle_s(measured))
            };
            let shortest_s = mean_of(good, shortest_s).filter(|shortest_s| *shortest_s > 0.0)?;
            60.0 * f64::from(point.total_users()) / shortest_s
        }
    };
    per_minute
        .filter(|_| most.is_finite() && most > 0.0)
        .map(|estimate| estimate.mean / most)
}
