//! How throughput grows with users, and with guests: laws fitted to the good trials of a run, with
//! what they may and may not say. Pure.

use rookery_model::fit::{
    Candidate, Fitted, Interval, Judgement, Model, Observation, Observations, Options,
    PredictionError, Rule, Severity, judge,
};
use rookery_stats::Ratio;
use rookery_study::{Point, Variant};

use crate::{
    Run, TrialData, cpu,
    estimate::Estimate,
    label::{levels_after, trimmed},
    ladder::{self, Failures, Ladder},
    schema::data,
    units,
};

/// With fewer different loads there is nothing to be fitted.
const FEWEST_LOADS: usize = 3;
/// Largest over smallest load that a law which bends needs (rule F2 of the fits).
const WIDE_ENOUGH: f64 = 4.0;
/// With fewer different loads no curve is drawn: the points say all that is known.
const FEWEST_LOADS_OF_A_CURVE: usize = 4;
/// The share of their CPUs that guests must have used for their demand to be known.
const LEAST_BUSY: f64 = 0.05;
/// Places of a curve, beside the loads that were tried.
const CURVE_PLACES: u32 = 24;
/// How far beyond the largest load a curve goes.
pub const BEYOND: f64 = 1.5;

data! {
    /// What grows.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Grows {
        /// The clients of a closed load (users, terminals), on guests of one number and shape.
        Clients,
        /// Guests of one shape, each with its own clients.
        Guests,
        /// vCPUs of a single guest, with clients in proportion.
        Vcpus,
    }
}

data! {
    /// Throughput against what grows, and the law that it follows.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Scaling {
        /// What is the same in all its trials: `2 x 0.5 vCPU`, `guests of 0.5 vCPU with 50 users
        /// each`; with the levels of the variant.
        pub label: String,
        /// What grows.
        pub grows: Grows,
        /// What is counted: `users`, `guests`, `vCPUs`.
        pub unit: &'static str,
        /// What throughput counts: `orders/min`.
        pub rate: &'static str,
        /// Throughput of each load, the smallest load first.
        pub steps: Vec<Step>,
        /// How many of the trials were performed by a search.
        pub of_searches: usize,
        /// Every law, fewest parameters first.
        pub laws: Vec<Law>,
        /// Place of the chosen law in `laws`; null when every law was refused.
        pub chosen: Option<usize>,
        /// What was held out of the fits to choose by; null with too few loads.
        pub held_out: Option<HeldOut>,
        /// Where the chosen law bends; null where no number may be given.
        pub bend: Option<Bend>,
        /// The largest throughput under the chosen law, units of work per minute; null where it has
        /// no end.
        pub ceiling_per_minute: Option<f64>,
        /// Doubts about the data as a whole.
        pub doubts: Vec<LawFinding>,
        /// The chosen law within the loads that were tried, nowhere above what the measured CPU
        /// demand allows; empty with fewer than four loads.
        pub curve: Vec<CurvePlace>,
        /// The same beyond them; empty where the fit is in doubt.
        pub beyond: Vec<CurvePlace>,
        /// What a ladder of clients says without any law; null where something else grows.
        pub ladder: Option<Ladder>,
    }
}

data! {
    /// One load.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Step {
        /// The load.
        pub load: f64,
        /// Units of work per minute of its trials.
        pub values: Vec<f64>,
        /// Their mean.
        pub per_minute: Option<Estimate>,
        /// Throughput over that of the smallest load; null for the smallest itself.
        pub speed_up: Option<Ratio>,
        /// Speed-up over what the load grew by.
        pub efficiency: Option<Ratio>,
    }
}

data! {
    /// A scaling law.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LawName {
        /// Throughput in proportion to the load.
        Linear,
        /// Amdahl's law.
        Amdahl,
        /// The universal scalability law.
        Universal,
        /// One queue and a delay: the closed model.
        ClosedQueue,
    }
}

data! {
    /// One law, fitted to the trials of a line.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Law {
        /// Which.
        pub law: LawName,
        /// Its parameters; empty where it is refused or could not be fitted.
        pub parameters: Vec<Parameter>,
        /// Mean absolute error at the trials, a share.
        pub mean_error: Option<f64>,
        /// Largest absolute error at a trial, a share.
        pub largest_error: Option<f64>,
        /// Akaike's criterion with its correction for few trials.
        pub aicc: Option<f64>,
        /// Errors at held-out loads of a fit to the others.
        pub held_out: Option<Errors>,
        /// Whether the data cannot carry it.
        pub refused: bool,
        /// Reasons to doubt or to refuse it.
        pub findings: Vec<LawFinding>,
    }
}

data! {
    /// A fitted parameter.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Parameter {
        /// Its name: `lambda`, `sigma`, `kappa`; `demand_s`, `delay_s`, `servers`.
        pub name: &'static str,
        /// Its value; throughputs per second.
        pub value: f64,
        /// 95 % interval; null where there is none.
        pub interval: Option<(f64, f64)>,
    }
}

data! {
    /// Errors of predicted throughputs, as shares of the measured ones.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Errors {
        /// Mean absolute error.
        pub mean: f64,
        /// Largest absolute error.
        pub largest: f64,
    }
}

data! {
    /// What was held out, and how far naive answers are off there.
    #[derive(Clone, Debug, PartialEq)]
    pub struct HeldOut {
        /// The held-out loads.
        pub loads: Vec<f64>,
        /// Carrying the last value forward.
        pub last_value: Errors,
        /// The last value in proportion to the load.
        pub in_proportion: Errors,
        /// Whether the chosen law was no better than carrying the last value forward.
        pub no_better_than_last_value: bool,
    }
}

data! {
    /// A reason to doubt or to refuse a law.
    #[derive(Clone, Debug, PartialEq)]
    pub struct LawFinding {
        /// Short name of the rule, `F1` to `F13`.
        pub rule: &'static str,
        /// Whether the law is refused by it; else it is a doubt.
        pub refuses: bool,
        /// In words.
        pub text: String,
    }
}

data! {
    /// How a law bends.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum BendKind {
        /// Throughput is at its largest.
        Peak,
        /// Queueing sets in.
        Knee,
    }
}

data! {
    /// Where a law bends.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Bend {
        /// How.
        pub bend: BendKind,
        /// The load.
        pub load: f64,
        /// Its 95 % interval; null where there is none.
        pub interval: Option<(f64, f64)>,
    }
}

data! {
    /// A place of the curve of a law.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct CurvePlace {
        /// The load.
        pub load: f64,
        /// Throughput under the law, units of work per minute.
        pub per_minute: f64,
        /// The band in which 95 % of single trials are expected.
        pub band: Option<(f64, f64)>,
    }
}

/// A good trial of a closed load.
struct Good<'a> {
    point: &'a Point,
    orders_per_s: f64,
    /// Mean pause of a client for each unit of work, s.
    pause_s: Option<f64>,
    busy: Option<f64>,
    failures: Failures,
}

/// Every line of the run: first those against users, then those against guests, then those against
/// vCPUs.
#[must_use]
pub fn lines(run: &Run) -> Vec<Scaling> {
    let plan = &run.header.plan;
    let good: Vec<Good<'_>> = run
        .trials
        .iter()
        .filter_map(|trial| good(run, trial))
        .collect();
    let mut lines: Vec<Scaling> = Vec::new();
    for variant in plan
        .variants
        .iter()
        .filter(|variant| variant.study.load.open().is_none())
    {
        let mut own: Vec<&Good<'_>> = good
            .iter()
            .filter(|good| good.point.variant == variant.id)
            .collect();
        own.sort_by_key(|good| good.point.id);
        let shapes = grouped(&own, |point| {
            (point.guests(), u64::from(point.only_group().vcpus.0))
        });
        lines.extend(
            shapes
                .iter()
                .filter_map(|lot| line(variant, Grows::Clients, lot)),
        );
        let each = grouped(&own, |point| {
            (point.only_group().vcpus.0, users_each(point).to_bits())
        });
        lines.extend(
            each.iter()
                .filter_map(|lot| line(variant, Grows::Guests, lot)),
        );
        let single: Vec<&Good<'_>> = own
            .iter()
            .filter(|good| good.point.guests() == 1)
            .copied()
            .collect();
        let dense = grouped(&single, |point| users_per_vcpu(point).to_bits());
        lines.extend(
            dense
                .iter()
                .filter_map(|lot| line(variant, Grows::Vcpus, lot)),
        );
    }
    lines.sort_by_key(|line| line.grows as u8);
    lines
}

/// Mean pause of a client for each unit of work, s.
fn pause_s(lot: &[&Good<'_>]) -> f64 {
    let pauses: Vec<f64> = lot.iter().filter_map(|good| good.pause_s).collect();
    pauses.iter().sum::<f64>() / pauses.len().max(1) as f64
}

fn good<'a>(run: &'a Run, trial: &'a TrialData) -> Option<Good<'a>> {
    let (record, measured) = trial.valid()?;
    let point = run
        .header
        .plan
        .points
        .iter()
        .find(|point| point.id == trial.row.trial.point)?;
    let orders_per_s = measured.units_per_minute() / 60.0;
    let usable = point.rate_per_s().is_none()
        && !run.header.plan.varies_memory(point)
        && orders_per_s.is_finite()
        && orders_per_s > 0.0
        && point.total_users() > 0;
    let busy =
        cpu::guest_cores(&record.resources, measured).map(|cores| cores / point.capacity_cpus);
    usable.then_some(Good {
        point,
        orders_per_s,
        pause_s: units::pause_s(run.header.plan.study_of(point), measured),
        busy: busy.filter(|busy| busy.is_finite()),
        failures: Failures::of_trial(measured),
    })
}

fn users_each(point: &Point) -> f64 {
    f64::from(point.total_users()) / f64::from(point.guests())
}

fn users_per_vcpu(point: &Point) -> f64 {
    f64::from(point.total_users()) / point.only_group().vcpus.cpus()
}

/// Lots of equal key, in the order of their first point.
fn grouped<'a, K: PartialEq>(
    good: &[&'a Good<'a>],
    key: impl Fn(&Point) -> K,
) -> Vec<Vec<&'a Good<'a>>> {
    let mut lots: Vec<(K, Vec<&'a Good<'a>>)> = Vec::new();
    for trial in good {
        let own = key(trial.point);
        match lots.iter_mut().find(|(known, _)| *known == own) {
            Some((_, lot)) => lot.push(trial),
            None => lots.push((own, vec![trial])),
        }
    }
    lots.into_iter().map(|(_, lot)| lot).collect()
}

/// `None` with too few different loads.
fn line(variant: &Variant, grows: Grows, lot: &[&Good<'_>]) -> Option<Scaling> {
    let load = |point: &Point| match grows {
        Grows::Clients => f64::from(point.total_users()),
        Grows::Guests => f64::from(point.guests()),
        Grows::Vcpus => point.only_group().vcpus.cpus(),
    };
    let runs = lot.iter().map(|good| Observation {
        n: load(good.point),
        x: good.orders_per_s,
    });
    let observations = Observations::new(runs.collect()).ok()?;
    let of_searches = lot
        .iter()
        .filter(|good| good.point.search.is_some())
        .count();
    // A search stays near its answer: from there no law can be told.
    let narrow = of_searches > 0 && observations.largest() < WIDE_ENOUGH * observations.smallest();
    if observations.loads().len() < FEWEST_LOADS || narrow {
        return None;
    }
    let at_largest: Vec<f64> = lot
        .iter()
        .filter(|good| load(good.point) == observations.largest())
        .filter_map(|good| good.busy)
        .collect();
    let options = Options {
        // Guests do not think, their users do: to the closed model they are units of work without a
        // pause.
        think: if grows == Grows::Clients {
            pause_s(lot)
        } else {
            0.0
        },
        busiest: at_largest
            .into_iter()
            .reduce(f64::max)
            .map(|busy| busy.min(1.0)),
        ..Options::default()
    };
    let cpu_cap = (grows == Grows::Clients)
        .then(|| cpu_cap(lot, observations.largest()))
        .flatten();
    let first = lot.first()?.point;
    let shape = match grows {
        Grows::Clients => format!("{} x {} vCPU", first.guests(), first.only_group().vcpus),
        Grows::Guests => format!(
            "guests of {} vCPU with {} {} each",
            first.only_group().vcpus,
            trimmed(users_each(first)),
            first.people()
        ),
        Grows::Vcpus => format!(
            "1 guest with {} {} per vCPU",
            trimmed(users_per_vcpu(first)),
            first.people()
        ),
    };
    let judgement = judge(&observations, &options);
    let label = levels_after(&shape, &variant.levels);
    let unit = match grows {
        Grows::Clients => first.people(),
        Grows::Guests => "guests",
        Grows::Vcpus => "vCPUs",
    };
    let mut scaling = fitted_line(
        label,
        grows,
        (unit, variant.study.workload.kind().info().unit.rate),
        of_searches,
        cpu_cap,
        &observations,
        &judgement,
    );
    if grows == Grows::Clients {
        let failures = lot.iter().map(|good| (load(good.point), &good.failures));
        let steps = scaling.steps.iter();
        let rungs: Vec<_> = steps.map(|step| (step.load, step.efficiency)).collect();
        scaling.ladder = ladder::facts(&rungs, failures);
    }
    Some(scaling)
}

/// What the CPUs of the guests carry at most, units of work per minute, by the utilisation law: the
/// throughput at the largest load over the share of the CPUs that it took. `None` where that was
/// not measured. Nothing measured lies above it.
fn cpu_cap(lot: &[&Good<'_>], largest: f64) -> Option<f64> {
    let at_largest: Vec<(f64, f64)> = lot
        .iter()
        .filter(|good| f64::from(good.point.total_users()) == largest)
        .filter_map(|good| Some((good.orders_per_s, good.busy?)))
        .collect();
    let (per_s, busy) = at_largest
        .iter()
        .fold((0.0, 0.0), |(x, busy), own| (x + own.0, busy + own.1));
    let fastest = lot.iter().map(|good| good.orders_per_s).fold(0.0, f64::max);
    (busy > LEAST_BUSY * at_largest.len() as f64).then(|| 60.0 * f64::max(per_s / busy, fastest))
}

/// A line with what the fits say of it.
fn fitted_line(
    label: String,
    grows: Grows,
    (unit, rate): (&'static str, &'static str),
    of_searches: usize,
    cpu_cap: Option<f64>,
    observations: &Observations,
    judgement: &Judgement,
) -> Scaling {
    let chosen = chosen(judgement);
    let steps = steps(observations);
    let drawn = chosen.filter(|_| steps.len() >= FEWEST_LOADS_OF_A_CURVE);
    let (curve, beyond) = drawn.map_or_else(Default::default, |(choice, fitted)| {
        let (curve, beyond) = curves(fitted, cpu_cap, observations, &steps);
        // A fit in doubt says nothing of loads that were not tried.
        let doubtful = judgement.worse_than_naive()
            || !judgement.findings.is_empty()
            || !choice.findings.is_empty();
        (curve, if doubtful { Vec::new() } else { beyond })
    });
    let largest_value = steps
        .iter()
        .flat_map(|step| &step.values)
        .copied()
        .fold(0.0, f64::max);
    Scaling {
        label,
        grows,
        unit,
        rate,
        of_searches,
        laws: judgement.candidates.iter().map(law).collect(),
        chosen: judgement.chosen,
        held_out: judgement.held_out.as_ref().map(|held| HeldOut {
            loads: held.loads.clone(),
            last_value: errors(&held.baselines.last),
            in_proportion: errors(&held.baselines.linear),
            no_better_than_last_value: judgement.worse_than_naive(),
        }),
        bend: bend(chosen),
        // No end that a trial went beyond.
        ceiling_per_minute: ceiling(chosen).filter(|ceiling| *ceiling >= largest_value),
        doubts: judgement.findings.iter().map(finding).collect(),
        steps,
        curve,
        beyond,
        ladder: None,
    }
}

type Chosen<'a> = Option<(&'a Candidate, &'a Fitted)>;

fn chosen(judgement: &Judgement) -> Chosen<'_> {
    let choice = judgement.choice()?;
    Some((choice, choice.fitted.as_ref()?))
}

fn steps(observations: &Observations) -> Vec<Step> {
    let loads = observations.loads();
    let Some(first) = loads.first() else {
        return Vec::new();
    };
    let step = |load: &rookery_model::fit::Load| {
        let values: Vec<f64> = load.runs.iter().map(|x| 60.0 * x).collect();
        let speed_up = Ratio::between(&load.runs, &first.runs).filter(|_| load.n > first.n);
        let grown = load.n / first.n;
        Step {
            load: load.n,
            per_minute: Estimate::from_values(&values, None, Vec::new),
            values,
            speed_up,
            efficiency: speed_up.map(|ratio| Ratio {
                value: ratio.value / grown,
                interval: ratio
                    .interval
                    .map(|(low, high)| (low / grown, high / grown)),
            }),
        }
    };
    loads.iter().map(step).collect()
}

fn law(candidate: &Candidate) -> Law {
    let goodness = candidate.goodness.as_ref();
    let refused = candidate.refused();
    Law {
        law: match candidate.model {
            Model::Linear => LawName::Linear,
            Model::Amdahl => LawName::Amdahl,
            Model::Usl => LawName::Universal,
            Model::Closed => LawName::ClosedQueue,
        },
        parameters: candidate
            .fitted
            .as_ref()
            .filter(|_| !refused)
            .map_or_else(Vec::new, parameters),
        mean_error: goodness.map(|goodness| goodness.mape),
        largest_error: goodness.map(|goodness| goodness.largest),
        aicc: goodness
            .map(|goodness| goodness.aicc)
            .filter(|aicc| aicc.is_finite()),
        held_out: candidate.held_out.as_ref().map(errors),
        refused,
        findings: candidate.findings.iter().map(finding).collect(),
    }
}

fn parameters(fitted: &Fitted) -> Vec<Parameter> {
    let ends = |interval: Option<Interval>| interval.map(|ends| (ends.low, ends.high));
    match fitted {
        Fitted::Law(fit) => {
            let values = [
                ("lambda", fit.law.lambda),
                ("sigma", fit.law.sigma),
                ("kappa", fit.law.kappa),
            ];
            let parameter = |(place, (name, value)): (usize, (&'static str, f64))| Parameter {
                name,
                value,
                interval: ends(fit.interval(place)),
            };
            values.into_iter().enumerate().map(parameter).collect()
        }
        Fitted::Closed(fit) => vec![
            Parameter {
                name: "demand_s",
                value: fit.model.demand,
                interval: ends(fit.demand),
            },
            Parameter {
                name: "delay_s",
                value: fit.model.think,
                interval: ends(fit.delay),
            },
            Parameter {
                name: "servers",
                value: f64::from(fit.model.servers),
                interval: None,
            },
        ],
    }
}

fn errors(error: &PredictionError) -> Errors {
    Errors {
        mean: error.mape,
        largest: error.largest,
    }
}

fn finding(finding: &rookery_model::fit::Finding) -> LawFinding {
    LawFinding {
        rule: finding.rule.id(),
        refuses: finding.severity == Severity::Refuse,
        text: finding.text.clone(),
    }
}

/// Where the law bends: its peak, or the knee where queueing sets in; `None` where no number may be
/// given.
fn bend(chosen: Chosen<'_>) -> Option<Bend> {
    let (kind, load, interval) = match chosen? {
        (_, Fitted::Closed(fit)) => (BendKind::Knee, fit.model.knee(), fit.knee),
        (choice, Fitted::Law(fit)) => {
            let peak = fit.law.peak()?;
            let far = choice
                .findings
                .iter()
                .any(|finding| finding.rule == Rule::PeakFar);
            if far {
                return None;
            }
            let interval = fit.peak_interval().map(|(_, interval)| interval);
            (BendKind::Peak, peak.n, interval)
        }
    };
    Some(Bend {
        bend: kind,
        load,
        interval: interval.map(|ends| (ends.low, ends.high)),
    })
}

/// The largest throughput under the law, per minute; `None` where it has no end.
fn ceiling(chosen: Chosen<'_>) -> Option<f64> {
    let (_, fitted) = chosen?;
    let per_s = match fitted {
        Fitted::Closed(fit) => fit.model.ceiling(),
        Fitted::Law(fit) => fit
            .law
            .limit()
            .or_else(|| bend(chosen).and(fit.law.peak()).map(|peak| peak.x))?,
    };
    Some(60.0 * per_s)
}

/// A law within the loads that were tried, and beyond them.
fn curves(
    fitted: &Fitted,
    cpu_cap: Option<f64>,
    observations: &Observations,
    steps: &[Step],
) -> (Vec<CurvePlace>, Vec<CurvePlace>) {
    let largest = observations.largest();
    let mut places: Vec<f64> = (1..=CURVE_PLACES)
        .map(|i| largest * f64::from(i) / f64::from(CURVE_PLACES))
        .collect();
    places.extend(steps.iter().map(|step| step.load));
    places.sort_by(f64::total_cmp);
    places.dedup();
    places.retain(|n| *n >= steps.first().map_or(0.0, |first| first.load));
    let beyond: Vec<f64> = (0..=6)
        .map(|i| largest * (1.0 + (BEYOND - 1.0) * f64::from(i) / 6.0))
        .collect();
    let capped = |per_s: f64| (60.0 * per_s.max(0.0)).min(cpu_cap.unwrap_or(f64::INFINITY));
    let place = |n: &f64| CurvePlace {
        load: *n,
        per_minute: capped(fitted.throughput(*n)),
        band: fitted
            .predict(*n, observations)
            .map(|found| (capped(found.run.low), capped(found.run.high))),
    };
    (
        places.iter().map(place).collect(),
        beyond.iter().map(place).collect(),
    )
}

impl Scaling {
    /// The chosen law, if the data carry one.
    #[must_use]
    pub fn chosen_law(&self) -> Option<&Law> {
        self.laws.get(self.chosen?)
    }

    /// The smallest load.
    #[must_use]
    pub fn smallest(&self) -> f64 {
        self.steps.first().map_or(0.0, |step| step.load)
    }

    /// Whether there are enough different loads to speak of a law.
    #[must_use]
    pub fn is_enough_for_a_law(&self) -> bool {
        self.steps.len() >= FEWEST_LOADS_OF_A_CURVE
    }

    /// The largest load.
    #[must_use]
    pub fn largest(&self) -> f64 {
        self.steps.last().map_or(0.0, |step| step.load)
    }
}
