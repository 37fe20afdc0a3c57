//! Durations as a study writes them.

use std::time::Duration;

/// Units and their microseconds, largest first.
pub(crate) const UNITS: [(&str, u64); 6] = [
    ("h", 3_600_000_000),
    ("min", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1_000),
    ("us", 1),
    ("µs", 1),
];

/// A duration in its largest whole unit: `90s`, `2min`, `1500ms`.
pub(crate) fn plain_time(time: Duration) -> String {
    let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    if us == 0 {
        return "0s".to_owned();
    }
    let (name, unit_us) = UNITS
        .iter()
        .find(|(_, unit_us)| us.is_multiple_of(*unit_us))
        .unwrap_or(&UNITS[4]);
    format!("{}{name}", us / unit_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_in_their_largest_whole_unit() {
        for (us, text) in [
            (90_000_000, "90s"),
            (120_000_000, "2min"),
            (1_500_000, "1500ms"),
            (1, "1us"),
            (0, "0s"),
        ] {
            assert_eq!(plain_time(Duration::from_micros(us)), text);
        }
    }
}
