//! The distribution of response times of a point: from the stored histograms of its good trials.

use rookery_stats::Latencies;

use crate::Run;

/// Percentiles of a curve: dense where the tail is.
const CURVE: [f64; 18] = [
    10.0, 25.0, 50.0, 60.0, 70.0, 75.0, 80.0, 85.0, 90.0, 92.5, 95.0, 97.5, 98.0, 99.0, 99.5, 99.9,
    99.95, 99.99,
];

/// Percentiles of the response time of an operation, with their values in us, as far as the number
/// of operations supports them; empty where none was finished.
#[must_use]
pub fn distribution(run: &Run, point: u32, operation: &str) -> Vec<(f64, u64)> {
    let mut all = Latencies::new();
    for (_, measured) in run
        .trials
        .iter()
        .filter(|trial| trial.row.trial.point == point)
        .filter_map(|trial| trial.valid())
    {
        all.merge(&measured.latencies(operation));
    }
    CURVE
        .into_iter()
        .filter_map(|percentile| Some((percentile, all.supported_percentile_us(percentile)?)))
        .collect()
}
