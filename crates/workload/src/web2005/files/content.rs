//! The bytes of a file as a function of its seed and the place within it.

use crate::random::{GOLDEN_GAMMA, mix};

/// Distance of markers, bytes.
pub const MARKER_BYTES: u64 = 4096;

/// Characters of text files: what HTML and markers do not use.
const ALPHABET: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyz0123456789 .,;:-+*/=()[]{}_#%$@!?~^|'\n";

/// Words of eight characters that a text consists of: gzip at its usual level makes a quarter of
/// it, as of usual HTML.
const WORDS: u64 = 64;

/// Earliest modification time of a file set: 2005-01-01.
const EPOCH_S: u64 = 1_104_537_600;

/// What a file's bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentKind {
    /// Printable characters without capital letters, `<`, `>` and `&`, in words that repeat.
    Text,
    /// Bytes that do not compress.
    Binary,
}

/// The bytes of a file, of any length.
///
/// ```
/// use rookery_workload::web2005::files::{Content, ContentKind};
///
/// let content = Content::new(7, ContentKind::Text);
/// assert_eq!([content.byte(0), content.byte(4096)], [b'A', b'B']);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    seed: u64,
    kind: ContentKind,
}

/// Marker `index`, at byte 4096 × `index`: a letter from `A` to `Z`, then again from `A`.
#[must_use]
pub fn marker(index: u64) -> u8 {
    // Below 26.
    b'A' + rookery_cast::count_u8(rookery_cast::index(index % 26))
}

/// The modification time of every file of a set with this seed, seconds since 1970.
#[must_use]
pub fn modified_s(seed: u64) -> u64 {
    EPOCH_S + mix(seed) % (365 * 86_400)
}

impl Content {
    /// The bytes of this seed.
    #[must_use]
    pub fn new(seed: u64, kind: ContentKind) -> Self {
        Self { seed, kind }
    }

    /// Eight bytes, from 8 × `index` on, without markers.
    #[inline]
    fn word(self, index: u64) -> [u8; 8] {
        let bits = mix(self.seed.wrapping_add(index.wrapping_mul(GOLDEN_GAMMA)));
        match self.kind {
            ContentKind::Binary => bits.to_le_bytes(),
            ContentKind::Text => mix(self.seed ^ (bits % WORDS))
                .to_le_bytes()
                .map(|byte| ALPHABET[usize::from(byte & 63)]),
        }
    }

    /// The byte at `offset`.
    #[must_use]
    pub fn byte(self, offset: u64) -> u8 {
        if offset.is_multiple_of(MARKER_BYTES) {
            return marker(offset / MARKER_BYTES);
        }
        self.word(offset / 8)[rookery_cast::index(offset % 8)]
    }

    /// Writes the bytes from `offset` on over all of `out`.
    pub fn fill(self, offset: u64, out: &mut [u8]) {
        let mut at = offset;
        // Up to the next whole word, then whole words, then what is left.
        let lead = rookery_cast::index(at.next_multiple_of(8) - at).min(out.len());
        let (head, tail) = out.split_at_mut(lead);
        for byte in head {
            *byte = self.byte(at);
            at += 1;
        }
        let mut words = tail.chunks_exact_mut(8);
        for chunk in &mut words {
            chunk.copy_from_slice(&self.word(at / 8));
            at += 8;
        }
        for byte in words.into_remainder() {
            *byte = self.byte(at);
            at += 1;
        }
        Self::mark(offset, out);
    }

    /// Sets the markers of a buffer that begins at `offset`.
    fn mark(offset: u64, out: &mut [u8]) {
        let first = offset.next_multiple_of(MARKER_BYTES);
        let start = rookery_cast::index(first - offset);
        let places = (start..out.len()).step_by(rookery_cast::index(MARKER_BYTES));
        for (index, at) in (first / MARKER_BYTES..).zip(places) {
            out[at] = marker(index);
        }
    }

    /// Whether `bytes` are those of the file from `offset` on.
    #[must_use]
    pub fn is_at(self, offset: u64, bytes: &[u8]) -> bool {
        let mut buffer = [0; 1024];
        let mut at = offset;
        bytes.chunks(buffer.len()).all(|chunk| {
            let wanted = &mut buffer[..chunk.len()];
            self.fill(at, wanted);
            at += chunk.len() as u64;
            *wanted == *chunk
        })
    }

    /// Whether `bytes` from `offset` on have the markers that the file has there. Far cheaper than
    /// [`is_at`](Self::is_at).
    #[must_use]
    pub fn has_markers_at(offset: u64, bytes: &[u8]) -> bool {
        let first = offset.next_multiple_of(MARKER_BYTES);
        let start = rookery_cast::index(first - offset);
        (start..bytes.len())
            .step_by(rookery_cast::index(MARKER_BYTES))
            .zip(first / MARKER_BYTES..)
            .all(|(at, index)| bytes[at] == marker(index))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_has_its_markers_and_nothing_that_looks_like_one() {
        let text = Content::new(3, ContentKind::Text);
        let mut bytes = vec![0; 120_000];
        text.fill(0, &mut bytes);
        for (at, byte) in bytes.iter().enumerate() {
            if at % 4096 == 0 {
                assert_eq!(*byte, b'A' + (at / 4096 % 26) as u8);
            } else {
                assert!(
                    !byte.is_ascii_uppercase() && !b"<>&".contains(byte) && byte.is_ascii(),
                    "{byte} at {at}"
                );
            }
        }
        assert_eq!(bytes[26 * 4096], b'A', "the letters begin again");
        assert!(Content::has_markers_at(0, &bytes));
        bytes[4096] = b'C';
        assert!(!Content::has_markers_at(0, &bytes));
        assert!(Content::has_markers_at(4097, &bytes[4097..]));
    }

    #[test]
    fn a_binary_does_not_repeat_itself() {
        let mut bytes = vec![0; 1 << 16];
        Content::new(3, ContentKind::Binary).fill(0, &mut bytes);
        let mut counts = [0u32; 256];
        for byte in &bytes {
            counts[usize::from(*byte)] += 1;
        }
        // 256 on average with a standard deviation of 16.
        assert!(counts.iter().all(|count| (160..=352).contains(count)));
        let mut other = vec![0; 64];
        Content::new(4, ContentKind::Binary).fill(0, &mut other);
        assert_ne!(bytes[..64], other[..]);
    }

    #[test]
    fn modification_times_lie_in_one_year() {
        for seed in 0..1000 {
            assert!((EPOCH_S..EPOCH_S + 365 * 86_400).contains(&modified_s(seed)));
        }
    }

    proptest! {
        #[test]
        fn a_part_is_what_it_is_in_the_whole(
            seed in any::<u64>(),
            offset in 0u64..20_000,
            length in 0usize..9_000,
            text in any::<bool>(),
        ) {
            let kind = if text { ContentKind::Text } else { ContentKind::Binary };
            let content = Content::new(seed, kind);
            let mut part = vec![0; length];
            content.fill(offset, &mut part);
            for (at, byte) in (offset..).zip(&part) {
                prop_assert_eq!(*byte, content.byte(at));
            }
            prop_assert!(content.is_at(offset, &part));
            prop_assert!(Content::has_markers_at(offset, &part));
            if let Some(last) = part.last_mut() {
                *last ^= 1;
                prop_assert!(!content.is_at(offset, &part));
            }
        }
    }
}
