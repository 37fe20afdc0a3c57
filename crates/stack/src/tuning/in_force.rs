//! A setting as it was asked for, beside what the server says.

use serde::{Deserialize, Serialize};

use super::Setting;

/// One setting: asked, and in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effective {
    /// `component.name`.
    pub name: String,
    /// What was asked for, if anything.
    pub asked: Option<String>,
    /// What is in force; `None` where the server does not tell.
    pub effective: Option<String>,
    /// The server says another value than was asked, or does not know the setting.
    pub differs: bool,
}

/// A setting beside what the server says of it. A `silent` server need not know it.
pub(crate) fn row(setting: &Setting, effective: Option<String>, silent: bool) -> Effective {
    Effective {
        name: setting.key(),
        differs: effective
            .as_ref()
            .map_or(!silent, |effective| !same(&setting.value, effective)),
        asked: Some(setting.value.clone()),
        effective,
    }
}

/// Whether a value switches on, in any of the words that the servers know.
pub(crate) fn is_on(value: &str) -> bool {
    ["1", "on", "yes", "true"]
        .iter()
        .any(|word| value.eq_ignore_ascii_case(word))
}

/// Whether two ways of writing mean the same value.
fn same(asked: &str, effective: &str) -> bool {
    canonical(asked) == canonical(effective)
}

/// Endings of numbers: sizes in bytes, times in milliseconds. What MariaDB and PHP write comes
/// first, then what PostgreSQL adds.
const UNITS: [(&str, f64); 14] = [
    ("k", 1024.0),
    ("m", 1_048_576.0),
    ("g", 1_073_741_824.0),
    ("kb", 1024.0),
    ("mb", 1_048_576.0),
    ("gb", 1_073_741_824.0),
    ("tb", 1_099_511_627_776.0),
    ("b", 1.0),
    ("us", 0.001),
    ("ms", 1.0),
    ("s", 1000.0),
    ("min", 60_000.0),
    ("h", 3_600_000.0),
    ("d", 86_400_000.0),
];

/// One way of writing a value: switches as 1 and 0, sizes in bytes, times in milliseconds, numbers
/// without trailing zeros, words in small letters.
fn canonical(value: &str) -> String {
    let value = value.trim().to_lowercase();
    if is_on(&value) {
        return "1".to_owned();
    }
    if ["", "off", "no", "false", "none"].contains(&value.as_str()) {
        return "0".to_owned();
    }
    let begin = value
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(value.len());
    let (digits, ending) = value.split_at(begin);
    let factor = UNITS
        .iter()
        .find(|(unit, _)| *unit == ending)
        .map(|(_, factor)| *factor);
    let factor = factor.or(ending.is_empty().then_some(1.0));
    match (digits.trim().parse::<f64>(), factor) {
        (Ok(number), Some(factor)) if number.is_finite() => (number * factor).to_string(),
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_the_same_however_they_are_written() {
        for (one, other) in [
            ("ON", "1"),
            ("off", "0"),
            ("", "0"),
            ("True", "YES"),
            ("8M", "8388608"),
            ("0.5", "0.500000"),
            ("NONE", ""),
            ("128M", "134217728"),
            ("131072kB", "128MB"),
            ("0.90", "0.9"),
            ("15min", "900s"),
            ("1h", "60min"),
            ("O_DIRECT", "o_direct"),
            ("-1", "-1"),
            ("1e3", "1e3"),
        ] {
            assert!(same(one, other), "{one} is {other}");
        }
        for (one, other) in [
            ("128MB", "128kB"),
            ("1", "2"),
            ("ON", "OFF"),
            ("8M", "8"),
            ("a", "b"),
            ("10", "1"),
            ("try", "on"),
            ("5min", "5s"),
            ("on", "local"),
        ] {
            assert!(!same(one, other), "{one} is not {other}");
        }
    }
}
