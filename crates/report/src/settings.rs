//! Settings in force: what was asked for, what the servers said at the start, and what at the end.

use std::collections::{BTreeMap, BTreeSet};

use rookery_store::Tuning;

use crate::{Run, figures::Table, format};

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

/// The section of the page: what is not as it was asked for, and all the rest.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Settings {
    /// Not as asked, or not the same at the end.
    pub(crate) differing: Table,
    /// As asked.
    pub(crate) kept: Table,
}

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
struct Group {
    remark: Option<&'static str>,
    points: BTreeSet<u32>,
    guests: BTreeSet<String>,
}

/// Name, asked, effective, at the end.
type Values = [String; 4];

/// Settings of equal values.
fn grouped(run: &Run) -> BTreeMap<Values, Group> {
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

/// Both tables.
pub(crate) fn of(run: &Run) -> Settings {
    let (mut differing, mut kept) = (Vec::new(), Vec::new());
    for ([name, asked, effective, at_end], group) in grouped(run) {
        let mut row = vec![name, asked, effective, at_end];
        let place = vec![ranges(&group.points), guest_words(&group.guests)];
        match group.remark {
            Some(remark) => {
                row.push(remark.to_owned());
                row.extend(place);
                differing.push(row);
            }
            None => {
                row.extend(place);
                kept.push(row);
            }
        }
    }
    let table = |heads: &[&str], rows| Table {
        label: String::new(),
        heads: heads.iter().map(|head| (*head).to_owned()).collect(),
        rows,
    };
    Settings {
        differing: table(
            &[
                "setting",
                "asked",
                "effective",
                "at the end",
                "remark",
                "points",
                "guests",
            ],
            differing,
        ),
        kept: table(
            &[
                "setting",
                "asked",
                "effective",
                "at the end",
                "points",
                "guests",
            ],
            kept,
        ),
    }
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

/// `1-3, 7`.
fn ranges(numbers: &BTreeSet<u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, end)) if *end + 1 == number => *end = number,
            _ => ranges.push((number, number)),
        }
    }
    let text = |(begin, end): &(u32, u32)| {
        if begin == end {
            begin.to_string()
        } else {
            format!("{begin}-{end}")
        }
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn guest_words(guests: &BTreeSet<String>) -> String {
    if guests.len() > 3 {
        return format::counted(guests.len(), "guest");
    }
    guests
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ")
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

    #[test]
    fn numbers_in_a_row_are_one_range() {
        assert_eq!(ranges(&BTreeSet::from([1, 2, 3, 7, 9, 10])), "1-3, 7, 9-10");
        assert_eq!(ranges(&BTreeSet::new()), "");
    }
}
