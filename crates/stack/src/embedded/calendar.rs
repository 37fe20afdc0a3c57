//! Dates as the database holds them: one whole number, `YYYYMMDD`.

use std::time::{SystemTime, UNIX_EPOCH};

/// The date of `time` (UTC) as `YYYYMMDD`, such as 20090127.
///
/// Source: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", 2013, `civil_from_days`.
pub(crate) fn date_number(time: SystemTime) -> i64 {
    let seconds = time
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let days = i64::try_from(seconds / 86_400).unwrap_or(0) + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    year * 10_000 + month * 100 + day
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn known_days_are_found() {
        let day = |days: u64| date_number(UNIX_EPOCH + Duration::from_secs(days * 86_400 + 86_399));
        assert_eq!(
            [day(0), day(58), day(59), day(11_016)],
            [19_700_101, 19_700_228, 19_700_301, 20_000_229]
        );
        assert_eq!(day(14_271), 20_090_127);
    }
}
