//! From bytes to one answer, without I/O.

use std::{mem, ops::Range};

use rookery_driver::Fault;
use rookery_stats::ErrorClass;

use super::Limits;
use super::{
    chunk::Chunks,
    cookies::Cookies,
    head::{self, Framing, Head},
};

/// Most interim (1xx) answers before the final one.
const MAX_INTERIM: u8 = 4;
/// Buffers kept for reuse by one thread, and the largest that is kept.
const POOLED: usize = 16;
const POOLED_BYTES: usize = 256 * 1024;

/// Whether the bytes of a body are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// They will be judged.
    Body,
    /// They are only counted.
    Length,
}

/// Where the body of an answer is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// In the bytes that were fed last: the whole answer came in one piece.
    InPlace(Range<usize>),
    /// Put together from several pieces.
    Gathered(Vec<u8>),
    /// Only counted.
    Counted,
}

/// One complete answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) retry_after: bool,
    pub(crate) keep_alive: bool,
    pub(crate) body: Body,
}

/// Buffers of one thread: only an answer that comes in pieces needs one, and gives it back.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    free: Vec<Vec<u8>>,
}

impl Pool {
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.free.pop().unwrap_or_default()
    }

    pub(crate) fn give(&mut self, mut buffer: Vec<u8>) {
        if self.free.len() < POOLED && (1..=POOLED_BYTES).contains(&buffer.capacity()) {
            buffer.clear();
            self.free.push(buffer);
        }
    }
}

/// What feeding needs besides the bytes.
pub(crate) struct Feeding<'a> {
    pub(crate) limits: Limits,
    pub(crate) keep: Keep,
    pub(crate) cookies: &'a mut Cookies,
    pub(crate) pool: &'a mut Pool,
}

#[derive(Debug)]
enum State {
    /// Waiting for the end of the head; the length at which it is worth parsing again.
    Head {
        parse_at: usize,
    },
    Length {
        left: u64,
    },
    Chunked(Chunks),
    UntilClose,
}

/// Puts one answer together.
#[derive(Debug)]
pub(crate) struct Assembler {
    state: State,
    interim: u8,
    status: u16,
    retry_after: bool,
    keep_alive: bool,
    /// Head or body so far, when it did not come in one piece.
    gathered: Vec<u8>,
    body_bytes: u64,
}

impl Assembler {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Head { parse_at: 0 },
            interim: 0,
            status: 0,
            retry_after: false,
            keep_alive: false,
            gathered: Vec::new(),
            body_bytes: 0,
        }
    }

    /// What has been gathered, as evidence.
    pub(crate) fn gathered(&self) -> &[u8] {
        &self.gathered
    }

    /// Give the buffer back after a fault.
    pub(crate) fn abandon(&mut self, pool: &mut Pool) {
        pool.give(mem::take(&mut self.gathered));
    }

    /// Take the next bytes; `Some` when the answer is complete.
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        feeding: &mut Feeding<'_>,
    ) -> Result<Option<Answer>, Fault> {
        match &mut self.state {
            State::Head { .. } => self.feed_head(bytes, feeding),
            _ => self.feed_body(bytes, feeding),
        }
    }

    /// The server closed: an answer when that is how this body ends.
    pub(crate) fn close(&mut self, keep: Keep) -> Result<Answer, Fault> {
        match self.state {
            State::UntilClose => Ok(self.answer(keep)),
            _ => Err(Fault::TRUNCATED),
        }
    }

    fn feed_head(
        &mut self,
        bytes: &[u8],
        feeding: &mut Feeding<'_>,
    ) -> Result<Option<Answer>, Fault> {
        if self.gathered.is_empty() {
            return match self.parse_head(bytes, feeding)? {
                Some(head) => self.first_body_bytes(&head, bytes, feeding),
                None => {
                    self.gathered = feeding.pool.take();
                    self.gathered.extend_from_slice(bytes);
                    Ok(None)
                }
            };
        }
        let before = self.gathered.len();
        self.gathered.extend_from_slice(bytes);
        let State::Head { parse_at } = self.state else {
            return Ok(None);
        };
        // Parsing anew at every piece would let a dripping server cost quadratic time.
        if self.gathered.len() < parse_at && !ends_head(&self.gathered[before.saturating_sub(3)..])
        {
            return Ok(None);
        }
        let whole = mem::take(&mut self.gathered);
        match self.parse_head(&whole, feeding)? {
            Some(head) => {
                let answer = self.first_body_bytes(&head, &whole, feeding)?;
                let answer = answer.map(|answer| detach(answer, &whole, feeding.pool));
                feeding.pool.give(whole);
                Ok(answer)
            }
            None => {
                self.gathered = whole;
                Ok(None)
            }
        }
    }

    fn parse_head(
        &mut self,
        bytes: &[u8],
        feeding: &mut Feeding<'_>,
    ) -> Result<Option<Head>, Fault> {
        let head = head::parse(bytes, feeding.cookies)?;
        let length = head.map_or(bytes.len(), |head| head.bytes);
        if length > feeding.limits.header_bytes {
            return Err(Fault::protocol("header-too-large"));
        }
        self.state = State::Head {
            parse_at: bytes
                .len()
                .saturating_mul(2)
                .min(feeding.limits.header_bytes + 1),
        };
        Ok(head)
    }

    /// The head is complete; `bytes` begins with it.
    fn first_body_bytes(
        &mut self,
        head: &Head,
        bytes: &[u8],
        feeding: &mut Feeding<'_>,
    ) -> Result<Option<Answer>, Fault> {
        if (100..200).contains(&head.status) {
            return self.skip_interim(head, bytes, feeding);
        }
        self.status = head.status;
        self.retry_after = head.retry_after;
        self.keep_alive = head.keep_alive && head.framing != Framing::Close;
        let rest = &bytes[head.bytes..];
        match head.framing {
            Framing::Length(length) if length > feeding.limits.body_bytes as u64 => {
                return Err(TOO_LARGE);
            }
            Framing::Length(length) if length == rest.len() as u64 => {
                let mut answer = self.answer(Keep::Length);
                answer.body = Body::InPlace(head.bytes..bytes.len());
                return Ok(Some(answer));
            }
            Framing::Length(length) => self.state = State::Length { left: length },
            Framing::Chunked => self.state = State::Chunked(Chunks::new()),
            Framing::Close => self.state = State::UntilClose,
        }
        if feeding.keep == Keep::Body {
            self.gathered = feeding.pool.take();
        }
        self.feed_body(rest, feeding)
    }

    fn skip_interim(
        &mut self,
        head: &Head,
        bytes: &[u8],
        feeding: &mut Feeding<'_>,
    ) -> Result<Option<Answer>, Fault> {
        self.interim += 1;
        if head.status == 101 || self.interim > MAX_INTERIM {
            return Err(Fault::protocol("unexpected-1xx"));
        }
        self.state = State::Head { parse_at: 0 };
        match &bytes[head.bytes..] {
            [] => Ok(None),
            rest => {
                let answer = self.feed_head(rest, feeding)?;
                // A body in place is counted from `rest`; the caller counts from `bytes`.
                Ok(answer.map(|mut answer| {
                    if let Body::InPlace(range) = &mut answer.body {
                        *range = range.start + head.bytes..range.end + head.bytes;
                    }
                    answer
                }))
            }
        }
    }

    fn feed_body(
        &mut self,
        bytes: &[u8],
        feeding: &mut Feeding<'_>,
    ) -> Result<Option<Answer>, Fault> {
        let limit = feeding.limits.body_bytes as u64;
        let (gathered, total) = (&mut self.gathered, &mut self.body_bytes);
        let mut sink = |data: &[u8]| {
            *total += data.len() as u64;
            if *total > limit {
                return Err(TOO_LARGE);
            }
            if feeding.keep == Keep::Body {
                gathered.extend_from_slice(data);
            }
            Ok(())
        };
        let done = match &mut self.state {
            State::Head { .. } => false,
            State::Length { left } => {
                let have = bytes.len() as u64;
                if have > *left {
                    return Err(SURPLUS);
                }
                sink(bytes)?;
                *left -= have;
                *left == 0
            }
            State::Chunked(chunks) => {
                let used = chunks.feed(bytes, sink)?;
                if used < bytes.len() {
                    return Err(SURPLUS);
                }
                chunks.is_done()
            }
            State::UntilClose => {
                sink(bytes)?;
                false
            }
        };
        Ok(done.then(|| self.answer(feeding.keep)))
    }

    fn answer(&mut self, keep: Keep) -> Answer {
        Answer {
            status: self.status,
            retry_after: self.retry_after,
            keep_alive: self.keep_alive,
            body: match keep {
                Keep::Body => Body::Gathered(mem::take(&mut self.gathered)),
                Keep::Length => Body::Counted,
            },
        }
    }
}

/// A body beyond the limit.
const TOO_LARGE: Fault = Fault::new(ErrorClass::Content, "size");
/// Bytes behind the end of an answer that nobody asked for.
const SURPLUS: Fault = Fault::protocol("surplus");

/// An answer whose bytes lie in a gathered buffer takes its body along.
fn detach(mut answer: Answer, whole: &[u8], pool: &mut Pool) -> Answer {
    if let Body::InPlace(range) = answer.body {
        let mut body = pool.take();
        body.extend_from_slice(&whole[range]);
        answer.body = Body::Gathered(body);
    }
    answer
}

fn ends_head(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair == b"\n\n") || bytes.windows(3).any(|three| three == b"\n\r\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: Limits = Limits {
        header_bytes: 1_000,
        body_bytes: 2_000,
    };

    /// Feed `text` in pieces, then close: status and body.
    fn assemble(text: &[u8], piece: usize, keep: Keep) -> Result<(u16, Vec<u8>), Fault> {
        let (mut cookies, mut pool, mut assembler) =
            (Cookies::default(), Pool::default(), Assembler::new());
        for part in text.chunks(piece) {
            let mut feeding = Feeding {
                limits: LIMITS,
                keep,
                cookies: &mut cookies,
                pool: &mut pool,
            };
            if let Some(answer) = assembler.feed(part, &mut feeding)? {
                return Ok((answer.status, body(answer.body, part)));
            }
        }
        let answer = assembler.close(keep)?;
        Ok((answer.status, body(answer.body, &[])))
    }

    fn body(body: Body, last: &[u8]) -> Vec<u8> {
        match body {
            Body::InPlace(range) => last[range].to_vec(),
            Body::Gathered(bytes) => bytes,
            Body::Counted => b"counted".to_vec(),
        }
    }

    #[test]
    fn an_answer_is_the_same_however_it_arrives() {
        let texts: [&[u8]; 5] = [
            b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: \
              chunked\r\n\r\n6\r\nhello \r\n5\r\nworld\r\n0\r\n\r\n",
            b"HTTP/1.0 200 OK\r\n\r\nhello world",
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello \
              world",
            b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 102 P\r\n\r\nHTTP/1.1 200 \
              OK\r\nContent-Length: 11\r\n\r\nhello world",
        ];
        for text in texts {
            for piece in 1..=text.len() {
                let got = assemble(text, piece, Keep::Body);
                assert_eq!(
                    got,
                    Ok((200, b"hello world".to_vec())),
                    "pieces of {piece}: {}",
                    text.escape_ascii()
                );
            }
        }
    }

    #[test]
    fn a_body_that_is_only_counted_needs_no_memory() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world";
        let (mut cookies, mut pool, mut assembler) =
            (Cookies::default(), Pool::default(), Assembler::new());
        let mut feeding = Feeding {
            limits: LIMITS,
            keep: Keep::Length,
            cookies: &mut cookies,
            pool: &mut pool,
        };
        assert_eq!(assembler.feed(&text[..45], &mut feeding), Ok(None));
        assert_eq!(assembler.gathered.capacity(), 0);
        let answer = assembler
            .feed(&text[45..], &mut feeding)
            .expect("a good end")
            .expect("a whole answer");
        assert_eq!(answer.body, Body::Counted);
    }

    #[test]
    fn limits_and_framing_faults_are_found_however_the_bytes_arrive() {
        let endless = [
            b"HTTP/1.1 200 OK\r\n".as_slice(),
            &b"x: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n".repeat(40),
        ]
        .concat();
        let chunked = [
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".as_slice(),
            &b"a\r\n0123456789\r\n".repeat(201),
        ]
        .concat();
        let until_close = [b"HTTP/1.1 200 OK\r\n\r\n".as_slice(), &[b'x'; 2_001]].concat();
        let interim = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(5);
        let cases: [(&[u8], Fault); 9] = [
            (&endless, Fault::protocol("header-too-large")),
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\nx",
                TOO_LARGE,
            ),
            (&chunked, TOO_LARGE),
            (&until_close, TOO_LARGE),
            (&interim, Fault::protocol("unexpected-1xx")),
            (
                b"HTTP/1.1 101 Switching\r\n\r\n",
                Fault::protocol("unexpected-1xx"),
            ),
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
                Fault::TRUNCATED,
            ),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
                Fault::TRUNCATED,
            ),
            (b"HTTP/1.1 200", Fault::TRUNCATED),
        ];
        for (text, fault) in cases {
            for piece in [1, 2, 7, 100, text.len()] {
                let shown = text[..text.len().min(60)].escape_ascii();
                assert_eq!(
                    assemble(text, piece, Keep::Body),
                    Err(fault),
                    "pieces of {piece}: {shown}"
                );
            }
        }
    }

    #[test]
    fn bytes_behind_the_end_are_a_fault() {
        let fixed = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhello";
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nx";
        assert_eq!(assemble(fixed, fixed.len(), Keep::Body), Err(SURPLUS));
        assert_eq!(assemble(chunked, chunked.len(), Keep::Length), Err(SURPLUS));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_grow(
            bytes in prop::collection::vec(any::<u8>(), 0..500),
            front in prop::sample::select(vec!["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 \
                OK\r\nTransfer-Encoding: chunked\r\n\r\n"]),
            piece in 1usize..100,
        ) {
            let text = [front.as_bytes(), &bytes].concat();
            if let Ok((_, body)) = assemble(&text, piece, Keep::Body) {
                prop_assert!(body.len() <= LIMITS.body_bytes);
            }
        }
    }
}
