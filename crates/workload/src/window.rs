//! The measured window of a trial.

use serde::{Deserialize, Serialize};

/// The measured window, in seconds since the common start of all users.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Begin of steady state, s.
    pub start_s: f64,
    /// End of steady state, s.
    pub end_s: f64,
}

impl Window {
    /// Length, s; never negative.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        (self.end_s - self.start_s).max(0.0)
    }
}
