//! Two runs against each other: a verdict for every metric, with its size, its interval, and the
//! change that would have been seen.
//!
//! [`compare`] takes one or several stored runs of each side and gives a [`Comparison`]. Points are
//! matched by what they are, not by their numbers; those that mean different things (loop type,
//! think time, what an order is) are left out with the reason. Void and failed trials are counted
//! and never averaged.
//!
//! **Families.** Four comparisons are named beforehand, the primary ones: throughput, p95 of the
//! order, guest CPU per order, and errors, each over all points. They decide how a comparison ends,
//! and are guarded by Holm's method among themselves, so that two runs between which nothing
//! changed are called worse in fewer than one of twenty comparisons. The other metrics over all
//! points are a second family with its own guard, and all metrics of all single points a third.
//!
//! **What may be ignored.** A change counts as better or worse when chance is excluded *and* its
//! size exceeds what is ignored (2 % by default): with enough repeats every difference would be
//! "significant".
//!
//! How the intervals are made, and what two runs alone cannot show, is told in `estimate.rs`.

mod context;
mod estimate;
mod matching;
mod metric;
mod verdict;

pub use context::{Difference, Machine};
pub use matching::{LeftOut, WhyLeftOut};
pub use metric::{Metric, Scale};
pub use verdict::{ERRORS_THAT_MATTER, Finding, NoneSeen, PROPOSED_FOR, Unsaid, Verdict};

use std::collections::BTreeSet;

use rookery_diagnosis::Diagnosis;
use rookery_store::TrialStatus;
use rookery_workload::UnitOfWork;
use serde::Serialize;

use self::{
    estimate::{Lot, Sample, Sides},
    matching::Matched,
    verdict::Draft,
};
use crate::{
    Run, TrialData,
    layers::{self, LayeredPoint},
};

/// How to compare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Changes up to this share are not worth a word; 0 to below 1.
    pub ignore: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { ignore: 0.02 }
    }
}

/// Why runs cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// A side has no run.
    #[error("a comparison needs at least one run on each side")]
    NoRun,
    /// What is to be ignored is no share.
    #[error("what is ignored must be at least 0 % and below 100 %")]
    Ignore,
}

impl Diagnosis for CompareError {
    fn code(&self) -> &'static str {
        match self {
            Self::NoRun => "analysis::no-run",
            Self::Ignore => "analysis::ignored-share",
        }
    }

    fn help(&self) -> Option<String> {
        Some(
            match self {
                Self::NoRun => "name a run of each side",
                Self::Ignore => "write a share such as 2%",
            }
            .to_owned(),
        )
    }
}

/// A run as it is named in a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Side {
    /// Label of the run.
    pub run_id: String,
    /// Title of its study.
    pub title: String,
    /// Creation, RFC 3339.
    pub created_at: String,
    /// Trials that ended well.
    pub done: usize,
    /// Trials that failed their own checks.
    pub void: usize,
    /// Trials that could not be carried out.
    pub failed: usize,
    /// Why the first of these is void or failed.
    pub such_as: Option<String>,
}

/// One point of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointComparison {
    /// Its short name.
    pub label: String,
    /// Good trials in the base.
    pub base_trials: usize,
    /// Good trials in the new side.
    pub new_trials: usize,
    /// One entry per metric, in the order of those over all points.
    pub findings: Vec<Finding>,
    /// The new side could not carry out a single trial of it, because its guests failed, and the
    /// base could.
    pub lost: bool,
}

/// Everything that a comparison says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The runs of the base.
    pub base: Vec<Side>,
    /// The runs that are compared with it.
    pub new: Vec<Side>,
    /// What throughput counts, in the words of the base's workload.
    #[serde(skip)]
    pub unit: UnitOfWork,
    /// What is ignored, as a share.
    pub ignore: f64,
    /// What else differs between the runs.
    pub differences: Vec<Difference>,
    /// What the runs show of the machine itself.
    pub machine: Machine,
    /// One entry per metric, over all points that every run has good trials of.
    pub overall: Vec<Finding>,
    /// How many points these are.
    pub overall_points: usize,
    /// Every matched point.
    pub points: Vec<PointComparison>,
    /// Points that are not compared.
    pub left_out: Vec<LeftOut>,
    /// Where a kind of guest is on one side alone: points that are the same but for it, and what
    /// each layer costs.
    pub layers: Vec<LayeredPoint>,
    /// Points that searches tried, in all runs: a search measures where its answers lead it, so
    /// that they are left aside.
    pub searched_points: usize,
    /// All runs of one side were made before all runs of the other, although a side has several:
    /// slow swings of the machine then look like changes.
    pub not_alternating: bool,
}

impl Comparison {
    /// The name of a metric in tables and sentences.
    #[must_use]
    pub fn name_of(&self, metric: Metric) -> String {
        metric.name(&self.unit)
    }

    /// The overall finding of a metric.
    #[must_use]
    pub fn of(&self, metric: Metric) -> Option<&Finding> {
        self.overall.iter().find(|finding| finding.metric == metric)
    }

    /// The findings that were named beforehand.
    pub fn primary(&self) -> impl Iterator<Item = &Finding> {
        self.overall
            .iter()
            .filter(|finding| finding.metric.is_primary())
    }

    /// Whether something primary got worse, or a point cannot be carried out any more.
    #[must_use]
    pub fn got_worse(&self) -> bool {
        self.primary()
            .any(|finding| finding.verdict == Verdict::Worse)
            || self.points.iter().any(|point| point.lost)
    }

    /// Whether something primary cannot be said, or points of the base have nothing to be compared
    /// with.
    #[must_use]
    pub fn leaves_open(&self) -> bool {
        let unsaid = |finding: &Finding| matches!(finding.verdict, Verdict::CannotBeSaid { .. });
        let left_out = |left: &LeftOut| left.because != WhyLeftOut::OnlyInNew;
        self.points.is_empty()
            || self.primary().any(unsaid)
            || self.overall_points < self.points.len()
            || self.left_out.iter().any(left_out)
    }
}

/// Compare the runs of two sides.
///
/// # Errors
/// When a side is empty, or what is to be ignored is no share.
pub fn compare(base: &[Run], new: &[Run], options: &Options) -> Result<Comparison, CompareError> {
    if base.is_empty() || new.is_empty() {
        return Err(CompareError::NoRun);
    }
    if !(0.0..1.0).contains(&options.ignore) {
        return Err(CompareError::Ignore);
    }
    let (matched, left_out) = matching::points(base, new);
    let metrics = Metric::of_runs(base.iter().chain(new));
    let sides: Vec<Sides> = metrics
        .iter()
        .map(|metric| sides(*metric, base, new, &matched))
        .collect();
    let all: Vec<usize> = (0..matched.len()).collect();
    // The first metric is there wherever anything is.
    let overall_points = estimate::in_all_runs(&sides[0], &all).len();
    let draft = |points: &[usize]| -> Vec<Draft> {
        let of_metric = metrics.iter().zip(&sides);
        of_metric
            .map(|(metric, sides)| draft(*metric, sides, points, base, new, &matched))
            .collect()
    };
    let (primary, secondary): (Vec<Draft>, Vec<Draft>) = draft(&all)
        .into_iter()
        .partition(|draft| draft.metric.is_primary());
    let mut overall = verdict::family(&primary, options.ignore);
    overall.extend(verdict::family(&secondary, options.ignore));
    let single: Vec<Draft> = all.iter().flat_map(|point| draft(&[*point])).collect();
    let mut single = verdict::family(&single, options.ignore).into_iter();
    let points = matched.iter().map(|point| {
        let findings = single.by_ref().take(metrics.len()).collect();
        point_comparison(point, findings, base, new)
    });
    Ok(Comparison {
        points: points.collect(),
        base: base.iter().map(Side::from_run).collect(),
        new: new.iter().map(Side::from_run).collect(),
        unit: base[0].header.study.workload.kind().info().unit,
        ignore: options.ignore,
        differences: context::differences(base, new, &matched),
        machine: context::machine(base, new, &matched),
        overall,
        overall_points,
        left_out,
        layers: across_kinds(base, new),
        searched_points: base.iter().chain(new).map(searched_points).sum(),
        not_alternating: not_alternating(base, new),
    })
}

impl Side {
    fn from_run(run: &Run) -> Self {
        Self {
            run_id: run.header.run_id.clone(),
            title: run.header.title.clone(),
            created_at: run.header.created_at.clone(),
            done: run.count(TrialStatus::Done),
            void: run.count(TrialStatus::Void),
            failed: run.count(TrialStatus::Failed),
            such_as: run
                .trials
                .iter()
                .filter(|trial| matches!(trial.row.status, TrialStatus::Void | TrialStatus::Failed))
                .find_map(|trial| {
                    Some(format!("{}: {}", trial.label(), trial.row.reasons.first()?))
                }),
        }
    }
}

/// The layers that the runs of both sides show together; nothing where both sides have the same
/// kinds of guest.
fn across_kinds(base: &[Run], new: &[Run]) -> Vec<LayeredPoint> {
    let kinds = |runs: &[Run]| -> BTreeSet<String> {
        let plans = runs.iter().map(|run| &run.header.plan);
        plans
            .flat_map(|plan| {
                plan.study_points()
                    .map(|point| format!("{:?}", plan.study_of(point).guest.kind()))
            })
            .collect()
    };
    if kinds(base) == kinds(new) {
        return Vec::new();
    }
    layers::across(&base.iter().chain(new).collect::<Vec<&Run>>())
}

fn searched_points(run: &Run) -> usize {
    run.header.plan.points.len() - run.header.plan.study_points().count()
}

fn of_point(run: &Run, id: u32) -> impl Iterator<Item = &TrialData> {
    run.trials
        .iter()
        .filter(move |trial| trial.row.trial.point == id)
}

/// All samples of a metric.
fn sides(metric: Metric, base: &[Run], new: &[Run], matched: &[Matched]) -> Sides {
    let lot = |(at, run): (usize, &Run)| -> Lot {
        let of_matched = |(index, point): (usize, &Matched)| -> Lot {
            of_point(run, point.ids[at])
                .filter_map(|trial| {
                    Some(Sample {
                        point: index,
                        round: trial.row.trial.repeat,
                        value: metric.scale().on(metric.of(trial)?),
                    })
                })
                .collect()
        };
        matched.iter().enumerate().flat_map(of_matched).collect()
    };
    Sides {
        base: base.iter().enumerate().map(lot).collect(),
        new: (base.len()..).zip(new).map(lot).collect(),
    }
}

fn draft(
    metric: Metric,
    sides: &Sides,
    points: &[usize],
    base: &[Run],
    new: &[Run],
    matched: &[Matched],
) -> Draft {
    let floor = if metric == Metric::Errors {
        counting_variance(base, new, points, matched)
    } else {
        0.0
    };
    Draft {
        metric,
        base: estimate::level(sides, &sides.base, points),
        new: estimate::level(sides, &sides.new, points),
        change: estimate::change(sides, points, floor),
        repeats: estimate::fewest_repeats(sides, points),
    }
}

/// The variance that a difference of shares of errors has by counting alone, however alike the
/// trials are: p (1 - p) / n on each side, with one error more and one success more than were seen
/// (Agresti, Caffo, Am. Stat. 54 (2000) 280), so that no errors in few requests do not pass for
/// certainty.
fn counting_variance(base: &[Run], new: &[Run], points: &[usize], matched: &[Matched]) -> f64 {
    let side = |runs: &[Run], first: usize| {
        let mut counts = (0u64, 0u64);
        for (run, at) in runs.iter().zip(first..) {
            for (_, measured) in points
                .iter()
                .flat_map(|point| of_point(run, matched[*point].ids[at]))
                .filter_map(TrialData::valid)
            {
                let (started, bad) = measured.started_and_bad();
                counts = (
                    counts.0.saturating_add(started),
                    counts.1.saturating_add(bad),
                );
            }
        }
        let all = counts.0 as f64 + 2.0;
        let share = (counts.1 as f64 + 1.0) / all;
        share * (1.0 - share) / all
    };
    side(base, 0) + side(new, base.len())
}

fn point_comparison(
    point: &Matched,
    findings: Vec<Finding>,
    base: &[Run],
    new: &[Run],
) -> PointComparison {
    let count = |runs: &[Run], first: usize, counts: &dyn Fn(&TrialData) -> bool| -> usize {
        let of_run = |(run, at): (&Run, usize)| {
            of_point(run, point.ids[at])
                .filter(|trial| counts(trial))
                .count()
        };
        runs.iter().zip(first..).map(of_run).sum()
    };
    let good = |trial: &TrialData| trial.done().is_some();
    let failed = |trial: &TrialData| trial.row.status == TrialStatus::Failed;
    let (base_trials, new_trials) = (count(base, 0, &good), count(new, base.len(), &good));
    PointComparison {
        label: point.label.clone(),
        base_trials,
        new_trials,
        findings,
        lost: base_trials > 0 && new_trials == 0 && count(new, base.len(), &failed) > 0,
    }
}

/// Whether several runs a side were made one side after the other. RFC 3339 in UTC sorts as text.
fn not_alternating(base: &[Run], new: &[Run]) -> bool {
    let ends = |runs: &[Run]| {
        let times = || runs.iter().map(|run| run.header.created_at.as_str());
        (
            times().min().unwrap_or_default().to_owned(),
            times().max().unwrap_or_default().to_owned(),
        )
    };
    let ((first_base, last_base), (first_new, last_new)) = (ends(base), ends(new));
    base.len() + new.len() > 2 && (last_base < first_new || last_new < first_base)
}

#[cfg(test)]
mod tests;
