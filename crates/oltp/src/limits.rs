//! What a server may make its client hold, and how long the client waits for it.

use std::time::Duration;

use thiserror::Error;

/// Longest message of a server, bytes.
pub(crate) const LONGEST_MESSAGE: usize = 16 * 1024 * 1024;

/// All rows of the answers to one request, bytes.
pub(crate) const LARGEST_ANSWER: usize = 16 * 1024 * 1024;

/// Messages that nobody asked for (notices, settings, notifications) between two answers.
pub(crate) const MOST_ASIDES: u32 = 10_000;

/// Columns of a result. Servers have a few thousand at most.
pub(crate) const MOST_COLUMNS: usize = 4_096;

/// Rounds of hashing that a server may ask for before it knows the password: about half a second.
/// Servers ask for some thousand.
pub(crate) const MOST_ROUNDS: u64 = 1_000_000;

/// How long a client waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For a connection, a short question, and transactions behind the end of a load.
    pub answer: Duration,
    /// For one statement that works through the data: keys, indexes, conditions, counts.
    pub statement: Duration,
}

impl Patience {
    /// Without another word.
    pub const DEFAULT: Self = Self {
        answer: Duration::from_secs(20),
        statement: Duration::from_secs(3600),
    };
}

/// Why a message of the server is not taken. The connection is of no use then.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MessageRefusal {
    /// Longer than any answer.
    #[error("the server announces a message of {bytes} bytes; at most {LONGEST_MESSAGE} are taken")]
    Long {
        /// As announced.
        bytes: u64,
    },
    /// Shorter than its own head.
    #[error("the server announces a message of {bytes} bytes, which is none")]
    Short {
        /// As announced.
        bytes: u64,
    },
    /// Too much that nobody asked for.
    #[error(
        "the server sends notices without end: more than {MOST_ASIDES}, or {LONGEST_MESSAGE} \
         bytes of them, before an answer"
    )]
    Asides,
    /// Rows without end.
    #[error("the server's answer is larger than {LARGEST_ANSWER} bytes")]
    LargeAnswer,
    /// More columns than any table has.
    #[error("the server announces {0} columns; at most {MOST_COLUMNS} are taken")]
    Columns(u64),
    /// It wants the password itself.
    #[error("the server asks for the password in clear text")]
    ClearText,
    /// It wants the client to calculate without end.
    #[error("the server asks for {0} rounds of hashing; at most {MOST_ROUNDS} are made")]
    Rounds(u64),
}

impl MessageRefusal {
    /// What the user can do.
    pub(crate) fn help(&self) -> Option<&'static str> {
        match self {
            Self::ClearText => Some(
                "let the server ask by scram-sha-256, or add the parameter \
                 `cleartext-password=allow` to the target if all who can read that connection may \
                 know the password",
            ),
            _ => Some("see that a database server of this kind listens there"),
        }
    }
}
