//! Days and HTTP dates, all in UTC, for years from 1970 on.

/// Seconds of a day.
const DAY_S: u64 = 86_400;

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// From Thursday on, the day of the week of 1970-01-01.
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

/// A day of the years 1970 to 2099, counted from 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(u32);

/// Days of the years 1970 to 2099.
const DAYS: u32 = 47_482;

impl Day {
    /// The day that holds second `time_s` since 1970; later ones than 2099-12-31 become that day.
    #[must_use]
    pub fn of_time(time_s: u64) -> Self {
        let days = u32::try_from(time_s / DAY_S).unwrap_or(DAYS - 1);
        Self(days.min(DAYS - 1))
    }

    /// `20041007`; nothing where that is no day of the years 1970 to 2099.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 8 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let number = |from: usize, to: usize| text.get(from..to)?.parse::<u32>().ok();
        Self::of_date(number(0, 4)?, number(4, 6)?, number(6, 8)?)
    }

    fn of_date(year: u32, month: u32, day: u32) -> Option<Self> {
        if !(1970..=2099).contains(&year)
            || !(1..=12).contains(&month)
            || !(1..=month_days(year, month)).contains(&day)
        {
            return None;
        }
        let years: u32 = (1970..year).map(year_days).sum();
        let months: u32 = (1..month).map(|month| month_days(year, month)).sum();
        Some(Self(years + months + day - 1))
    }

    /// The day so many days earlier, at the earliest 1970-01-01.
    #[must_use]
    pub fn minus(self, days: u32) -> Self {
        Self(self.0.saturating_sub(days))
    }

    /// The day so many days later, at the latest 2099-12-31.
    #[must_use]
    pub fn plus(self, days: u32) -> Self {
        Self(self.0.saturating_add(days).min(DAYS - 1))
    }

    /// Year, month and day of the month.
    fn date(self) -> (u32, u32, u32) {
        let mut left = self.0;
        let mut year = 1970;
        while left >= year_days(year) {
            left -= year_days(year);
            year += 1;
        }
        let mut month = 1;
        while left >= month_days(year, month) {
            left -= month_days(year, month);
            month += 1;
        }
        (year, month, left + 1)
    }
}

impl std::fmt::Display for Day {
    /// `20041007`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (year, month, day) = self.date();
        write!(f, "{year:04}{month:02}{day:02}")
    }
}

fn is_leap(year: u32) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn year_days(year: u32) -> u32 {
    if is_leap(year) { 366 } else { 365 }
}

fn month_days(year: u32, month: u32) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// A time as HTTP writes it: `Thu, 07 Oct 2004 01:50:10 GMT`.
///
/// ```
/// use rookery_workload::web2005::http_date;
///
/// assert_eq!(http_date(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
/// ```
#[must_use]
pub fn http_date(time_s: u64) -> String {
    let day = Day::of_time(time_s);
    let (year, month, date) = day.date();
    let second = time_s % DAY_S;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!(
        "{}, {date:02} {} {year:04} {hour:02}:{minute:02}:{second:02} GMT",
        WEEKDAYS[(day.0 % 7) as usize],
        MONTHS[(month - 1) as usize],
    )
}

/// The time of a date as HTTP writes it today; nothing for the two obsolete forms and for what is
/// no date. The day of the week is not compared with the date.
#[must_use]
pub fn parse_http_date(text: &str) -> Option<u64> {
    let (weekday, rest) = text.split_once(", ")?;
    if !WEEKDAYS.contains(&weekday) {
        return None;
    }
    let parts: Vec<&str> = rest.splitn(6, ' ').collect();
    let [day, month, year, time, "GMT"] = parts[..] else {
        return None;
    };
    let month = MONTHS.iter().position(|name| *name == month)?;
    let month = u32::try_from(month).ok()? + 1;
    let day = Day::of_date(number(year, 4)?, month, number(day, 2)?)?;
    let clock: Vec<&str> = time.splitn(4, ':').collect();
    let [hour, minute, second] = clock[..] else {
        return None;
    };
    let (hour, minute, second) = (number(hour, 2)?, number(minute, 2)?, number(second, 2)?);
    // 60 is a leap second.
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    Some(u64::from(day.0) * DAY_S + u64::from(hour * 3600 + minute * 60 + second))
}

/// A number of exactly so many digits.
fn number(text: &str, digits: usize) -> Option<u32> {
    let right = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    right.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_lead_back_to_themselves() {
        for day in (0..DAYS).map(Day) {
            assert_eq!(Day::parse(&day.to_string()), Some(day));
        }
        assert_eq!(Day(DAYS - 1).to_string(), "20991231");
        assert_eq!(Day::of_time(1_097_157_010).to_string(), "20041007");
        assert_eq!(
            Day::parse("20040229")
                .map(|day| day.plus(1).to_string())
                .as_deref(),
            Some("20040301")
        );
        assert_eq!(
            Day::parse("20050101")
                .map(|day| day.minus(1).to_string())
                .as_deref(),
            Some("20041231")
        );
    }

    #[test]
    fn what_is_no_day_is_none() {
        for text in [
            "",
            "2004",
            "20040230",
            "20041301",
            "20040001",
            "20040100",
            "19691231",
            "21000101",
            "2004-1-1",
            "+2004101",
            "200410070",
            "２００４１００７",
        ] {
            assert_eq!(Day::parse(text), None, "{text}");
        }
        assert_eq!(Day::of_time(u64::MAX), Day(DAYS - 1));
    }

    #[test]
    fn http_dates_lead_back_to_their_time() {
        for time_s in [0, 784_111_777, 951_827_696, 1_097_157_010, 1_136_073_599] {
            assert_eq!(parse_http_date(&http_date(time_s)), Some(time_s));
        }
        for text in [
            "",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 31 Feb 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 06 Nov 1994 08:49:37 GMT ",
        ] {
            assert_eq!(parse_http_date(text), None, "{text}");
        }
    }
}
