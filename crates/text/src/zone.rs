//! Times as people read them: in the time zone of this machine. What programs read stays in UTC.

use jiff::{
    Timestamp,
    tz::{Offset, TimeZone},
};

/// The time zone that times are written in.
#[derive(Clone, Debug)]
pub struct Zone(TimeZone);

impl Zone {
    /// That of this machine, as `TZ` or `/etc/localtime` says; UTC where neither does.
    #[must_use]
    pub fn system() -> Self {
        Self(TimeZone::try_system().unwrap_or(TimeZone::UTC))
    }

    /// UTC.
    #[must_use]
    pub fn utc() -> Self {
        Self(TimeZone::UTC)
    }

    /// So many hours east of UTC, -24 to 24, all the year; UTC beyond that.
    #[must_use]
    pub fn east_of_utc(hours: i8) -> Self {
        Self(Offset::from_hours(hours).map_or(TimeZone::UTC, TimeZone::fixed))
    }

    /// A stored time (RFC 3339) to the second, with the zone: `2026-07-01 14:05:00 CEST`. What is
    /// no time stays as it is.
    #[must_use]
    pub fn to_second(&self, stored: &str) -> String {
        self.written(stored, "%Y-%m-%d %H:%M:%S %Z")
    }

    /// The same to the minute.
    #[must_use]
    pub fn to_minute(&self, stored: &str) -> String {
        self.written(stored, "%Y-%m-%d %H:%M %Z")
    }

    fn written(&self, stored: &str, format: &str) -> String {
        stored.parse::<Timestamp>().map_or_else(
            |_| stored.to_owned(),
            |time| time.to_zoned(self.0.clone()).strftime(format).to_string(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: &str = "2026-12-31T22:30:15.250Z";

    #[test]
    fn times_are_written_in_their_zone() {
        assert_eq!(Zone::utc().to_second(TIME), "2026-12-31 22:30:15 UTC");
        assert_eq!(
            Zone::east_of_utc(2).to_second(TIME),
            "2027-01-01 00:30:15 +02"
        );
        assert_eq!(
            Zone::east_of_utc(-3).to_minute(TIME),
            "2026-12-31 19:30 -03"
        );
        assert_eq!(
            Zone::east_of_utc(100).to_minute(TIME),
            "2026-12-31 22:30 UTC"
        );
    }

    #[test]
    fn zones_with_summer_time_say_which_it_is() {
        let rule = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a rule");
        let zone = Zone(rule);
        assert_eq!(
            zone.to_minute("2026-07-01T12:05:00Z"),
            "2026-07-01 14:05 CEST"
        );
        assert_eq!(zone.to_minute(TIME), "2026-12-31 23:30 CET");
    }

    #[test]
    fn what_is_no_time_stays() {
        assert_eq!(Zone::utc().to_second("yesterday"), "yesterday");
        assert_eq!(Zone::utc().to_second(""), "");
    }
}
