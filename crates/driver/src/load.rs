//! How load comes: from a fixed population, or as arrivals on a schedule that does not wait for answers.

use std::time::Duration;

/// Loop type of a trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Load {
    /// A fixed population, [`Assignment::users`](crate::Assignment::users) at each guest; each user waits for its answer, pauses and acts
    /// again.
    #[default]
    Closed,
    /// Arrivals on a schedule.
    Open(OpenLoad),
}

/// Arrivals on a schedule that is drawn before the first answer comes and never looks at one.
///
/// Each arrival is a new visitor: it takes a connection that no other visitor holds, or opens one, and acts as its script says. The users of
/// the assignments do not count.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenLoad {
    /// How arrivals are spaced.
    pub arrivals: Arrivals,
    /// Arrivals per second at each guest over the measured window.
    pub profile: Profile,
    /// Factor on the profile's rate for each assignment, above zero; empty = 1 for all.
    pub weights: Vec<f64>,
    /// Visitors that may be present at one guest, at least one for each driver CPU. The limit is shared out evenly to the driver CPUs;
    /// arrivals beyond it are dropped and counted.
    pub max_in_flight: u32,
    /// How exactly arrivals are started.
    pub precision: Precision,
    /// How long a visitor stays.
    pub visit: Visit,
}

/// How arrivals are spaced. Both follow the profile: their number up to any moment is its integral, in the mean or exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Independent of each other: gaps are exponential.
    Poisson,
    /// At even distances; those of several guests alternate.
    Uniform,
}

impl Arrivals {
    /// Its name: `poisson`, `uniform`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Poisson => "poisson",
            Self::Uniform => "uniform",
        }
    }
}

/// How exactly arrivals are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Each at its own time, to some microseconds: one awakening for each arrival.
    Exact,
    /// Those of one millisecond together, up to a millisecond late: cheaper. Response times count from the intended start all the same.
    Batched,
}

impl Precision {
    /// Its name: `exact`, `batched`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Batched => "batched",
        }
    }
}

/// How long a visitor stays.
///
/// Source of the partly open model: B. Schroeder, A. Wierman, M. Harchol-Balter, "Open Versus Closed: A Cautionary Tale", NSDI 2006.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Visit {
    /// One act: an order, or a page. An open load.
    Single,
    /// After each act it goes on with this probability, 0 to below 1, after a think time, else it leaves: 1 / (1 - p) acts on average.
    Continue {
        /// Probability of another act.
        probability: f64,
    },
    /// So many acts, at least one, with a think time between them.
    Acts(u32),
}

impl Visit {
    /// The acts of a visit, given a number drawn uniformly from (0, 1].
    pub(crate) fn acts(self, drawn: f64) -> u32 {
        match self {
            Self::Single => 1,
            Self::Acts(acts) => acts,
            // P(more than k acts) = p^k.
            Self::Continue { probability } if probability > 0.0 => {
                let further = (drawn.ln() / probability.ln()).floor();
                1 + further.clamp(0.0, f64::from(u32::MAX - 1)) as u32
            }
            Self::Continue { .. } => 1,
        }
    }
}

/// Arrivals per second over the measured window.
///
/// Over ramp-up the rate rises evenly from zero to the rate at the begin of the window, and stays there while the load settles. After the
/// window it stays where it was for the first half of ramp-down and falls evenly to zero over the second.
#[derive(Clone, Debug, PartialEq)]
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// How long it lasts.
    pub length: Duration,
    /// The rate of the step, or at its end when it is linear.
    pub rate: f64,
    /// From the rate before evenly to this one, instead of at once. The first step has no rate before: it is level.
    pub linear: bool,
}
