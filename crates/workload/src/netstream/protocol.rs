//! The contract between connections and server: HTTP/1.1, so that any client and proxy can take
//! part.

use serde::{Deserialize, Serialize};

/// Answers 200 while the server is healthy.
pub const HEALTH_PATH: &str = "/health";
/// `/exchange?answer=100&pad=xxx` answers with so many bytes.
pub const EXCHANGE_PATH: &str = "/exchange";

/// Answers with a [`receipt`] of content that another guest sent.
pub const FETCH_PATH: &str = "/fetch";

/// Who receives the content of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Receiver {
    /// The driver, which asks for it.
    #[default]
    Driver,
    /// The guest that the driver asks, from another guest.
    Guest,
}

/// What a guest says of so many bytes that it has received.
#[must_use]
pub fn receipt(answer_bytes: u32) -> String {
    format!("{answer_bytes}\n")
}

/// The sizes of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExchangeSize {
    /// Bytes that the target of a request has beside what it must have, 0 to
    /// [`ExchangeSize::MOST_PAD`].
    pub pad_bytes: u32,
    /// Bytes of content of an answer, 1 to [`ExchangeSize::MOST_ANSWER`].
    pub answer_bytes: u32,
}

impl ExchangeSize {
    /// Requests stay below what servers take for the head of a request.
    pub const MOST_PAD: u32 = 4096;
    /// One answer is to end within a window, also on a slow link.
    pub const MOST_ANSWER: u32 = 64 << 20;
}

/// What becomes of a connection after an exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionUse {
    /// It is kept for the next: request and response.
    #[default]
    Kept,
    /// It is closed, and the next exchange opens another: connect, request and response.
    New,
}

/// What sends and receives the content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StreamProgram {
    /// The server of this workload, and Rookery's own driver.
    #[default]
    Rookery,
    /// iperf3 at both ends. An exchange is one of its blocks.
    Iperf3,
}

impl StreamProgram {
    /// Largest block of iperf3, bytes.
    pub const MOST_BLOCK: u32 = 1 << 20;
    /// Most streams of one client of iperf3.
    pub const MOST_STREAMS: u32 = 128;
    /// The port of iperf3's server in a guest.
    pub const IPERF3_PORT: u16 = 5201;
}

/// Appends the target of an exchange.
pub fn exchange_target(out: &mut Vec<u8>, size: ExchangeSize) {
    let needed = format!("{EXCHANGE_PATH}?answer={}", size.answer_bytes);
    out.extend_from_slice(needed.as_bytes());
    if size.pad_bytes > 0 {
        out.extend_from_slice(b"&pad=");
        out.resize(out.len() + size.pad_bytes as usize, b'x');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_as_long_as_asked() {
        let target = |pad_bytes| {
            let mut out = Vec::new();
            exchange_target(
                &mut out,
                ExchangeSize {
                    pad_bytes,
                    answer_bytes: 100,
                },
            );
            String::from_utf8(out).expect("text")
        };
        assert_eq!(target(0), "/exchange?answer=100");
        assert_eq!(target(3), "/exchange?answer=100&pad=xxx");
    }
}
