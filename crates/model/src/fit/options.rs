//! What may be asked of a fit.

use crate::fit::data::Weights;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How much each run counts.
    pub weights: Weights,
    /// Hold lambda at the mean throughput of load 1 (the two-parameter law).
    pub two_parameter: bool,
    /// Known think time, s: the closed model's delay is at least that.
    pub think: f64,
    /// Most servers of the closed model.
    pub max_servers: u32,
    /// Number of runs from which the signs of residuals are judged.
    pub sign_runs_from: usize,
    /// Utilisation of the busiest resource at the largest loads, 0 to 1, if it was measured.
    pub busiest: Option<f64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            weights: Weights::Equal,
            two_parameter: false,
            think: 0.0,
            max_servers: 256,
            sign_runs_from: 8,
            busiest: None,
        }
    }
}
