//! How load comes: from a fixed population, or as arrivals on a schedule that does not wait for
//! answers.

use std::time::Duration;

pub use rookery_study::{Arrivals, Precision, Visit};
use serde::{Deserialize, Serialize};

/// Loop type of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// A fixed population, so many users at each guest; each waits for its answer,
    /// pauses and acts again.
    #[default]
    Closed,
    /// Arrivals on a schedule.
    Open(OpenLoad),
}

/// Arrivals on a schedule that is drawn before the first answer comes and never looks at one.
///
/// Each arrival is a new visitor: it takes a connection that no other visitor holds, or opens one,
/// and acts as its script says. The users of the assignments do not count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenLoad {
    /// How arrivals are spaced.
    pub arrivals: Arrivals,
    /// Arrivals per second at each guest over the measured window.
    pub profile: Profile,
    /// Factor on the profile's rate for each assignment, above zero; empty = 1 for all.
    pub weights: Vec<f64>,
    /// Visitors that may be present at one guest, at least one for each driver CPU. The limit is
    /// shared out evenly to the driver CPUs; arrivals beyond it are dropped and counted.
    pub max_in_flight: u32,
    /// How exactly arrivals are started.
    pub precision: Precision,
    /// How long a visitor stays.
    pub visit: Visit,
}

/// Arrivals per second over the measured window.
///
/// Over ramp-up the rate rises evenly from zero to the rate at the begin of the window, and stays
/// there while the load settles. After the window it stays where it was for the first half of
/// ramp-down and falls evenly to zero over the second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// The same all the time.
    Constant(f64),
    /// One step after the other; the last rate lasts to the end of the window.
    Steps(Vec<Step>),
    /// Evenly from the one rate to the other.
    Ramp {
        /// At the begin of the window.
        from: f64,
        /// At its end.
        to: f64,
    },
    /// Up and down as a sine: `mean (1 + amplitude sin(2 pi t / period))`.
    Swing {
        /// Mean rate.
        mean: f64,
        /// Share of the mean by which it swings, 0 to 1.
        amplitude: f64,
        /// Time from one crest to the next.
        period: Duration,
    },
}

/// A part of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// How long it lasts.
    pub length: Duration,
    /// The rate of the step, or at its end when it is linear.
    pub rate: f64,
    /// From the rate before evenly to this one, instead of at once. The first step has no rate
    /// before: it is level.
    pub linear: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_travels_as_json() {
        let open = |profile, visit| {
            Load::Open(OpenLoad {
                arrivals: Arrivals::Poisson,
                profile,
                weights: vec![1.0, 0.1 + 0.2],
                max_in_flight: 7,
                precision: Precision::Batched,
                visit,
            })
        };
        let second = Duration::from_secs(1);
        let steps = vec![Step {
            length: second,
            rate: 3.5,
            linear: true,
        }];
        let swing = Profile::Swing {
            mean: 10.0,
            amplitude: 0.5,
            period: second,
        };
        let go_on = Visit::GoOn(0.25);
        let loads = [
            Load::Closed,
            open(Profile::Constant(1e3), Visit::Single),
            open(Profile::Steps(steps), Visit::Acts(3)),
            open(Profile::Ramp { from: 0.0, to: 9.0 }, go_on),
            open(swing, Visit::Single),
        ];
        for load in loads {
            let sent = serde_json::to_string(&load).expect("plain data");
            let arrived: Load = serde_json::from_str(&sent).expect(&sent);
            assert_eq!(arrived, load, "{sent}");
        }
    }
}
