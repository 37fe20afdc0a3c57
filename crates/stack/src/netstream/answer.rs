//! Answers: heads, and content from one piece of memory again and again.

use std::io::{self, IoSlice, Write};

use rookery_cast::index;

/// A piece of an answer: what iperf3 writes at a time. It stays in the cache of a CPU.
const PIECE_BYTES: usize = 128 * 1024;

/// What answers of an exchange consist of.
pub(super) struct Piece(Box<[u8]>);

impl Piece {
    pub(super) fn new() -> Self {
        Self(vec![b'x'; PIECE_BYTES].into_boxed_slice())
    }

    /// Send `head` and so many bytes of content; the first of them leave together with the head.
    ///
    /// # Errors
    /// When the stream takes no more.
    pub(super) fn send(
        &self,
        stream: &mut impl Write,
        mut head: &[u8],
        answer_bytes: u32,
    ) -> io::Result<()> {
        let mut left = index(answer_bytes.into());
        while !head.is_empty() || left > 0 {
            let part = &self.0[..left.min(PIECE_BYTES)];
            let sent = match stream.write_vectored(&[IoSlice::new(head), IoSlice::new(part)]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(sent) => sent,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let of_head = sent.min(head.len());
            head = &head[of_head..];
            left -= sent - of_head;
        }
        Ok(())
    }
}

/// The head of an exchange's answers, made anew where they change their size.
#[derive(Debug, Default)]
pub(super) struct ExchangeHead {
    answer_bytes: u32,
    is_last: bool,
    head: Vec<u8>,
}

impl ExchangeHead {
    /// The head of an answer with so much content.
    pub(super) fn of(&mut self, answer_bytes: u32, is_last: bool) -> &[u8] {
        if self.answer_bytes != answer_bytes || self.is_last != is_last || self.head.is_empty() {
            *self = Self {
                answer_bytes,
                is_last,
                head: head(
                    "200 OK",
                    "application/octet-stream",
                    answer_bytes.into(),
                    is_last,
                ),
            };
        }
        &self.head
    }
}

/// A whole answer of text.
pub(super) fn text(status: &str, body: &str, is_last: bool) -> Vec<u8> {
    let content = "text/plain; charset=utf-8";
    let mut answer = head(status, content, body.len() as u64, is_last);
    answer.extend_from_slice(body.as_bytes());
    answer
}

/// A head without a date: this server has no clock that anyone goes by.
fn head(status: &str, content: &str, body_bytes: u64, is_last: bool) -> Vec<u8> {
    let close = if is_last { "connection: close\r\n" } else { "" };
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {content}\r\ncontent-length: {body_bytes}\r\n\
         {close}\r\n"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes a few bytes at a time.
    struct Slow {
        taken: Vec<u8>,
        at_a_time: usize,
        interrupted: bool,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.interrupted = !self.interrupted;
            if self.interrupted {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let taken = bytes.len().min(self.at_a_time);
            self.taken.extend_from_slice(&bytes[..taken]);
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn sent(head: &[u8], answer_bytes: u32, at_a_time: usize) -> Vec<u8> {
        let mut stream = Slow {
            taken: Vec::new(),
            at_a_time,
            interrupted: false,
        };
        let send = Piece::new().send(&mut stream, head, answer_bytes);
        send.expect("all is taken in the end");
        stream.taken
    }

    #[test]
    fn answers_are_sent_to_the_byte_however_little_is_taken_at_a_time() {
        for (answer_bytes, at_a_time) in [(1, 1), (7, 3), (300_000, 100_000), (262_144, 1 << 20)] {
            let sent = sent(b"head", answer_bytes, at_a_time);
            assert_eq!(sent.len(), 4 + answer_bytes as usize);
            assert!(sent.starts_with(b"head") && sent[4..].iter().all(|byte| *byte == b'x'));
        }
    }

    #[test]
    fn a_stream_that_takes_nothing_is_an_error() {
        let error = Piece::new().send(&mut [0_u8; 0].as_mut_slice(), b"head", 1);
        assert_eq!(
            error.map_err(|error| error.kind()),
            Err(io::ErrorKind::WriteZero)
        );
    }

    #[test]
    fn heads_follow_the_size_and_the_end() {
        let mut heads = ExchangeHead::default();
        let plain = "HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\n\
                     content-length: 5\r\n\r\n";
        assert_eq!(heads.of(5, false), plain.as_bytes());
        assert_eq!(heads.of(5, false), plain.as_bytes());
        let of = |heads: &mut ExchangeHead, bytes, is_last| {
            String::from_utf8_lossy(heads.of(bytes, is_last)).into_owned()
        };
        assert!(of(&mut heads, 6, false).contains("content-length: 6\r\n\r\n"));
        assert!(of(&mut heads, 6, true).contains("content-length: 6\r\nconnection: close\r\n\r\n"));
        assert!(text("404 Not Found", "no\n", false).ends_with(b"length: 3\r\n\r\nno\n"));
    }
}
