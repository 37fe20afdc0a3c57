//! How users start: over a time, or so many each second.

use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use super::Time;
use crate::{
    grammar::{At, Context, Kind},
    problem::Code,
    source::quoted,
    values::{RampUp, StartRate},
};

/// A time, or `10 users per s`, or `10 users per s per guest`.
pub(crate) struct Ramp(pub(crate) Time);

/// Fastest and slowest start, users per second.
const RATES: std::ops::RangeInclusive<f64> = 0.001..=100_000.0;

const EACH: &str = "users per s";
const OF_GUEST: &str = " per guest";

impl Kind for Ramp {
    type Value = RampUp;

    fn read(&self, value: &Spanned<DeValue<'_>>, at: &At, context: &mut Context) -> Option<RampUp> {
        let rate = match value.get_ref() {
            DeValue::String(text) => text.find(EACH).map(|end| (text, end)),
            _ => None,
        };
        let Some((text, end)) = rate else {
            return self.0.read(value, at, context).map(RampUp::Over);
        };
        let (number, rest) = (text[..end].trim(), &text[end + EACH.len()..]);
        let per_guest = rest == OF_GUEST;
        let Some(users_per_s) = number.parse().ok().filter(|_| per_guest || rest.is_empty()) else {
            let message = format!("{at}: {} is no rate of users", quoted(text));
            let help = at.write("\"10 users per s\"");
            return context.refuse(Code::Malformed, value.span(), message, help);
        };
        if !RATES.contains(&users_per_s) {
            let why = format!(
                "is not between {} and {} users per s",
                RATES.start(),
                RATES.end()
            );
            return context.out_of_range(value, at, &why, self);
        }
        Some(RampUp::Rate(StartRate {
            users_per_s,
            per_guest,
        }))
    }

    fn write(&self, value: &RampUp) -> String {
        match value {
            RampUp::Over(time) => self.0.write(time),
            RampUp::Rate(rate) => format!("\"{rate}\""),
        }
    }

    fn describe(&self) -> String {
        format!(
            "{}, or a rate (\"10 users per s\", \"10 users per s per guest\")",
            self.0.describe()
        )
    }

    fn example(&self) -> String {
        self.0.example()
    }

    fn schema(&self) -> Json {
        let rate = "^[0-9]+(\\.[0-9]+)? *users per s( per guest)?$";
        json!({"anyOf": [self.0.schema(), {"type": "string", "pattern": rate}]})
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{super::testing::*, *};

    const KIND: Ramp = Ramp(Time {
        min: Duration::ZERO,
        max: Duration::from_secs(60),
        example: "5s",
    });

    #[test]
    fn a_ramp_is_a_time_or_a_rate() {
        for (text, users, guests, seconds) in [
            ("'5s'", 800, 16, 5.0),
            ("'10 users per s'", 800, 16, 80.0),
            ("'10 users per s per guest'", 800, 16, 5.0),
            ("'2.5 users per s'", 50, 1, 20.0),
        ] {
            let ramp = read(&KIND, text).expect("a ramp");
            assert_eq!(ramp.lasting(users, guests).as_secs_f64(), seconds, "{text}");
            assert_eq!(KIND.write(&ramp).replace('"', "'"), text);
        }
        assert_eq!(code(&KIND, "'0 users per s'"), Code::OutOfRange);
        assert_eq!(code(&KIND, "'NaN users per s'"), Code::OutOfRange);
        assert_eq!(code(&KIND, "'ten users per s'"), Code::Malformed);
        assert_eq!(code(&KIND, "'10 users per s per host'"), Code::Malformed);
        assert_eq!(code(&KIND, "'10 users'"), Code::WrongUnit);
    }
}
