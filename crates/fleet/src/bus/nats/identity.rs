//! Who a client of a broker is: the seed of an nkey (Ed25519), alone or with a JWT.
//!
//! A seed is `SU` and more letters: two bytes that say what it is, 32 bytes, and a checksum of
//! them, all in base 32 (RFC 4648) without padding. A file of credentials has the JWT of the user
//! and the seed, each between lines that begin with dashes.

use ring::signature::{Ed25519KeyPair, KeyPair as _};

use super::error::NatsError;

/// The letters of base 32, and of base 64 for addresses.
const BASE_32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BASE_64_URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// What a seed begins with, and a user's key: five bits each.
const SEED: u8 = 18 << 3;
const USER: u8 = 20 << 3;

/// A user of a broker.
pub(super) struct Identity {
    key: Ed25519KeyPair,
    jwt: Option<String>,
}

impl Identity {
    /// Read a seed, or a file of credentials.
    ///
    /// # Errors
    /// When the text is neither, or the seed is no user's.
    pub(super) fn parse(text: &str) -> Result<Self, NatsError> {
        let lines = || text.lines().map(str::trim);
        let behind = |title: &str| {
            let mut rest = lines().skip_while(|line| !line.contains(title));
            rest.next()?;
            rest.find(|line| !line.is_empty()).map(str::to_owned)
        };
        let jwt = behind("BEGIN NATS USER JWT");
        let seed = match behind("BEGIN USER NKEY SEED") {
            Some(seed) => Some(seed),
            None => lines()
                .find(|line| line.starts_with('S'))
                .map(str::to_owned),
        };
        let key = seed
            .as_deref()
            .and_then(decoded)
            .and_then(|seed| Ed25519KeyPair::from_seed_unchecked(&seed).ok());
        let key = key.ok_or(NatsError::Credentials)?;
        Ok(Self { key, jwt })
    }

    /// The JWT, where there is one.
    pub(super) fn jwt(&self) -> Option<&str> {
        self.jwt.as_deref()
    }

    /// The public key, as configurations of brokers have it: `U` and more letters.
    pub(super) fn public_key(&self) -> String {
        let mut bytes = vec![USER];
        bytes.extend_from_slice(self.key.public_key().as_ref());
        bytes.extend(checksum(&bytes).to_le_bytes());
        encoded(&bytes, 5, BASE_32)
    }

    /// The signature of what a broker wants signed.
    pub(super) fn signature(&self, nonce: &str) -> String {
        encoded(self.key.sign(nonce.as_bytes()).as_ref(), 6, BASE_64_URL)
    }
}

/// The bytes of a user's seed.
fn decoded(text: &str) -> Option<[u8; 32]> {
    let (mut bytes, mut kept, mut count) = (Vec::new(), 0_u32, 0);
    for letter in text.bytes() {
        let value = BASE_32.iter().position(|other| *other == letter)?;
        kept = (kept << 5 | u32::try_from(value).ok()?) & 0xfff;
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(kept >> count & 0xff).ok()?);
        }
    }
    let (signed, sum) = bytes.split_last_chunk::<2>()?;
    let [first, second, seed @ ..] = signed else {
        return None;
    };
    // The kind of key fills the last three bits of the first byte and the first five of the second.
    let is_user = *first == SEED | USER >> 5 && *second == USER << 3;
    let holds = u16::from_le_bytes(*sum) == checksum(signed);
    (is_user && holds).then(|| seed.try_into().ok()).flatten()
}

/// Bytes as letters of so many bits each, without padding.
fn encoded(bytes: &[u8], bits: u32, letters: &[u8]) -> String {
    let (mut text, mut kept, mut count) = (String::new(), 0_usize, 0);
    let letter = |value: usize| char::from(letters[value & ((1 << bits) - 1)]);
    for byte in bytes {
        kept = (kept << 8 | usize::from(*byte)) & 0xffff;
        count += 8;
        while count >= bits {
            count -= bits;
            text.push(letter(kept >> count));
        }
    }
    if count > 0 {
        text.push(letter(kept << (bits - count)));
    }
    text
}

/// CRC-16 of XMODEM: polynomial x^16 + x^12 + x^5 + 1, from zero.
fn checksum(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum: u16, byte| {
        (0..8).fold(sum ^ u16::from(*byte) << 8, |sum, _| {
            let carried = sum & 0x8000 != 0;
            sum << 1 ^ if carried { 0x1021 } else { 0 }
        })
    })
}

/// The seed of 32 bytes, as files have it.
pub(super) fn seed_text(seed: [u8; 32]) -> String {
    let mut bytes = vec![SEED | USER >> 5, USER << 3];
    bytes.extend(seed);
    bytes.extend(checksum(&bytes).to_le_bytes());
    encoded(&bytes, 5, BASE_32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_those_of_the_standard() {
        // RFC 4648, section 10.
        assert_eq!(encoded(b"foobar", 5, BASE_32), "MZXW6YTBOI");
        assert_eq!(encoded(b"fooba", 6, BASE_64_URL), "Zm9vYmE");
        assert_eq!(checksum(b"123456789"), 0x31c3);
    }

    #[test]
    fn a_seed_is_read_alone_and_among_credentials() {
        let seed = seed_text([7; 32]);
        assert!(seed.starts_with("SU") && seed.len() == 58, "{seed}");
        let alone = Identity::parse(&format!("\n{seed}\n")).expect("a seed");
        assert!(alone.jwt().is_none());
        let public = alone.public_key();
        assert!(public.starts_with('U') && public.len() == 56, "{public}");
        let file = format!(
            "-----BEGIN NATS USER JWT-----\nabc.def.ghi\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
        );
        let both = Identity::parse(&file).expect("credentials");
        assert_eq!(both.jwt(), Some("abc.def.ghi"));
        assert_eq!(both.public_key(), public);
        assert_eq!(both.signature("nonce"), alone.signature("nonce"));
        // Ed25519 signatures have 64 bytes.
        assert_eq!(both.signature("nonce").len(), 86);
    }

    #[test]
    fn what_is_no_seed_of_a_user_is_refused() {
        let seed = seed_text([7; 32]);
        let account = format!("SA{}", &seed[2..]);
        let cut = &seed[..57];
        let wrong = format!("{}A", &seed[..57]);
        for text in ["", "secret", "SUAAAA", cut, &account, &wrong] {
            let refused = Identity::parse(text).err();
            assert!(matches!(refused, Some(NatsError::Credentials)), "{text}");
        }
    }
}
