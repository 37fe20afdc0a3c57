//! How a rate changes over the measured window: `10s: 100%, 10s: 150%`, `50%..150%`,
//! `swing 50% every 20s`.

use std::{fmt, time::Duration};

use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use super::{quantity::split, time::parse_duration};
use crate::{
    grammar::{At, Context, Kind},
    problem::Code,
    source::quoted,
    time_text::plain_time,
    values::{Course, CourseStep},
};

/// A course of the rate. All shares are of the rate itself.
pub(crate) struct CourseText;

/// Most steps of a course, and longest text.
const MOST_STEPS: usize = 64;
const LONGEST: usize = 2000;

/// Largest share of the rate.
const MOST_SHARE: f64 = 100.0;

impl Kind for CourseText {
    type Value = Course;

    fn read(&self, value: &Spanned<DeValue<'_>>, at: &At, context: &mut Context) -> Option<Course> {
        let DeValue::String(text) = value.get_ref() else {
            return context.wrong_type(value, at, self);
        };
        let course = (text.len() <= LONGEST).then(|| course(text)).flatten();
        course.or_else(|| {
            let message = format!("{at}: {} is no course of a rate", quoted(text));
            context.refuse(
                Code::Malformed,
                value.span(),
                message,
                at.write(&self.example()),
            )
        })
    }

    fn write(&self, value: &Course) -> String {
        format!("\"{value}\"")
    }

    fn describe(&self) -> String {
        "\"level\"; steps such as \"10s: 100%, 10s: 150%, 5s: ~50%\" (~ = evenly to it; the last \
         lasts to the end); \"50%..150%\" (evenly); or \
         \"swing 50% every 20s\" (a sine)"
            .to_owned()
    }

    fn example(&self) -> String {
        "\"10s: 100%, 10s: 150%\"".to_owned()
    }

    fn schema(&self) -> Json {
        json!({"type": "string", "minLength": 1, "maxLength": LONGEST})
    }
}

impl fmt::Display for Course {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| format!("{}%", rounded(100.0 * share));
        match self {
            Self::Level => f.write_str("level"),
            Self::Ramp { from, to } => write!(f, "{}..{}", percent(*from), percent(*to)),
            Self::Swing { amplitude, period } => {
                write!(
                    f,
                    "swing {} every {}",
                    percent(*amplitude),
                    plain_time(*period)
                )
            }
            Self::Steps(steps) => {
                let step = |step: &CourseStep| {
                    let bend = if step.linear { "~" } else { "" };
                    format!("{}: {bend}{}", plain_time(step.length), percent(step.share))
                };
                f.write_str(&steps.iter().map(step).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// Without the digits that a product of floats adds.
fn rounded(percent: f64) -> f64 {
    (percent * 1e6).round() / 1e6
}

fn course(text: &str) -> Option<Course> {
    let text = text.trim();
    if text == "level" {
        return Some(Course::Level);
    }
    if let Some(swing) = text.strip_prefix("swing ") {
        let (amplitude, period) = swing.split_once(" every ")?;
        let (amplitude, period) = (share(amplitude)?, time(period)?);
        return (amplitude <= 1.0).then_some(Course::Swing { amplitude, period });
    }
    if let Some((from, to)) = text.split_once("..") {
        let (from, to) = (share(from)?, share(to)?);
        return (from > 0.0 || to > 0.0).then_some(Course::Ramp { from, to });
    }
    let steps: Vec<CourseStep> = text.split(',').map(step).collect::<Option<_>>()?;
    let some = steps.iter().any(|step| step.share > 0.0);
    (some && steps.len() <= MOST_STEPS && !steps[0].linear).then_some(Course::Steps(steps))
}

fn step(text: &str) -> Option<CourseStep> {
    let (length, share_text) = text.split_once(':')?;
    let share_text = share_text.trim();
    let (share_text, linear) = share_text
        .strip_prefix('~')
        .map_or((share_text, false), |rest| (rest, true));
    Some(CourseStep {
        length: time(length)?,
        share: share(share_text)?,
        linear,
    })
}

fn time(text: &str) -> Option<Duration> {
    parse_duration(text.trim())
        .ok()
        .filter(|time| !time.is_zero())
}

/// A share: `150%`.
fn share(text: &str) -> Option<f64> {
    let (number, unit) = split(text).ok()?;
    (unit == "%" && number <= 100.0 * MOST_SHARE).then_some(number / 100.0)
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};

    #[test]
    fn courses_are_written_as_they_are_read() {
        for text in [
            "level",
            "10s: 100%, 1min: 150%, 500ms: ~12.5%",
            "50%..150%",
            "0%..100%",
            "swing 50% every 20s",
        ] {
            let course = read(&CourseText, &format!("'{text}'")).expect("a course");
            assert_eq!(CourseText.write(&course), format!("\"{text}\""));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "fast",
            "10s",
            "10s: 5",
            "~10s: 5%",
            "10s: ~5%",
            "5%..",
            "0%..0%",
            "swing 150% every 5s",
            "swing 5%",
            "0s: 5%",
            "10s: -5%",
        ] {
            assert_eq!(
                code(&CourseText, &format!("'{text}'")),
                Code::Malformed,
                "{text}"
            );
        }
        assert_eq!(code(&CourseText, "5"), Code::WrongType);
    }
}
