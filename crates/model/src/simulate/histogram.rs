//! A log-linear histogram of times, of fixed size.

use rookery_cast::truncate_u64;

/// Buckets per doubling: values are known to 0.4 %.
const BITS: u32 = 8;
/// 2^-30 s (about 1 ns) to 2^20 s (12 days).
const LOWEST: i32 = -30;
const DOUBLINGS: usize = 50;

/// Counts of times, 1 ns to 12 days, to 0.4 %.
#[derive(Clone, Debug)]
pub struct TimeHistogram {
    counts: Vec<u64>,
    total: u64,
}

impl TimeHistogram {
    pub(crate) fn new() -> Self {
        Self {
            counts: vec![0; DOUBLINGS << BITS],
            total: 0,
        }
    }

    /// The exponent and first bits of the number are the place of its bucket.
    #[inline]
    pub(crate) fn record(&mut self, seconds: f64) {
        let first = ((1023 + LOWEST) as u64) << BITS;
        let place = (seconds.to_bits() >> (52 - BITS)).saturating_sub(first) as usize;
        let last = self.counts.len() - 1;
        self.counts[place.min(last)] += 1;
        self.total += 1;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.total += other.total;
    }

    /// Times counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.total
    }

    /// The time that a share `p` does not exceed, s: the upper end of its bucket; `None` without
    /// times.
    #[must_use]
    pub fn quantile(&self, p: f64) -> Option<f64> {
        let rank = truncate_u64((p * self.total as f64).ceil()).clamp(1, self.total.max(1));
        let mut seen = 0;
        let place = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        let first = ((1023 + LOWEST) as u64) << BITS;
        Some(f64::from_bits((first + place as u64 + 1) << (52 - BITS)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_bucket_above() {
        let mut histogram = TimeHistogram::new();
        assert_eq!(histogram.quantile(0.5), None);
        (1..=1000).for_each(|i| histogram.record(f64::from(i) * 1e-3));
        for (p, exact) in [(0.5, 0.5), (0.95, 0.95), (1.0, 1.0)] {
            let found = histogram.quantile(p).expect("counted");
            assert!(found >= exact && found <= exact * 1.004, "{p}: {found}");
        }
        histogram.record(0.0);
        histogram.record(1e300);
        assert_eq!(histogram.count(), 1002);
    }
}
