//! What every level of every factor is worth, from trials of equal block. Pure.

use std::collections::{BTreeMap, BTreeSet};

use rookery_cast::count_u32;
use rookery_stats::{
    Change, Contrast, Design, Effect, Goal, Measurement, Observation, effect, holm, interaction,
};
use rookery_store::TrialStatus;
use rookery_study::{Factor, Level, Plan, Purpose};

use crate::{Run, TrialData, loads, schema::data};

/// The percentile of the response time of a unit of work that is compared.
const PERCENTILE: f64 = 95.0;
/// An alias below this share is not worth a word.
const ALIAS: f64 = 0.3;

data! {
    /// What is compared.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum EffectMetric {
        /// Units of work per minute of all guests.
        Throughput,
        /// The 95th percentile of the time of a unit of work, over all guests of the trial.
        UnitP95,
        /// Time in which the last database of the trial was made.
        LoadTime,
    }
}

impl EffectMetric {
    /// Its name in tables and sentences, where throughput counts `unit`: `order p95`.
    #[must_use]
    pub fn name(self, unit: &str) -> String {
        match self {
            Self::Throughput => "throughput".to_owned(),
            Self::UnitP95 => format!("{unit} p95"),
            Self::LoadTime => "load time".to_owned(),
        }
    }

    /// Those that the trials of a run have, in the order in which they are compared.
    fn of_run(run: &Run) -> &'static [Self] {
        if loads::alone(run) {
            &[Self::LoadTime]
        } else {
            &[Self::Throughput, Self::UnitP95]
        }
    }

    fn goal(self) -> Goal {
        match self {
            Self::Throughput => Goal::Higher,
            Self::UnitP95 | Self::LoadTime => Goal::Lower,
        }
    }

    /// `None` where nothing was measured that could be compared.
    fn of(self, trial: &TrialData) -> Option<f64> {
        let (_, measured) = match self {
            Self::LoadTime => return Some(loads::of_trial(trial)?.total_s()),
            Self::Throughput | Self::UnitP95 => trial.valid()?,
        };
        if self == Self::Throughput {
            return Some(measured.units_per_minute());
        }
        let times = measured.latencies(measured.main_operation());
        times.percentile_us(PERCENTILE).map(|us| us as f64)
    }
}

data! {
    /// A metric at one level against the reference.
    #[derive(Clone, Debug)]
    pub struct Compared {
        /// The metric.
        pub metric: EffectMetric,
        /// The ratio with its interval; `None` where no trials could be compared.
        pub effect: Option<Effect>,
        /// What it may be called, after Holm over all comparisons of this metric and scope.
        pub change: Change,
    }
}

data! {
    /// One level of one factor against the reference, in all layouts together or in one.
    #[derive(Clone, Debug)]
    pub struct Worth {
        /// The layout, `None` for all together.
        pub layout: Option<String>,
        /// The level.
        pub level: Level,
        /// The value that it is compared with.
        pub reference: String,
        /// One entry per metric.
        pub compared: Vec<Compared>,
        /// Failed and unfinished requests as a share of all, at the reference and at the level.
        pub errors: [Option<f64>; 2],
    }
}

data! {
    /// Two factors that change each other's effect on a metric.
    #[derive(Clone, Debug)]
    pub struct Interaction {
        /// The metric.
        pub metric: EffectMetric,
        /// A level of one factor, and one of another.
        pub levels: [Level; 2],
        /// The ratio of ratios.
        pub effect: Effect,
    }
}

data! {
    /// All effects of a run; empty in a study without factors.
    #[derive(Clone, Debug, Default)]
    pub struct Effects {
        /// Over all layouts.
        pub overall: Vec<Worth>,
        /// Layout by layout, where there are several.
        pub by_layout: Vec<Worth>,
        /// Those whose interval leaves 1 out.
        pub interactions: Vec<Interaction>,
        /// How many interactions were looked at.
        pub interactions_examined: usize,
        /// Whether some factors were screened: their levels are balanced over a block, never alone
        /// in it.
        pub screened: bool,
        /// Of a screening design: what main effects cannot be told apart from.
        pub aliases: Vec<Aliased>,
        /// Levels at which trials failed: what is said of them is of the others alone.
        pub failed: Vec<FailedLevel>,
    }
}

data! {
    /// A level at which trials failed.
    #[derive(Clone, Debug, PartialEq)]
    pub struct FailedLevel {
        /// The level.
        pub level: Level,
        /// How many failed.
        pub failed: usize,
        /// Of so many that ended, well or not.
        pub ended: usize,
    }
}

data! {
    /// A main effect of a screening design, and the interactions that it cannot be told apart from.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Aliased {
        /// Key of the factor.
        pub factor: String,
        /// The interactions of two others, at least one.
        pub with: Vec<AliasedWith>,
    }
}

data! {
    /// An interaction of two factors that shows up in the main effect of a third.
    #[derive(Clone, Debug, PartialEq)]
    pub struct AliasedWith {
        /// Keys of both factors.
        pub factors: [String; 2],
        /// How much of the interaction shows up there, 0 to 1.
        pub share: f64,
    }
}

/// A good trial with all that is compared.
struct Sample {
    block: u32,
    stratum: u32,
    levels: Vec<u32>,
    /// In the order of the metrics of the run.
    values: Vec<Option<f64>>,
    started: u64,
    bad: u64,
}

impl Effects {
    /// From the good trials of a run.
    #[must_use]
    pub fn from_run(run: &Run) -> Self {
        let plan = &run.header.plan;
        if plan.factors.is_empty() {
            return Self::default();
        }
        let design = Design::new(
            plan.variants
                .iter()
                .map(|variant| level_numbers(plan, &variant.levels)),
        );
        let strata = strata(plan);
        let metrics = EffectMetric::of_run(run);
        let samples = samples(run, metrics, &strata);
        let contrasts = contrasts(plan);
        let worth = |chosen: &[&Sample], layout: Option<String>| {
            worths(plan, &design, (&contrasts, metrics), chosen, layout)
        };
        let all: Vec<&Sample> = samples.iter().collect();
        let layouts = layout_names(plan, &strata);
        let mut by_layout = Vec::new();
        for (stratum, name) in layouts.iter().filter(|_| layouts.len() > 1) {
            let own: Vec<&Sample> = samples
                .iter()
                .filter(|sample| sample.stratum == *stratum)
                .collect();
            by_layout.extend(worth(&own, Some(name.clone())));
        }
        adjust(&mut by_layout);
        let mut overall = worth(&all, None);
        adjust(&mut overall);
        let (interactions, interactions_examined) =
            interactions(plan, &design, (&contrasts, metrics), &samples);
        Self {
            overall,
            by_layout,
            interactions,
            interactions_examined,
            screened: screened(&design, &contrasts).next().is_some(),
            aliases: aliases(plan, &design, &contrasts),
            failed: failed_levels(run),
        }
    }

    /// Whether there is anything to be shown.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.overall.is_empty()
    }
}

/// The levels at which trials of the study failed, in the order of the plan.
fn failed_levels(run: &Run) -> Vec<FailedLevel> {
    let plan = &run.header.plan;
    let ended = run.whole_trials().filter(|trial| {
        let status = trial.row.status;
        trial.row.trial.purpose == Purpose::Study
            && matches!(status, TrialStatus::Done | TrialStatus::Failed)
    });
    let mut counts: BTreeMap<(usize, u32), (usize, usize)> = BTreeMap::new();
    for trial in ended {
        let point = plan
            .points
            .iter()
            .find(|point| point.id == trial.row.trial.point);
        let levels = point.map(|point| level_numbers(plan, &point.levels));
        for own in levels.unwrap_or_default().into_iter().enumerate() {
            let (failed, ended) = counts.entry(own).or_default();
            *failed += usize::from(trial.row.status == TrialStatus::Failed);
            *ended += 1;
        }
    }
    let failed = counts.into_iter().filter(|(_, (failed, _))| *failed > 0);
    let of_level = failed.filter_map(|((factor, number), (failed, ended))| {
        Some(FailedLevel {
            level: level(plan, factor, number)?,
            failed,
            ended,
        })
    });
    of_level.collect()
}

/// Every level but the first of every factor against the first, but for levels of other workloads
/// or of units of other sizes: what users do is no cause of a throughput that counts something
/// else.
fn contrasts(plan: &Plan) -> Vec<Contrast> {
    let of_factor = |(factor, of): (usize, &Factor)| {
        let levels = 1..u32::try_from(of.levels.len()).unwrap_or(0);
        levels.map(move |level| Contrast {
            factor,
            reference: 0,
            level,
        })
    };
    let all = plan.factors.iter().enumerate().flat_map(of_factor);
    all.filter(|contrast| {
        let units = |level| units_at(plan, contrast.factor, level);
        units(contrast.reference) == units(contrast.level)
    })
    .collect()
}

/// What throughput counts in the variants with a level of a factor: workloads, with the sizes of
/// their units.
fn units_at(plan: &Plan, factor: usize, level: u32) -> BTreeSet<(&'static str, Option<u32>)> {
    let variants = plan.variants.iter();
    variants
        .filter(|variant| level_numbers(plan, &variant.levels).get(factor) == Some(&level))
        .map(|variant| {
            let workload = &variant.study.workload;
            (workload.kind().name(), workload.unit_bytes())
        })
        .collect()
}

fn level_numbers(plan: &Plan, levels: &[Level]) -> Vec<u32> {
    let number = |factor: &Factor| {
        let own = levels.iter().find(|level| level.key == factor.key);
        let at = own.and_then(|own| factor.levels.iter().position(|value| *value == own.value));
        count_u32(at.unwrap_or(factor.levels.len()))
    };
    plan.factors.iter().map(number).collect()
}

fn level(plan: &Plan, factor: usize, number: u32) -> Option<Level> {
    let factor = plan.factors.get(factor)?;
    Some(Level {
        key: factor.key.clone(),
        value: factor.levels.get(number as usize)?.clone(),
    })
}

/// The stratum of every point: points that meet in a block differ in factor levels alone. Named by
/// its smallest point.
fn strata(plan: &Plan) -> BTreeMap<u32, u32> {
    let mut strata: BTreeMap<u32, u32> = plan
        .study_points()
        .map(|point| (point.id, point.id))
        .collect();
    let mut blocks: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for trial in &plan.trials {
        blocks.entry(trial.block).or_default().push(trial.point);
    }
    for points in blocks.values() {
        let meeting: Vec<u32> = points
            .iter()
            .filter_map(|point| strata.get(point).copied())
            .collect();
        let Some(&smallest) = meeting.iter().min() else {
            continue;
        };
        strata
            .values_mut()
            .filter(|stratum| meeting.contains(stratum))
            .for_each(|stratum| *stratum = smallest);
    }
    strata
}

/// The layouts that are compared on their own: strata with their names, in the order of the plan.
fn layout_names(plan: &Plan, strata: &BTreeMap<u32, u32>) -> Vec<(u32, String)> {
    let own = plan
        .study_points()
        .filter(|point| strata.get(&point.id) == Some(&point.id));
    own.map(|point| {
        let name = format!(
            "{} x {} vCPU, {}",
            point.guests(),
            point.only_group().vcpus,
            point.load_words()
        );
        (point.id, name)
    })
    .collect()
}

fn samples(run: &Run, metrics: &[EffectMetric], strata: &BTreeMap<u32, u32>) -> Vec<Sample> {
    let plan = &run.header.plan;
    let sample = |trial: &TrialData| {
        let measured = trial.done()?.measurement.as_ref();
        let planned = &trial.row.trial;
        let point = plan.points.iter().find(|point| point.id == planned.point)?;
        let (started, bad) = measured.map_or((0, 0), Measurement::started_and_bad);
        Some(Sample {
            block: planned.block,
            stratum: *strata.get(&point.id)?,
            levels: level_numbers(plan, &point.levels),
            values: metrics.iter().map(|metric| metric.of(trial)).collect(),
            started,
            bad,
        })
    };
    run.trials.iter().filter_map(sample).collect()
}

fn observations(samples: &[&Sample], metric: usize) -> Vec<Observation> {
    let observation = |sample: &&Sample| {
        Some(Observation {
            block: sample.block,
            stratum: sample.stratum,
            levels: sample.levels.clone(),
            value: sample.values[metric]?,
        })
    };
    samples.iter().filter_map(observation).collect()
}

fn worths(
    plan: &Plan,
    design: &Design,
    (contrasts, metrics): (&[Contrast], &[EffectMetric]),
    samples: &[&Sample],
    layout: Option<String>,
) -> Vec<Worth> {
    let lots: Vec<Vec<Observation>> = (0..metrics.len())
        .map(|metric| observations(samples, metric))
        .collect();
    let errors = |contrast: &Contrast, number: u32| {
        let own = samples
            .iter()
            .filter(|sample| sample.levels.get(contrast.factor) == Some(&number));
        let (started, bad) = own.fold((0u64, 0u64), |sum, sample| {
            (
                sum.0.saturating_add(sample.started),
                sum.1.saturating_add(sample.bad),
            )
        });
        (started > 0).then(|| bad as f64 / started as f64)
    };
    let worth = |contrast: &Contrast| {
        let compared = metrics.iter().zip(&lots).map(|(metric, lot)| Compared {
            metric: *metric,
            effect: effect(lot, design, *contrast),
            change: Change::NoInterval,
        });
        Some(Worth {
            layout: layout.clone(),
            level: level(plan, contrast.factor, contrast.level)?,
            reference: level(plan, contrast.factor, contrast.reference)?.value,
            compared: compared.collect(),
            errors: [contrast.reference, contrast.level].map(|number| errors(contrast, number)),
        })
    };
    contrasts.iter().filter_map(worth).collect()
}

/// Say what each effect may be called, metric by metric, after Holm over all that are shown
/// together.
fn adjust(worths: &mut [Worth]) {
    let metrics = worths.first().map_or(0, |worth| worth.compared.len());
    for metric in 0..metrics {
        let effects: Vec<(usize, Effect)> = worths
            .iter()
            .enumerate()
            .filter_map(|(index, worth)| Some((index, worth.compared[metric].effect?)))
            .collect();
        let tested: Vec<(usize, f64)> = effects
            .iter()
            .filter_map(|(index, effect)| Some((*index, effect.p?)))
            .collect();
        let adjusted = holm(&tested.iter().map(|(_, p)| *p).collect::<Vec<_>>());
        for (index, effect) in effects {
            let p = tested
                .iter()
                .position(|(tested, _)| *tested == index)
                .map(|at| adjusted[at]);
            let compared = &mut worths[index].compared[metric];
            compared.change = effect.change(compared.metric.goal(), p);
        }
    }
}

fn interactions(
    plan: &Plan,
    design: &Design,
    (contrasts, metrics): (&[Contrast], &[EffectMetric]),
    samples: &[Sample],
) -> (Vec<Interaction>, usize) {
    let all: Vec<&Sample> = samples.iter().collect();
    let (mut found, mut examined) = (Vec::new(), 0);
    for (index, &metric) in metrics.iter().enumerate() {
        let lot = observations(&all, index);
        let pairs = contrasts.iter().enumerate().flat_map(|(at, first)| {
            contrasts[at + 1..]
                .iter()
                .map(move |second| (first, second))
        });
        for (first, second) in pairs
            .filter(|(first, second)| first.factor != second.factor && design.has_pairs(**first))
        {
            let Some(effect) =
                interaction(&lot, *first, *second).filter(|effect| effect.interval.is_some())
            else {
                continue;
            };
            examined += 1;
            if !effect.excludes_one() {
                continue;
            }
            if let (Some(one), Some(other)) = (
                level(plan, first.factor, first.level),
                level(plan, second.factor, second.level),
            ) {
                found.push(Interaction {
                    metric,
                    levels: [one, other],
                    effect,
                });
            }
        }
    }
    (found, examined)
}

/// What the main effects of a screening design cannot be told apart from.
fn aliases(plan: &Plan, design: &Design, contrasts: &[Contrast]) -> Vec<Aliased> {
    let key = |factor: usize| {
        plan.factors
            .get(factor)
            .map_or_else(String::new, |factor| factor.key.clone())
    };
    screened(design, contrasts)
        .map(|contrast| Aliased {
            factor: key(contrast.factor),
            with: design
                .aliases(contrast.factor)
                .iter()
                .filter(|alias| alias.share.abs() >= ALIAS)
                .map(|alias| AliasedWith {
                    factors: [key(alias.factors.0), key(alias.factors.1)],
                    share: alias.share.abs(),
                })
                .collect(),
        })
        .filter(|aliased| !aliased.with.is_empty())
        .collect()
}

/// The contrasts of factors that never stand alone in a pair of trials.
fn screened<'a>(
    design: &'a Design,
    contrasts: &'a [Contrast],
) -> impl Iterator<Item = &'a Contrast> {
    contrasts
        .iter()
        .filter(|contrast| !design.has_pairs(**contrast))
}

#[cfg(test)]
mod tests {
    use rookery_store::fixture::{header, host_facts};

    use super::*;

    #[test]
    fn levels_of_other_workloads_are_not_compared() {
        let text = "title = \"a site\"\n[workload]\nkind = [\"web-banking\", \"web-support\"]\n\
                    think_time = [\"1s\", \"2s\"]\n[load]\nusers = 10\n[stack]\nkind = \"embedded\"\n\
                    [[layout]]\nname = \"one\"\n";
        let plan = header("site.toml", text, host_facts()).plan;
        assert_eq!((plan.factors.len(), plan.variants.len()), (2, 4));
        let compared: Vec<&str> = contrasts(&plan)
            .iter()
            .map(|contrast| plan.factors[contrast.factor].key.as_str())
            .collect();
        assert_eq!(compared, ["workload.think_time"]);
    }
}
