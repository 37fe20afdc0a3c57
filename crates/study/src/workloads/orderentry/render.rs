//! Order entry in words.

use rookery_workload::orderentry::terminal::{Mix, Pacing};

use super::{super::scatter, OrderentryUse, THINK};
use crate::names::Named as _;

/// `no pauses`, `keying and think times`, `keying and think times x 0.1`.
pub(super) fn pace(wanted: &OrderentryUse) -> String {
    let scatter = scatter(wanted.think_distribution, THINK);
    match wanted.pacing {
        Pacing::None | Pacing::Rate(_) => "no pauses".to_owned(),
        Pacing::Spec => format!("keying and think times{scatter}"),
        Pacing::Scaled(factor) => format!("keying and think times x {factor}{scatter}"),
    }
}

/// The workload in one line, but for the keys that vary.
pub(super) fn describe(wanted: &OrderentryUse, varies: impl Fn(&str) -> bool) -> String {
    let mix = match wanted.mix {
        Mix::Deck => "transactions from a deck".to_owned(),
        Mix::Weighted(weights) => format!("transactions by weights {weights:?}"),
    };
    let words = [
        (
            "profile",
            Some(format!("profile {}", wanted.profile.name())),
        ),
        (
            "binding",
            Some(format!("{} binding", wanted.binding.name())),
        ),
        ("mix", Some(mix)),
        (
            "statements",
            Some(format!("{} statements", wanted.statements.name())),
        ),
        (
            "isolation",
            Some(format!("isolation {}", wanted.isolation.name())),
        ),
        (
            "delivery",
            Some(format!("{} deliveries", wanted.delivery.name())),
        ),
        (
            "hit_target",
            wanted
                .hit_target
                .map(|target| format!("hit ratio {} held", target.ratio())),
        ),
        (
            "foreign_keys",
            wanted.foreign_keys.then(|| "foreign keys".to_owned()),
        ),
        (
            "history_pk",
            (!wanted.history_pk).then(|| "history without a key".to_owned()),
        ),
        (
            "verify",
            (!wanted.verify).then(|| "conditions not checked".to_owned()),
        ),
    ];
    let parts: Vec<String> = words
        .into_iter()
        .filter(|(key, _)| !varies(key))
        .filter_map(|(_, text)| text)
        .collect();
    parts.join(", ")
}
