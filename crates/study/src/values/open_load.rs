//! Open and partly open loads: arrivals on a schedule that does not wait for answers.

use std::time::Duration;

use rookery_cast::truncate_u32;
use serde::{Deserialize, Serialize};

use crate::{Users, names::Named};

/// Arrivals on a schedule that does not wait for answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenLoad {
    /// Visitors that arrive per second, each rate a point of its own.
    pub rate: Users,
    /// How the rate changes over the measured window.
    #[serde(default, skip_serializing_if = "Course::is_level")]
    pub course: Course,
    /// How they are spaced.
    pub arrivals: Arrivals,
    /// Visitors that may be present at one guest; further arrivals are dropped and counted.
    pub max_in_flight: u32,
    /// How exactly they are started.
    pub precision: Precision,
    /// How long a visitor stays.
    pub visit: Visit,
}

/// How a rate changes over the measured window. All shares are of the rate itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Course {
    /// Not at all.
    #[default]
    Level,
    /// One step after the other; the last lasts to the end of the window.
    Steps(Vec<CourseStep>),
    /// Evenly from the one share to the other.
    Ramp {
        /// At the begin of the window.
        from: f64,
        /// At its end.
        to: f64,
    },
    /// Up and down as a sine around the rate.
    Swing {
        /// By this share of it, 0 to 1.
        amplitude: f64,
        /// From one crest to the next.
        period: Duration,
    },
}

impl Course {
    /// Whether the rate does not change.
    #[must_use]
    pub fn is_level(&self) -> bool {
        *self == Self::Level
    }
}

/// A step of a course.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CourseStep {
    /// How long it lasts.
    pub length: Duration,
    /// Share of the rate, in the step or at its end when it is linear.
    pub share: f64,
    /// From the share before evenly to this one, instead of at once.
    pub linear: bool,
}

/// How arrivals are spaced. Both follow the course of the rate: their number up to any moment is
/// its integral, in the mean or exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
        Named::name(self)
    }
}

/// How exactly arrivals are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// Each at its own time, to some microseconds: one awakening for each arrival.
    Exact,
    /// Those of one millisecond together, up to a millisecond late: cheaper. Response times count
    /// from the intended start all the same.
    Batched,
}

impl Precision {
    /// Its name: `exact`, `batched`.
    #[must_use]
    pub fn name(self) -> &'static str {
        Named::name(self)
    }
}

/// How long a visitor stays. An act is an order, a transaction or a page.
///
/// Source of the partly open model: B. Schroeder, A. Wierman, M. Harchol-Balter, "Open Versus
/// Closed: A Cautionary Tale", NSDI 2006.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Visit {
    /// One act: an open load.
    Single,
    /// After each act it goes on with this probability, 0 to below 1, after a think time, else it
    /// leaves: 1 / (1 - p) acts on average.
    GoOn(f64),
    /// So many acts, at least one, with a think time between them.
    Acts(u32),
}

impl Visit {
    /// Acts of a visitor on average.
    #[must_use]
    pub fn mean_acts(self) -> f64 {
        match self {
            Self::Single => 1.0,
            Self::GoOn(probability) => 1.0 / (1.0 - probability),
            Self::Acts(acts) => f64::from(acts),
        }
    }

    /// Acts of a visitor for which values are kept that are given once. Those who go on by chance
    /// have no bound: the few that act more often find none.
    #[must_use]
    pub fn most_acts(self) -> u32 {
        const BY_CHANCE: u32 = 16;
        match self {
            Self::Single => 1,
            Self::Acts(acts) => acts,
            Self::GoOn(_) => BY_CHANCE,
        }
    }

    /// The acts of a visit, given a number drawn uniformly from (0, 1].
    #[must_use]
    pub fn acts(self, drawn: f64) -> u32 {
        match self {
            Self::Single => 1,
            Self::Acts(acts) => acts,
            // P(more than k acts) = p^k.
            Self::GoOn(probability) if probability > 0.0 => {
                let further = (drawn.ln() / probability.ln()).floor();
                1 + truncate_u32(further.clamp(0.0, f64::from(u32::MAX - 1)))
            }
            Self::GoOn(_) => 1,
        }
    }
}
