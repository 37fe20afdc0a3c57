//! SplitMix64, and its mixing function for seeds.

use super::RandomSource;

/// The golden ratio as a fraction of 2^64, the increment of SplitMix64.
pub const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast Splittable Pseudorandom Number Generators",
/// OOPSLA 2014, in the constants of Vigna's reference implementation).
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The stream of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }
}

impl RandomSource for SplitMix64 {
    #[inline]
    fn bits(&mut self) -> u64 {
        let bits = mix(self.0);
        self.0 = self.0.wrapping_add(GOLDEN_GAMMA);
        bits
    }
}

/// The first number of the stream of `seed`: neighbouring seeds give unrelated ones. It is a
/// bijection of the 64-bit numbers, so that different seeds never give the same one.
#[inline]
#[must_use]
pub fn mix(seed: u64) -> u64 {
    let mut word = seed.wrapping_add(GOLDEN_GAMMA);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        // First values of Vigna's reference implementation.
        let mut stream = SplitMix64::new(0);
        assert_eq!(
            [(); 2].map(|()| stream.bits()),
            [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]
        );
        let mut stream = SplitMix64::new(1_234_567);
        assert_eq!(
            [(); 3].map(|()| stream.bits()),
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }
}
