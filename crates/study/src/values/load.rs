//! The load of trials: who asks for work, when and for how long.

use std::{fmt, time::Duration};

use rookery_cast::truncate_u64;
use serde::{Deserialize, Serialize};

use super::{OpenLoad, RepeatGoal, Visit, Wish};
use crate::{Amount, Users, time_text::plain_time};

/// The load section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Who asks for work, and when.
    pub loop_type: LoopType,
    /// How users start.
    pub ramp_up: RampUp,
    /// All users run, nothing is measured.
    pub settle: Duration,
    /// The measured window.
    pub steady: Duration,
    /// Load is kept up after the window, then users stop in start order.
    pub ramp_down: Duration,
    /// How long unfinished operations are awaited after the end.
    pub drain: Duration,
    /// Limit on one request.
    pub timeout: Duration,
    /// Trials of each point.
    pub repeats: u32,
    /// For what a point is repeated more often.
    #[serde(
        rename = "half_width",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub goal: Option<RepeatGoal>,
    /// Most trials of a point that is repeated for its interval.
    pub max_repeats: u32,
    /// How often a void trial of a point is run again.
    #[serde(default)]
    pub retry_void: u32,
    /// Pause between two trials.
    #[serde(default)]
    pub rest: Duration,
    /// Order of trials.
    pub order: Order,
    /// Find the largest load within the limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchUse>,
}

impl Load {
    /// The name of the loop type.
    #[must_use]
    pub fn model(&self) -> LoadModel {
        match &self.loop_type {
            LoopType::Closed { .. } => LoadModel::Closed,
            LoopType::Open(open) => match open.visit {
                Visit::Single => LoadModel::Open,
                Visit::GoOn(_) | Visit::Acts(_) => LoadModel::PartlyOpen,
            },
        }
    }

    /// The half-width alone for which points are repeated, where the study asks for one.
    #[must_use]
    pub fn half_width(&self) -> Option<f64> {
        match self.goal {
            Some(RepeatGoal::HalfWidth(share)) => Some(share),
            Some(RepeatGoal::Wish(_)) | None => None,
        }
    }

    /// What is wished of the intervals of points, where the study wishes for something.
    #[must_use]
    pub fn wish(&self) -> Option<&Wish> {
        match &self.goal {
            Some(RepeatGoal::Wish(wish)) => Some(wish),
            Some(RepeatGoal::HalfWidth(_)) | None => None,
        }
    }

    /// The arrivals of an open or partly open load.
    #[must_use]
    pub fn open(&self) -> Option<&OpenLoad> {
        match &self.loop_type {
            LoopType::Open(open) => Some(open),
            LoopType::Closed { .. } => None,
        }
    }

    /// Visitors that may be present at one guest of an open or partly open load.
    #[must_use]
    pub fn max_in_flight(&self) -> Option<u32> {
        self.open().map(|open| open.max_in_flight)
    }
}

/// How users start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RampUp {
    /// Evenly over this time.
    Over(Duration),
    /// So many each second, however many there are.
    Rate(StartRate),
}

/// Users that start each second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartRate {
    /// How many, above 0.
    pub users_per_s: f64,
    /// Whether at each guest, or at all of them together.
    pub per_guest: bool,
}

impl RampUp {
    /// How long so many users on all guests together take to start.
    #[must_use]
    pub fn lasting(&self, users: u32, guests: u32) -> Duration {
        match self {
            Self::Over(time) => *time,
            Self::Rate(rate) => {
                let starting = if rate.per_guest {
                    f64::from(users) / f64::from(guests.max(1))
                } else {
                    f64::from(users)
                };
                let seconds = starting / rate.users_per_s;
                // To the microsecond, as all times of a study.
                Duration::from_micros(truncate_u64((seconds * 1e6).round()))
            }
        }
    }
}

impl fmt::Display for RampUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Over(time) => f.write_str(&plain_time(*time)),
            Self::Rate(rate) => rate.fmt(f),
        }
    }
}

impl fmt::Display for StartRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = if self.per_guest { " per guest" } else { "" };
        write!(f, "{} users per s{each}", self.users_per_s)
    }
}

/// Who asks for work, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoopType {
    /// Users that wait for their answers.
    Closed {
        /// How many, each number a point of its own; empty where every layout says its own.
        users: Users,
    },
    /// Visitors that arrive on a schedule which does not wait for answers: an open load where each
    /// orders once, a partly open one where they stay.
    Open(OpenLoad),
}

/// How the largest load within the limits is searched, or the least memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchUse {
    /// What is searched.
    pub over: Over,
    /// Smallest load, or least memory, of interest.
    pub from: Option<SearchEnd>,
    /// Largest load, or most memory, that may be tried.
    pub to: Option<SearchEnd>,
    /// Smallest difference that matters, as a share of the load or the memory.
    pub resolution: f64,
    /// How narrow the interval of the edge shall be, as a share of it; `None` = as it comes.
    #[serde(default)]
    pub interval: Option<f64>,
    /// Most trials of one search, confirmation included.
    pub probes: u32,
    /// Fresh trials that confirm the answer.
    pub confirm: u32,
    /// The measured window of trials that only approach the answer; `None` = as all others.
    pub steady: Option<Duration>,
}

/// An end of the range of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SearchEnd {
    /// Users, arrivals per second, or a number of guests.
    Load(Amount),
    /// Memory.
    Memory {
        /// Of each guest, MiB.
        memory_mib: u64,
    },
}

/// What is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// Users of all guests together.
    Users,
    /// Arrivals per second at all guests together.
    Rate,
    /// The number of guests, each with its load.
    Guests,
    /// The memory of each guest, each with its load: the smallest that keeps the limits, where of
    /// the others it is the largest.
    Memory,
}

impl Over {
    /// What is counted, in the plural: `users`, `arrivals/s`, `guests`, `MiB`.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::Users => "users",
            Self::Rate => "arrivals/s",
            Self::Guests => "guests",
            Self::Memory => "MiB",
        }
    }

    /// What is looked for: `largest load`, or `least memory`.
    #[must_use]
    pub fn sought(self) -> &'static str {
        match self {
            Self::Users | Self::Rate | Self::Guests => "largest load",
            Self::Memory => "least memory",
        }
    }
}

/// Loop types by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadModel {
    /// A fixed population.
    Closed,
    /// Visitors arrive on a schedule that does not wait for answers, order once and leave.
    Open,
    /// They stay for several orders.
    PartlyOpen,
}

/// Order of trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// All points once in random order, then again in another random order, ...
    Random,
    /// All points once in the order of the file, then again, ...
    Interleaved,
}
