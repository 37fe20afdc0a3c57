//! What the page lets a browser do: run our two scripts, known by their digests, and load nothing.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

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
    let digest = STANDARD.encode(Sha256::digest(script.as_bytes()));
    format!("'sha256-{digest}'")
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
            assert_eq!(STANDARD.encode(text), expected);
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
