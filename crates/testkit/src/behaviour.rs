//! How a server answers one request.

use std::{
    io::{self, Write},
    net::TcpStream,
    thread::sleep,
    time::Duration,
};

use rookery_cast::index;
use rustix::net::sockopt::set_socket_linger;

/// An answer, good or bad.
#[derive(Clone, Debug)]
pub enum Behaviour {
    /// Exactly these bytes; the connection stays open.
    Raw(Vec<u8>),
    /// These bytes after a time.
    Late(Duration, Vec<u8>),
    /// A page in pieces with a pause before each.
    Dribble(Duration, Vec<Vec<u8>>),
    /// These bytes, then an orderly close; no bytes = closed without an answer.
    Close(Vec<u8>),
    /// These bytes, then a reset.
    Reset(Vec<u8>),
    /// Nothing, for ever.
    Hang,
    /// A header that never ends.
    EndlessHeader,
    /// A body of so many bytes, its length told beforehand or not.
    Huge {
        /// Bytes of the body.
        bytes: u64,
        /// Whether a `Content-Length` tells them.
        told: bool,
    },
}

/// A complete answer of status 200 with a length.
#[must_use]
pub fn page(body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

impl Behaviour {
    /// Answer; `true` when the connection may carry another request.
    pub(crate) fn answer(
        &self,
        stream: &mut TcpStream,
        stopped: &dyn Fn() -> bool,
    ) -> io::Result<bool> {
        match self {
            Self::Raw(bytes) => stream.write_all(bytes).map(|()| true),
            Self::Late(time, bytes) => {
                sleep(*time);
                stream.write_all(bytes).map(|()| true)
            }
            Self::Dribble(pause, pieces) => {
                for piece in pieces {
                    sleep(*pause);
                    stream.write_all(piece)?;
                }
                Ok(true)
            }
            Self::Close(bytes) => stream.write_all(bytes).map(|()| false),
            Self::Reset(bytes) => {
                stream.write_all(bytes)?;
                // What was written should arrive before the reset overtakes it.
                sleep(Duration::from_millis(5));
                set_socket_linger(&*stream, Some(Duration::ZERO))?;
                Ok(false)
            }
            Self::Hang => {
                while !stopped() {
                    sleep(Duration::from_millis(5));
                }
                Ok(false)
            }
            Self::EndlessHeader => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nX-Endless: ")?;
                pour(stream, u64::MAX, stopped)
            }
            Self::Huge { bytes, told } => {
                let length = if *told {
                    format!("Content-Length: {bytes}\r\n")
                } else {
                    String::new()
                };
                stream.write_all(format!("HTTP/1.1 200 OK\r\n{length}\r\n").as_bytes())?;
                pour(stream, *bytes, stopped)
            }
        }
    }
}

/// Write `x` until so many are written, the client is gone, or the server stops.
fn pour(stream: &mut TcpStream, bytes: u64, stopped: &dyn Fn() -> bool) -> io::Result<bool> {
    let block = [b'x'; 16 * 1024];
    let mut left = bytes;
    while left > 0 && !stopped() {
        let part = left.min(block.len() as u64);
        stream.write_all(&block[..index(part)])?;
        left -= part;
    }
    Ok(false)
}
