//! Bodies that come in parts while they are sent: from a file.
//!
//! A part of a file that the kernel has in memory is read at once on the worker's thread, which
//! takes microseconds. Any other is read on a thread that may wait for the disk, so that a worker
//! never does.

use std::{
    fs::File,
    io::{self, IoSliceMut},
    os::unix::fs::FileExt as _,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use http_body_util::Full;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use tokio::task::JoinHandle;

/// Bytes read at a time.
const PART_BYTES: usize = 64 * 1024;

/// A file on its way to a client.
#[derive(Debug)]
pub(crate) struct FileBody {
    file: Arc<File>,
    at: u64,
    left: u64,
    /// A part that the disk is waited for.
    waiting: Option<JoinHandle<io::Result<Vec<u8>>>>,
}

impl FileBody {
    /// `length` bytes of a file from byte `from` on.
    pub(crate) fn new(file: File, from: u64, length: u64) -> Self {
        Self {
            file: Arc::new(file),
            at: from,
            left: length,
            waiting: None,
        }
    }

    /// Bytes that are not sent yet.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    fn poll_part(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Vec<u8>>> {
        if let Some(waiting) = &mut self.waiting {
            let read = ready!(Pin::new(waiting).poll(context));
            self.waiting = None;
            return Poll::Ready(read.unwrap_or_else(|error| Err(io::Error::other(error))));
        }
        let length = usize::try_from(self.left)
            .unwrap_or(PART_BYTES)
            .min(PART_BYTES);
        let mut part = vec![0; length];
        let read = preadv2(
            &*self.file,
            &mut [IoSliceMut::new(&mut part)],
            self.at,
            ReadWriteFlags::NOWAIT,
        );
        match read {
            Ok(read) if read > 0 => {
                part.truncate(read);
                Poll::Ready(Ok(part))
            }
            Ok(_) => Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
            Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INTR) => {
                let (file, at) = (Arc::clone(&self.file), self.at);
                self.waiting = Some(tokio::task::spawn_blocking(move || {
                    file.read_exact_at(&mut part, at).map(|()| part)
                }));
                self.poll_part(context)
            }
            Err(error) => Poll::Ready(Err(error.into())),
        }
    }
}

/// A body as the server sends it.
pub(super) enum SentBody {
    Bytes(Full<Bytes>),
    File(FileBody),
}

impl Body for SentBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match self.get_mut() {
            Self::Bytes(bytes) => Pin::new(bytes)
                .poll_frame(context)
                .map_err(|never| match never {}),
            Self::File(file) if file.left == 0 => Poll::Ready(None),
            Self::File(file) => {
                let part = match ready!(file.poll_part(context)) {
                    Ok(part) => part,
                    Err(error) => {
                        file.left = 0;
                        return Poll::Ready(Some(Err(error)));
                    }
                };
                file.at += part.len() as u64;
                file.left -= part.len() as u64;
                Poll::Ready(Some(Ok(Frame::data(Bytes::from(part)))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Bytes(bytes) => bytes.is_end_stream(),
            Self::File(file) => file.left == 0,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Bytes(bytes) => bytes.size_hint(),
            Self::File(file) => SizeHint::with_exact(file.left),
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    fn read(length: u64, bytes: &[u8]) -> Result<Vec<u8>, io::Error> {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("file");
        std::fs::write(&path, bytes).expect("a file");
        let body = FileBody::new(File::open(&path).expect("the file"), 0, length);
        assert_eq!(body.left(), length);
        let body = SentBody::File(body);
        assert_eq!(body.size_hint().exact(), Some(length));
        tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime")
            .block_on(body.collect())
            .map(|collected| collected.to_bytes().to_vec())
    }

    #[test]
    fn a_file_is_sent_whole_in_parts() {
        for length in [0, 1, PART_BYTES, 3 * PART_BYTES + 17] {
            let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            assert_eq!(read(length as u64, &bytes).expect("read"), bytes);
        }
    }

    #[test]
    fn a_file_that_became_shorter_is_an_error_and_not_a_short_answer() {
        assert!(read(100, &[0; 10]).is_err());
    }
}
