//! The random generators behind the published load files, and the `pick` on top of them.

use rookery_cast::{low_u8, low_u32, truncate_u64};

/// Outputs of both generators are below this bound, 2^31.
const RANGE_BITS: u32 = 31;

/// A source of the integers `0..2^31`, as the C library function `rand` gives them.
pub(crate) trait CRand {
    /// The next integer of the stream, `0..2^31`.
    fn next_rand(&mut self) -> u32;

    /// A uniform integer, both ends included: `low + floor((1 + high - low) * rand / 2^31)` in IEEE
    /// double.
    ///
    /// Narrow ranges take an integer multiplication: below 2^22 the product is exact in a double,
    /// so both agree.
    #[inline]
    fn pick(&mut self, low: u64, high: u64) -> u64 {
        let width = 1 + high - low;
        let rand = self.next_rand();
        if width < 1 << 22 {
            low + ((width * u64::from(rand)) >> RANGE_BITS)
        } else {
            // Above 2^53 this sum is rounded too: the largest card numbers are even.
            truncate_u64(low as f64 + scale(width, rand).floor())
        }
    }

    /// [`CRand::pick`] among the numbers of a narrower type.
    #[inline]
    fn pick_as<T: Copy + Into<u64> + TryFrom<u64>>(&mut self, low: T, high: T) -> T {
        // A pick is never above `high`, which fits.
        T::try_from(self.pick(low.into(), high.into())).unwrap_or(high)
    }

    /// A uniform capital letter `A..=Z`.
    #[inline]
    fn letter(&mut self) -> u8 {
        b'A' + low_u8((26 * u64::from(self.next_rand())) >> RANGE_BITS)
    }

    /// `N` uniform capital letters.
    #[inline]
    fn letters<const N: usize>(&mut self) -> [u8; N] {
        let mut word = [0; N];
        for letter in &mut word {
            *letter = self.letter();
        }
        word
    }
}

/// `width * rand / 2^31` with the product rounded to an IEEE double, as the original computes it.
#[inline]
fn scale(width: u64, rand: u32) -> f64 {
    width as f64 * f64::from(rand) / f64::from(1u32 << RANGE_BITS)
}

/// GNU libc `rand`: the additive feedback generator of degree 31 (TYPE_3).
///
/// `r[k] = r[k-31] + r[k-3] mod 2^32`, output `r[k] >> 1`; the table is refreshed 31 values at a
/// time.
#[derive(Clone, Debug)]
pub(crate) struct GnuRand {
    table: [u32; 31],
    next: usize,
}

impl GnuRand {
    /// The stream after `srand(seed)`; seed 0 counts as 1.
    pub(crate) fn new(seed: u32) -> Self {
        let mut word = u64::from(seed.max(1));
        let mut table = [0; 31];
        table[0] = seed.max(1);
        for slot in &mut table[1..] {
            word = 16_807 * word % 0x7fff_ffff;
            *slot = low_u32(word);
        }
        // r[31..34] repeat r[0..3] instead of being sums; the table then holds r[3..34].
        table.rotate_left(3);
        let mut rand = Self { table, next: 31 };
        for _ in 34..344 {
            rand.next_rand();
        }
        rand
    }

    fn refresh(&mut self) {
        for k in 0..3 {
            self.table[k] = self.table[k].wrapping_add(self.table[k + 28]);
        }
        for k in 3..31 {
            self.table[k] = self.table[k].wrapping_add(self.table[k - 3]);
        }
        self.next = 0;
    }
}

impl CRand for GnuRand {
    #[inline]
    fn next_rand(&mut self) -> u32 {
        if self.next >= self.table.len() {
            self.refresh();
        }
        let value = self.table[self.next] >> 1;
        self.next += 1;
        value
    }
}

/// newlib `rand`: a 64-bit linear congruential generator, output from its upper half.
#[derive(Clone, Debug)]
pub(crate) struct NewlibRand(u64);

impl NewlibRand {
    /// The stream after `srand(seed)`.
    pub(crate) fn new(seed: u32) -> Self {
        Self(u64::from(seed))
    }
}

impl CRand for NewlibRand {
    #[inline]
    fn next_rand(&mut self) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 32) as u32 & 0x7fff_ffff
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gnu_rand_gives_the_sequence_of_the_c_library() {
        let mut rand = GnuRand::new(1);
        let first: Vec<u32> = (0..5).map(|_| rand.next_rand()).collect();
        // `srand(1)` of GNU libc on Linux.
        assert_eq!(
            first,
            [
                1_804_289_383,
                846_930_886,
                1_681_692_777,
                1_714_636_915,
                1_957_747_793
            ]
        );
        assert_eq!(GnuRand::new(0).next_rand(), 1_804_289_383);
        assert_eq!(GnuRand::new(42).next_rand(), 71_876_166);
    }

    #[test]
    fn narrow_and_wide_picks_agree_where_both_are_exact() {
        let mut rand = NewlibRand::new(7);
        for _ in 0..10_000 {
            let value = rand.next_rand();
            let width = 40_000;
            assert_eq!(
                (width * u64::from(value)) >> RANGE_BITS,
                scale(width, value) as u64
            );
        }
    }

    #[test]
    fn picks_stay_in_range_at_both_ends() {
        struct Fixed(u32);
        impl CRand for Fixed {
            fn next_rand(&mut self) -> u32 {
                self.0
            }
        }
        assert_eq!(Fixed(0).pick(18, 90), 18);
        assert_eq!(Fixed(0x7fff_ffff).pick(18, 90), 90);
        assert_eq!(
            Fixed(0x7fff_ffff).pick(1_000_000_000, 9_999_999_999),
            9_999_999_995
        );
        assert_eq!(Fixed(0x7fff_ffff).letter(), b'Z');
    }
}
