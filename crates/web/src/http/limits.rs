//! Limits on what a server may send.

use serde::{Deserialize, Serialize};

/// The most that a server may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of one head: status line and all header lines; at most 65 536.
    pub header_bytes: usize,
    /// Bytes of one body after the chunks are joined.
    pub body_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header_bytes: 32 * 1024,
            body_bytes: 8 * 1024 * 1024,
        }
    }
}
