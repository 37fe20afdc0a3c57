//! Open loads from the command line.

use std::time::Duration;

use clap::Args;
use rookery_driver::{Load, OpenLoad, Profile, Visit};
use rookery_study::{Arrivals, Course, CourseStep, Named, Precision};

use crate::{
    exit::{Code, Failure},
    one_of::one_of,
};

#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    /// Open load: visitors arrive on a schedule that does not wait for answers, do one act (an
    /// order, an operation of a workload file) and leave; so many per second at each target, such
    /// as 100, 10..200, 30s:100,30s:200,10s:~50 or swing:100:0.5:60s
    #[arg(long, value_name = "RATE", conflicts_with = "users")]
    pub(super) open: Option<String>,
    /// With --open: how arrivals are spaced
    #[arg(long, value_parser = one_of(Arrivals::NAMES), default_value = "poisson")]
    pub(super) arrivals: Arrivals,
    /// With --open: visitors present at one target; further arrivals are dropped and counted
    #[arg(long, default_value_t = 1000)]
    pub(super) max_in_flight: u32,
    /// With --open: how exactly arrivals are started
    #[arg(long, value_parser = one_of(Precision::NAMES), default_value = "exact")]
    pub(super) precision: Precision,
    /// With --open: after an act a visitor thinks and does another with this probability (a
    /// partly open load)
    #[arg(long, value_name = "PROBABILITY", requires = "open")]
    pub(super) go_on: Option<f64>,
    /// With --open: acts of each visitor, with think times between them (a partly open load)
    #[arg(long, requires = "open", conflicts_with = "go_on")]
    pub(super) acts: Option<u32>,
}

/// The load that was asked for: open when a rate was given.
pub(crate) fn load(args: &OpenArgs) -> Result<Load, Failure> {
    let Some(text) = &args.open else {
        return Ok(Load::Closed);
    };
    let profile = profile(text).ok_or_else(|| {
        Failure::new(Code::Usage, format!("--open {text} is no rate")).help(
            "write arrivals per second at each target, such as 100; 10..200 (evenly from \
    10 to 200); 30s:100,30s:200,10s:~50 (in steps; ~ = evenly to it); \
    swing:100:0.5:60s (up and down by half within a minute)",
        )
    })?;
    let visit = match (args.go_on, args.acts) {
        (Some(probability), _) => Visit::GoOn(probability),
        (None, Some(acts)) => Visit::Acts(acts),
        (None, None) => Visit::Single,
    };
    Ok(Load::Open(OpenLoad {
        arrivals: args.arrivals,
        profile,
        weights: Vec::new(),
        max_in_flight: args.max_in_flight,
        precision: args.precision,
        visit,
    }))
}

fn profile(text: &str) -> Option<Profile> {
    if let Some(swing) = text.strip_prefix("swing:") {
        let mut parts = swing.splitn(3, ':');
        let (mean, amplitude) = (number(parts.next()?)?, number(parts.next()?)?);
        let period = duration(parts.next()?)?;
        return Some(Profile {
            rate_per_s: mean,
            course: Course::Swing { amplitude, period },
        });
    }
    if text.contains(':') {
        return text
            .split(',')
            .map(step)
            .collect::<Option<Vec<CourseStep>>>()
            .map(|steps| of_rates(Course::Steps(steps)));
    }
    match text.split_once("..") {
        Some((from, to)) => Some(of_rates(Course::Ramp {
            from: number(from)?,
            to: number(to)?,
        })),
        None => number(text).map(Profile::level),
    }
}

/// A course whose shares are the rates themselves.
fn of_rates(course: Course) -> Profile {
    Profile {
        rate_per_s: 1.0,
        course,
    }
}

fn step(text: &str) -> Option<CourseStep> {
    let (length, rate) = text.split_once(':')?;
    let (rate, linear) = rate
        .strip_prefix('~')
        .map_or((rate, false), |rate| (rate, true));
    Some(CourseStep {
        length: duration(length)?,
        share: number(rate)?,
        linear,
    })
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

fn duration(text: &str) -> Option<Duration> {
    rookery_study::parse_duration(text.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_of_rate_can_be_written() {
        assert_eq!(profile("100"), Some(Profile::level(100.0)));
        assert_eq!(
            profile("10..200"),
            Some(of_rates(Course::Ramp {
                from: 10.0,
                to: 200.0
            }))
        );
        let step = |seconds, share, linear| CourseStep {
            length: Duration::from_secs(seconds),
            share,
            linear,
        };
        assert_eq!(
            profile("30s:100, 1min:2.5,10s:~50"),
            Some(of_rates(Course::Steps(vec![
                step(30, 100.0, false),
                step(60, 2.5, false),
                step(10, 50.0, true)
            ])))
        );
        assert_eq!(
            profile("swing:100:0.5:60s"),
            Some(Profile {
                rate_per_s: 100.0,
                course: Course::Swing {
                    amplitude: 0.5,
                    period: Duration::from_secs(60)
                }
            })
        );
        for wrong in [
            "",
            "fast",
            "10..",
            "30s",
            "30s:",
            "30:100",
            "swing:100:60s",
            "1..2..3",
        ] {
            assert_eq!(profile(wrong), None, "{wrong}");
        }
    }
}
