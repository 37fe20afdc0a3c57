//! Settings in force that are not as they were asked for.

use std::collections::{BTreeMap, BTreeSet};

use rookery_analysis::Run;
use rookery_store::Tuning;

/// Sizes of units that settings are written with.
const UNITS: [(&str, f64); 12] = [
    ("kib", 1024.0),
    ("mib", 1_048_576.0),
    ("gib", 1_073_741_824.0),
    ("kb", 1e3),
    ("mb", 1e6),
    ("gb", 1e9),
    ("k", 1024.0),
    ("m", 1_048_576.0),
    ("g", 1_073_741_824.0),
    ("b", 1.0),
    ("%", 0.01),
    ("s", 1.0),
];

/// Whether two texts of a setting mean the same: `8M` and `8388608` do, so do `ON` and `1`.
fn same(one: &str, other: &str) -> bool {
    let (one, other) = (
        one.trim().to_ascii_lowercase(),
        other.trim().to_ascii_lowercase(),
    );
    one == other
        || match (switch(&one), switch(&other)) {
            (Some(one), Some(other)) => one == other,
            _ => quantity(&one)
                .zip(quantity(&other))
                .is_some_and(|(one, other)| (one - other).abs() <= 1e-9 * one.abs()),
        }
}

fn switch(text: &str) -> Option<bool> {
    match text {
        "on" | "1" | "yes" | "true" => Some(true),
        "off" | "0" | "no" | "false" => Some(false),
        _ => None,
    }
}

fn quantity(text: &str) -> Option<f64> {
    let (digits, unit) = UNITS
        .iter()
        .find_map(|(unit, size)| Some((text.strip_suffix(unit)?, *size)))
        .unwrap_or((text, 1.0));
    digits
        .trim()
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite())
        .map(|number| number * unit)
}

/// What is to be remarked of a setting; `None` when it is as it was asked for.
fn remark(tuning: &Tuning) -> Option<&'static str> {
    let Tuning {
        asked,
        effective,
        at_end,
        ..
    } = tuning;
    if effective.is_empty() {
        Some("not read back")
    } else if !asked.is_empty() && !same(asked, effective) {
        Some("not as asked")
    } else if !at_end.is_empty() && !same(effective, at_end) {
        Some("changed during the trial")
    } else {
        None
    }
}

/// Who had a setting with these values, and what is to be remarked of it.
#[derive(Default)]
pub(crate) struct Group {
    pub(crate) remark: Option<&'static str>,
    pub(crate) points: BTreeSet<u32>,
    pub(crate) guests: BTreeSet<String>,
}

/// Name, asked, effective, at the end.
pub(crate) type Values = [String; 4];

/// Settings of equal values.
pub(crate) fn grouped(run: &Run) -> BTreeMap<Values, Group> {
    let mut groups: BTreeMap<Values, Group> = BTreeMap::new();
    for trial in &run.trials {
        for tuning in trial.record.iter().flat_map(|record| &record.tunings) {
            let key = [
                &tuning.name,
                &tuning.asked,
                &tuning.effective,
                &tuning.at_end,
            ]
            .map(String::clone);
            let group = groups.entry(key).or_default();
            group.remark = remark(tuning);
            group.points.insert(trial.row.trial.point);
            group.guests.insert(tuning.guest.clone());
        }
    }
    groups
}

/// A word where something is not as it was asked for.
pub(crate) fn caveat(run: &Run) -> Option<String> {
    let groups = grouped(run);
    let not_kept: Vec<(&Values, &str)> = groups
        .iter()
        .filter_map(|(key, group)| Some((key, group.remark?)))
        .collect();
    let names: BTreeSet<&str> = not_kept.iter().map(|(key, _)| key[0].as_str()).collect();
    let ([name, asked, effective, at_end], remark) = not_kept.first()?;
    let example = match *remark {
        "changed during the trial" => format!("{name} was {effective} and then {at_end}"),
        "not read back" => format!("{name}, asked {asked}, was not read back"),
        _ => format!("{name} was {effective} instead of {asked}"),
    };
    Some(format!(
        "{} not as asked for or not the same at the end, such as: {example}.",
        match names.len() {
            1 => "1 setting was".to_owned(),
            count => format!("{count} settings were"),
        }
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_value_may_be_written_in_several_ways() {
        for (one, other) in [
            ("8M", "8388608"),
            ("8MiB", "8388608"),
            ("ON", "1"),
            ("off", "No"),
            ("0.25", "0.250"),
            ("x ", "X"),
            ("80%", "0.8"),
        ] {
            assert!(same(one, other) && same(other, one), "{one} {other}");
        }
        for (one, other) in [
            ("8M", "8000000"),
            ("ON", "OFF"),
            ("x", "y"),
            ("", "0"),
            ("1", "2"),
        ] {
            assert!(!same(one, other), "{one} {other}");
        }
    }

    #[test]
    fn what_is_not_as_asked_is_remarked() {
        let tuning = |asked: &str, effective: &str, at_end: &str| Tuning {
            guest: "g1".to_owned(),
            name: "x".to_owned(),
            asked: asked.to_owned(),
            effective: effective.to_owned(),
            at_end: at_end.to_owned(),
        };
        assert_eq!(remark(&tuning("8M", "8388608", "8388608")), None);
        assert_eq!(remark(&tuning("", "7", "7")), None, "nobody asked");
        assert_eq!(
            remark(&tuning("8M", "4194304", "4194304")),
            Some("not as asked")
        );
        assert_eq!(
            remark(&tuning("8", "8", "9")),
            Some("changed during the trial")
        );
        assert_eq!(remark(&tuning("8", "", "")), Some("not read back"));
        assert_eq!(
            remark(&tuning("8", "8", "")),
            None,
            "a guest that died tells no end"
        );
    }
}
