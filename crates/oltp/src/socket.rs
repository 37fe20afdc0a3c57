//! A terminal's way to its server: bytes out in one system call, bytes in through a buffer that is
//! kept.

use std::{io, path::Path, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpStream, UnixStream},
    time::timeout,
};

use crate::{short_path::short_socket, target::Route};

/// What one read asks for at least.
const READ: usize = 16 * 1024;

/// A connection, TCP or Unix.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Connects within `patience`.
    pub(crate) async fn connect(route: &Route, patience: Duration) -> io::Result<Self> {
        let connecting = async {
            Ok(match route {
                Route::Tcp(address) => {
                    let stream = TcpStream::connect(address).await?;
                    stream.set_nodelay(true)?;
                    Self::Tcp(stream)
                }
                Route::Socket(path) => Self::unix(path).await?,
                Route::SocketDirectory(path, port) => {
                    Self::unix(&path.join(format!(".s.PGSQL.{port}"))).await?
                }
            })
        };
        let late = |_| {
            io::Error::new(
                io::ErrorKind::TimedOut,
                format!("no connection within {} s", patience.as_secs()),
            )
        };
        timeout(patience, connecting).await.map_err(late)?
    }

    async fn unix(path: &Path) -> io::Result<Self> {
        let (_open, short) = short_socket(path)?;
        Ok(Self::Unix(UnixStream::connect(short).await?))
    }

    /// Sends all of `bytes`.
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.write_all(bytes).await,
            Self::Unix(stream) => stream.write_all(bytes).await,
        }
    }

    /// A last word, if it can be said without waiting.
    pub(crate) fn farewell(&self, bytes: &[u8]) {
        // The server notices the end anyway: by the closed socket.
        let _ = match self {
            Self::Tcp(stream) => stream.try_write(bytes),
            Self::Unix(stream) => stream.try_write(bytes),
        };
    }

    async fn receive(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read_buf(into).await,
            Self::Unix(stream) => stream.read_buf(into).await,
        }
    }
}

/// What has come and was not yet taken.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    bytes: Vec<u8>,
    start: usize,
}

impl Incoming {
    /// What is there.
    #[inline]
    pub(crate) fn waiting(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Takes `length` bytes, which are there, and says where they lie.
    #[inline]
    pub(crate) fn take(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.start;
        self.start += length;
        debug_assert!(
            self.start <= self.bytes.len(),
            "only what is there can be taken"
        );
        start..self.start
    }

    /// What was taken last, until more is read.
    #[inline]
    pub(crate) fn taken(&self, range: std::ops::Range<usize>) -> &[u8] {
        &self.bytes[range]
    }

    /// Reads until at least `needed` bytes are there.
    pub(crate) async fn fill(&mut self, socket: &mut Socket, needed: usize) -> io::Result<()> {
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
        }
        while self.waiting().len() < needed {
            if self.bytes.capacity() - self.bytes.len() < READ.max(needed) && self.start > 0 {
                self.bytes.drain(..self.start);
                self.start = 0;
            }
            self.bytes.reserve(READ.max(needed));
            if socket.receive(&mut self.bytes).await? == 0 {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the server closed the connection",
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_arrive_whole_whatever_the_reads_are() {
        let runtime = crate::runtime().expect("a runtime");
        runtime.block_on(async {
            let (near, mut far) = UnixStream::pair().expect("a pair");
            let mut socket = Socket::Unix(near);
            let sent: Vec<u8> = (0..200_000u32).map(|number| (number % 251) as u8).collect();
            let copy = sent.clone();
            let writer = tokio::spawn(async move {
                for piece in copy.chunks(1_777) {
                    far.write_all(piece).await.expect("written");
                }
            });
            let mut incoming = Incoming::default();
            let mut got = Vec::new();
            for length in [1, 5, 40_000, 3, 100_000, 59_991] {
                incoming.fill(&mut socket, length).await.expect("read");
                let range = incoming.take(length);
                got.extend_from_slice(incoming.taken(range));
            }
            writer.await.expect("no panic");
            assert!(got == sent, "in order and whole");
            let end = incoming.fill(&mut socket, 1).await.expect_err("the end");
            assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
        });
    }
}
