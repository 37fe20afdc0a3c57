//! Random streams: one per (seed, purpose), so that the same seed gives the same numbers and purposes do not disturb each other.

use rand_core::Rng;
use rand_pcg::Pcg64;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Stream(Pcg64);

impl Stream {
    /// The stream of `purpose` under `seed`.
    pub(crate) fn new(seed: u64, purpose: u64) -> Self {
        let mut stream = Self(Pcg64::new(u128::from(seed) << 64 | 0x9e37_79b9_7f4a_7c15, u128::from(purpose)));
        // Neighbouring seeds start alike; a few steps part them.
        for _ in 0..4 {
            stream.0.next_u64();
        }
        stream
    }

    /// Uniform in (0, 1], so that its logarithm is finite.
    #[inline]
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Exponential with mean 1.
    #[inline]
    pub(crate) fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Uniform over 0..`count`, `count` > 0; the bias is below `count`/2^64.
    #[inline]
    pub(crate) fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.0.next_u64()) * count as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_right_and_streams_differ() {
        let mut stream = Stream::new(7, 1);
        let mean = (0..100_000).map(|_| stream.exponential()).sum::<f64>() / 1e5;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        let mut counts = [0_u32; 5];
        (0..50_000).for_each(|_| counts[stream.below(5)] += 1);
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 400), "{counts:?}");
        assert_ne!(Stream::new(7, 1).uniform(), Stream::new(7, 2).uniform());
        assert_ne!(Stream::new(7, 1).uniform(), Stream::new(8, 1).uniform());
        assert_eq!(Stream::new(7, 1).uniform(), Stream::new(7, 1).uniform());
    }
}
