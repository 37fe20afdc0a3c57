//! The one function that all values of the back-end and all bytes of the file sets follow from.

use crate::random::mix;

/// A value of the field `tag` of the thing (`a`, `b`): three steps of SplitMix64, so that
/// neighbouring arguments give unrelated values.
#[must_use]
pub(super) fn hash(seed: u64, tag: u64, a: u64, b: u64) -> u64 {
    mix(mix(mix(seed ^ tag).wrapping_add(a)).wrapping_add(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One step of SplitMix64, written out by itself.
    fn step(word: u64) -> u64 {
        let word = word.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    #[test]
    fn it_is_three_steps_over_the_arguments_in_order() {
        let by_hand = step(step(step(7 ^ 2).wrapping_add(58)).wrapping_add(u64::MAX));
        assert_eq!(hash(7, 2, 58, u64::MAX), by_hand);
        assert_ne!(hash(7, 2, 58, 3), hash(7, 2, 3, 58));
        // The first value of the published stream of seed 0, taken three times.
        assert_eq!(hash(0, 0, 0, 0), step(step(0xe220_a839_7b1d_cdaf)));
    }
}
