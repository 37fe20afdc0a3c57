//! Latency histograms: 1 microsecond to one hour, three significant digits.

use hdrhistogram::Histogram;

/// Longest latency that is kept exactly, in microseconds (one hour); longer ones are clamped and counted.
const HIGHEST_US: u64 = 3_600_000_000;

/// A histogram of latencies in microseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Latencies {
    counts: Histogram<u32>,
    overflow: u64,
}

impl Default for Latencies {
    fn default() -> Self {
        Self::new()
    }
}

impl Latencies {
    /// An empty histogram; it grows with the values that it is given.
    #[must_use]
    pub fn new() -> Self {
        let mut counts = Histogram::new(3).expect("three digits are a valid precision");
        counts.auto(true);
        Self { counts, overflow: 0 }
    }

    /// Record one latency in microseconds; 0 counts as 1.
    pub fn record_us(&mut self, value_us: u64) {
        if value_us > HIGHEST_US {
            self.overflow += 1;
        }
        self.counts.saturating_record(value_us.clamp(1, HIGHEST_US));
    }

    /// Number of recorded values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.len()
    }
}
