//! Amounts of money.

use std::fmt;

/// An amount in cents, never negative.
///
/// ```
/// use rookery_workload::web2005::besim::Cents;
///
/// assert_eq!(Cents(123_456).to_string(), "1234.56");
/// assert_eq!(Cents::parse("1234.56"), Some(Cents(123_456)));
/// assert_eq!(Cents::parse("12"), Some(Cents(1_200)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cents(pub u64);

/// Most digits before the point, so that sums of many amounts fit 64 bits.
const MOST_DIGITS: usize = 12;

impl Cents {
    /// `1234.56` or `1234`; nothing for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, cents) = text.split_once('.').unwrap_or((text, "00"));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let right = (1..=MOST_DIGITS).contains(&whole.len())
            && cents.len() == 2
            && digits(whole)
            && digits(cents);
        if !right {
            return None;
        }
        let (whole, cents): (u64, u64) = (whole.parse().ok()?, cents.parse().ok()?);
        Some(Self(whole * 100 + cents))
    }

    /// What a user may type: at most seven digits before the point, and more than nothing.
    #[must_use]
    pub fn parse_typed(text: &str) -> Option<Self> {
        Self::parse(text)
            .filter(|amount| (1..1_000_000_000).contains(&amount.0))
            .filter(|_| text.split('.').next().is_some_and(|whole| whole.len() <= 7))
    }
}

impl fmt::Display for Cents {
    /// `1234.56`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.0 / 100, self.0 % 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_lead_back_to_themselves() {
        for cents in [0, 1, 99, 100, 123_456, 99_999_999_999_999] {
            assert_eq!(Cents::parse(&Cents(cents).to_string()), Some(Cents(cents)));
        }
    }

    #[test]
    fn what_is_no_amount_is_none() {
        for text in [
            "",
            ".",
            ".5",
            "1.",
            "1.5",
            "1.555",
            "-1.00",
            "+1",
            "1e3",
            " 1",
            "1,00",
            "1234567890123",
            "1.00.00",
            "١",
        ] {
            assert_eq!(Cents::parse(text), None, "{text}");
        }
        assert_eq!(Cents::parse_typed("0.00"), None);
        assert_eq!(Cents::parse_typed("00000001.00"), None, "eight digits");
        assert_eq!(Cents::parse_typed("9999999.99"), Some(Cents(999_999_999)));
    }
}
