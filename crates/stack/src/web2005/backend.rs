//! The back-end as pages ask it: in the same process, or over persistent connections.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rookery_workload::web2005::{
    Model,
    besim::{Query, Reply},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use super::besim::Simulator;

/// Longest head of an answer.
const MOST_HEAD_BYTES: usize = 8 * 1024;

/// Longest body of an answer.
const MOST_BODY_BYTES: usize = 256 * 1024;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Connections kept for later.
const MOST_IDLE: usize = 1_024;

/// No answer. What was asked for may or may not have been done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoAnswer;

/// Where the back-end is.
pub(super) enum Backend {
    /// In this process.
    Here(Arc<Simulator>),
    /// At an address.
    There(Connections),
}

impl Backend {
    /// Asks a question. Nothing is asked twice: a write that was sent may have been done.
    pub(super) async fn ask(
        &self,
        model: Model,
        command: u8,
        arguments: &[&str],
    ) -> Result<Reply, NoAnswer> {
        match self {
            Self::Here(simulator) => {
                let query = Query {
                    model,
                    command,
                    arguments: arguments.iter().map(|text| (*text).into()).collect(),
                };
                simulator.ask(&query).await.map_err(|_| NoAnswer)
            }
            Self::There(connections) => {
                let mut target = String::with_capacity(128);
                Query::print(&mut target, model, command, arguments);
                timeout(PATIENCE, connections.get(&target))
                    .await
                    .map_err(|_| NoAnswer)?
            }
        }
    }
}

/// Connections to a back-end.
pub(super) struct Connections {
    address: SocketAddr,
    idle: Mutex<Vec<TcpStream>>,
}

impl Connections {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            idle: Mutex::new(Vec::new()),
        }
    }

    async fn get(&self, target: &str) -> Result<Reply, NoAnswer> {
        let mut stream = match self.take() {
            Some(stream) => stream,
            None => self.connect().await?,
        };
        let request = format!("GET {target} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address);
        stream
            .write_all(request.as_bytes())
            .await
            .map_err(|_| NoAnswer)?;
        let answer = read_answer(&mut stream).await.ok_or(NoAnswer)?;
        if answer.keep {
            self.put(stream);
        }
        if answer.status != 200 {
            return Err(NoAnswer);
        }
        Reply::parse(&answer.body).map_err(|_| NoAnswer)
    }

    async fn connect(&self) -> Result<TcpStream, NoAnswer> {
        let stream = TcpStream::connect(self.address)
            .await
            .map_err(|_| NoAnswer)?;
        // A request is one write: waiting for more to send would only delay it.
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }

    /// A connection that the back-end has not closed since.
    fn take(&self) -> Option<TcpStream> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(stream) = idle.pop() {
            let unread = stream.try_read(&mut [0]);
            // Anything but silence is an end, or an answer that no one asked for.
            if unread.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock) {
                return Some(stream);
            }
        }
        None
    }

    fn put(&self, stream: TcpStream) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_IDLE {
            idle.push(stream);
        }
    }
}

/// An answer of the back-end.
struct BackendAnswer {
    status: u16,
    body: Vec<u8>,
    /// Whether the connection can be used again.
    keep: bool,
}

/// Reads an answer with a length; nothing for any other.
async fn read_answer(stream: &mut TcpStream) -> Option<BackendAnswer> {
    let mut bytes = Vec::with_capacity(2 * 1024);
    let head_bytes = loop {
        if let Some(end) = find(&bytes, b"\r\n\r\n") {
            break end + 4;
        }
        if bytes.len() > MOST_HEAD_BYTES || stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = parse_head(std::str::from_utf8(&bytes[..head_bytes]).ok()?)?;
    let mut body = bytes.split_off(head_bytes);
    while body.len() < head.body_bytes {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    let keep = head.keep && body.len() == head.body_bytes;
    body.truncate(head.body_bytes);
    Some(BackendAnswer {
        status: head.status,
        body,
        keep,
    })
}

/// What matters of a head.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    body_bytes: usize,
    keep: bool,
}

fn parse_head(head: &str) -> Option<Head> {
    let mut lines = head.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.1 ")?;
    let status = status.get(..3)?.parse().ok()?;
    let mut body_bytes = None;
    let mut keep = true;
    for line in lines.filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':')?;
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            body_bytes = value.parse().ok();
        } else if name.eq_ignore_ascii_case("connection") {
            keep = !value.eq_ignore_ascii_case("close");
        }
    }
    let body_bytes = body_bytes.filter(|bytes| *bytes <= MOST_BODY_BYTES)?;
    Some(Head {
        status,
        body_bytes,
        keep,
    })
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_and_others_refused() {
        assert_eq!(
            parse_head("HTTP/1.1 200 OK\r\nContent-Length: 12\r\nconnection: close\r\n\r\n"),
            Some(Head {
                status: 200,
                body_bytes: 12,
                keep: false
            })
        );
        for head in [
            "",
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 20",
            "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 999999999\r\n\r\n",
            "HTTP/1.1 200 OK\r\nno header\r\n\r\n",
        ] {
            assert_eq!(parse_head(head), None, "{head}");
        }
    }
}
