//! Exact decimals: money in cents, rates in ten-thousandths. Nothing here is ever a float.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// An exact decimal: `unscaled / 10^scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    /// The number without its decimal point.
    pub unscaled: i64,
    /// Digits behind the decimal point, 0 to 9.
    pub scale: u8,
}

/// Not a decimal number, or one with more digits than asked for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not a decimal number that fits")]
pub struct ParseDecimalError(String);

impl Decimal {
    /// An amount of money, from cents.
    #[must_use]
    pub const fn cents(unscaled: i64) -> Self {
        Self { unscaled, scale: 2 }
    }

    /// A rate such as a tax or a discount, from ten-thousandths.
    #[must_use]
    pub const fn rate(ten_thousandths: i32) -> Self {
        Self {
            unscaled: ten_thousandths as i64,
            scale: 4,
        }
    }

    /// Reads text such as `-12.3` as a number of `10^-scale`; missing digits count as zeros,
    /// surplus ones must be zeros.
    ///
    /// # Errors
    /// When the text is no decimal number, does not fit 64 bits or has other digits behind the last
    /// place.
    pub fn parse(text: &[u8], scale: u8) -> Result<Self, ParseDecimalError> {
        let refuse = || ParseDecimalError(String::from_utf8_lossy(text).into_owned());
        let (negative, digits) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            all => (false, all),
        };
        let mut unscaled: i64 = 0;
        let mut behind: Option<u8> = None;
        let mut any = false;
        for &byte in digits {
            match byte {
                b'.' if behind.is_none() => behind = Some(0),
                b'0' if behind.is_some_and(|behind| behind >= scale) => {}
                b'0'..=b'9' if behind.is_none_or(|behind| behind < scale) => {
                    any = true;
                    let digit = i64::from(byte - b'0');
                    unscaled = unscaled
                        .checked_mul(10)
                        .and_then(|n| n.checked_add(digit))
                        .ok_or_else(refuse)?;
                    behind = behind.map(|behind| behind + 1);
                }
                _ => return Err(refuse()),
            }
        }
        let missing = u32::from(scale.saturating_sub(behind.unwrap_or(0)));
        let unscaled = 10i64
            .checked_pow(missing)
            .and_then(|power| unscaled.checked_mul(power));
        match unscaled {
            Some(unscaled) if any => Ok(Self {
                unscaled: if negative { -unscaled } else { unscaled },
                scale,
            }),
            _ => Err(refuse()),
        }
    }

    /// Appends the number as text, with exactly `scale` digits behind the point.
    pub fn write(self, out: &mut Vec<u8>) {
        if self.unscaled < 0 {
            out.push(b'-');
        }
        let power = 10u64.pow(u32::from(self.scale));
        let magnitude = self.unscaled.unsigned_abs();
        crate::digits::push_number(magnitude / power, out);
        if self.scale > 0 {
            out.push(b'.');
            let mut fraction = magnitude % power;
            let start = out.len();
            out.resize(start + usize::from(self.scale), b'0');
            for byte in out[start..].iter_mut().rev() {
                *byte = b'0' + (fraction % 10) as u8;
                fraction /= 10;
            }
        }
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::with_capacity(24);
        self.write(&mut text);
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

/// A point in time to the second, without a time zone: seconds since 1970-01-01 00:00:00 of
/// whichever zone the databases keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timestamp(pub i64);

/// Not a date and time.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{0}` is not a date and time; write it as 2000-01-31 12:00:00, from the year 1970 to 9999"
)]
pub struct ParseTimestampError(String);

impl Timestamp {
    /// When nothing else is said, data were loaded at 2000-01-01 00:00:00, so that the same seed
    /// gives the same bytes on every day.
    pub const DEFAULT_LOAD: Self = Self(946_684_800);

    /// Year, month, day (H. Hinnant, "chrono-compatible low-level date algorithms", 2013).
    fn date(self) -> (i64, i64, i64) {
        let days = self.0.div_euclid(86_400) + 719_468;
        let era = days.div_euclid(146_097);
        let of_era = days.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * of_year + 2) / 153;
        let day = of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 {
            shifted + 3
        } else {
            shifted - 9
        };
        (year_of_era + era * 400 + i64::from(month <= 2), month, day)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.date();
        let second = self.0.rem_euclid(86_400);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(
            f,
            "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"
        )
    }
}

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refuse = || ParseTimestampError(text.to_owned());
        let mut numbers = [0i64; 6];
        let mut fields = text.split(['-', ' ', 'T', ':']);
        for number in &mut numbers {
            let field = fields
                .next()
                .filter(|field| field.bytes().all(|byte| byte.is_ascii_digit()));
            *number = field
                .and_then(|field| field.parse().ok())
                .ok_or_else(refuse)?;
        }
        let [year, month, day, hour, minute, second] = numbers;
        if !(1970..=9999).contains(&year) {
            return Err(refuse());
        }
        let shifted_year = if month <= 2 { year - 1 } else { year };
        let era = shifted_year.div_euclid(400);
        let year_of_era = shifted_year.rem_euclid(400);
        let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
        let timestamp =
            Self((era * 146_097 + of_era - 719_468) * 86_400 + hour * 3600 + minute * 60 + second);
        // A date that does not exist, such as 30 February, comes back as another one.
        let canonical = timestamp.to_string();
        let same = canonical == text || canonical == text.replacen('T', " ", 1);
        if same { Ok(timestamp) } else { Err(refuse()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_read_exactly_or_not_at_all() {
        let cents = |text: &str| {
            Decimal::parse(text.as_bytes(), 2)
                .map(|decimal| decimal.unscaled)
                .ok()
        };
        assert_eq!(cents("12.34"), Some(1234));
        assert_eq!(cents("-10"), Some(-1000));
        assert_eq!(cents("+0.5"), Some(50));
        assert_eq!(cents(".07"), Some(7));
        assert_eq!(cents("1.2300"), Some(123));
        assert_eq!(cents("1.234"), None);
        assert_eq!(cents(""), None);
        assert_eq!(cents("-"), None);
        assert_eq!(cents("1.2.3"), None);
        assert_eq!(cents("1e3"), None);
        assert_eq!(cents("99999999999999999999"), None);
    }

    #[test]
    fn decimals_are_written_with_all_their_places() {
        for (decimal, text) in [
            (Decimal::cents(0), "0.00"),
            (Decimal::cents(-1000), "-10.00"),
            (Decimal::cents(-7), "-0.07"),
            (Decimal::cents(30_000_000), "300000.00"),
            (Decimal::rate(1), "0.0001"),
            (
                Decimal {
                    unscaled: 42,
                    scale: 0,
                },
                "42",
            ),
        ] {
            assert_eq!(decimal.to_string(), text);
            assert_eq!(Decimal::parse(text.as_bytes(), decimal.scale), Ok(decimal));
        }
    }

    #[test]
    fn dates_come_back_as_they_were_written() {
        assert_eq!(Timestamp::DEFAULT_LOAD.to_string(), "2000-01-01 00:00:00");
        assert_eq!(Timestamp(951_827_696).to_string(), "2000-02-29 12:34:56");
        for text in [
            "1970-01-01 00:00:00",
            "2000-02-29 12:34:56",
            "2038-01-19 03:14:08",
            "2100-03-01 23:59:59",
        ] {
            assert_eq!(text.parse::<Timestamp>().expect(text).to_string(), text);
        }
        assert_eq!("2000-02-29T12:34:56".parse(), Ok(Timestamp(951_827_696)));
        for text in [
            "2001-02-29 00:00:00",
            "2000-1-01 00:00:00",
            "2000-01-01",
            "2000-01-01 24:00:00",
            "1969-12-31 00:00:00",
            "x",
        ] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }
}
