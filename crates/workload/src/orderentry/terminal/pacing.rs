//! Keying and think times, and arrivals at a rate.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Kind, PerKind};
use crate::{
    delay::DelayDistribution,
    orderentry::random::{Purpose, Stream},
    random::RandomSource as _,
};

/// Keying times in seconds, constant.
const KEYING_S: PerKind<f64> = PerKind([18.0, 3.0, 2.0, 2.0, 2.0]);

/// Mean think times in seconds.
const THINK_S: PerKind<f64> = PerKind([12.0, 12.0, 10.0, 5.0, 5.0]);

/// How terminals pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pacing {
    /// Not at all.
    #[default]
    None,
    /// Keying before and thinking after each transaction, as the benchmark that the workload
    /// follows demands.
    Spec,
    /// The same times this factor, above 0.
    Scaled(f64),
    /// An open load: so many transactions per second arrive for all terminals together, and wait
    /// for a free one.
    Rate(f64),
}

/// A factor or a rate that is no positive number.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("{what} = {value}: use a number above 0 and up to 1 000 000")]
pub struct PacingError {
    what: &'static str,
    value: f64,
}

/// The pauses around one transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pauses {
    /// Before it.
    pub keying: Duration,
    /// After it.
    pub think: Duration,
}

impl Pacing {
    /// Checks the number that belongs to `scaled` and `rate`.
    ///
    /// # Errors
    /// When it is not a number above 0 and up to a million.
    pub fn checked(self) -> Result<Self, PacingError> {
        let (what, value) = match self {
            Self::None | Self::Spec => return Ok(self),
            Self::Scaled(value) => ("scaled", value),
            Self::Rate(value) => ("rate", value),
        };
        if value > 0.0 && value <= 1e6 {
            Ok(self)
        } else {
            Err(PacingError { what, value })
        }
    }

    /// The mean of keying and think time together, in seconds, without the cut.
    pub(crate) fn mean_pause_s(self, kind: Kind) -> f64 {
        self.factor() * (KEYING_S[kind] + THINK_S[kind])
    }

    fn factor(self) -> f64 {
        match self {
            Self::None | Self::Rate(_) => 0.0,
            Self::Spec => 1.0,
            Self::Scaled(factor) => factor,
        }
    }

    /// Think times are drawn to the nanosecond; keying times are constant.
    pub(super) fn pauses(
        self,
        kind: Kind,
        think: DelayDistribution,
        stream: &mut Stream,
    ) -> Pauses {
        let factor = self.factor();
        if factor == 0.0 {
            return Pauses::default();
        }
        let think = think.multiple(stream) * THINK_S[kind];
        let seconds =
            |seconds: f64| Duration::try_from_secs_f64(seconds * factor).unwrap_or_default();
        Pauses {
            keying: seconds(KEYING_S[kind]),
            think: seconds(think),
        }
    }
}

/// The arrivals of an open load: a Poisson process.
#[derive(Clone, Debug)]
pub struct Arrivals {
    stream: Stream,
    mean_s: f64,
}

impl Arrivals {
    /// `rate` arrivals per second, above 0.
    #[must_use]
    pub fn new(rate: f64, seed: u64) -> Self {
        Self {
            stream: Stream::new(seed, Purpose::Arrival, 0),
            mean_s: 1.0 / rate.max(1e-6),
        }
    }
}

impl Iterator for Arrivals {
    type Item = Duration;

    /// The time from one arrival to the next. Response times count from the arrival, not from when
    /// a terminal was free.
    fn next(&mut self) -> Option<Duration> {
        Some(
            Duration::try_from_secs_f64(-self.stream.unit().ln() * self.mean_s).unwrap_or_default(),
        )
    }
}
