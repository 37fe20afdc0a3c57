//! Dates as the database holds them: one whole number, `YYYYMMDD`.

use std::time::SystemTime;

use jiff::{Timestamp, tz::Offset};

/// The date of `time` (UTC) as `YYYYMMDD`, such as 20090127; of a time that no calendar has, that
/// of 1970-01-01.
pub(crate) fn date_number(time: SystemTime) -> i64 {
    let instant = Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
    let date = Offset::UTC.to_datetime(instant).date();
    i64::from(date.year()) * 10_000 + i64::from(date.month()) * 100 + i64::from(date.day())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

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
