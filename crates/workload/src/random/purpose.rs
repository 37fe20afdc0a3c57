//! Streams of simulations: one for each purpose, so that a change of one does not shift the draws
//! of another.

use rand_core::Rng as _;
use rand_pcg::Pcg64;

use super::{GOLDEN_GAMMA, RandomSource};

/// The stream of one purpose under a seed: PCG64 (M. E. O'Neill, "PCG: A Family of Simple Fast
/// Space-Efficient Statistically Good Algorithms for Random Number Generation", 2014), whose
/// sequence is the purpose.
#[derive(Clone, Debug)]
pub struct PurposeStream(Pcg64);

impl PurposeStream {
    /// The stream of `purpose` under `seed`: the same pair gives the same numbers.
    #[must_use]
    pub fn new(seed: u64, purpose: u64) -> Self {
        let state = u128::from(seed) << 64 | u128::from(GOLDEN_GAMMA);
        let mut source = Pcg64::new(state, u128::from(purpose));
        // Neighbouring seeds start alike; a few steps part them.
        for _ in 0..4 {
            source.next_u64();
        }
        Self(source)
    }
}

impl RandomSource for PurposeStream {
    #[inline]
    fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_and_purpose_and_never_change() {
        let first = |seed, purpose| PurposeStream::new(seed, purpose).bits();
        assert_eq!(
            [first(7, 1), first(7, 2), first(8, 1)],
            [
                9_459_683_108_253_367_936,
                16_233_490_646_224_035_229,
                2_535_294_975_557_794_466
            ]
        );
    }
}
