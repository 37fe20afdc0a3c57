//! A terminal's way to its server: bytes out in one system call, bytes in through a buffer that is
//! kept.

use std::{
    io,
    path::Path,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf},
    net::{TcpStream, UnixStream},
    time::timeout,
};
use tokio_rustls::client::TlsStream;

use crate::{
    ClientError, Target, TlsError,
    short_path::short_socket,
    target::Route,
    tls::{self, Encryption},
};

/// What one read asks for at least.
const READ: usize = 16 * 1024;

/// A connection, TCP or Unix.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    Unix(UnixStream),
}

impl Socket {
    /// Connects as PostgreSQL's clients do, encrypted where the target asks for it.
    pub(crate) async fn connect(target: &Target) -> Result<Self, ClientError> {
        /// Length and code of the request for encryption.
        const REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
        let mut socket = Self::connect_plain(target).await?;
        if target.encryption == Encryption::Off {
            return Ok(socket);
        }
        socket.send(&REQUEST).await?;
        // One byte and no more: what follows belongs to the encryption.
        match socket.read_u8().await? {
            b'S' => socket.encrypted(target).await,
            _ => Err(TlsError::NotOffered.into()),
        }
    }

    /// Connects within the target's patience, unencrypted.
    pub(crate) async fn connect_plain(target: &Target) -> io::Result<Self> {
        let patience = target.patience.answer;
        let connecting = async {
            Ok(match &target.route {
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
                format!("no connection within {} s", patience.as_secs_f64()),
            )
        };
        timeout(patience, connecting).await.map_err(late)?
    }

    /// The same connection, encrypted as `target` asks for it. A socket of this machine stays as it
    /// is.
    pub(crate) async fn encrypted(self, target: &Target) -> Result<Self, ClientError> {
        let Self::Tcp(stream) = self else {
            return Ok(self);
        };
        let address = stream.peer_addr()?.ip();
        let stream = tls::encrypt(stream, &target.encryption, address).await??;
        Ok(Self::Tls(Box::new(stream)))
    }

    async fn unix(path: &Path) -> io::Result<Self> {
        let (_open, short) = short_socket(path)?;
        Ok(Self::Unix(UnixStream::connect(short).await?))
    }

    /// Sends all of `bytes`.
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.write_all(bytes).await,
            Self::Tls(stream) => {
                stream.write_all(bytes).await?;
                stream.flush().await
            }
            Self::Unix(stream) => stream.write_all(bytes).await,
        }
    }

    /// A last word, if it can be said without waiting.
    pub(crate) fn farewell(&self, bytes: &[u8]) {
        // The server notices the end anyway: by the closed socket.
        let _ = match self {
            Self::Tcp(stream) => stream.try_write(bytes),
            // Only its own end could encrypt it.
            Self::Tls(_) => Ok(0),
            Self::Unix(stream) => stream.try_write(bytes),
        };
    }

    async fn receive(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read_buf(into).await,
            Self::Tls(stream) => stream.read_buf(into).await,
            Self::Unix(stream) => stream.read_buf(into).await,
        }
    }
}

/// For the client library that introduces users; terminals use [`Socket::send`] and [`Incoming`].
impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut *self {
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
            Self::Unix(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(context),
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
