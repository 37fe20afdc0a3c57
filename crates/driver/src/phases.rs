//! The phases of a trial, and how it goes through them.

use std::{fmt, time::Duration};

use rookery_cast::low_u64;
use serde::{Deserialize, Serialize};

use crate::{
    clock::{Nanos, Span, nanos},
    record::LoadSecond,
};

/// Phases of a trial; see the load section of a study.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// Users start evenly over this time; each waits one random delay more before its first order.
    pub ramp_up: Duration,
    /// All users run, nothing is measured.
    pub settle: Duration,
    /// The measured window, longer than zero.
    pub steady: Duration,
    /// Load is kept up for its first half; over its second half users stop in start order.
    pub ramp_down: Duration,
    /// How long unfinished operations are awaited after the end.
    pub drain: Duration,
}

impl Phases {
    /// Begin of the measured window, counted from the common start.
    #[must_use]
    pub fn window_start(&self) -> Duration {
        self.ramp_up + self.settle
    }

    /// End of the measured window, counted from the common start.
    #[must_use]
    pub fn window_end(&self) -> Duration {
        self.window_start() + self.steady
    }

    /// When the last user has been told to stop, counted from the common start.
    #[must_use]
    pub fn load_end(&self) -> Duration {
        self.window_end() + self.ramp_down
    }

    /// The measured window, counted from the common start.
    #[must_use]
    pub fn window(&self) -> Span {
        Span {
            start: nanos(self.window_start()),
            end: nanos(self.window_end()),
        }
    }

    /// When user `user` of `of` appears and when it stops: evenly over ramp-up, and in the same
    /// order over the second half of ramp-down.
    #[must_use]
    pub fn lifetime(&self, user: u32, of: u32) -> (Nanos, Nanos) {
        let share = |span: Nanos, part: u32| {
            low_u64(u128::from(span) * u128::from(part) / u128::from(of.max(1)))
        };
        let half = nanos(self.ramp_down) / 2;
        let stops = nanos(self.load_end()) - half + share(half, user + 1);
        (share(nanos(self.ramp_up), user), stops)
    }

    /// The phase at `now` after the common start, where the load was not ended early.
    pub(crate) fn phase_at(&self, now: Nanos) -> Phase {
        let ends = [
            (Duration::from_nanos(1), Phase::Waiting),
            (self.ramp_up, Phase::RampUp),
            (self.window_start(), Phase::Settle),
            (self.window_end(), Phase::Steady),
            (self.load_end(), Phase::RampDown),
        ];
        ends.into_iter()
            .find(|(end, _)| now < nanos(*end))
            .map_or(Phase::Drain, |(_, phase)| phase)
    }
}

/// A phase of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The common start is still to come.
    Waiting,
    /// Users appear.
    RampUp,
    /// All run, nothing is measured.
    Settle,
    /// The measured window.
    Steady,
    /// Users stop.
    RampDown,
    /// Unfinished operations are awaited.
    Drain,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Waiting => "waiting",
            Self::RampUp => "ramp-up",
            Self::Settle => "settle",
            Self::Steady => "steady",
            Self::RampDown => "ramp-down",
            Self::Drain => "drain",
        })
    }
}

/// How a trial goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Since the common start.
    pub elapsed: Duration,
    /// Present phase.
    pub phase: Phase,
    /// Requests ended per second since the last full second that was told, failed ones included.
    pub requests_per_s: f64,
    /// Failed ones of them.
    pub errors_per_s: f64,
    /// Arrivals per second that the schedule of an open load held, whether they were started or
    /// not; nothing in a closed load.
    pub arrivals_per_s: Option<f64>,
    /// Users that have begun.
    pub active_users: u32,
    /// The seconds that became whole since they were last told.
    pub seconds: Vec<LoadSecond>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_travels_as_json() {
        let progress = Progress {
            elapsed: Duration::from_millis(1_234),
            phase: Phase::RampDown,
            requests_per_s: 12.5,
            errors_per_s: 0.0,
            arrivals_per_s: Some(13.5),
            active_users: 3,
            seconds: Vec::new(),
        };
        let sent = serde_json::to_string(&progress).expect("plain data");
        let arrived: Progress = serde_json::from_str(&sent).expect(&sent);
        assert_eq!(arrived, progress, "{sent}");
    }
}
