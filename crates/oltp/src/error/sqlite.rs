//! What can go wrong with Rookery's own server of SQLite, and on the way to it.

use thiserror::Error;

/// What is wrong with bytes that arrived.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WireError {
    /// A frame beyond its limit: the other side speaks another protocol.
    #[error(
        "a frame of {length} bytes, the limit is {limit}: the other side speaks another protocol"
    )]
    TooLong {
        /// Its length.
        length: usize,
        /// The limit.
        limit: usize,
    },
    /// A message that ends too early.
    #[error("a message ends in the middle of a field")]
    Truncated,
    /// A message with bytes behind its end.
    #[error("a message has {0} bytes behind its end")]
    Surplus(usize),
    /// A number that stands for nothing.
    #[error("{what} {number} is not known")]
    Unknown {
        /// What it should be.
        what: &'static str,
        /// The number.
        number: u32,
    },
    /// Text that is not UTF-8.
    #[error("a text is not UTF-8")]
    NotText,
}

/// What the server says is wrong.
#[derive(Clone, Debug)]
pub struct ServerError {
    /// The engine's extended result code, where it was the engine that refused.
    pub(crate) code: Option<i64>,
    /// It refuses a load because tables are there already.
    pub(crate) exists: bool,
    pub(crate) text: String,
}

impl ServerError {
    /// Whether a statement names a table that is not there.
    pub(crate) fn has_no_table(&self) -> bool {
        self.code == Some(1) && self.text.contains("no such table")
    }
}

impl std::fmt::Display for ServerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.code {
            Some(code) => write!(f, "{} (SQLite result code {code})", self.text),
            None => f.write_str(&self.text),
        }
    }
}
