//! Plain numbers: counts, shares, factors.

use std::fmt::Display;

use serde_json::{Value as Json, json};
use toml::{
    Spanned,
    de::{DeInteger, DeValue},
};

use crate::{
    grammar::{At, Context, Kind},
    problem::Code,
};

/// The integer, if it fits into 128 bits.
pub(crate) fn integer(value: &DeInteger<'_>) -> Option<i128> {
    i128::from_str_radix(value.as_str(), value.radix()).ok()
}

/// A finite number, written as integer or float.
pub(crate) fn float(value: &DeValue<'_>) -> Option<f64> {
    let number = match value {
        DeValue::Integer(number) => integer(number)? as f64,
        DeValue::Float(number) => number.as_str().parse().ok()?,
        _ => return None,
    };
    number.is_finite().then_some(number)
}

/// A whole number from `min` to `max`.
pub(crate) struct Whole<T> {
    pub(crate) min: T,
    pub(crate) max: T,
}

impl<T> Kind for Whole<T>
where
    T: Copy + Display + TryFrom<i128> + Into<i128>,
{
    type Value = T;

    fn read(&self, value: &Spanned<DeValue<'_>>, at: &At, context: &mut Context) -> Option<T> {
        let DeValue::Integer(written) = value.get_ref() else {
            return context.wrong_type(value, at, self);
        };
        match integer(written) {
            Some(number) if number < 0 => context.out_of_range(value, at, "is negative", self),
            Some(number) if number < self.min.into() => {
                context.out_of_range(value, at, &format!("is less than {}", self.min), self)
            }
            Some(number) if number <= self.max.into() => T::try_from(number).ok(),
            _ => context.out_of_range(value, at, &format!("is more than {}", self.max), self),
        }
    }

    fn write(&self, value: &T) -> String {
        value.to_string()
    }

    fn describe(&self) -> String {
        format!("whole number, {} to {}", self.min, self.max)
    }

    fn example(&self) -> String {
        self.min.to_string()
    }

    fn schema(&self) -> Json {
        let number = |n: T| u64::try_from(n.into()).unwrap_or(u64::MAX);
        json!({"type": "integer", "minimum": number(self.min), "maximum": number(self.max)})
    }
}

/// A number from `min` to `max`, fractions allowed.
pub(crate) struct Factor {
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Factor {
    /// A share of a whole.
    pub(crate) const SHARE: Self = Self { min: 0.0, max: 1.0 };
}

/// `0.1%` as 0.001, without the digits that dividing by 100 adds.
pub(crate) fn share_of_percentage(text: &str) -> Option<f64> {
    let percent: f64 = text.trim().strip_suffix('%')?.trim().parse().ok()?;
    let share = (percent * 1e10).round() / 1e12;
    share.is_finite().then_some(share)
}

impl Kind for Factor {
    type Value = f64;

    fn read(&self, value: &Spanned<DeValue<'_>>, at: &At, context: &mut Context) -> Option<f64> {
        if let DeValue::String(text) = value.get_ref()
            && let Some(share) = share_of_percentage(text)
            && (self.min..=self.max).contains(&share)
        {
            let message = format!("{at} is a share of 1, not a percentage");
            let help = at.write(&format!("{share:?}"));
            return context.refuse(Code::WrongType, value.span(), message, help);
        }
        if !matches!(value.get_ref(), DeValue::Integer(_) | DeValue::Float(_)) {
            return context.wrong_type(value, at, self);
        }
        match float(value.get_ref()) {
            None => context.out_of_range(value, at, "is not a finite number", self),
            Some(number) if number < 0.0 => context.out_of_range(value, at, "is negative", self),
            Some(number) if number < self.min => {
                context.out_of_range(value, at, &format!("is less than {}", self.min), self)
            }
            Some(number) if number > self.max => {
                context.out_of_range(value, at, &format!("is more than {}", self.max), self)
            }
            // Adding zero turns the negative zero into the plain one.
            Some(number) => Some(number + 0.0),
        }
    }

    fn write(&self, value: &f64) -> String {
        format!("{value:?}")
    }

    fn describe(&self) -> String {
        format!("number, {} to {}", self.min, self.max)
    }

    fn example(&self) -> String {
        format!("{:?}", self.min.max(self.max.min(2.0) / 2.0))
    }

    fn schema(&self) -> Json {
        json!({"type": "number", "minimum": self.min, "maximum": self.max})
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};

    #[test]
    fn a_percentage_is_told_its_share() {
        let (code, message) = refusal(&Factor::SHARE, "'0.1%'");
        assert_eq!(code, Code::WrongType);
        assert!(message.contains("not a percentage"), "{message}");
        let shares = ["0.1%", "5 %", "33.3%", "x%", "1"].map(share_of_percentage);
        assert_eq!(shares, [Some(0.001), Some(0.05), Some(0.333), None, None]);
    }

    #[test]
    fn whole_numbers_keep_their_range() {
        let kind = Whole {
            min: 1_u32,
            max: 1000,
        };
        assert_eq!(read(&kind, "1_000"), Ok(1000));
        assert_eq!(read(&kind, "0x10"), Ok(16));
        for text in [
            "0",
            "-1",
            "1001",
            "99999999999999999999",
            &format!("1{}", "0".repeat(60)),
        ] {
            assert_eq!(code(&kind, text), Code::OutOfRange, "{text}");
        }
        for text in ["1.0", "'1'", "true", "[1]", "1979-05-27"] {
            assert_eq!(code(&kind, text), Code::WrongType, "{text}");
        }
    }

    #[test]
    fn shares_lie_between_nothing_and_all() {
        assert_eq!(read(&Factor::SHARE, "1"), Ok(1.0));
        assert_eq!(read(&Factor::SHARE, "0.25"), Ok(0.25));
        for text in ["1.1", "-0.1", "20", "nan", "inf", "-inf", "1e400"] {
            assert_eq!(code(&Factor::SHARE, text), Code::OutOfRange, "{text}");
        }
        assert_eq!(code(&Factor::SHARE, "'20%'"), Code::WrongType);
    }
}
