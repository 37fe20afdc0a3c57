//! Digests, which name what an image consists of, and readers that compute them.

use std::{fmt, io, io::Read};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// How a digest is written.
const PREFIX: &str = "sha256:";
const BYTES: usize = 32;

/// A sha256 digest, written as `sha256:` and 64 small hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Digest([u8; BYTES]);

/// A text that is no digest which this crate can check.
#[derive(Debug, thiserror::Error)]
#[error("`{text}` is no sha256 digest")]
pub struct NotADigest {
    text: String,
}

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// A digest as documents of images write it.
    ///
    /// # Errors
    /// When it is of another kind, or malformed.
    pub fn parse(text: &str) -> Result<Self, NotADigest> {
        text.strip_prefix(PREFIX)
            .and_then(Self::from_hex)
            .ok_or_else(|| NotADigest {
                text: rookery_diagnosis::outside_text(text),
            })
    }

    /// The 64 digits alone.
    #[must_use]
    pub fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    pub(crate) fn from_hex(digits: &str) -> Option<Self> {
        let digits = digits.as_bytes();
        let mut bytes = [0; BYTES];
        if digits.len() != 2 * BYTES {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Some(Self(bytes))
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = NotADigest;

    fn try_from(text: String) -> Result<Self, NotADigest> {
        Self::parse(&text)
    }
}

/// Computes the digest of what is read through it.
pub(crate) struct HashingReader<R> {
    inner: R,
    hash: Sha256,
    bytes: u64,
}

impl<R: Read> HashingReader<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self {
            inner,
            hash: Sha256::new(),
            bytes: 0,
        }
    }

    /// How much was read so far.
    pub(crate) fn count(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn get_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// The digest of what was read.
    pub(crate) fn into_parts(self) -> (R, Digest) {
        (self.inner, Digest(self.hash.finalize().into()))
    }

    /// Reads the rest; the digest of everything.
    pub(crate) fn finish(mut self) -> io::Result<Digest> {
        io::copy(&mut self, &mut io::sink())?;
        Ok(self.into_parts().1)
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hash.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first example of FIPS 180-4.
    const ABC: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn a_digest_is_read_as_it_is_written() {
        assert_eq!(Digest::of(b"abc").to_string(), ABC);
        assert_eq!(Digest::parse(ABC).expect("a digest"), Digest::of(b"abc"));
    }

    #[test]
    fn nothing_else_is_a_digest() {
        let upper = ABC.replace('b', "B");
        let long = format!("{ABC}0");
        for text in [
            "",
            "sha256:",
            "sha512:00",
            &ABC[7..],
            &ABC[..70],
            &upper,
            &long,
            "sha256:../../../../../../../../../../../../../../../../../../../etc/passwd0",
        ] {
            assert!(Digest::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_read_is_what_is_digested() {
        let mut reader = HashingReader::new(&b"abc"[..]);
        let mut first = [0];
        reader.read_exact(&mut first).expect("read");
        assert_eq!((reader.count(), first), (1, *b"a"));
        assert_eq!(reader.finish().expect("read").to_string(), ABC);
    }
}
