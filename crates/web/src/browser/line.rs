//! One of a user's connections: opened on demand, encrypted or not, kept alive, replaced when the
//! server closed it.

use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll, ready},
};

use rookery_cast::index;
use rookery_driver::{EVIDENCE_BYTES, Fault, Nanos};
use rookery_stats::ErrorClass;
use rustix::net::{RecvFlags, recv};
use tokio::{
    io::{AsyncRead, AsyncWrite, Interest, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream, rustls::HandshakeKind};

use super::{
    answer::{Answer, Reception, Wanted},
    rate::RatedReceive,
    tls::{TlsUser, handshake_fault},
};
use crate::{
    client::connection::{CLOSED, open, within},
    http::cookies::Cookies,
    worker::Worker,
};

/// What happened on the connections of a user since it was last asked.
#[derive(Debug, Default)]
pub(crate) struct LineCounts {
    pub(crate) requests: Cell<u64>,
    pub(crate) bytes: Cell<u64>,
    pub(crate) handshakes: Cell<u64>,
    pub(crate) resumed: Cell<u64>,
    /// When the first byte of an answer came, 0 while none has; nothing where nobody asks.
    pub(crate) first_byte_at: Option<Cell<Nanos>>,
}

impl LineCounts {
    /// Counts of users whose first bytes are timed.
    pub(crate) fn with_first_byte() -> Self {
        Self {
            first_byte_at: Some(Cell::new(0)),
            ..Self::default()
        }
    }
}

pub(crate) fn add(cell: &Cell<u64>, more: u64) {
    cell.set(cell.get().saturating_add(more));
}

/// What all connections of a user share during one operation.
pub(crate) struct Link<'l> {
    pub(crate) worker: &'l Worker,
    pub(crate) row: usize,
    pub(crate) target: SocketAddr,
    pub(crate) tls: Option<&'l TlsUser>,
    pub(crate) cookies: &'l RefCell<Cookies>,
    pub(crate) rated: &'l RatedReceive,
    pub(crate) counts: &'l LineCounts,
}

/// A connection.
#[derive(Debug)]
enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// One of a user's connections.
#[derive(Debug, Default)]
pub(crate) struct Line {
    stream: Option<Stream>,
    /// An answer has come over it.
    reused: bool,
}

impl Line {
    /// Sends one request and reads its whole answer. After a fault the connection is closed.
    pub(crate) async fn exchange(
        &mut self,
        link: &Link<'_>,
        request: &[u8],
        repeatable: bool,
        wanted: Wanted<'_>,
    ) -> Result<Answer, Fault> {
        let mut answer = self.once(link, request, wanted).await;
        if repeatable && matches!(answer, Err(Fault::IDLE_CLOSED)) {
            link.worker.count_idle_retry();
            self.close();
            answer = self.once(link, request, wanted).await;
        }
        add(&link.counts.requests, 1);
        match &answer {
            Ok(answer) => {
                add(&link.counts.bytes, answer.sent_bytes);
                if answer.told.keep_alive {
                    self.reused = true;
                } else {
                    self.close();
                }
            }
            Err(_) => self.close(),
        }
        answer
    }

    /// Closes it.
    pub(crate) fn close(&mut self) {
        self.stream = None;
        self.reused = false;
    }

    async fn once(
        &mut self,
        link: &Link<'_>,
        request: &[u8],
        wanted: Wanted<'_>,
    ) -> Result<Answer, Fault> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => none.insert(connect(link).await?),
        };
        match write_all(link, stream, request).await {
            Ok(()) => {}
            Err(_) if self.reused => return Err(Fault::IDLE_CLOSED),
            Err(fault) => return Err(fault),
        }
        receive(link, stream, self.reused, wanted).await
    }
}

async fn connect(link: &Link<'_>) -> Result<Stream, Fault> {
    let (worker, row) = (link.worker, link.row);
    let began = worker.clock().now();
    let stream = open(worker, row, link.target).await?;
    let stream = match link.tls {
        None => Stream::Plain(stream),
        Some(tls) => encrypt(link, tls, stream).await?,
    };
    worker.count_connect(row, began);
    Ok(stream)
}

async fn encrypt(link: &Link<'_>, tls: &TlsUser, stream: TcpStream) -> Result<Stream, Fault> {
    let connector = TlsConnector::from(std::sync::Arc::clone(&tls.config));
    let connecting = connector.connect(tls.name.clone(), stream);
    match within(link.worker, link.row, connecting).await {
        Some(Ok(stream)) => {
            let resumed = stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed);
            let counts = link.counts;
            add(
                if resumed {
                    &counts.resumed
                } else {
                    &counts.handshakes
                },
                1,
            );
            Ok(Stream::Tls(Box::new(stream)))
        }
        Some(Err(error)) => {
            link.worker.set_evidence(error.to_string().as_bytes());
            Err(handshake_fault(&error))
        }
        None => Err(Fault::new(ErrorClass::Tls, "timeout")),
    }
}

async fn write_all(link: &Link<'_>, stream: &mut Stream, request: &[u8]) -> Result<(), Fault> {
    let mut rest = request;
    let writing = poll_fn(|context| {
        while !rest.is_empty() {
            match ready!(Pin::new(&mut *stream).poll_write(context, rest)) {
                Ok(0) => return Poll::Ready(Err(Fault::new(ErrorClass::Io, "send"))),
                Ok(sent) => {
                    link.worker.mark_written(link.row);
                    rest = &rest[sent..];
                }
                Err(error) => return Poll::Ready(Err(send_fault(&error))),
            }
        }
        let flushed = ready!(Pin::new(&mut *stream).poll_flush(context));
        Poll::Ready(flushed.map_err(|error| send_fault(&error)))
    });
    match within(link.worker, link.row, writing).await {
        Some(written) => written,
        None => Err(Fault::new(ErrorClass::Io, "send-timeout")),
    }
}

fn send_fault(error: &io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::ConnectionReset => Fault::receiving(error),
        _ => Fault::new(ErrorClass::Io, "send"),
    }
}

async fn receive(
    link: &Link<'_>,
    stream: &mut Stream,
    reused: bool,
    wanted: Wanted<'_>,
) -> Result<Answer, Fault> {
    let worker = link.worker;
    let mut reception = Reception::new(wanted);
    let mut silent = true;
    loop {
        if let Some(at) = link.rated.next_at()
            && !worker.clock().reached(at)
        {
            worker.sleep_until(link.row, at).await;
        }
        let reading = poll_fn(|context| poll_step(link, stream, &mut reception, context));
        let step = match within(worker, link.row, reading).await {
            Some(step) => step,
            None => Err(Fault::new(ErrorClass::Io, "recv-timeout")),
        };
        if let Some(first_byte_at) = &link.counts.first_byte_at
            && silent
            && step.is_ok()
            && first_byte_at.get() == 0
        {
            first_byte_at.set(worker.clock().now());
        }
        match step {
            Ok(None) => silent = false,
            Ok(Some(answer)) => return Ok(answer),
            // Nothing came over a connection that had served before: the server had closed it
            // while it was idle.
            Err(fault) if silent && reused && CLOSED.contains(&fault) => {
                return Err(Fault::IDLE_CLOSED);
            }
            Err(fault) => return Err(fault),
        }
    }
}

/// Receives once, and feeds what came.
fn poll_step(
    link: &Link<'_>,
    stream: &mut Stream,
    reception: &mut Reception<'_>,
    context: &mut Context<'_>,
) -> Poll<Result<Option<Answer>, Fault>> {
    let mut scratch = link.worker.scratch();
    let scratch = &mut *scratch;
    let most = link.rated.at_once(scratch.received.len());
    let unwanted = match &*stream {
        Stream::Plain(stream) => reception.unwanted().map(|left| (stream, left)),
        Stream::Tls(_) => None,
    };
    let (received, is_unwanted) = match unwanted {
        Some((stream, left)) => {
            // One more than is left: what stands behind an answer is seen.
            let most = most.min(index(left.saturating_add(1)));
            (
                discard(stream, &mut scratch.received[..most], context),
                true,
            )
        }
        None => {
            let most = match stream {
                Stream::Plain(_) => most.min(reception.next_read()),
                Stream::Tls(_) => most,
            };
            let mut buffer = ReadBuf::new(&mut scratch.received[..most]);
            let polled = Pin::new(stream).poll_read(context, &mut buffer);
            (polled.map_ok(|()| buffer.filled().len()), false)
        }
    };
    let length = match ready!(received) {
        Ok(length) => length,
        Err(error) => {
            scratch.evidence = error.to_string().into_bytes();
            return Poll::Ready(Err(receive_fault(&error)));
        }
    };
    link.rated.received(length);
    let fed = match length {
        0 => reception.close().map(Some),
        length if is_unwanted => reception.skip(length),
        length => {
            let (cookies, pool) = (&mut *link.cookies.borrow_mut(), &mut scratch.pool);
            reception.feed(&mut scratch.received, length, cookies, pool)
        }
    };
    if fed.is_err() {
        let mut seen = reception.evidence();
        if seen.is_empty() && !is_unwanted {
            seen.extend_from_slice(&scratch.received[..length.min(EVIDENCE_BYTES)]);
        }
        scratch.evidence = seen;
    }
    Poll::Ready(fed)
}

fn receive_fault(error: &io::Error) -> Fault {
    match error.kind() {
        // A peer that ends without the farewell of TLS has cut the connection.
        io::ErrorKind::UnexpectedEof => Fault::TRUNCATED,
        io::ErrorKind::InvalidData => Fault::new(ErrorClass::Tls, "record"),
        _ => Fault::receiving(error),
    }
}

/// Has the kernel throw away what has come, as much as `room` holds, without copying it (tcp(7),
/// `MSG_TRUNC`); how many bytes that were, none when the server closed.
fn discard(
    stream: &TcpStream,
    room: &mut [u8],
    context: &mut Context<'_>,
) -> Poll<io::Result<usize>> {
    loop {
        ready!(stream.poll_read_ready(context))?;
        let mut discarded = None;
        let outcome = stream.try_io(Interest::READABLE, || {
            let (_, bytes) = recv(stream, &mut *room, RecvFlags::TRUNC | RecvFlags::DONTWAIT)?;
            discarded = Some(bytes);
            // Less than was asked for: nothing is left, and more will be announced. The runtime
            // concludes the same from its own reads.
            if (1..room.len()).contains(&bytes) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            Ok(())
        });
        match (discarded, outcome) {
            (Some(bytes), _) => return Poll::Ready(Ok(bytes)),
            (None, Err(error)) if error.kind() != io::ErrorKind::WouldBlock => {
                return Poll::Ready(Err(error));
            }
            (None, _) => {}
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
