//! A client's line as the server has it, over TCP or the socket in the data directory, with limits
//! on every wait.

use std::{
    io::{self, BufRead as _, BufReader, Read, Write},
    net::{Shutdown, TcpStream},
    os::unix::net::UnixStream,
    time::{Duration, Instant},
};

use super::wire::{LENGTH, MAX_REQUEST, frame_length};
use crate::error::WireError;

/// Longest wait for the rest of a frame, and for a client that takes no answer.
const FRAME_PATIENCE: Duration = Duration::from_secs(30);

/// Lines of a request of HTTP, and bytes of each, that are read at most.
const MAX_HEADERS: usize = 64;
const MAX_HEADER: u64 = 1024;

/// One end of a connection.
#[derive(Debug)]
pub(super) enum Line {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Line {
    pub(super) fn prepare(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => {
                // An answer is one write: waiting for more to send would only delay it.
                stream.set_nodelay(true)?;
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(FRAME_PATIENCE))?;
                stream.set_write_timeout(Some(FRAME_PATIENCE))
            }
            Self::Unix(stream) => {
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(FRAME_PATIENCE))?;
                stream.set_write_timeout(Some(FRAME_PATIENCE))
            }
        }
    }

    pub(super) fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Tcp(stream) => stream.try_clone().map(Self::Tcp),
            Self::Unix(stream) => stream.try_clone().map(Self::Unix),
        }
    }

    /// Ends the connection under whoever reads or writes.
    pub(super) fn shut_down(&self) {
        // It may have ended by itself.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

impl Read for Line {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What came of waiting for a request.
#[derive(Debug, PartialEq)]
pub(super) enum Arrived {
    /// A frame; its content is in the buffer.
    Frame,
    /// The client has gone, or said nothing for too long.
    End,
    /// A GET of HTTP: somebody asks whether the server is there.
    Http,
    /// What came is no frame.
    Garbage(WireError),
}

/// Reads the next frame into `frame`. The client may take `idle` to begin it.
pub(super) fn read_frame(
    reader: &mut BufReader<Line>,
    frame: &mut Vec<u8>,
    idle: Duration,
) -> Arrived {
    let began = Instant::now();
    loop {
        match reader.fill_buf() {
            Ok([]) => return Arrived::End,
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) && began.elapsed() < idle => {}
            Err(_) => return Arrived::End,
        }
    }
    let mut head = [0; LENGTH];
    if reader.read_exact(&mut head).is_err() {
        return Arrived::End;
    }
    if head == *b"GET " {
        read_request(reader);
        return Arrived::Http;
    }
    match frame_length(head, MAX_REQUEST) {
        Ok(length) => {
            frame.resize(length, 0);
            match reader.read_exact(frame) {
                Ok(()) => Arrived::Frame,
                Err(_) => Arrived::End,
            }
        }
        Err(error) => Arrived::Garbage(error),
    }
}

/// Reads the rest of a request of HTTP: a line that closes with unread bytes may take the answer
/// along.
fn read_request(reader: &mut BufReader<Line>) {
    let mut line = Vec::new();
    for _ in 0..MAX_HEADERS {
        line.clear();
        match reader
            .by_ref()
            .take(MAX_HEADER)
            .read_until(b'\n', &mut line)
        {
            Ok(2..) if line != b"\r\n" => {}
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (UnixStream, BufReader<Line>) {
        let (client, server) = UnixStream::pair().expect("a pair");
        let line = Line::Unix(server);
        line.prepare().expect("prepared");
        (client, BufReader::new(line))
    }

    #[test]
    fn frames_come_one_by_one() {
        let (mut client, mut reader) = pair();
        client
            .write_all(&[2, 0, 0, 0, 7, 8, 0, 0, 0, 0])
            .expect("written");
        let mut frame = Vec::new();
        assert_eq!(
            read_frame(&mut reader, &mut frame, FRAME_PATIENCE),
            Arrived::Frame
        );
        assert_eq!(frame, [7, 8]);
        assert_eq!(
            read_frame(&mut reader, &mut frame, FRAME_PATIENCE),
            Arrived::Frame
        );
        assert!(frame.is_empty());
        client.write_all(&[9, 0]).expect("written");
        drop(client);
        assert_eq!(
            read_frame(&mut reader, &mut frame, FRAME_PATIENCE),
            Arrived::End,
            "half a frame"
        );
    }

    #[test]
    fn other_protocols_are_recognised() {
        let (mut client, mut reader) = pair();
        client
            .write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\nmore")
            .expect("written");
        assert_eq!(
            read_frame(&mut reader, &mut Vec::new(), FRAME_PATIENCE),
            Arrived::Http
        );
        assert_eq!(reader.buffer(), b"more", "the request alone is read");
        let (mut client, mut reader) = pair();
        client.write_all(b"POST / HTTP/1.1\r\n").expect("written");
        let arrived = read_frame(&mut reader, &mut Vec::new(), FRAME_PATIENCE);
        assert!(
            matches!(arrived, Arrived::Garbage(WireError::TooLong { .. })),
            "{arrived:?}"
        );
    }
}
