//! What workloads as data share in a study: kinds of values, sources of values, the mix, workload
//! files.

pub(super) mod feeders;
pub(super) mod file;
pub(super) mod keys;
pub(super) mod kinds;
pub(super) mod mix;
pub(super) mod words;

use std::{ops::Range, time::Duration};

use rookery_stats::Pacing;
use rookery_workload::DelayDistribution;

use super::{Pace, WorkloadKind, web_distribution, web_pacing};
use crate::{
    companions::{Companions, Missing},
    grammar::Context,
    problem::Code,
    source::quoted,
};

/// Companions compare as equal: they belong to the study's text.
#[derive(Clone, Debug, Default)]
pub(super) struct CompanionsHandle(pub(super) Companions);

impl PartialEq for CompanionsHandle {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// What the workload says for operations that say nothing.
#[derive(Clone, Copy)]
pub(super) struct Defaults {
    pub(super) think_time: Duration,
    pub(super) distribution: DelayDistribution,
}

impl Defaults {
    /// The pacing with what the keys say of pauses.
    pub(super) fn new(
        kind: WorkloadKind,
        pace: Option<Pace>,
        think_time: Option<Duration>,
        distribution: Option<DelayDistribution>,
        context: &mut Context,
    ) -> Option<(Pacing, Self)> {
        // A default of zero belongs to the parts, and is no cycle time.
        let pacing = web_pacing(kind, pace, None, context)?;
        let defaults = Self {
            think_time: think_time.unwrap_or_default(),
            distribution: match pacing {
                // Cycles of single operations may scatter.
                Pacing::Cycle => distribution.unwrap_or(DelayDistribution::Constant),
                _ => web_distribution(pacing, distribution, context)?,
            },
        };
        Some((pacing, defaults))
    }
}

/// Refuses a file that cannot be read.
pub(super) fn refuse_file<T>(
    name: &str,
    why: Missing<'_>,
    span: Range<usize>,
    context: &mut Context,
) -> Option<T> {
    let message = format!("cannot read the file {}: {}", quoted(name), why.0);
    let help = "name a file by its path from the file that names it";
    context.refuse(Code::Companion, span, message, help)
}

/// Words that have another meaning where names of operations stand.
const RESERVED: [&str; 9] = [
    "end",
    "errors",
    "min_operations",
    "p50",
    "p75",
    "p90",
    "p95",
    "p99",
    "p99.9",
];

/// Whether a word has another meaning where names of operations stand.
pub(super) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// Refuses names that stand twice or have another meaning; `whole` is any operation.
pub(super) fn check_names(names: &[&str], whole: &str, context: &mut Context) {
    for (index, name) in names.iter().enumerate() {
        let message = if *name == whole || is_reserved(name) {
            format!(
                "an operation cannot be named {}, which has another meaning",
                quoted(name)
            )
        } else if names[..index].contains(name) {
            format!("an operation named {} exists already", quoted(name))
        } else {
            continue;
        };
        let span = context
            .spans
            .nearest(&format!("workload.operation[{index}].name"));
        context.refuse::<()>(Code::DuplicateValue, span, message, "give it another name");
    }
}

/// Refuses a workload without operations; `first` is a key of one that could be. `before` is the
/// number of problems that there were before the workload's own, `file` its file.
pub(super) fn refuse_no_operations<T>(
    first: &str,
    before: usize,
    file: Option<&str>,
    context: &mut Context,
) -> Option<T> {
    // What was refused has its problem already.
    if context.findings.len() > before || context.spans.has("workload.operation") || file.is_some()
    {
        return None;
    }
    let span = context.spans.nearest("workload");
    let help = format!(
        "add `[[workload.operation]]` with {first}, or name a workload file with `file = \
         \"site.toml\"`"
    );
    let message = "the workload has no operations";
    context.refuse(Code::MissingKey, span, message, help)
}
