//! How users pace themselves, as study files say it.

use crate::names::Named;

/// How users pace themselves: the words of all workloads, which share one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    Think,
    Cycle,
    None,
    Spec,
    Scaled,
}

impl Named for Pace {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "think",
            Self::Think,
            "users over HTTP, connections of SQL: the next order or operation starts a think time after \
             the last ended",
        ),
        (
            "cycle",
            Self::Cycle,
            "users over HTTP, connections of SQL: orders or operations start a cycle time apart, or at \
             once when the last took longer",
        ),
        ("none", Self::None, "order entry: no pauses"),
        (
            "spec",
            Self::Spec,
            "order entry: keying and think times around every transaction",
        ),
        (
            "scaled",
            Self::Scaled,
            "order entry: the same times `pacing_scale`",
        ),
    ];
}
