//! What a change may be called.

use rookery_cast::truncate_u32;
use rookery_stats::{Goal, holm, reach};
use serde::Serialize;

use super::{
    Metric, Scale,
    estimate::{Change, Estimate},
};

/// A change is called one when chance alone would show one in fewer than this share of families of
/// comparisons.
const LEVEL: f64 = 0.05;
/// A comparison that could not have seen a change of this size says too little to speak of "no
/// difference seen".
const BLIND: f64 = 0.25;
/// The same of a share of errors.
const BLIND_TO_ERRORS: f64 = 0.05;
/// A difference of shares of errors below this is not worth a word.
pub const ERRORS_THAT_MATTER: f64 = 0.001;
/// The change for which a number of repeats is proposed where nothing can be said.
pub const PROPOSED_FOR: f64 = 0.10;

/// What a change may be called.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum Verdict {
    /// A change to the good: surely not by chance, and larger than what is ignored.
    Better,
    /// A change to the bad, likewise.
    Worse,
    /// The whole interval is within what is ignored: were there a difference, it would not be worth
    /// it.
    NoneThatMatters,
    /// No difference seen.
    NoneSeen {
        /// What is to be known beside it.
        because: Option<NoneSeen>,
    },
    /// It cannot be said.
    CannotBeSaid {
        /// Why not.
        because: Unsaid,
    },
}

/// What is to be known of a difference that was not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoneSeen {
    /// The interval leaves no change out, but among so many comparisons that may be chance.
    PerhapsChance,
    /// There is a difference, but as far as can be seen a smaller one than matters.
    Small,
}

/// Why it cannot be said.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "why")]
pub enum Unsaid {
    /// A side has no value at all.
    NoValue,
    /// The trials carry no interval.
    TooFew {
        /// Repeats of each point that would.
        repeats: u32,
    },
    /// The trials scatter so much that a large change would not have been seen.
    TooScattered {
        /// About how many repeats of each point would find a change of [`PROPOSED_FOR`]; `None`
        /// when 1000 would not.
        repeats: Option<u32>,
    },
}

/// One metric, over all points or at one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The metric.
    pub metric: Metric,
    /// Its value in the base: over several points the geometric mean (of shares the mean).
    pub base: Option<f64>,
    /// The same in the new run.
    pub new: Option<f64>,
    /// The change as a share of the base: 0.05 = 5 % more. Of shares of errors, the difference.
    pub change: Option<f64>,
    /// 95 % interval of the change.
    pub interval: Option<(f64, f64)>,
    /// Probability of a change at least so large by chance alone.
    pub p: Option<f64>,
    /// The same after Holm over its family: the primary comparisons, the others over all points, or
    /// those of single points.
    pub adjusted_p: Option<f64>,
    /// The smallest change, up or down, that this comparison finds in four of five cases.
    pub detectable: Option<f64>,
    /// What it may be called.
    pub verdict: Verdict,
}

/// A finding before its family is known.
pub(super) struct Draft {
    pub(super) metric: Metric,
    pub(super) base: Option<f64>,
    pub(super) new: Option<f64>,
    pub(super) change: Change,
    /// Repeats of a point, the fewest of any run.
    pub(super) repeats: u32,
}

/// Name the changes of one family of comparisons.
pub(super) fn family(drafts: &[Draft], ignore: f64) -> Vec<Finding> {
    let probabilities: Vec<f64> = drafts
        .iter()
        .filter_map(|draft| Some(draft.change.estimate?.p))
        .collect();
    let mut adjusted = holm(&probabilities).into_iter();
    let name = |draft: &Draft| {
        let adjusted_p = draft.change.estimate.and_then(|_| adjusted.next());
        finding(draft, adjusted_p, ignore)
    };
    drafts.iter().map(name).collect()
}

fn finding(draft: &Draft, adjusted_p: Option<f64>, ignore: f64) -> Finding {
    let scale = draft.metric.scale();
    let estimate = draft.change.estimate;
    Finding {
        metric: draft.metric,
        base: draft.base.map(|value| scale.value(value)),
        new: draft.new.map(|value| scale.value(value)),
        change: draft.change.value.map(|change| scale.change(change)),
        interval: estimate.map(|estimate| {
            (
                scale.change(estimate.interval.0),
                scale.change(estimate.interval.1),
            )
        }),
        p: estimate.map(|estimate| estimate.p),
        adjusted_p,
        detectable: estimate.and_then(|estimate| detectable(&estimate, scale)),
        verdict: verdict(draft, adjusted_p, ignore),
    }
}

/// reach(df) x standard error, as a share.
fn detectable(estimate: &Estimate, scale: Scale) -> Option<f64> {
    Some(scale.change(reach(truncate_u32(estimate.df.clamp(1.0, 1e6)))? * estimate.standard_error))
}

fn verdict(draft: &Draft, adjusted_p: Option<f64>, ignore: f64) -> Verdict {
    let unsaid = |because| Verdict::CannotBeSaid { because };
    let scale = draft.metric.scale();
    let (ignore, blind) = match scale {
        Scale::Ratio => (ignore, BLIND),
        Scale::Share => (ERRORS_THAT_MATTER, BLIND_TO_ERRORS),
    };
    let Some(change) = draft.change.value else {
        return unsaid(Unsaid::NoValue);
    };
    let (Some(estimate), Some(p)) = (draft.change.estimate, adjusted_p) else {
        // Two repeats carry an interval, three a useful one.
        return unsaid(Unsaid::TooFew { repeats: 3 });
    };
    let (low, high) = (
        scale.change(estimate.interval.0),
        scale.change(estimate.interval.1),
    );
    if -ignore <= low && high <= ignore {
        return Verdict::NoneThatMatters;
    }
    let small = scale.change(change).abs() <= ignore;
    if low > 0.0 || high < 0.0 {
        let good = (change > 0.0) == (draft.metric.goal() == Goal::Higher);
        return match (small, p < LEVEL, good) {
            (true, ..) => Verdict::NoneSeen {
                because: Some(NoneSeen::Small),
            },
            (_, false, _) => Verdict::NoneSeen {
                because: Some(NoneSeen::PerhapsChance),
            },
            (_, _, true) => Verdict::Better,
            (_, _, false) => Verdict::Worse,
        };
    }
    match detectable(&estimate, scale) {
        Some(detectable) if detectable <= blind => Verdict::NoneSeen { because: None },
        _ => unsaid(Unsaid::TooScattered {
            repeats: repeats_for(draft, &estimate),
        }),
    }
}

/// About how many repeats would find [`PROPOSED_FOR`]: the standard error falls with their root,
/// and t no longer does.
fn repeats_for(draft: &Draft, estimate: &Estimate) -> Option<u32> {
    let wanted = match draft.metric.scale() {
        Scale::Ratio => (1.0 + PROPOSED_FOR).ln(),
        Scale::Share => BLIND_TO_ERRORS,
    };
    let now = f64::from(draft.repeats.max(1));
    let needed = (now * (reach(1000)? * estimate.standard_error / wanted).powi(2)).ceil();
    let least = f64::from(draft.repeats.max(2) + 1);
    (needed <= 1000.0).then(|| truncate_u32(needed.max(least)))
}
