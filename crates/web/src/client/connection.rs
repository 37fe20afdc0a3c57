//! The connection of one user: opened on demand, kept alive, replaced when the server closed it.

use std::{
    future::{Future, poll_fn},
    io,
    net::SocketAddr,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use rookery_driver::{EVIDENCE_BYTES, Fault, Nanos};
use rookery_stats::ErrorClass;
use rustix::{
    io::{Errno, ioctl_fionbio},
    net::{
        RecvFlags, SendFlags, recv, send,
        sockopt::{Timeout, set_socket_timeout},
    },
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use crate::{
    http::{
        cookies::Cookies,
        decode::{Answer, Assembler, Body, Feeding, Keep},
    },
    site::Site,
    worker::{Alone, Worker},
};

/// What to ask for.
pub(crate) struct Ask<F> {
    /// Appends the request target, such as `/ds2/index.html`.
    pub(crate) target: F,
    /// The request may be sent again when the server had closed an idle connection.
    pub(crate) repeatable: bool,
    pub(crate) keep: Keep,
}

/// One user's connection and cookies.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    stream: Option<Stream>,
    /// An answer has come over it.
    reused: bool,
    cookies: Cookies,
}

/// A stream whose user may wait in its socket.
#[derive(Debug)]
struct Stream {
    tcp: TcpStream,
    /// A receive waits in the socket, until the user is looked after at this moment.
    waits_until: Option<Nanos>,
}

impl Connection {
    /// Send one request and read its whole answer. After a fault the connection is closed.
    ///
    /// The body of the answer may lie in the thread's scratch buffer: it must be judged before the
    /// next await.
    pub(crate) async fn exchange<F: Fn(&mut Vec<u8>)>(
        &mut self,
        worker: &Worker,
        row: usize,
        site: &Site,
        ask: Ask<F>,
    ) -> Result<Answer, Fault> {
        let mut answer = self.once(worker, row, site, &ask).await;
        if answer == Err(Fault::IDLE_CLOSED) && ask.repeatable {
            worker.count_idle_retry();
            self.close();
            answer = self.once(worker, row, site, &ask).await;
        }
        match &answer {
            Ok(answer) if answer.keep_alive => self.reused = true,
            _ => self.close(),
        }
        answer
    }

    /// Another visitor takes the connection over: without the cookies of the one before, and
    /// without a stream that the server has closed meanwhile. That costs no call of the kernel
    /// unless something came.
    pub(crate) fn renew(&mut self) {
        self.cookies = Cookies::default();
        let quiet = |stream: &Stream| matches!(stream.tcp.try_read(&mut [0]), Err(error) if error.kind() == io::ErrorKind::WouldBlock);
        if !self.stream.as_ref().is_some_and(quiet) {
            self.close();
        }
    }

    /// Close the connection with a reset: its port is free for the next at once, and is not kept
    /// for a minute.
    pub(crate) fn abandon(&mut self) {
        if let Some(stream) = &self.stream {
            // Where that fails, the port is kept for a minute.
            let _ = stream.tcp.set_zero_linger();
        }
        self.close();
    }

    fn close(&mut self) {
        self.stream = None;
        self.reused = false;
    }

    async fn once<F: Fn(&mut Vec<u8>)>(
        &mut self,
        worker: &Worker,
        row: usize,
        site: &Site,
        ask: &Ask<F>,
    ) -> Result<Answer, Fault> {
        if self.stream.is_none() {
            self.stream = Some(connect(worker, row, site).await?);
        }
        let Some(stream) = &mut self.stream else {
            return Err(Fault::new(ErrorClass::Driver, "no-connection"));
        };
        let rest = worker.with_request(|request| {
            site.render(request, &ask.target, self.cookies.header());
            write_now(stream, request)
        });
        if let Some(rest) = rest.map_err(|error| self.broken(&error))? {
            worker.mark_written(row);
            let stream = self.stream.as_mut().ok_or(Fault::TRUNCATED)?;
            write_rest(worker, row, stream, &rest).await?;
        }
        worker.mark_written(row);
        self.receive(worker, row, ask.keep).await
    }

    /// The fault of a failed send or of a reset before the first byte of an answer.
    fn broken(&self, error: &io::Error) -> Fault {
        if self.reused {
            return Fault::IDLE_CLOSED;
        }
        match Fault::receiving(error) {
            fault if error.kind() == io::ErrorKind::ConnectionReset => fault,
            _ => Fault::new(ErrorClass::Io, "send"),
        }
    }

    async fn receive(&mut self, worker: &Worker, row: usize, keep: Keep) -> Result<Answer, Fault> {
        let Some(stream) = &mut self.stream else {
            return Err(Fault::TRUNCATED);
        };
        let (cookies, reused) = (&mut self.cookies, self.reused);
        let mut assembler = Assembler::new();
        let mut silent = true;
        let read = poll_fn(|context| {
            loop {
                let alone = worker.alone_for(row);
                let step = match poll_step(
                    worker,
                    stream,
                    alone,
                    cookies,
                    &mut assembler,
                    keep,
                    context,
                ) {
                    Poll::Ready(step) => step,
                    Poll::Pending if worker.poll_overdue(row, context).is_ready() => {
                        Err(Fault::new(ErrorClass::Io, "recv-timeout"))
                    }
                    Poll::Pending => return Poll::Pending,
                };
                match step {
                    Ok(Step::More) => silent = false,
                    Ok(Step::Done(answer)) => return Poll::Ready(Ok(answer)),
                    // Nothing came over a connection that had served before: the server had closed
                    // it while it was idle.
                    Err(fault) if silent && reused && CLOSED.contains(&fault) => {
                        return Poll::Ready(Err(Fault::IDLE_CLOSED));
                    }
                    Err(fault) => return Poll::Ready(Err(fault)),
                }
            }
        })
        .await;
        if read.is_err() {
            worker.with_pool(|pool| assembler.abandon(pool));
        }
        read
    }
}

/// Faults that mean "the server is gone".
pub(crate) const CLOSED: [Fault; 2] = [Fault::TRUNCATED, Fault::new(ErrorClass::Io, "recv-reset")];

enum Step {
    More,
    Done(Answer),
}

/// Receive once into the thread's scratch buffer and feed what came.
fn poll_step(
    worker: &Worker,
    stream: &mut Stream,
    alone: Option<Alone>,
    cookies: &mut Cookies,
    assembler: &mut Assembler,
    keep: Keep,
    context: &mut Context<'_>,
) -> Poll<Result<Step, Fault>> {
    let mut scratch = worker.scratch();
    let scratch = &mut *scratch;
    let mut buffer = ReadBuf::new(&mut scratch.received);
    if let Err(error) = ready!(poll_receive(stream, alone, context, &mut buffer)) {
        scratch.evidence.clear();
        scratch
            .evidence
            .extend_from_slice(error.to_string().as_bytes());
        return Poll::Ready(Err(Fault::receiving(&error)));
    }
    let bytes = buffer.filled();
    let fed = if bytes.is_empty() {
        assembler.close(keep).map(Some)
    } else {
        let mut feeding = Feeding {
            limits: worker.limits(),
            keep,
            cookies,
            pool: &mut scratch.pool,
        };
        assembler.feed(bytes, &mut feeding)
    };
    Poll::Ready(match fed {
        Ok(None) => Ok(Step::More),
        Ok(Some(answer)) => Ok(Step::Done(answer)),
        Err(fault) => {
            let seen = if assembler.gathered().is_empty() {
                bytes
            } else {
                assembler.gathered()
            };
            scratch.evidence.clear();
            scratch
                .evidence
                .extend_from_slice(&seen[..seen.len().min(EVIDENCE_BYTES)]);
            Err(fault)
        }
    })
}

/// Receive once. A user that is `alone` on its thread waits in its socket, and by way of the
/// runtime only when that took too long: that is a call of the kernel, an event queue and a task
/// less for each answer.
fn poll_receive(
    stream: &mut Stream,
    alone: Option<Alone>,
    context: &mut Context<'_>,
    buffer: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    if let Some(alone) = alone {
        stream.wait_within(alone)?;
        match recv(
            &stream.tcp,
            buffer.initialize_unfilled(),
            RecvFlags::empty(),
        ) {
            Ok((_, read)) => {
                buffer.advance(read);
                return Poll::Ready(Ok(()));
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Poll::Ready(Err(error.into())),
        }
    }
    stream.wait_no_more()?;
    Pin::new(&mut stream.tcp).poll_read(context, buffer)
}

impl Stream {
    /// Have receives wait in the socket for as long as the user is alone. The time is set once for
    /// all receives until then, so that the last of them may end later by as much.
    fn wait_within(&mut self, alone: Alone) -> io::Result<()> {
        if self.waits_until == Some(alone.until) {
            return Ok(());
        }
        if self.waits_until.is_none() {
            ioctl_fionbio(&self.tcp, false)?;
        }
        self.waits_until = Some(alone.until);
        set_socket_timeout(&self.tcp, Timeout::Recv, Some(alone.longest))?;
        Ok(())
    }

    /// Have no call wait in the socket, as the runtime wants it.
    fn wait_no_more(&mut self) -> io::Result<()> {
        if self.waits_until.take().is_some() {
            ioctl_fionbio(&self.tcp, true)?;
        }
        Ok(())
    }
}

async fn connect(worker: &Worker, row: usize, site: &Site) -> Result<Stream, Fault> {
    let began = worker.clock().now();
    let tcp = open(worker, row, site.target()).await?;
    worker.count_connect(row, began);
    Ok(Stream {
        tcp,
        waits_until: None,
    })
}

/// A new connection, which is not counted yet.
pub(crate) async fn open(
    worker: &Worker,
    row: usize,
    target: SocketAddr,
) -> Result<TcpStream, Fault> {
    let stream = match within(worker, row, TcpStream::connect(target)).await {
        Some(Ok(stream)) => stream,
        Some(Err(error)) => {
            worker.set_evidence(error.to_string().as_bytes());
            return Err(Fault::connecting(&error));
        }
        None => return Err(Fault::new(ErrorClass::Connect, "timeout")),
    };
    // A failure here means that the peer is already gone; the exchange will find out.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

/// Send at once what the socket takes: `None` when that was all, else the rest, in a buffer of its
/// own.
fn write_now(stream: &Stream, request: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    match send(&stream.tcp, request, flags) {
        Ok(sent) if sent == request.len() => Ok(None),
        Ok(sent) => Ok(Some(request[sent..].to_vec())),
        Err(Errno::AGAIN | Errno::INTR) => Ok(Some(request.to_vec())),
        Err(error) => Err(error.into()),
    }
}

async fn write_rest(
    worker: &Worker,
    row: usize,
    stream: &mut Stream,
    mut rest: &[u8],
) -> Result<(), Fault> {
    const SEND: Fault = Fault::new(ErrorClass::Io, "send");
    stream.wait_no_more().map_err(|_| SEND)?;
    while !rest.is_empty() {
        let written = within(
            worker,
            row,
            poll_fn(|context| Pin::new(&mut stream.tcp).poll_write(context, rest)),
        )
        .await;
        match written {
            Some(Ok(sent @ 1..)) => rest = &rest[sent..],
            _ => return Err(SEND),
        }
    }
    Ok(())
}

/// The output of `future`, or `None` when the request is overdue first.
pub(crate) async fn within<F: Future>(worker: &Worker, row: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => worker.poll_overdue(row, context).map(|()| None),
    })
    .await
}

/// Judge the body of an answer where it lies, and give its buffer back.
pub(crate) fn with_body<T>(worker: &Worker, body: Body, judge: impl FnOnce(&[u8]) -> T) -> T {
    match body {
        Body::InPlace(range) => judge(&worker.scratch().received[range]),
        Body::Gathered(bytes) => {
            let judged = judge(&bytes);
            worker.with_pool(|pool| pool.give(bytes));
            judged
        }
        Body::Counted => judge(&[]),
    }
}
