//! What users of a workload as data do, in words.

use std::time::Duration;

use rookery_stats::Pacing;
use rookery_workload::{
    RandomDelay,
    data_driven::{Feeder, Walk},
};

use super::{feeders, mix};
use crate::{names::Named as _, time_text::plain_time};

/// How users go through the operations of these names, and where their values come from.
pub(in crate::workloads) fn course(
    walk: &Walk,
    names: &[&str],
    login: Option<usize>,
    sources: &[Feeder],
) -> String {
    let mut parts = vec![mix::words(walk, names)];
    if let Some(login) = login {
        parts.push(format!("login by {}", names[login]));
    }
    if !sources.is_empty() {
        let words: Vec<String> = sources.iter().map(feeders::words).collect();
        parts.push(format!("data from {}", words.join(", ")));
    }
    parts.join("; ")
}

/// The mean of all pauses: `think times of 250ms on average (think pacing)`.
pub(in crate::workloads) fn pace(mean: Duration, pacing: Pacing) -> String {
    let pacing = pacing.name();
    format!(
        "{pacing} times of {} on average ({pacing} pacing)",
        plain_time(round(mean))
    )
}

/// The pause after each operation.
pub(in crate::workloads) fn pauses<'w>(
    operations: impl Iterator<Item = (&'w str, RandomDelay)>,
    pacing: Pacing,
) -> String {
    let pause = |(name, delay): (&str, RandomDelay)| {
        let RandomDelay { mean, distribution } = delay;
        format!("{name} {} s {}", mean.as_secs_f64(), distribution.words())
    };
    let all: Vec<String> = operations.map(pause).collect();
    format!("after {} ({pacing:?})", all.join(", after "))
}

/// To a tenth of a millisecond.
fn round(time: Duration) -> Duration {
    Duration::from_micros(rookery_cast::truncate_u64((time.as_secs_f64() * 1e4).round()) * 100)
}
