//! Response times in figures.

use std::time::Duration;

use rookery_cast::truncate_u64;

/// Response times of one kind of transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Latencies {
    /// How many there are.
    pub count: u64,
    /// Their mean.
    pub mean: Duration,
    /// The median.
    pub p50: Duration,
    /// The 90th percentile.
    pub p90: Duration,
    /// The 95th percentile.
    pub p95: Duration,
    /// The 99th percentile.
    pub p99: Duration,
    /// The longest.
    pub max: Duration,
}

impl Latencies {
    pub(super) fn from_histogram(histogram: &rookery_stats::Latencies) -> Self {
        let at = |percent| Duration::from_micros(histogram.percentile_us(percent).unwrap_or(0));
        Self {
            count: histogram.count(),
            mean: Duration::from_nanos(truncate_u64(histogram.mean_us().unwrap_or(0.0) * 1000.0)),
            p50: at(50.0),
            p90: at(90.0),
            p95: at(95.0),
            p99: at(99.0),
            max: Duration::from_micros(histogram.max_us().unwrap_or(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_gives_its_figures() {
        let mut histogram = rookery_stats::Latencies::new();
        (1..=100).for_each(|ms| histogram.record_us(1000 * ms));
        let latencies = Latencies::from_histogram(&histogram);
        let near = |value: Duration, ms| {
            value.abs_diff(Duration::from_millis(ms)) <= Duration::from_micros(ms)
        };
        assert!(
            near(latencies.p50, 50) && near(latencies.p99, 99) && near(latencies.max, 100),
            "{latencies:?}"
        );
        assert_eq!(latencies.count, 100);
        assert_eq!(
            Latencies::from_histogram(&rookery_stats::Latencies::new()),
            Latencies::default()
        );
    }
}
