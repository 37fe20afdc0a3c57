//! What each level is worth, in words.

use rookery_analysis::effects::{Aliased, Compared, Effects, FailedLevel, Worth};
use rookery_stats::{Basis, Change, Effect};
use rookery_study::Level;

use super::format;

/// `stack.tuning = pureflex` against `stock`, as in sentences.
pub(crate) fn name(worth: &Worth) -> String {
    if worth.level.is_limit_of_io() {
        return format!(
            "{} against {}",
            worth.level.words(),
            reference(worth).words()
        );
    }
    format!(
        "`{} = {}` against `{}`",
        worth.level.key, worth.level.value, worth.reference
    )
}

/// `tuning: pureflex against stock`, as on axes.
pub(crate) fn short_name(worth: &Worth) -> String {
    if worth.level.is_limit_of_io() {
        return name(worth);
    }
    format!(
        "{}: {} against {}",
        worth.level.short_key(),
        worth.level.value,
        worth.reference
    )
}

/// The level that a worth is against.
fn reference(worth: &Worth) -> Level {
    Level {
        key: worth.level.key.clone(),
        value: worth.reference.clone(),
    }
}

/// A change that every study of worth should find.
const PROPOSED: f64 = 0.1;

/// Where the repeats lie so far apart, or are so few, that an interval would say nothing: how many
/// more would.
pub(crate) fn cannot_say(effect: &Effect) -> Option<String> {
    effect.interval?;
    if effect.telling().is_some() {
        return None;
    }
    let pairs = format::counted(effect.count as usize, "pair");
    Some(match effect.more_for(PROPOSED) {
        Some(more) => format!("{pairs} of trials cannot say; about {more} more would show 10 %"),
        None => format!("{pairs} of trials cannot say, they scatter too much"),
    })
}

/// The change of the metric with its interval: `+23.1 % (18.0 to 28.4)`.
pub(crate) fn change(compared: &Compared) -> String {
    let Some(effect) = &compared.effect else {
        return format::NONE.to_owned();
    };
    if let Some(text) = cannot_say(effect) {
        return text;
    }
    let interval = effect.interval.map_or_else(String::new, |(low, high)| {
        format!(
            " ({} to {})",
            format::signed(low - 1.0),
            format::signed(high - 1.0)
        )
    });
    format!("{} %{interval}", format::signed(effect.ratio - 1.0))
}

/// What the change may be called.
pub(crate) fn verdict(compared: &Compared) -> String {
    match compared.change {
        Change::Better => "better".to_owned(),
        Change::Worse => "worse".to_owned(),
        Change::NoEffectSeen { less_than } => format!(
            "no effect seen (less than {} %)",
            format::few(100.0 * less_than)
        ),
        Change::PerhapsChance => "undecided: among so many comparisons it may be chance".to_owned(),
        Change::Undecided => "undecided".to_owned(),
        Change::NoInterval if compared.effect.is_none() => format::NONE.to_owned(),
        Change::NoInterval => "a single pair: no interval".to_owned(),
    }
}

/// What the comparison rests on: `6 blocks`.
pub(crate) fn basis(compared: &Compared) -> String {
    compared.effect.map_or_else(String::new, |effect| {
        let count = effect.count as usize;
        match effect.basis {
            Basis::Pairs => format::counted(count, "block"),
            Basis::Contrasts => format!("{}, main effect", format::counted(count, "block")),
            Basis::Means => "unpaired: trials are missing".to_owned(),
        }
    })
}

/// Interactions and aliases, in sentences.
pub(crate) fn remarks(effects: &Effects, unit: &str) -> Vec<String> {
    let mut all: Vec<String> = effects
        .interactions
        .iter()
        .filter_map(|found| {
            let [one, other] = &found.levels;
            let (low, high) = found.effect.telling()?;
            Some(format!(
                "`{} = {}` and `{} = {}` change each other's effect on {}: together {} % ({} to \
                 {}) beside what they are worth one by one.",
                one.key,
                one.value,
                other.key,
                other.value,
                found.metric.name(unit),
                format::signed(found.effect.ratio - 1.0),
                format::signed(low - 1.0),
                format::signed(high - 1.0)
            ))
        })
        .collect();
    if effects.interactions_examined > 0 {
        all.push(format!(
            "{} of two factors examined, {} with an interval that leaves no change out; about one \
             in twenty does so by chance.",
            format::counted(effects.interactions_examined, "interaction"),
            effects.interactions.len()
        ));
    }
    all.extend(effects.failed.iter().map(failed));
    all.extend(effects.aliases.iter().map(aliased));
    if effects.screened && effects.aliases.is_empty() {
        all.push(
            "A screening design: the effect of a factor can be told apart from the interactions of \
             two others, but not of three; interactions themselves cannot be told apart."
                .to_owned(),
        );
    }
    all
}

/// A level that looks better than it is, because its worst trials yielded no number.
fn failed(found: &FailedLevel) -> String {
    let FailedLevel {
        level,
        failed,
        ended,
    } = found;
    format!(
        "At `{} = {}` {failed} of {} failed: its effect is that of the others alone.",
        level.key,
        level.value,
        format::counted(*ended, "trial")
    )
}

fn aliased(aliased: &Aliased) -> String {
    let with: Vec<String> = aliased
        .with
        .iter()
        .map(|with| {
            let part = if with.share > 0.999 {
                String::new()
            } else {
                format!(" ({} of it)", format::percent(with.share))
            };
            format!("`{}` with `{}`{part}", with.factors[0], with.factors[1])
        })
        .collect();
    format!(
        "The effect of `{}` cannot be told from the interaction of {}.",
        aliased.factor,
        with.join(", nor of ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_whose_trials_failed_is_not_praised_without_a_word() {
        let effects = Effects {
            failed: vec![FailedLevel {
                level: Level {
                    key: "guest.memory".to_owned(),
                    value: "36MiB".to_owned(),
                },
                failed: 1,
                ended: 3,
            }],
            ..Effects::default()
        };
        insta::assert_snapshot!(remarks(&effects, "order").join("\n"), @"At `guest.memory = 36MiB` 1 of 3 trials failed: its effect is that of the others alone.");
    }
}
