//! A socket that is lent to the well-kept client for the introduction, and comes back.
//!
//! Passwords, SCRAM and start-up messages are its business; what terminals do afterwards is ours,
//! because a statement costs less without its channel and task.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::{Config, NoTls};

use super::guard::Guarded;
use crate::{ClientError, fence::fenced, socket::Socket};

struct Lent(Arc<Mutex<Socket>>);

impl Lent {
    fn socket(&self) -> MutexGuard<'_, Socket> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsyncRead for Lent {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.socket()).poll_read(context, buffer)
    }
}

impl AsyncWrite for Lent {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.socket()).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.socket()).poll_flush(context)
    }

    /// The end of the loan is not the end of the connection.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Introduces `config`'s user on `socket`, and gives the socket back.
pub(super) async fn introduce(
    config: &Config,
    socket: Socket,
    allows_clear_text: bool,
) -> Result<Socket, ClientError> {
    let owner = Arc::new(Mutex::new(socket));
    let lent = Guarded::new(Lent(Arc::clone(&owner)), allows_clear_text);
    // The server says nothing unasked after its last word, so nothing is left behind in the
    // client's buffers; and as the connection is never polled, it says nothing either.
    drop(fenced(config.connect_raw(lent, NoTls)).await??);
    let socket = Arc::into_inner(owner)
        .ok_or_else(|| ClientError::Session("the connection did not come back".to_owned()))?;
    Ok(socket.into_inner().unwrap_or_else(PoisonError::into_inner))
}
