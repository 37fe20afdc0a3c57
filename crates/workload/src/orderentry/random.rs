//! The random streams, and the random functions of the workload on top of them.

use crate::random::{RandomSource, SplitMix64, Xoshiro256, mix};
use rookery_cast::{count_u16, count_u32, low_u32};

/// The alphabet of `astr`: the 62 letters and digits, and two marks that no text format quotes, so
/// that six bits make one character.
const ALPHABET: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";

/// Every pair of characters: twelve bits make two of them with one look-up.
static PAIRS: [[u8; 2]; 4096] = {
    let mut pairs = [[0; 2]; 4096];
    let mut bits = 0;
    while bits < 4096 {
        pairs[bits] = [ALPHABET[bits & 63], ALPHABET[bits >> 6]];
        bits += 1;
    }
    pairs
};

/// What a stream is for; streams of different purposes never share numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Purpose {
    Item = 1,
    Warehouse,
    District,
    Customer,
    History,
    Orders,
    OrderLine,
    Stock,
    LoadConstant = 64,
    RunConstants,
    Input,
    Deck,
    Pause,
    Retry,
    Arrival,
}

/// A deterministic stream of random numbers, one per (seed, purpose, number).
///
/// Streams are independent of each other, so any part of a population can be made alone and in any
/// order.
#[derive(Clone, Debug)]
pub(crate) struct Stream(Xoshiro256);

impl RandomSource for Stream {
    #[inline]
    fn bits(&mut self) -> u64 {
        self.0.bits()
    }
}

impl Stream {
    /// The stream of `(seed, purpose, number)`; `number` is a warehouse or a client.
    pub(crate) fn new(seed: u64, purpose: Purpose, number: u64) -> Self {
        let of_purpose = mix(seed) ^ purpose as u64;
        let of_number = mix(of_purpose) ^ number;
        Self(Xoshiro256::from_seeds(SplitMix64::new(of_number)))
    }

    /// `rnd[low..high]`: a uniform integer, both ends included.
    #[inline]
    pub(crate) fn between(&mut self, low: u32, high: u32) -> u32 {
        low + low_u32(self.below(u64::from(high - low) + 1))
    }

    /// True in `share` of 100 draws.
    #[inline]
    pub(crate) fn percent(&mut self, share: u32) -> bool {
        self.between(1, 100) <= share
    }

    /// `nurand(A, low, high, C)`: the non-uniform distribution,
    /// `(((rnd[0..A] | rnd[low..high]) + C) mod (high-low+1)) + low`.
    #[inline]
    pub(crate) fn non_uniform(&mut self, a: u32, low: u32, high: u32, c: u32) -> u32 {
        let first = self.between(0, a);
        let second = self.between(low, high);
        ((first | second) + c) % (high - low + 1) + low
    }

    /// Fills `out` with fresh characters of the alphabet.
    #[inline]
    pub(crate) fn fill(&mut self, out: &mut [u8]) {
        let mut chunks = out.chunks_exact_mut(10);
        for chunk in &mut chunks {
            let mut bits = self.bits();
            for pair in chunk.chunks_exact_mut(2) {
                pair.copy_from_slice(&PAIRS[(bits & 4095) as usize]);
                bits >>= 12;
            }
        }
        let rest = chunks.into_remainder();
        if !rest.is_empty() {
            let mut bits = self.bits();
            for byte in rest {
                *byte = ALPHABET[(bits & 63) as usize];
                bits >>= 6;
            }
        }
    }

    /// `astr[low..N]`: text of random length with at most `N` characters.
    #[inline]
    pub(crate) fn text<const N: usize>(&mut self, low: usize) -> Text<N> {
        let len = self.between(count_u32(low), count_u32(N)) as usize;
        let mut text = Text {
            bytes: [0; N],
            len: count_u16(len),
        };
        self.fill(&mut text.bytes[..len]);
        text
    }

    /// Exactly `N` characters.
    #[inline]
    pub(crate) fn fixed<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    /// `nstr(N)`: exactly `N` digits, `N` at most 18.
    #[inline]
    pub(crate) fn digits<const N: usize>(&mut self) -> [u8; N] {
        let mut number = self.below(10u64.pow(count_u32(N)));
        let mut digits = [0; N];
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
        digits
    }
}

/// Text of at most `N` bytes, stored in place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Text<const N: usize> {
    bytes: [u8; N],
    len: u16,
}

impl<const N: usize> Text<N> {
    /// The bytes, all ASCII.
    #[must_use]
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    /// The first `N` bytes of the parts, one after another.
    #[must_use]
    pub(crate) fn concat(parts: &[&[u8]]) -> Self {
        let mut text = Self {
            bytes: [0; N],
            len: 0,
        };
        for part in parts {
            let start = usize::from(text.len);
            let len = part.len().min(N - start);
            text.bytes[start..start + len].copy_from_slice(&part[..len]);
            text.len += count_u16(len);
        }
        text
    }

    /// Overwrites eight characters at `offset` with `ORIGINAL`.
    pub(crate) fn mark_original(&mut self, offset: usize) {
        self.bytes[offset..offset + ORIGINAL.len()].copy_from_slice(ORIGINAL);
    }
}

impl<const N: usize> std::fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_str().fmt(f)
    }
}

/// The mark in the data of a tenth of items and stock.
pub(crate) const ORIGINAL: &[u8; 8] = b"ORIGINAL";

/// Chooses exactly `wanted` of `left` rows while they pass by (selection sampling: Knuth, TAOCP 2,
/// 3.4.2, algorithm S).
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    wanted: u64,
    left: u64,
}

impl Sample {
    /// One tenth of `rows`, rounded down.
    pub(crate) fn tenth_of(rows: u64) -> Self {
        Self {
            wanted: rows / 10,
            left: rows,
        }
    }

    /// Whether the next row is one of the chosen.
    #[inline]
    pub(crate) fn take(&mut self, stream: &mut Stream) -> bool {
        let chosen = stream.below(self.left) < self.wanted;
        self.left -= 1;
        self.wanted -= u64::from(chosen);
        chosen
    }
}

const SYLLABLES: [&[u8]; 10] = [
    b"BAR", b"OUGHT", b"ABLE", b"PRI", b"PRES", b"ESE", b"ANTI", b"CALLY", b"ATION", b"EING",
];

/// The last name of `number` in `0..=999`: one syllable for each of its three digits.
///
/// ```
/// use rookery_workload::orderentry::last_name;
/// assert_eq!(last_name(371).as_str(), "PRICALLYOUGHT");
/// ```
#[must_use]
pub fn last_name(number: u32) -> Text<16> {
    let syllable = |digit: u32| SYLLABLES[(digit % 10) as usize];
    Text::concat(&[
        syllable(number / 100),
        syllable(number / 10),
        syllable(number),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> Stream {
        Stream::new(42, Purpose::Input, 0)
    }

    #[test]
    fn last_names_are_made_of_three_syllables() {
        assert_eq!(last_name(0).as_str(), "BARBARBAR");
        assert_eq!(last_name(371).as_str(), "PRICALLYOUGHT");
        assert_eq!(last_name(999).as_str(), "EINGEINGEING");
        let longest = (0..1000)
            .map(|number| last_name(number).as_bytes().len())
            .max();
        assert_eq!(longest, Some(15));
    }

    #[test]
    fn the_non_uniform_distribution_is_the_defined_one() {
        // Exactly: count every pair (first, second) of a small case and compare shares.
        let (a, low, high, c) = (7, 1, 10, 3);
        let mut expected = [0u32; 11];
        for first in 0..=a {
            for second in low..=high {
                expected[(((first | second) + c) % (high - low + 1) + low) as usize] += 1;
            }
        }
        let mut seen = [0u32; 11];
        let mut stream = stream();
        for _ in 0..80_000 {
            seen[stream.non_uniform(a, low, high, c) as usize] += 1;
        }
        for (value, (seen, expected)) in seen.into_iter().zip(expected).enumerate() {
            let mean = f64::from(expected) * 1000.0;
            assert!(
                (f64::from(seen) - mean).abs() <= 5.0 * mean.sqrt(),
                "{value}: {seen} against {mean}"
            );
        }
    }

    #[test]
    fn few_rows_take_most_draws() {
        let mut counts = vec![0u32; 100_001];
        let mut stream = stream();
        let draws = 2_000_000;
        for _ in 0..draws {
            counts[stream.non_uniform(8191, 1, 100_000, 7911) as usize] += 1;
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let share = |rows: usize| counts[..rows].iter().sum::<u32>() as f64 / f64::from(draws);
        // 10, 20 and 50 per cent of stock rows take 71, 85 and 97 per cent of accesses.
        assert!((share(10_000) - 0.71).abs() < 0.015, "{}", share(10_000));
        assert!((share(20_000) - 0.85).abs() < 0.015, "{}", share(20_000));
        assert!((share(50_000) - 0.97).abs() < 0.015, "{}", share(50_000));
    }

    #[test]
    fn text_has_every_length_and_many_characters() {
        let mut stream = stream();
        let mut lengths = [0; 17];
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..2000 {
            let text: Text<16> = stream.text(8);
            lengths[text.as_bytes().len()] += 1;
            seen.extend(text.as_bytes().iter().copied());
        }
        assert!(lengths[..8].iter().all(|&count| count == 0));
        assert!(lengths[8..].iter().all(|&count| count > 100), "{lengths:?}");
        assert_eq!(seen.len(), 64);
        assert!(stream.digits::<16>().iter().all(u8::is_ascii_digit));
    }

    #[test]
    fn a_sample_holds_exactly_a_tenth() {
        let mut stream = stream();
        for rows in [10, 300, 999, 100_000] {
            let mut sample = Sample::tenth_of(rows);
            let chosen = (0..rows).filter(|_| sample.take(&mut stream)).count() as u64;
            assert_eq!(chosen, rows / 10);
        }
    }

    #[test]
    fn streams_differ_by_seed_purpose_and_number() {
        let first = |seed, purpose, number| Stream::new(seed, purpose, number).bits();
        let mut words = vec![
            first(1, Purpose::Item, 0),
            first(2, Purpose::Item, 0),
            first(1, Purpose::Stock, 0),
            first(1, Purpose::Item, 1),
        ];
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), 4);
    }
}
