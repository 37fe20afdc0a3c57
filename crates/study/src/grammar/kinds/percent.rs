//! Shares that people think of in percent.

use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use super::number::{float, share_of_percentage};
use crate::grammar::{At, Context, Kind};

/// A share from `min` to `max`, written as a percentage (`"2%"`) or as a number (`0.02`).
pub(crate) struct Percent {
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) example: &'static str,
}

/// `0.001` as `0.1%`.
fn percentage(share: f64) -> String {
    format!("{}%", (share * 1e8).round() / 1e6)
}

impl Kind for Percent {
    type Value = f64;

    fn read(&self, value: &Spanned<DeValue<'_>>, at: &At, context: &mut Context) -> Option<f64> {
        let share = match value.get_ref() {
            DeValue::String(text) => share_of_percentage(text),
            other => float(other),
        };
        match share {
            None => context.wrong_type(value, at, self),
            Some(share) if share < self.min => {
                let why = format!("is less than {}", percentage(self.min));
                context.out_of_range(value, at, &why, self)
            }
            Some(share) if share > self.max => {
                let why = format!("is more than {}", percentage(self.max));
                context.out_of_range(value, at, &why, self)
            }
            share => share,
        }
    }

    fn write(&self, value: &f64) -> String {
        format!("{value:?}")
    }

    fn describe(&self) -> String {
        format!(
            "percentage, \"{}\" to \"{}\"",
            percentage(self.min),
            percentage(self.max)
        )
    }

    fn example(&self) -> String {
        format!("\"{}\"", self.example)
    }

    fn schema(&self) -> Json {
        json!({"anyOf": [
            {"type": "string", "pattern": "^ *[0-9.]+ *% *$"},
            {"type": "number", "minimum": self.min, "maximum": self.max},
        ]})
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};
    use crate::problem::Code;

    const KIND: Percent = Percent {
        min: 0.001,
        max: 0.5,
        example: "2%",
    };

    #[test]
    fn percentages_and_shares_are_the_same() {
        for text in ["'2%'", "'2 %'", "0.02"] {
            assert_eq!(read(&KIND, text), Ok(0.02), "{text}");
        }
        assert_eq!(read(&KIND, &KIND.write(&0.015)), Ok(0.015));
    }

    #[test]
    fn what_is_none_is_refused() {
        for (text, code) in [
            ("'90%'", Code::OutOfRange),
            ("2", Code::OutOfRange),
            ("-0.1", Code::OutOfRange),
            ("'narrow'", Code::WrongType),
            ("true", Code::WrongType),
        ] {
            assert_eq!(refusal(&KIND, text).0, code, "{text}");
        }
        let (_, message) = refusal(&KIND, "'90%'");
        assert!(message.contains("is more than 50%"), "{message}");
    }
}
