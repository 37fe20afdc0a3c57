//! How a run keeps the wish of its study.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How a run keeps the wish of its study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WishPlan {
    /// Time that all trials may take together.
    pub budget: Duration,
    /// Where the times of trials come from.
    pub times: WishTimes,
}

/// Where the times of the trials of a wish come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WishTimes {
    /// The study says them all.
    Given,
    /// Pilots, the first trials of the plan, are to choose them.
    Open {
        /// The measured window of a pilot.
        pilot: Duration,
    },
    /// Pilots have chosen them. The studies of the variants have them as if they were written.
    Chosen(ChosenTimes),
}

/// What pilots have chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenTimes {
    /// How long users settle.
    pub settle: Duration,
    /// The measured window.
    pub steady: Duration,
    /// The window that the wish asks for; `None` where the pilots cannot tell how long it would be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<Duration>,
}

impl WishPlan {
    /// The measured window of pilots that are still to be performed.
    #[must_use]
    pub fn pilot(&self) -> Option<Duration> {
        match self.times {
            WishTimes::Open { pilot } => Some(pilot),
            WishTimes::Given | WishTimes::Chosen(_) => None,
        }
    }

    /// What pilots have chosen, once they have.
    #[must_use]
    pub fn chosen(&self) -> Option<&ChosenTimes> {
        match &self.times {
            WishTimes::Chosen(chosen) => Some(chosen),
            WishTimes::Given | WishTimes::Open { .. } => None,
        }
    }
}
