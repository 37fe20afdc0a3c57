//! Any bytes as a server's answer: nothing beyond the limits, and the same answer however the bytes
//! arrive.

use rookery_web::{Limits, fuzzing::http_answer};

const LIMITS: Limits = Limits {
    header_bytes: 1_000,
    body_bytes: 2_000,
};

/// The first byte says in pieces of how many bytes the others come.
pub(crate) fn answer(bytes: &[u8]) {
    let Some((&piece, bytes)) = bytes.split_first() else {
        return;
    };
    let whole = http_answer(bytes, bytes.len().max(1), LIMITS);
    let pieces = http_answer(bytes, usize::from(piece).max(1), LIMITS);
    for (status, body, cookies) in whole.iter().chain(&pieces) {
        assert!(
            (200..1_000).contains(status) || *status < 100,
            "an interim answer is not the answer"
        );
        assert!(body.len() <= LIMITS.body_bytes);
        assert!(
            cookies.len() <= 4_096 && !cookies.iter().any(u8::is_ascii_control),
            "cookies go into the next request"
        );
    }
    if whole.is_some() {
        assert_eq!(whole, pieces);
    }
}
