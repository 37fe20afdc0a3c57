//! How load comes: from a fixed population, or as arrivals on a schedule that does not wait for
//! answers.

use rookery_study::Course;
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
pub struct Profile {
    /// The rate whose shares the course is of.
    pub rate_per_s: f64,
    /// How it changes.
    pub course: Course,
}

impl Profile {
    /// The same rate all the time.
    #[must_use]
    pub fn level(rate_per_s: f64) -> Self {
        Self {
            rate_per_s,
            course: Course::Level,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rookery_study::CourseStep;

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
        let steps = vec![CourseStep {
            length: second,
            share: 3.5,
            linear: true,
        }];
        let swing = Course::Swing {
            amplitude: 0.5,
            period: second,
        };
        let following = |course| Profile {
            rate_per_s: 10.0,
            course,
        };
        let go_on = Visit::GoOn(0.25);
        let loads = [
            Load::Closed,
            open(Profile::level(1e3), Visit::Single),
            open(following(Course::Steps(steps)), Visit::Acts(3)),
            open(following(Course::Ramp { from: 0.0, to: 9.0 }), go_on),
            open(following(swing), Visit::Single),
        ];
        for load in loads {
            let sent = serde_json::to_string(&load).expect("plain data");
            let arrived: Load = serde_json::from_str(&sent).expect(&sent);
            assert_eq!(arrived, load, "{sent}");
        }
    }
}
