//! The bus: how a controller and an agent send each other messages.
//!
//! [`Bus`] is one end of a connection between two. What is sent at one end is received at the other
//! once and in order, or the connection is closed. The implementations share one test suite.

mod channel;
mod frame;
mod nats;
mod stream;
#[cfg(test)]
mod tests;

use std::{
    io,
    time::{Duration, Instant},
};

pub(crate) use self::nats::{
    End, NATS_PORT, NatsServer, Session, check as check_nats, is_recent, new_seed, public_key,
};
pub use self::{
    channel::in_process,
    frame::{Frame, MOST_BODY, MOST_HEAD},
    nats::{NatsAddress, NatsBus, NatsError, make_key},
    stream::{StreamBus, stdio},
};

/// Messages that wait at one end before the sender has to.
const MOST_WAITING: usize = 8;

/// One end of a connection.
pub trait Bus: Send + Sync {
    /// Send a frame. Waits where the other end is slow.
    ///
    /// # Errors
    /// When the frame is too long, or the connection is closed.
    fn send(&self, frame: Frame) -> Result<(), BusError>;

    /// The next frame; nothing when none came `within` this time. One thread receives.
    ///
    /// # Errors
    /// When the connection is closed and everything that came before was received.
    fn receive(&self, within: Duration) -> Result<Option<Frame>, BusError>;

    /// For how long nothing was heard of the other end although it could have been, by what this
    /// end knows; `heard` is when something was heard last.
    fn silence(&self, heard: Instant) -> Duration {
        heard.elapsed()
    }
}

/// Why nothing can be sent or received any more.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// The other end is gone.
    #[error("the connection is closed")]
    Closed,
    /// The stream below failed, or what came is no frame.
    #[error("the connection failed: {0}")]
    Failed(#[source] io::Error),
    /// The message is longer than a frame may be.
    #[error("a message of {bytes} bytes is longer than a frame may be")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
}

impl BusError {
    fn too_long(frame: &Frame) -> Self {
        Self::TooLong {
            bytes: frame.head.len() + frame.body.len(),
        }
    }
}
