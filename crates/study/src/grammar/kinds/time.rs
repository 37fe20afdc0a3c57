//! Durations: `250ms`, `1.5s`, `2min`.

use std::time::Duration;

use rookery_cast::truncate_u64;
use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use super::quantity::{BadQuantity, NUMBER, split};
use crate::{
    grammar::{At, Context, Kind},
    problem::Code,
    source::quoted,
    time_text::{UNITS, plain_time},
};

const UNITS_IN_WORDS: &str = "us, ms, s, min or h";

/// A duration from `min` to `max`, with a unit, to the microsecond. Plain `0` is allowed where zero
/// is.
pub(crate) struct Time {
    pub(crate) min: Duration,
    pub(crate) max: Duration,
    pub(crate) example: &'static str,
}

impl Time {
    fn read_text(
        &self,
        text: &str,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        context: &mut Context,
    ) -> Option<Duration> {
        let (number, unit) = match split(text) {
            Ok(parts) => parts,
            Err(BadQuantity::Negative) => {
                return context.out_of_range(value, at, "is negative", self);
            }
            Err(BadQuantity::TooLong) => {
                return context.out_of_range(value, at, "has too many digits", self);
            }
            Err(BadQuantity::NoNumber) => {
                let message = format!("{at}: {} is not a duration", quoted(text));
                return context.refuse(
                    Code::Malformed,
                    value.span(),
                    message,
                    at.write(&self.example()),
                );
            }
        };
        let Some((_, unit_us)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            let message = match unit {
                "" => format!("{at} needs a unit: {UNITS_IN_WORDS}"),
                "m" => format!("{at}: `m` may be minutes or milliseconds"),
                _ => format!("{at}: {} is not a unit of time", quoted(unit)),
            };
            let help = match unit {
                "m" => at.write(&format!("\"{number}min\"")),
                _ => format!(
                    "write for instance {}; units are {UNITS_IN_WORDS}",
                    at.line(&self.example())
                ),
            };
            return context.refuse(Code::WrongUnit, value.span(), message, help);
        };
        let microseconds = number * *unit_us as f64;
        if number > 0.0 && microseconds < 0.5 {
            return context.out_of_range(value, at, "is less than a microsecond", self);
        }
        // A float conversion saturates, and everything that large is refused by the range.
        let time = Duration::from_micros(truncate_u64(microseconds.round()));
        if time < self.min {
            return context.out_of_range(
                value,
                at,
                &format!("is less than {}", plain_time(self.min)),
                self,
            );
        }
        if time > self.max {
            return context.out_of_range(
                value,
                at,
                &format!("is more than {}", plain_time(self.max)),
                self,
            );
        }
        Some(time)
    }
}

impl Kind for Time {
    type Value = Duration;

    fn read(
        &self,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        context: &mut Context,
    ) -> Option<Duration> {
        match value.get_ref() {
            DeValue::String(text) => self.read_text(text, value, at, context),
            DeValue::Integer(number) if number.as_str() == "0" => {
                self.read_text("0s", value, at, context)
            }
            DeValue::Integer(_) | DeValue::Float(_) => {
                let message = format!("{at} needs a unit: {UNITS_IN_WORDS}");
                let help = format!(
                    "write it as text with its unit, for instance {}",
                    at.line(&self.example())
                );
                context.refuse(Code::WrongUnit, value.span(), message, help)
            }
            _ => context.wrong_type(value, at, self),
        }
    }

    fn write(&self, value: &Duration) -> String {
        format!("\"{}\"", plain_time(*value))
    }

    fn describe(&self) -> String {
        format!(
            "duration, {} to {}",
            plain_time(self.min),
            plain_time(self.max)
        )
    }

    fn example(&self) -> String {
        format!("\"{}\"", self.example)
    }

    fn schema(&self) -> Json {
        let units: Vec<&str> = UNITS.iter().map(|(name, _)| *name).collect();
        let text =
            json!({"type": "string", "pattern": format!("^{NUMBER}({})\\s*$", units.join("|"))});
        if self.min.is_zero() {
            json!({"anyOf": [text, {"const": 0}]})
        } else {
            text
        }
    }
}

/// A duration of a command line that cannot be read. Prints in one sentence what is wrong and what
/// to write, because command lines print nothing else of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseDurationError {
    /// It does not begin with a number.
    #[error("{} is not a duration; write {DURATION_HELP}", quoted(text))]
    NotADuration {
        /// The text.
        text: String,
    },
    /// What follows the number is no unit of time.
    #[error("{} has no unit of time; write {DURATION_HELP}", quoted(text))]
    NoUnit {
        /// The text.
        text: String,
    },
    /// It is too short or too long.
    #[error(
        "{} is not between a microsecond and a day; write {DURATION_HELP}",
        quoted(text)
    )]
    OutOfRange {
        /// The text.
        text: String,
    },
}

const DURATION_HELP: &str = "a number with a unit, such as 250ms; units are us, ms, s, min or h";

/// Reads a duration as a study file writes it, for command lines: `250ms`, `1.5s`, `2min`, or `0`.
///
/// # Errors
/// When `text` is no number with a unit, or less than a microsecond without being zero, or more
/// than a day.
pub fn parse_duration(text: &str) -> Result<Duration, ParseDurationError> {
    let owned = || text.to_owned();
    let (number, unit) =
        split(text).map_err(|_| ParseDurationError::NotADuration { text: owned() })?;
    let unit_us = match UNITS.iter().find(|(name, _)| *name == unit) {
        Some((_, unit_us)) => *unit_us,
        None if unit.is_empty() && number == 0.0 => 1,
        None => return Err(ParseDurationError::NoUnit { text: owned() }),
    };
    let us = number * unit_us as f64;
    if (number > 0.0 && us < 0.5) || us > 86_400e6 {
        return Err(ParseDurationError::OutOfRange { text: owned() });
    }
    Ok(Duration::from_micros(truncate_u64(us.round())))
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};

    #[test]
    fn command_lines_read_durations_too() {
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_duration("0"), Ok(Duration::ZERO));
        for wrong in ["", "5", "ms", "-1s", "2 fortnights", "48h", "0.1us"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            parse_duration("5").expect_err("no unit").to_string(),
            format!(
                "`5` has no unit of time; write a number with a unit, such as 250ms; units are \
                     {UNITS_IN_WORDS}"
            )
        );
    }

    const KIND: Time = Time {
        min: Duration::ZERO,
        max: Duration::from_secs(3600),
        example: "250ms",
    };

    #[test]
    fn durations_are_read_in_every_unit() {
        for (text, us) in [
            ("'250ms'", 250_000),
            ("'1.5s'", 1_500_000),
            ("'2min'", 120_000_000),
            ("'1 h'", 3_600_000_000),
            ("'7us'", 7),
            ("'7µs'", 7),
            ("'0s'", 0),
            ("0", 0),
            ("'0.0000015s'", 2),
        ] {
            assert_eq!(read(&KIND, text), Ok(Duration::from_micros(us)), "{text}");
        }
    }

    #[test]
    fn refusals_say_what_is_missing() {
        assert_eq!(
            refusal(&KIND, "'250'").1,
            "`s.key` needs a unit: us, ms, s, min or h"
        );
        assert_eq!(refusal(&KIND, "250").0, Code::WrongUnit);
        assert_eq!(
            refusal(&KIND, "'5m'").1,
            "`s.key`: `m` may be minutes or milliseconds"
        );
        assert_eq!(refusal(&KIND, "'-1s'").1, "`s.key` is negative");
        assert_eq!(code(&KIND, "'2h'"), Code::OutOfRange);
        assert_eq!(code(&KIND, "'0.0000001s'"), Code::OutOfRange);
        assert_eq!(code(&KIND, "'99999999999999999h'"), Code::OutOfRange);
        assert_eq!(code(&KIND, "'soon'"), Code::Malformed);
        assert_eq!(code(&KIND, "true"), Code::WrongType);
    }
}
