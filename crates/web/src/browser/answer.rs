//! From bytes to one answer whose body is looked at while it comes, compressed or not.

use std::{
    io::{self, Write as _},
    mem,
};

use flate2::write::MultiGzDecoder;
use httparse::Header;
use rookery_cast::index;
use rookery_driver::{EVIDENCE_BYTES, Fault};
use rookery_workload::web2005::FileCheck;
use sha2::{Digest as _, Sha256};

use super::cache::Validator;
use crate::http::{
    chunk::Chunks,
    cookies::Cookies,
    decode::Pool,
    head::{self, Framing},
};

/// Most interim (1xx) answers before the final one.
const MAX_INTERIM: u8 = 4;
/// Longest value of a header that is kept.
const LONGEST_VALUE: usize = 8 * 1024;
const TOO_LARGE: Fault = Fault::protocol("body-too-large");
const SURPLUS: Fault = Fault::protocol("surplus-bytes");
const DECOMPRESSION: Fault = Fault::protocol("decompression");

/// What is wanted of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'w> {
    /// Largest head.
    pub(crate) header_bytes: usize,
    /// Largest body, after decompression.
    pub(crate) body_bytes: u64,
    /// The whole body is kept; else its first bytes, as evidence.
    pub(crate) whole: bool,
    /// Its digest.
    pub(crate) digest: bool,
    /// Its length and the markers of files are looked at.
    pub(crate) markers: bool,
    /// The answer to `HEAD` has no body.
    pub(crate) no_body: bool,
    /// Values of these headers.
    pub(crate) headers: &'w [String],
}

/// What a head said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) keep_alive: bool,
    pub(crate) retry_after: bool,
    pub(crate) location: Option<Vec<u8>>,
    pub(crate) tag: Option<Validator>,
    pub(crate) modified: Option<Validator>,
    /// Seconds for which it need not be asked for again.
    pub(crate) max_age_s: Option<u64>,
    pub(crate) no_store: bool,
    gzip: bool,
    /// By place in the list that was wanted.
    pub(crate) headers: Vec<Option<Vec<u8>>>,
}

impl Told {
    fn take(&mut self, header: &Header<'_>, wanted: &Wanted<'_>) -> Result<(), Fault> {
        let (name, value) = (header.name, header.value.trim_ascii());
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        match name.len() {
            4 if is("etag") => self.tag = Validator::tag(value),
            8 if is("location") && value.len() <= LONGEST_VALUE => {
                self.location = Some(value.to_vec());
            }
            13 if is("last-modified") => self.modified = Validator::modified(value),
            13 if is("cache-control") => self.cache_control(value),
            16 if is("content-encoding") => {
                if value.eq_ignore_ascii_case(b"gzip") || value.eq_ignore_ascii_case(b"x-gzip") {
                    self.gzip = true;
                } else if !value.eq_ignore_ascii_case(b"identity") {
                    return Err(DECOMPRESSION);
                }
            }
            _ => {}
        }
        for (place, known) in wanted.headers.iter().enumerate() {
            if is(known) && value.len() <= LONGEST_VALUE {
                self.headers.resize(wanted.headers.len(), None);
                self.headers[place] = Some(value.to_vec());
            }
        }
        Ok(())
    }

    fn cache_control(&mut self, value: &[u8]) {
        for directive in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            let lower = directive.to_ascii_lowercase();
            if lower == b"no-store" {
                self.no_store = true;
            } else if lower == b"no-cache" {
                self.max_age_s = Some(0);
            } else if let Some(seconds) = lower.strip_prefix(b"max-age=") {
                let seconds = std::str::from_utf8(seconds).ok();
                self.max_age_s = seconds.and_then(|text| text.parse().ok());
            }
        }
    }

    /// What to ask with next time.
    pub(crate) fn validator(&self) -> Option<Validator> {
        self.tag.clone().or_else(|| self.modified.clone())
    }
}

/// One complete answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) told: Told,
    /// The body, or its first bytes; to be given back to the pool.
    pub(crate) kept: Vec<u8>,
    /// Length of the body after decompression.
    pub(crate) bytes: u64,
    /// Length as it was sent.
    pub(crate) sent_bytes: u64,
    pub(crate) digest: Option<[u8; 32]>,
    pub(crate) markers: Option<FileCheck>,
}

/// What becomes of a body.
#[derive(Debug)]
struct Sink {
    kept: Vec<u8>,
    most_kept: usize,
    bytes: u64,
    limit: u64,
    digest: Option<Sha256>,
    markers: Option<FileCheck>,
    over: bool,
}

impl io::Write for Sink {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.bytes += data.len() as u64;
        if self.bytes > self.limit {
            self.over = true;
            return Err(io::Error::other("the body is too large"));
        }
        let room = self.most_kept - self.kept.len().min(self.most_kept);
        self.kept.extend_from_slice(&data[..data.len().min(room)]);
        if let Some(digest) = &mut self.digest {
            digest.update(data);
        }
        if let Some(markers) = &mut self.markers {
            markers.take(data);
        }
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A body on its way.
#[derive(Debug)]
enum Coding {
    Plain(Sink),
    Gzip(Box<MultiGzDecoder<Sink>>),
}

impl Coding {
    fn take(&mut self, data: &[u8]) -> Result<(), Fault> {
        let (outcome, over) = match self {
            Self::Plain(sink) => (sink.write_all(data), sink.over),
            Self::Gzip(decoder) => {
                let outcome = decoder.write_all(data);
                (outcome, decoder.get_ref().over)
            }
        };
        match outcome {
            Ok(()) => Ok(()),
            Err(_) if over => Err(TOO_LARGE),
            Err(_) => Err(DECOMPRESSION),
        }
    }

    fn finish(self) -> Result<Sink, Fault> {
        match self {
            Self::Plain(sink) => Ok(sink),
            Self::Gzip(decoder) => {
                let mut decoder = *decoder;
                if decoder.try_finish().is_err() {
                    let over = decoder.get_ref().over;
                    return Err(if over { TOO_LARGE } else { DECOMPRESSION });
                }
                decoder.finish().map_err(|_| DECOMPRESSION)
            }
        }
    }

    fn kept(&self) -> &[u8] {
        match self {
            Self::Plain(sink) => &sink.kept,
            Self::Gzip(decoder) => &decoder.get_ref().kept,
        }
    }
}

#[derive(Debug)]
enum State {
    /// Gathering the head; the length at which it is worth parsing again.
    Head {
        gathered: Vec<u8>,
        parse_at: usize,
    },
    Length {
        left: u64,
        body: Coding,
    },
    Chunked {
        chunks: Chunks,
        body: Coding,
    },
    UntilClose {
        body: Coding,
    },
    Over,
}

/// Puts one answer together.
#[derive(Debug)]
pub(crate) struct Reception<'w> {
    wanted: Wanted<'w>,
    state: State,
    interim: u8,
    told: Told,
    sent_bytes: u64,
}

impl<'w> Reception<'w> {
    pub(crate) fn new(wanted: Wanted<'w>, pool: &mut Pool) -> Self {
        Self {
            wanted,
            state: State::Head {
                gathered: pool.take(),
                parse_at: 0,
            },
            interim: 0,
            told: Told::default(),
            sent_bytes: 0,
        }
    }

    /// What came so far, as evidence.
    pub(crate) fn evidence(&self) -> Vec<u8> {
        let seen = match &self.state {
            State::Head { gathered, .. } => gathered.as_slice(),
            State::Length { body, .. }
            | State::Chunked { body, .. }
            | State::UntilClose { body } => body.kept(),
            State::Over => &[],
        };
        seen[..seen.len().min(EVIDENCE_BYTES)].to_vec()
    }

    /// Takes the next bytes; `Some` when the answer is complete.
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        cookies: &mut Cookies,
        pool: &mut Pool,
    ) -> Result<Option<Answer>, Fault> {
        if let State::Head { gathered, parse_at } = &mut self.state {
            let before = gathered.len();
            gathered.extend_from_slice(bytes);
            // Parsing anew at every piece would let a dripping server cost quadratic time.
            let ended =
                memchr::memmem::find(&gathered[before.saturating_sub(3)..], b"\r\n\r\n").is_some();
            if gathered.len() < *parse_at && !ended {
                return Ok(None);
            }
            let gathered = mem::take(gathered);
            return self.head(gathered, cookies, pool);
        }
        self.body(bytes)
    }

    /// The server closed: an answer when that is how this body ends.
    pub(crate) fn close(&mut self) -> Result<Answer, Fault> {
        match mem::replace(&mut self.state, State::Over) {
            State::UntilClose { body } => self.answer(body),
            _ => Err(Fault::TRUNCATED),
        }
    }

    fn head(
        &mut self,
        gathered: Vec<u8>,
        cookies: &mut Cookies,
        pool: &mut Pool,
    ) -> Result<Option<Answer>, Fault> {
        let (mut told, wanted) = (Told::default(), self.wanted);
        let parsed = head::parse_with(&gathered, cookies, |header| told.take(header, &wanted));
        let head = match parsed {
            Ok(head) => head,
            Err(fault) => {
                // Kept as evidence.
                let parse_at = usize::MAX;
                self.state = State::Head { gathered, parse_at };
                return Err(fault);
            }
        };
        let length = head.map_or(gathered.len(), |head| head.bytes);
        if length > wanted.header_bytes {
            let parse_at = usize::MAX;
            self.state = State::Head { gathered, parse_at };
            return Err(Fault::protocol("header-too-large"));
        }
        let Some(head) = head else {
            let parse_at = (2 * gathered.len()).min(wanted.header_bytes + 1);
            self.state = State::Head { gathered, parse_at };
            return Ok(None);
        };
        if (100..200).contains(&head.status) {
            return self.interim(head, &gathered, cookies, pool);
        }
        told.status = head.status;
        told.retry_after = head.retry_after;
        let framing = if wanted.no_body {
            Framing::Length(0)
        } else {
            head.framing
        };
        told.keep_alive = head.keep_alive && framing != Framing::Close;
        let body = self.body_of(&mut told, framing, pool)?;
        self.told = told;
        self.state = match framing {
            Framing::Length(left) => State::Length { left, body },
            Framing::Chunked => State::Chunked {
                chunks: Chunks::new(),
                body,
            },
            Framing::Close => State::UntilClose { body },
        };
        let answer = self.body(&gathered[head.bytes..])?;
        pool.give(gathered);
        Ok(answer)
    }

    /// What takes the body in.
    fn body_of(&self, told: &mut Told, framing: Framing, pool: &mut Pool) -> Result<Coding, Fault> {
        let limit = self.wanted.body_bytes;
        if let Framing::Length(length) = framing
            && length > limit
        {
            return Err(TOO_LARGE);
        }
        let most_kept = if self.wanted.whole {
            index(limit)
        } else {
            EVIDENCE_BYTES
        };
        let sink = Sink {
            kept: pool.take(),
            most_kept,
            bytes: 0,
            limit,
            digest: self.wanted.digest.then(Sha256::new),
            markers: self.wanted.markers.then(FileCheck::default),
            over: false,
        };
        // An empty body has no header of gzip either.
        let coded = told.gzip && framing != Framing::Length(0);
        Ok(if coded {
            Coding::Gzip(Box::new(MultiGzDecoder::new(sink)))
        } else {
            Coding::Plain(sink)
        })
    }

    fn interim(
        &mut self,
        head: head::Head,
        gathered: &[u8],
        cookies: &mut Cookies,
        pool: &mut Pool,
    ) -> Result<Option<Answer>, Fault> {
        self.interim += 1;
        if head.status == 101 || self.interim > MAX_INTERIM {
            return Err(Fault::protocol("unexpected-1xx"));
        }
        self.state = State::Head {
            gathered: Vec::new(),
            parse_at: 0,
        };
        match &gathered[head.bytes..] {
            [] => Ok(None),
            rest => self.feed(rest, cookies, pool),
        }
    }

    fn body(&mut self, bytes: &[u8]) -> Result<Option<Answer>, Fault> {
        self.sent_bytes += bytes.len() as u64;
        let done = match &mut self.state {
            State::Length { left, body } => {
                if bytes.len() as u64 > *left {
                    return Err(SURPLUS);
                }
                body.take(bytes)?;
                *left -= bytes.len() as u64;
                *left == 0
            }
            State::Chunked { chunks, body } => {
                let used = chunks.feed(bytes, |data| body.take(data))?;
                if used < bytes.len() {
                    return Err(SURPLUS);
                }
                chunks.is_done()
            }
            State::UntilClose { body } => {
                body.take(bytes)?;
                false
            }
            State::Head { .. } | State::Over => return Err(SURPLUS),
        };
        if !done {
            return Ok(None);
        }
        match mem::replace(&mut self.state, State::Over) {
            State::Length { body, .. } | State::Chunked { body, .. } => self.answer(body).map(Some),
            _ => Err(SURPLUS),
        }
    }

    fn answer(&mut self, body: Coding) -> Result<Answer, Fault> {
        let sink = body.finish()?;
        Ok(Answer {
            told: mem::take(&mut self.told),
            kept: sink.kept,
            bytes: sink.bytes,
            sent_bytes: self.sent_bytes,
            digest: sink.digest.map(|digest| digest.finalize().into()),
            markers: sink.markers,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: Wanted<'static> = Wanted {
        header_bytes: 4096,
        body_bytes: 10_000,
        whole: true,
        digest: true,
        markers: false,
        no_body: false,
        headers: &[],
    };

    fn receive(wanted: Wanted<'_>, bytes: &[u8], piece: usize) -> Result<Option<Answer>, Fault> {
        let (mut cookies, mut pool) = (Cookies::default(), Pool::default());
        let mut reception = Reception::new(wanted, &mut pool);
        for part in bytes.chunks(piece) {
            if let Some(answer) = reception.feed(part, &mut cookies, &mut pool)? {
                return Ok(Some(answer));
            }
        }
        Ok(None)
    }

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(data).expect("into memory");
        encoder.finish().expect("into memory")
    }

    fn with_length(headers: &str, body: &[u8]) -> Vec<u8> {
        let head = format!(
            "HTTP/1.1 200 OK\r\n{headers}Content-Length: {}\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), body].concat()
    }

    #[test]
    fn a_compressed_body_is_seen_as_it_was_whatever_the_pieces() {
        let text = b"hello ".repeat(500);
        let bytes = with_length("Content-Encoding: gzip\r\nETag: \"v\"\r\n", &gzip(&text));
        for piece in [1, 7, 100_000] {
            let answer = receive(WANTED, &bytes, piece)
                .expect("a good answer")
                .expect("complete");
            assert_eq!(answer.kept, text);
            assert_eq!(answer.bytes, 3000);
            assert_eq!(answer.digest, Some(Sha256::digest(&text).into()));
            assert_eq!(answer.told.validator(), Validator::tag(b"\"v\""));
        }
    }

    #[test]
    fn bombs_and_broken_compression_are_refused() {
        let bomb = gzip(&vec![b'x'; 10_000_000]);
        assert!(bomb.len() < 20_000);
        let bytes = with_length("Content-Encoding: gzip\r\n", &bomb);
        let wanted = Wanted {
            body_bytes: 100_000,
            ..WANTED
        };
        assert_eq!(
            receive(wanted, &bytes, 1000).expect_err("a bomb"),
            TOO_LARGE
        );
        let broken = with_length("Content-Encoding: gzip\r\n", b"no gzip at all");
        assert_eq!(
            receive(WANTED, &broken, 1000).expect_err("broken"),
            DECOMPRESSION
        );
        let half = &gzip(b"hello hello hello")[..20];
        let half = with_length("Content-Encoding: gzip\r\n", half);
        assert_eq!(
            receive(WANTED, &half, 1000).expect_err("cut off"),
            DECOMPRESSION
        );
        let other = with_length("Content-Encoding: br\r\n", b"x");
        assert_eq!(
            receive(WANTED, &other, 1000).expect_err("unknown"),
            DECOMPRESSION
        );
    }

    #[test]
    fn bodies_that_are_not_wanted_are_counted() {
        let wanted = Wanted {
            whole: false,
            ..WANTED
        };
        let answer = receive(wanted, &with_length("", &[b'x'; 5000]), 999)
            .expect("good")
            .expect("complete");
        assert_eq!((answer.kept.len(), answer.bytes), (512, 5000));
        let long = with_length("", &[b'x'; 20_000]);
        assert_eq!(receive(wanted, &long, 999).expect_err("long"), TOO_LARGE);
    }

    #[test]
    fn what_caches_need_is_read() {
        let bytes = with_length(
            "Cache-Control: public, max-age=60\r\nLast-Modified: then\r\nX-Id: 7\r\n",
            b"",
        );
        let headers = ["x-id".to_owned()];
        let wanted = Wanted {
            headers: &headers,
            ..WANTED
        };
        let answer = receive(wanted, &bytes, 3).expect("good").expect("complete");
        assert_eq!(answer.told.max_age_s, Some(60));
        assert_eq!(answer.told.validator(), Validator::modified(b"then"));
        assert_eq!(answer.told.headers, [Some(b"7".to_vec())]);
    }

    #[test]
    fn the_answer_to_head_has_no_body() {
        let wanted = Wanted {
            no_body: true,
            ..WANTED
        };
        let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n";
        assert!(receive(wanted, bytes, 1000).expect("good").is_some());
    }
}
