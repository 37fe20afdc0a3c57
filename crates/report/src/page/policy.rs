//! What the page lets a browser do: run our two scripts, known by their digests, and load nothing.

use sha2::{Digest, Sha256};

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The content security policy of a page with these scripts. Styles stay inline: the library that
/// draws sets them.
pub(super) fn policy(scripts: &[&str]) -> String {
    let digests: Vec<String> = scripts.iter().map(|script| digest(script)).collect();
    format!(
        "default-src 'none'; script-src {}; style-src 'unsafe-inline'; img-src data: blob:; \
         base-uri 'none'; form-action 'none'",
        digests.join(" ")
    )
}

/// A script as a policy names it.
fn digest(script: &str) -> String {
    format!("'sha256-{}'", base64(&Sha256::digest(script.as_bytes())))
}

fn base64(bytes: &[u8]) -> String {
    let digits = |lot: &[u8]| {
        let bits = (0..3).fold(0_u32, |bits, i| {
            bits << 8 | u32::from(lot.get(i).copied().unwrap_or(0))
        });
        let digit = |i: usize| {
            if i > lot.len() {
                '='
            } else {
                char::from(DIGITS[(bits >> (18 - 6 * i) & 63) as usize])
            }
        };
        [0, 1, 2, 3].map(digit)
    };
    bytes.chunks(3).flat_map(digits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_rfc_4648() {
        for (text, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(text.as_bytes()), expected);
        }
    }

    #[test]
    fn scripts_are_named_by_their_digests() {
        // From the Content Security Policy Level 2 recommendation, 7.17.1.
        let expected = "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='";
        assert_eq!(digest("alert('Hello, world.');"), expected);
        let policy = policy(&["alert('Hello, world.');"]);
        assert!(
            policy.contains(&format!("script-src {expected};")),
            "{policy}"
        );
        assert!(!policy.contains("script-src 'unsafe-inline'"), "{policy}");
    }
}
