//! Exact decimals: money in cents, rates in ten-thousandths. Nothing here is ever a float.

use std::{fmt, str::FromStr};

use jiff::{
    SignedDuration,
    civil::{DateTime, date},
};
use rookery_diagnosis::Diagnosis;
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

/// When the seconds are counted from.
const EPOCH: DateTime = date(1970, 1, 1).at(0, 0, 0, 0);

/// Not a date and time.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not a date and time")]
pub struct ParseTimestampError(String);

impl Diagnosis for ParseTimestampError {
    fn code(&self) -> &'static str {
        "workload::timestamp"
    }

    fn help(&self) -> Option<String> {
        Some("write it as 2000-01-31 12:00:00, from the year 1970 to 9999".to_owned())
    }
}

impl Timestamp {
    /// When nothing else is said, data were loaded at 2000-01-01 00:00:00, so that the same seed
    /// gives the same bytes on every day.
    pub const DEFAULT_LOAD: Self = Self(946_684_800);
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(at) = EPOCH.checked_add(SignedDuration::from_secs(self.0)) else {
            // Beyond every calendar, so that it is no date in any database either.
            return self.0.fmt(f);
        };
        write!(
            f,
            "{:04}-{:02}-{:02} {:02}:{:02}:{:02}",
            at.year(),
            at.month(),
            at.day(),
            at.hour(),
            at.minute(),
            at.second()
        )
    }
}

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let at: DateTime = text.parse().ok()?;
            let seconds = at.duration_since(EPOCH).as_secs();
            // The parser takes more spellings than one.
            let canonical = Self(seconds).to_string();
            let same = canonical == text || canonical == text.replacen('T', " ", 1);
            (same && seconds >= 0).then_some(Self(seconds))
        };
        parse().ok_or_else(|| ParseTimestampError(text.to_owned()))
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
            "9999-12-31 23:59:59",
        ] {
            assert_eq!(text.parse::<Timestamp>().expect(text).to_string(), text);
        }
        assert_eq!(Timestamp(i64::MAX).to_string(), i64::MAX.to_string());
        assert_eq!("2000-02-29T12:34:56".parse(), Ok(Timestamp(951_827_696)));
        for text in [
            "2001-02-29 00:00:00",
            "2000-1-01 00:00:00",
            "2000-01-01",
            "2000-01-01 24:00:00",
            "1969-12-31 00:00:00",
            "2000-02-29 00:00:00.5",
            "20000229T000000",
            "x",
        ] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }
}
