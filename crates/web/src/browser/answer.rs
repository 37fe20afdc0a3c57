//! From bytes to one answer whose body is looked at while it comes, compressed or not.

use std::{
    fmt,
    io::{self, Write as _},
    mem,
};

use flate2::write::MultiGzDecoder;
use httparse::Header;
use rookery_cast::index;
use rookery_driver::{EVIDENCE_BYTES, Fault, Nanos};
use rookery_workload::web2005::FileCheck;
use sha2::{Digest as _, Sha256};

use super::cache::{Cache, SharedValidators, Validator};
use crate::http::{
    chunk::Chunks,
    cookies::Cookies,
    decode::Pool,
    head::{self, Framing, Head},
    kept::Kept,
};

/// Most interim (1xx) answers before the final one.
const MAX_INTERIM: u8 = 4;
/// Longest value of a header that is kept.
const LONGEST_VALUE: usize = 8 * 1024;
const TOO_LARGE: Fault = Fault::protocol("body-too-large");
const SURPLUS: Fault = Fault::protocol("surplus-bytes");
const DECOMPRESSION: Fault = Fault::protocol("decompression");
/// So much is received first of an answer whose body nobody looks at, or no further than its begin:
/// its head, and that begin. The kernel throws the rest away without copying it; what is copied
/// comes from the cache of the server's CPU, so that each kilobyte more costs.
const HEAD_FIRST: usize = 2 * 1024;

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
    /// Its length and the markers of files are looked at, of a file that comes from this byte on.
    pub(crate) markers: Option<u64>,
    /// The answer to `HEAD` has no body.
    pub(crate) no_body: bool,
    /// Whether the begin of a body that came so far is enough, where that may be so: then no more
    /// of it is looked at.
    pub(crate) enough: Option<Enough<'w>>,
    /// What caches need: versions, and how long the answer stays fresh.
    pub(crate) versions: bool,
    /// Values of these headers.
    pub(crate) headers: &'w [String],
}

/// Says whether the begin of a body is enough.
#[derive(Clone, Copy)]
pub(crate) struct Enough<'w>(pub(crate) &'w dyn Fn(&[u8]) -> bool);

impl fmt::Debug for Enough<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Enough")
    }
}

impl Wanted<'_> {
    /// Whether all bytes of the body are looked at.
    fn looks_inside(&self) -> bool {
        self.whole || self.digest || self.markers.is_some()
    }

    /// How many bytes of the body are kept.
    fn most_kept(&self) -> usize {
        if self.whole {
            index(self.body_bytes)
        } else {
            EVIDENCE_BYTES
        }
    }
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
            4 if wanted.versions && is("etag") => self.tag = Validator::tag(value),
            8 if is("location") && value.len() <= LONGEST_VALUE => {
                self.location = Some(value.to_vec());
            }
            13 if wanted.versions && is("last-modified") => {
                self.modified = Validator::modified(value);
            }
            13 if wanted.versions && is("cache-control") => self.cache_control(value),
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

    /// Keeps what was said of an object that has come, or has not changed, at `now`.
    pub(crate) fn keep_in(
        &self,
        cache: &mut Cache,
        target: &[u8],
        now: Nanos,
        shared: &mut SharedValidators,
    ) {
        if self.no_store {
            return;
        }
        let fresh_until = match self.max_age_s {
            Some(age_s @ 1..) => now.saturating_add(age_s.saturating_mul(1_000_000_000)),
            _ => 0,
        };
        let validator = self.validator().map(|validator| shared.share(validator));
        cache.keep(target, validator, fresh_until);
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
    /// The body, or its first bytes; to be given back to the thread.
    pub(crate) kept: Kept,
    /// Length of the body after decompression.
    pub(crate) bytes: u64,
    /// Length as it was sent.
    pub(crate) sent_bytes: u64,
    pub(crate) digest: Option<[u8; 32]>,
    pub(crate) markers: Option<FileCheck>,
}

impl Answer {
    /// Whether it is so large that its begin came alone, and all of its body was kept nevertheless.
    pub(crate) fn is_large_and_whole(&self) -> bool {
        self.kept.len() as u64 == self.bytes && self.kept.len() > HEAD_FIRST
    }
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

    /// Whether nothing is wanted of what is still to come.
    fn is_sated(&self) -> bool {
        match self {
            Self::Plain(sink) => {
                sink.kept.len() >= sink.most_kept && sink.digest.is_none() && sink.markers.is_none()
            }
            Self::Gzip(_) => false,
        }
    }

    /// No more is kept.
    fn sate(&mut self) {
        if let Self::Plain(sink) = self {
            sink.most_kept = sink.kept.len();
        }
    }

    /// Counts bytes that nobody looked at.
    fn skip(&mut self, bytes: u64) {
        if let Self::Plain(sink) = self {
            sink.bytes += bytes;
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
    pub(crate) fn new(wanted: Wanted<'w>) -> Self {
        Self {
            wanted,
            state: State::Head {
                gathered: Vec::new(),
                parse_at: 0,
            },
            interim: 0,
            told: Told::default(),
            sent_bytes: 0,
        }
    }

    /// How many bytes to receive next, at most.
    pub(crate) fn next_read(&self) -> usize {
        match &self.state {
            State::Head { .. }
            | State::Length {
                body: Coding::Plain(_),
                ..
            } if !self.wanted.looks_inside() => HEAD_FIRST,
            State::Head { .. } if self.wanted.enough.is_some() => HEAD_FIRST,
            // The head came alone.
            State::Length { body, .. }
                if self.wanted.enough.is_some() && body.kept().is_empty() =>
            {
                HEAD_FIRST
            }
            _ => usize::MAX,
        }
    }

    /// How many bytes of the body are still to come that nobody looks at; none where any is looked
    /// at, or where it is not known how many there are.
    pub(crate) fn unwanted(&self) -> Option<u64> {
        match &self.state {
            State::Length { left, body } if body.is_sated() => Some(*left),
            _ => None,
        }
    }

    /// So many bytes came that nobody looked at; `Some` when the answer is complete.
    pub(crate) fn skip(&mut self, bytes: usize) -> Result<Option<Answer>, Fault> {
        let State::Length { left, body } = &mut self.state else {
            return Err(SURPLUS);
        };
        let bytes = bytes as u64;
        self.sent_bytes += bytes;
        if bytes > *left {
            return Err(SURPLUS);
        }
        body.skip(bytes);
        *left -= bytes;
        let is_done = *left == 0;
        self.end(is_done)
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

    /// Takes the next bytes, which are the first `length` of the thread's receive buffer; `Some`
    /// when the answer is complete. An answer that came in one piece takes the buffer with it.
    pub(crate) fn feed(
        &mut self,
        received: &mut Box<[u8]>,
        length: usize,
        cookies: &mut Cookies,
        pool: &mut Pool,
    ) -> Result<Option<Answer>, Fault> {
        let bytes = &received[..length];
        let is_first = matches!(&self.state, State::Head { gathered, .. } if gathered.is_empty());
        if !is_first {
            return self.gather(bytes, cookies, pool);
        }
        let Some((head, told)) = self.parse(bytes, cookies)? else {
            return self.gather_head(bytes, pool);
        };
        let body = head.bytes..length;
        let in_place = head.framing == Framing::Length(body.len() as u64) && !told.gzip;
        if !in_place || is_interim(head.status) {
            return self.behind_head(head, told, &bytes[body], cookies, pool);
        }
        let (size, wanted) = (body.len(), self.wanted);
        if size as u64 > wanted.body_bytes {
            return Err(TOO_LARGE);
        }
        let content = &bytes[body.clone()];
        let digest = wanted.digest.then(|| Sha256::digest(content).into());
        let markers = wanted.markers.map(|from| {
            let mut markers = FileCheck::starting_at(from);
            markers.take(content);
            markers
        });
        self.state = State::Over;
        Ok(Some(Answer {
            told,
            kept: Kept::Received {
                body: body.start..body.start + size.min(wanted.most_kept()),
                buffer: mem::take(received),
            },
            bytes: size as u64,
            sent_bytes: size as u64,
            digest,
            markers,
        }))
    }

    /// Takes the next bytes of an answer that comes in pieces.
    fn gather(
        &mut self,
        bytes: &[u8],
        cookies: &mut Cookies,
        pool: &mut Pool,
    ) -> Result<Option<Answer>, Fault> {
        let State::Head { gathered, parse_at } = &mut self.state else {
            return self.body(bytes);
        };
        let before = gathered.len();
        gathered.extend_from_slice(bytes);
        // Parsing anew at every piece would let a dripping server cost quadratic time.
        let ended =
            memchr::memmem::find(&gathered[before.saturating_sub(3)..], b"\r\n\r\n").is_some();
        if gathered.len() < *parse_at && !ended {
            return Ok(None);
        }
        let gathered = mem::take(gathered);
        match self.parse(&gathered, cookies) {
            Ok(Some((head, told))) => {
                let answer = self.behind_head(head, told, &gathered[head.bytes..], cookies, pool);
                pool.give(gathered);
                answer
            }
            Ok(None) => {
                let parse_at = (2 * gathered.len()).min(self.wanted.header_bytes + 1);
                self.state = State::Head { gathered, parse_at };
                Ok(None)
            }
            Err(fault) => {
                // Kept as evidence.
                let parse_at = usize::MAX;
                self.state = State::Head { gathered, parse_at };
                Err(fault)
            }
        }
    }

    /// The first piece of a head that is not complete.
    fn gather_head(&mut self, bytes: &[u8], pool: &mut Pool) -> Result<Option<Answer>, Fault> {
        let mut gathered = pool.take();
        gathered.extend_from_slice(bytes);
        let parse_at = (2 * gathered.len()).min(self.wanted.header_bytes + 1);
        self.state = State::Head { gathered, parse_at };
        Ok(None)
    }

    /// The server closed: an answer when that is how this body ends.
    pub(crate) fn close(&mut self) -> Result<Answer, Fault> {
        match mem::replace(&mut self.state, State::Over) {
            State::UntilClose { body } => self.answer(body),
            _ => Err(Fault::TRUNCATED),
        }
    }

    /// A head, when it is complete.
    fn parse(&self, bytes: &[u8], cookies: &mut Cookies) -> Result<Option<(Head, Told)>, Fault> {
        let (mut told, wanted) = (Told::default(), &self.wanted);
        let head = head::parse_with(bytes, cookies, |header| told.take(header, wanted))?;
        let length = head.map_or(bytes.len(), |head| head.bytes);
        if length > wanted.header_bytes {
            return Err(Fault::protocol("header-too-large"));
        }
        let Some(mut head) = head else {
            return Ok(None);
        };
        if wanted.no_body {
            head.framing = Framing::Length(0);
        }
        told.status = head.status;
        told.retry_after = head.retry_after;
        told.keep_alive = head.keep_alive && head.framing != Framing::Close;
        Ok(Some((head, told)))
    }

    /// A head was read; `rest` is what came behind it.
    fn behind_head(
        &mut self,
        head: Head,
        told: Told,
        rest: &[u8],
        cookies: &mut Cookies,
        pool: &mut Pool,
    ) -> Result<Option<Answer>, Fault> {
        if is_interim(head.status) {
            return self.interim(head, rest, cookies, pool);
        }
        let body = self.body_of(&told, head.framing, pool)?;
        self.told = told;
        self.state = match head.framing {
            Framing::Length(left) => State::Length { left, body },
            Framing::Chunked => State::Chunked {
                chunks: Chunks::new(),
                body,
            },
            Framing::Close => State::UntilClose { body },
        };
        self.body(rest)
    }

    /// What takes the body in.
    fn body_of(&self, told: &Told, framing: Framing, pool: &mut Pool) -> Result<Coding, Fault> {
        let limit = self.wanted.body_bytes;
        if let Framing::Length(length) = framing
            && length > limit
        {
            return Err(TOO_LARGE);
        }
        let sink = Sink {
            kept: pool.take(),
            most_kept: self.wanted.most_kept(),
            bytes: 0,
            limit,
            digest: self.wanted.digest.then(Sha256::new),
            markers: self.wanted.markers.map(FileCheck::starting_at),
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
        head: Head,
        rest: &[u8],
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
        match rest {
            [] => Ok(None),
            rest => self.gather(rest, cookies, pool),
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
                if let Some(Enough(is_enough)) = self.wanted.enough
                    && (1..=HEAD_FIRST).contains(&body.kept().len())
                    && *left > 0
                    && !body.is_sated()
                    && is_enough(body.kept())
                {
                    body.sate();
                }
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
        self.end(done)
    }

    /// The answer, when all of it came.
    fn end(&mut self, is_done: bool) -> Result<Option<Answer>, Fault> {
        if !is_done {
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
            kept: Kept::Gathered(sink.kept),
            bytes: sink.bytes,
            sent_bytes: self.sent_bytes,
            digest: sink.digest.map(|digest| digest.finalize().into()),
            markers: sink.markers,
        })
    }
}

/// Whether another head follows.
fn is_interim(status: u16) -> bool {
    (100..200).contains(&status)
}

#[cfg(test)]
mod tests;
