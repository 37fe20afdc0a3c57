//! How think times scatter.

use rookery_stats::Pacing;
use rookery_workload::DelayDistribution;

use crate::{grammar::Context, names::Named, problem::Code};

impl Named for DelayDistribution {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("constant", Self::Constant, "always the mean"),
        (
            "uniform",
            Self::Uniform,
            "evenly from zero to twice the mean",
        ),
        (
            "exponential",
            Self::Exponential,
            "as waits for independent events, without an end",
        ),
        (
            "truncated-exponential",
            Self::TruncatedExponential,
            "the same, cut at ten means",
        ),
    ];
}

/// How the think times of users over HTTP scatter; times of cycles do not.
pub(super) fn web_distribution(
    pacing: Pacing,
    asked: Option<DelayDistribution>,
    context: &mut Context,
) -> Option<DelayDistribution> {
    if pacing == Pacing::Cycle && asked.is_some() {
        let message = "`workload.think_distribution` has no meaning with `pacing = \"cycle\"`, \
                       whose times are constant";
        return refuse_distribution(message, context);
    }
    Some(asked.unwrap_or_default())
}

/// Refuses a distribution of think times where there are none.
pub(super) fn refuse_distribution<T>(message: &str, context: &mut Context) -> Option<T> {
    let span = context.spans.nearest("workload.think_distribution");
    context.refuse(Code::Contradiction, span, message, "remove it")
}

/// Whether think times scatter as those of users over HTTP always do.
pub(super) fn is_usual(distribution: &DelayDistribution) -> bool {
    *distribution == DelayDistribution::default()
}

/// How think times scatter, in words behind others; nothing where it is as always.
pub(super) fn scatter(distribution: DelayDistribution, usual: DelayDistribution) -> String {
    if distribution == usual {
        String::new()
    } else {
        format!(", {}", distribution.words())
    }
}
