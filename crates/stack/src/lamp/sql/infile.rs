//! Rows from a channel as the file that a `LOAD DATA LOCAL INFILE` asks for.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_core::{Stream, stream::BoxStream};
use tokio::sync::mpsc::Receiver;

/// What comes out of `chunks`, as the client wants it.
pub(super) fn stream(chunks: Receiver<io::Result<Bytes>>) -> BoxStream<'static, io::Result<Bytes>> {
    Box::pin(Chunks(chunks))
}

struct Chunks(Receiver<io::Result<Bytes>>);

impl Stream for Chunks {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}
