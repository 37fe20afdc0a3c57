//! What is asked for, and what came of it.

/// A load to try.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probe {
    /// The load.
    pub load: f64,
    /// What for.
    pub purpose: Purpose,
    /// How often this load has been tried before, this search alone: take a seed from it.
    pub attempt: u32,
}

/// What a probe is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To come nearer to the knee: a short run will do.
    Approach,
    /// To confirm the load that will be reported.
    Confirm,
    /// To see that more is too much.
    Above,
}

impl Purpose {
    /// Whether it takes the full profile of a trial: settle and steady phase as in the study.
    #[must_use]
    pub fn full(self) -> bool {
        self != Self::Approach
    }

    /// Its name in a stored run.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Approach => "approach",
            Self::Confirm => "confirm",
            Self::Above => "above",
        }
    }
}

/// What came of a probe.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The limits were kept.
    Pass,
    /// They were not.
    Fail {
        /// The rule that was farthest beyond its limit, in words.
        rule: String,
    },
    /// The trial is void: nothing is known of the system under test.
    Invalid {
        /// Why: the driver's fault, an unstable environment.
        reason: String,
    },
}

impl Outcome {
    /// Whether the limits were kept; `None` for an invalid probe.
    #[must_use]
    pub fn passed(&self) -> Option<bool> {
        match self {
            Self::Pass => Some(true),
            Self::Fail { .. } => Some(false),
            Self::Invalid { .. } => None,
        }
    }
}
