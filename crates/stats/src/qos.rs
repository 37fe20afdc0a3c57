//! Limits on response time and errors, and the verdict of a trial against them.

use serde::{Deserialize, Serialize};

/// One limit on a percentile of response time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PercentileLimit {
    /// Operation name, or `None` for every operation (the whole order is judged only by its own rule).
    pub operation: Option<String>,
    /// Percentile, 0 < p < 100.
    pub percentile: f64,
    /// Limit in microseconds.
    pub limit_us: u64,
}

/// The quality of service that a trial must keep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Qos {
    /// Limits on percentiles.
    pub percentiles: Vec<PercentileLimit>,
    /// Largest allowed share of failed operations, 0 to 1, per operation and in total.
    pub error_ratio: Option<f64>,
    /// Fewest operations that make a percentile worth judging.
    pub min_operations: u64,
}
