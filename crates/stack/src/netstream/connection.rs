//! One connection of a client, from its first request to its last, on a thread of its own.

use std::{
    io::{self, Read as _, Write as _},
    net::{Shutdown, TcpStream},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::{Duration, Instant},
};

use super::{
    answer::text,
    request::{MOST_HEAD, Refused, Request, read_request},
    site::{Answering, ExchangeSite},
};

/// Longest time from an answer to the next request. Think times of a study are an hour on average
/// at most.
const IDLE: Duration = Duration::from_secs(4 * 3600);
/// Longest time from the first byte of a request to its end.
const REQUEST: Duration = Duration::from_secs(15);
/// Longest time without taking a byte of an answer.
const STALL: Duration = Duration::from_secs(30);
/// How long, and for how many bytes, a client that was refused is still listened to.
const REFUSED: Duration = Duration::from_secs(1);
const REFUSED_BYTES: u64 = 1 << 20;

/// Answer the requests of a connection until its client ends it, breaks a rule or is too slow, or
/// the server stops.
///
/// # Errors
/// When the connection is broken, or its client too slow: its client's matter.
pub(super) fn converse(
    stream: &TcpStream,
    site: &ExchangeSite,
    stopping: &AtomicBool,
) -> io::Result<()> {
    // An answer is one write: waiting for more to send would only delay it.
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(IDLE))?;
    stream.set_write_timeout(Some(STALL))?;
    let mut inbox = Inbox::new(stream);
    let mut answering = Answering::default();
    while let Some(request) = inbox.next()? {
        match request {
            Ok(request) => {
                let is_last = request.is_last || stopping.load(Relaxed);
                site.answer(stream, request.wanted, is_last, &mut answering)?;
                if is_last || stopping.load(Relaxed) {
                    return Ok(());
                }
            }
            Err(Refused) => return refuse(stream),
        }
    }
    Ok(())
}

/// What came and was not understood yet.
struct Inbox<'a> {
    stream: &'a TcpStream,
    buffer: Box<[u8]>,
    /// Where in the buffer it begins and ends.
    begin: usize,
    end: usize,
    /// Until when the request that has begun must be whole.
    whole_by: Option<Instant>,
}

impl<'a> Inbox<'a> {
    fn new(stream: &'a TcpStream) -> Self {
        Self {
            stream,
            buffer: vec![0; MOST_HEAD].into_boxed_slice(),
            begin: 0,
            end: 0,
            whole_by: None,
        }
    }

    /// The next request; `None` when the client has no more.
    fn next(&mut self) -> io::Result<Option<Result<Request, Refused>>> {
        loop {
            if self.begin < self.end {
                match read_request(&self.buffer[self.begin..self.end]) {
                    Ok(Some(request)) => {
                        self.begin += request.head_bytes;
                        if self.whole_by.take().is_some() {
                            self.stream.set_read_timeout(Some(IDLE))?;
                        }
                        return Ok(Some(Ok(request)));
                    }
                    Ok(None) => self.expect_the_rest()?,
                    Err(refused) => return Ok(Some(Err(refused))),
                }
            } else {
                (self.begin, self.end) = (0, 0);
            }
            match (&mut &*self.stream).read(&mut self.buffer[self.end..]) {
                Ok(0) => return Ok(None),
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// A part of a request has come: make room for the rest of it, and set it a time.
    fn expect_the_rest(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.begin..self.end, 0);
        (self.begin, self.end) = (0, self.end - self.begin);
        let now = Instant::now();
        let by = *self.whole_by.get_or_insert(now + REQUEST);
        let left = by.saturating_duration_since(now);
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))
    }
}

/// Say no, and close. What the client still sends is read for a moment: a connection that is closed
/// with something unread is reset, and the client may lose the answer.
fn refuse(mut stream: &TcpStream) -> io::Result<()> {
    stream.write_all(&text(
        "400 Bad Request",
        "only GET of HTTP/1.1 without a body, and with a head of at most 8 KiB, is answered here\n",
        true,
    ))?;
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(REFUSED))?;
    io::copy(&mut stream.take(REFUSED_BYTES), &mut io::sink())?;
    Ok(())
}
