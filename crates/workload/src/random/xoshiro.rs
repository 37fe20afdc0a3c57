//! xoshiro256**.

use super::{RandomSource, SplitMix64};

/// xoshiro256** (D. Blackman and S. Vigna, "Scrambled Linear Pseudorandom Number Generators", ACM
/// TOMS 47(4), 2021).
#[derive(Clone, Debug)]
pub struct Xoshiro256([u64; 4]);

impl Xoshiro256 {
    /// The stream whose state is the next four words of `seeds`, the seeding that its authors
    /// recommend.
    #[must_use]
    pub fn from_seeds(mut seeds: SplitMix64) -> Self {
        Self([(); 4].map(|()| seeds.bits()))
    }
}

impl RandomSource for Xoshiro256 {
    #[inline]
    fn bits(&mut self) -> u64 {
        let [s0, s1, s2, s3] = &mut self.0;
        let result = s1.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = *s1 << 17;
        *s2 ^= *s0;
        *s3 ^= *s1;
        *s1 ^= *s2;
        *s0 ^= *s3;
        *s2 ^= shifted;
        *s3 = s3.rotate_left(45);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        let mut stream = Xoshiro256([1, 2, 3, 4]);
        let words = [(); 4].map(|()| stream.bits());
        assert_eq!(words, [11_520, 0, 1_509_978_240, 1_215_971_899_390_074_240]);
    }
}
