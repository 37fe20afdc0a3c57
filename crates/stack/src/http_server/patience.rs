//! How long a client may take, without a timer per request.
//!
//! A stream notes when it last began to wait for its client; one coarse timer per connection looks
//! at the notes.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

/// Time between two looks at a connection; what a limit may be exceeded by.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(5);

/// What a client may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// From one answer to the first byte of the next request. Longer than any think time of a
    /// study.
    pub(crate) idle: Duration,
    /// From the first byte of a request to its end.
    pub(crate) request: Duration,
    /// Without taking a byte of an answer that is ready.
    pub(crate) stall: Duration,
}

impl Limits {
    /// Of the server.
    pub(crate) const SERVER: Self = Self {
        idle: Duration::from_secs(600),
        request: Duration::from_secs(15),
        stall: Duration::from_secs(30),
    };
}

/// What a connection waits for. Times are milliseconds since the connection began, plus one; 0 =
/// not now.
#[derive(Debug)]
pub(crate) struct Notes {
    began: Instant,
    /// When the last answer was ready (or the connection began).
    idle_since: AtomicU64,
    /// When the first byte of the request that is not yet complete came.
    request_since: AtomicU64,
    /// When the client stopped taking bytes.
    stalled_since: AtomicU64,
}

impl Notes {
    pub(crate) fn new() -> Arc<Self> {
        let notes = Self {
            began: Instant::now(),
            idle_since: 1.into(),
            request_since: 0.into(),
            stalled_since: 0.into(),
        };
        Arc::new(notes)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX - 1) + 1
    }

    fn heard(&self) {
        if self.idle_since.load(Relaxed) != 0 {
            self.idle_since.store(0, Relaxed);
            self.request_since.store(self.now(), Relaxed);
        }
    }

    /// A request is complete: from now on the client waits for us.
    pub(crate) fn request_complete(&self) {
        self.idle_since.store(0, Relaxed);
        self.request_since.store(0, Relaxed);
    }

    /// An answer is ready.
    pub(crate) fn answered(&self) {
        self.idle_since.store(self.now(), Relaxed);
    }

    /// Whether the client has taken longer than `limits` allow.
    pub(crate) fn exceeded(&self, limits: Limits) -> bool {
        let now = self.now();
        [
            (&self.idle_since, limits.idle),
            (&self.request_since, limits.request),
            (&self.stalled_since, limits.stall),
        ]
        .into_iter()
        .any(|(since, limit)| {
            let since = since.load(Relaxed);
            since != 0 && u128::from(now.saturating_sub(since)) > limit.as_millis()
        })
    }
}

/// A connection that takes notes.
pub(crate) struct PatientStream<S> {
    stream: TokioIo<S>,
    notes: Arc<Notes>,
}

impl<S> PatientStream<S> {
    pub(crate) fn new(stream: S, notes: Arc<Notes>) -> Self {
        Self {
            stream: TokioIo::new(stream),
            notes,
        }
    }

    fn note_write<T>(&self, written: Poll<T>) -> Poll<T> {
        let stalled = &self.notes.stalled_since;
        if written.is_ready() {
            if stalled.load(Relaxed) != 0 {
                stalled.store(0, Relaxed);
            }
        } else if stalled.load(Relaxed) == 0 {
            stalled.store(self.notes.now(), Relaxed);
        }
        written
    }
}

impl<S: AsyncRead + Unpin> Read for PatientStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.notes.heard();
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> Write for PatientStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note_write(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.note_write(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Limits = Limits {
        idle: Duration::MAX,
        request: Duration::MAX,
        stall: Duration::MAX,
    };

    /// Notes of a connection that began `ago`.
    fn begun(ago: Duration) -> Notes {
        let began = Instant::now()
            .checked_sub(ago)
            .expect("the machine runs longer than this");
        Notes {
            began,
            idle_since: 1.into(),
            request_since: 0.into(),
            stalled_since: 0.into(),
        }
    }

    #[test]
    fn each_wait_has_its_own_limit() {
        let second = Duration::from_secs(1);
        let notes = begun(second * 2);
        assert!(notes.exceeded(Limits {
            idle: second,
            ..NONE
        }));
        notes.heard();
        assert!(
            !notes.exceeded(Limits {
                idle: second,
                ..NONE
            }),
            "a request is on its way"
        );
        notes.request_since.store(1, Relaxed);
        notes.heard();
        assert!(
            notes.exceeded(Limits {
                request: second,
                ..NONE
            }),
            "its first byte counts, not its last"
        );
        notes.request_complete();
        let strict = Limits {
            idle: Duration::ZERO,
            request: Duration::ZERO,
            stall: Duration::ZERO,
        };
        assert!(!notes.exceeded(strict), "the client waits for us");
        notes.stalled_since.store(1, Relaxed);
        assert!(notes.exceeded(Limits {
            stall: second,
            ..NONE
        }));
    }
}
