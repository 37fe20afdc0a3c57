//! What is kept of a body until it is judged.

use std::ops::{Deref, Range};

/// The bytes that were kept of a body: where they were received, when the whole answer came in one
/// piece, else in a buffer of their own.
#[derive(Debug)]
pub(crate) enum Kept {
    /// A part of the thread's receive buffer, which is lent until the answer was judged.
    Received {
        buffer: Box<[u8]>,
        body: Range<usize>,
    },
    /// Put together from several pieces.
    Gathered(Vec<u8>),
}

impl Deref for Kept {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Received { buffer, body } => &buffer[body.clone()],
            Self::Gathered(bytes) => bytes,
        }
    }
}
