//! Answers: heads, and content from one piece of memory again and again.

use std::io::{self, IoSlice, Write};

use rookery_cast::index;

/// A piece of an answer: what iperf3 writes at a time. It stays in the cache of a CPU.
const PIECE_BYTES: usize = 128 * 1024;
/// Every byte of content.
const CONTENT: u8 = b'x';

/// What answers of an exchange consist of.
pub(super) struct Piece(Box<[u8]>);

impl Piece {
    pub(super) fn new() -> Self {
        Self(vec![CONTENT; PIECE_BYTES].into_boxed_slice())
    }

    /// Send `first` and so many bytes of content, in as few calls as the stream allows.
    ///
    /// # Errors
    /// When the stream takes no more.
    pub(super) fn send(
        &self,
        stream: &mut impl Write,
        mut first: &[u8],
        mut left: usize,
    ) -> io::Result<()> {
        while !first.is_empty() || left > 0 {
            let written = match left {
                // The kernel takes one buffer with less work than two.
                0 => stream.write(first),
                _ => {
                    let part = &self.0[..left.min(PIECE_BYTES)];
                    stream.write_vectored(&[IoSlice::new(first), IoSlice::new(part)])
                }
            };
            let sent = match written {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(sent) => sent,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let of_first = sent.min(first.len());
            first = &first[of_first..];
            left -= sent - of_first;
        }
        Ok(())
    }
}

/// The begin of an exchange's answers, made anew where they change their size: a small answer is
/// all of it.
#[derive(Debug, Default)]
pub(super) struct AnswerBegin {
    answer_bytes: u32,
    is_last: bool,
    /// The head and the first bytes of the content.
    begin: Vec<u8>,
}

impl AnswerBegin {
    /// Most content in it.
    const MOST_CONTENT: usize = 4096;

    /// The begin of an answer with so much content, and how many bytes of content are not in it.
    pub(super) fn of(&mut self, answer_bytes: u32, is_last: bool) -> (&[u8], usize) {
        let all = index(answer_bytes.into());
        let inside = all.min(Self::MOST_CONTENT);
        if self.answer_bytes != answer_bytes || self.is_last != is_last || self.begin.is_empty() {
            let content = "application/octet-stream";
            let mut begin = head("200 OK", content, answer_bytes.into(), is_last);
            begin.resize(begin.len() + inside, CONTENT);
            *self = Self {
                answer_bytes,
                is_last,
                begin,
            };
        }
        (&self.begin, all - inside)
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

    fn sent(first: &[u8], left: usize, at_a_time: usize) -> Vec<u8> {
        let mut stream = Slow {
            taken: Vec::new(),
            at_a_time,
            interrupted: false,
        };
        let send = Piece::new().send(&mut stream, first, left);
        send.expect("all is taken in the end");
        stream.taken
    }

    #[test]
    fn answers_are_sent_to_the_byte_however_little_is_taken_at_a_time() {
        for (left, at_a_time) in [
            (0, 3),
            (1, 1),
            (7, 3),
            (300_000, 100_000),
            (262_144, 1 << 20),
        ] {
            let sent = sent(b"head", left, at_a_time);
            assert_eq!(sent.len(), 4 + left);
            assert!(sent.starts_with(b"head") && sent[4..].iter().all(|byte| *byte == CONTENT));
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
    fn begins_follow_the_size_and_the_end() {
        let mut answers = AnswerBegin::default();
        let plain = "HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\n\
                     content-length: 5\r\n\r\nxxxxx";
        assert_eq!(answers.of(5, false), (plain.as_bytes(), 0));
        assert_eq!(answers.of(5, false), (plain.as_bytes(), 0));
        let mut of = |bytes, is_last| {
            let (begin, left) = answers.of(bytes, is_last);
            (String::from_utf8_lossy(begin).into_owned(), left)
        };
        let (begin, left) = of(6, false);
        assert!(begin.ends_with("content-length: 6\r\n\r\nxxxxxx") && left == 0);
        let (begin, left) = of(6, true);
        assert!(begin.ends_with("content-length: 6\r\nconnection: close\r\n\r\nxxxxxx"));
        assert_eq!(left, 0);
        let (begin, left) = of(5000, false);
        assert_eq!(left, 5000 - 4096);
        assert!(begin.contains("content-length: 5000\r\n"));
        assert!(begin.ends_with(&"x".repeat(4096)) && !begin.ends_with(&"x".repeat(4097)));
        assert!(text("404 Not Found", "no\n", false).ends_with(b"length: 3\r\n\r\nno\n"));
    }
}
