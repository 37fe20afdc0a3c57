//! Exchanges with another guest: a server is the client of the next.

use std::{
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use rookery_cast::index;
use rookery_workload::netstream::{ConnectionUse, ExchangeSize, exchange_target};
use rustix::net::{RecvFlags, recv, sockopt::set_socket_linger};

/// Longest head of an answer.
const MOST_HEAD: usize = 8 * 1024;
/// What is read at a time: as much as the other side writes.
const READ_BYTES: usize = 128 * 1024;
/// Longest silence: the smallest part of an answer over the slowest link that a study may ask for
/// comes sooner.
const PATIENCE: Duration = Duration::from_secs(3600);
/// A connection that rested for so long may have been closed meanwhile.
const RESTED: Duration = Duration::from_secs(1);

/// Another guest that answers exchanges, and what is asked of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partner {
    /// Where it listens.
    pub address: SocketAddr,
    /// How large requests and answers are.
    pub size: ExchangeSize,
    /// What becomes of a connection after an exchange.
    pub connection: ConnectionUse,
}

/// Exchanges with a partner.
pub(super) struct Fetcher {
    partner: Partner,
    request: Vec<u8>,
}

/// A connection to the partner with what is read from it.
pub(super) struct Line {
    stream: TcpStream,
    buffer: Box<[u8]>,
    /// When its last exchange ended.
    used: Instant,
}

impl Fetcher {
    pub(super) fn new(partner: Partner) -> Self {
        let mut request = b"GET ".to_vec();
        exchange_target(&mut request, partner.size);
        request.extend(format!(" HTTP/1.1\r\nHost: {}\r\n\r\n", partner.address).bytes());
        Self { partner, request }
    }

    /// How many bytes an exchange receives.
    pub(super) fn answer_bytes(&self) -> u32 {
        self.partner.size.answer_bytes
    }

    /// Ask for an answer, and receive all of it: over `kept`, where it is still open.
    ///
    /// # Errors
    /// When the partner is not there, or answers something else; nothing is kept then.
    pub(super) fn exchange(&self, kept: &mut Option<Line>) -> io::Result<()> {
        let mut line = match kept.take().filter(Line::is_open) {
            Some(line) => line,
            None => Line::open(self.partner.address)?,
        };
        line.stream.write_all(&self.request)?;
        line.receive(index(self.answer_bytes().into()))?;
        match self.partner.connection {
            ConnectionUse::Kept => *kept = Some(line),
            // Closed in order it would keep its port for a minute.
            ConnectionUse::New => set_socket_linger(&line.stream, Some(Duration::ZERO))?,
        }
        Ok(())
    }
}

impl Line {
    fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        // A request is one write: waiting for more to send would only delay it.
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self {
            stream,
            buffer: vec![0; READ_BYTES].into_boxed_slice(),
            used: Instant::now(),
        })
    }

    /// Whether the partner has left it open, with nothing to say. To look costs a call of the
    /// kernel, which one exchange after the other is spared.
    fn is_open(&self) -> bool {
        if self.used.elapsed() < RESTED {
            return true;
        }
        let silent = recv(&self.stream, &mut [0_u8], RecvFlags::DONTWAIT).map_err(io::Error::from);
        silent.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Receive an answer with so much content, and nothing after it.
    fn receive(&mut self, wanted: usize) -> io::Result<()> {
        let mut filled = 0;
        let head = loop {
            filled += self.read(filled)?;
            let read = &self.buffer[..filled];
            if let Some(length) = head_length(read) {
                break length;
            }
            if filled >= MOST_HEAD {
                return Err(io::Error::other("the head of the answer is too long"));
            }
        };
        let announced = content_length(&self.buffer[..head])?;
        if announced != wanted {
            let what = format!("an answer of {announced} bytes, and not {wanted}");
            return Err(io::Error::other(what));
        }
        let mut received = filled - head;
        while received < wanted {
            received += self.read(0)?;
        }
        if received > wanted {
            return Err(io::Error::other("more than the answer came"));
        }
        self.used = Instant::now();
        Ok(())
    }

    /// Read behind what is there; at least a byte.
    fn read(&mut self, filled: usize) -> io::Result<usize> {
        loop {
            match self.stream.read(&mut self.buffer[filled..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

/// How long the head at the begin is; `None` where it is not whole.
fn head_length(read: &[u8]) -> Option<usize> {
    let end = read.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some(end + 4)
}

/// The length of the content that a head announces.
fn content_length(head: &[u8]) -> io::Result<usize> {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.split("\r\n");
    let status = lines.next().unwrap_or_default();
    if !status.starts_with("HTTP/1.1 200") {
        return Err(io::Error::other(format!("it answers `{status}`")));
    }
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let named = name.eq_ignore_ascii_case("content-length");
        named.then(|| value.trim().parse().ok())?
    });
    length.ok_or_else(|| io::Error::other("the answer has no length"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_announce_their_content() {
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\ndate: x\r\n\r\n";
        assert_eq!(head_length(head), Some(head.len()));
        assert_eq!(head_length(&head[..head.len() - 1]), None);
        assert_eq!(content_length(head).expect("announced"), 12);
        for wrong in [
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 1\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
            "",
        ] {
            assert!(content_length(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
