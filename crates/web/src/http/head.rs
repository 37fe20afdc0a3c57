//! The head of an answer: status, framing, and the few headers that matter to a user.

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Response, Status};
use rookery_stats::ErrorClass;

use super::cookies::Cookies;
use rookery_driver::Fault;

/// Most header lines of an answer.
const MAX_HEADERS: usize = 64;

/// How the end of a body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// So many bytes.
    Length(u64),
    /// Chunks.
    Chunked,
    /// Until the server closes.
    Close,
}

/// What a head says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    /// Length of the head itself.
    pub(crate) bytes: usize,
    pub(crate) framing: Framing,
    /// The connection may carry another request.
    pub(crate) keep_alive: bool,
    /// There is a `Retry-After`.
    pub(crate) retry_after: bool,
}

/// Read a head from the front of `bytes`; `None` when it is not complete. Cookies are taken into
/// the jar.
pub(crate) fn parse(bytes: &[u8], cookies: &mut Cookies) -> Result<Option<Head>, Fault> {
    parse_with(bytes, cookies, |header| {
        let coded = header.name.eq_ignore_ascii_case("content-encoding")
            && !header.value.trim_ascii().eq_ignore_ascii_case(b"identity");
        if coded {
            return Err(Fault::protocol("decompression"));
        }
        Ok(())
    })
}

/// As [`parse`]; `other` sees every header line too, and may refuse it.
pub(crate) fn parse_with(
    bytes: &[u8],
    cookies: &mut Cookies,
    mut other: impl FnMut(&Header<'_>) -> Result<(), Fault>,
) -> Result<Option<Head>, Fault> {
    let mut lines = [const { MaybeUninit::<Header<'_>>::uninit() }; MAX_HEADERS];
    let mut response = Response::new(&mut []);
    let length = match ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        bytes,
        &mut lines,
    ) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Fault::protocol("too-many-headers")),
        Err(_) => return Err(Fault::protocol("malformed-header")),
    };
    let mut fields = Fields::default();
    for header in response.headers.iter() {
        fields.take(header, cookies)?;
        other(header)?;
    }
    let status = response.code.unwrap_or_default();
    let by_default = response.version == Some(1);
    Ok(Some(Head {
        status,
        bytes: length,
        framing: fields.framing(status)?,
        keep_alive: fields.keep_alive.unwrap_or(by_default),
        retry_after: fields.retry_after,
    }))
}

/// The header lines that matter.
#[derive(Default)]
struct Fields {
    length: Option<u64>,
    chunked: bool,
    keep_alive: Option<bool>,
    retry_after: bool,
}

impl Fields {
    fn take(&mut self, header: &Header<'_>, cookies: &mut Cookies) -> Result<(), Fault> {
        let (name, value) = (header.name, header.value.trim_ascii());
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        // The length tells most names apart before any letter is compared.
        match name.len() {
            10 if is("connection") => self.keep_alive = connection(value).or(self.keep_alive),
            10 if is("set-cookie") => cookies.set(value),
            11 if is("retry-after") => self.retry_after = true,
            14 if is("content-length") => {
                let length = decimal(value).ok_or(Fault::protocol("bad-length"))?;
                if self.length.is_some_and(|other| other != length) {
                    return Err(Fault::protocol("bad-length"));
                }
                self.length = Some(length);
            }
            17 if is("transfer-encoding") => {
                if self.chunked || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(Fault::protocol("transfer-encoding"));
                }
                self.chunked = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn framing(&self, status: u16) -> Result<Framing, Fault> {
        match (status, self.chunked, self.length) {
            (100..=199 | 204 | 304, _, _) => Ok(Framing::Length(0)),
            // Two lengths for one body: the classic of request smuggling, never guessed at.
            (_, true, Some(_)) => Err(Fault::protocol("bad-length")),
            (_, true, None) => Ok(Framing::Chunked),
            (_, false, Some(length)) => Ok(Framing::Length(length)),
            (_, false, None) => Ok(Framing::Close),
        }
    }
}

fn connection(value: &[u8]) -> Option<bool> {
    let has = |token: &[u8]| {
        value
            .split(|&byte| byte == b',')
            .any(|part| part.trim_ascii().eq_ignore_ascii_case(token))
    };
    if has(b"close") {
        Some(false)
    } else {
        has(b"keep-alive").then_some(true)
    }
}

/// A number of 1 to 18 decimal digits and nothing else.
fn decimal(text: &[u8]) -> Option<u64> {
    if !(1..=18).contains(&text.len()) || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(
        text.iter()
            .fold(0, |number, digit| number * 10 + u64::from(digit - b'0')),
    )
}

/// The fault of a complete answer, judged by its status alone: everything but 200 is one.
pub(crate) fn judge_status(status: u16, retry_after: bool) -> Result<(), Fault> {
    match status {
        200 => Ok(()),
        429 | 503 if retry_after => Err(Fault::code(ErrorClass::Overload, status)),
        300..=303 | 307 | 308 => Err(Fault::new(ErrorClass::Redirect, "unexpected")),
        _ => Err(Fault::code(ErrorClass::Status, status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<Head>, Fault> {
        parse(text.as_bytes(), &mut Cookies::default())
    }

    fn head(text: &str) -> Head {
        read(text).expect("a good head").expect("a complete head")
    }

    #[test]
    fn the_framing_follows_the_headers() {
        assert_eq!(
            head("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n").framing,
            Framing::Length(5)
        );
        assert_eq!(
            head("HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n").framing,
            Framing::Chunked
        );
        assert_eq!(head("HTTP/1.1 200 OK\r\n\r\n").framing, Framing::Close);
        assert_eq!(head("HTTP/1.1 204 No\r\n\r\n").framing, Framing::Length(0));
        assert_eq!(
            head("HTTP/1.1 200 OK\r\nContent-Length: 5\r\ncontent-length:5\r\n\r\n").framing,
            Framing::Length(5)
        );
    }

    #[test]
    fn keep_alive_is_the_default_of_its_version() {
        let keeps = |text: &str| head(text).keep_alive;
        assert!(keeps("HTTP/1.1 200 OK\r\n\r\n"));
        assert!(!keeps("HTTP/1.0 200 OK\r\n\r\n"));
        assert!(keeps("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n\r\n"));
        assert!(!keeps("HTTP/1.1 200 OK\r\nConnection: foo, close\r\n\r\n"));
    }

    #[test]
    fn an_incomplete_head_waits() {
        assert_eq!(read("HTTP/1.1 200 OK\r\nContent-Le"), Ok(None));
        assert_eq!(read(""), Ok(None));
    }

    #[test]
    fn ambiguous_and_malformed_heads_are_refused() {
        let many: String = (0..65).map(|n| format!("h{n}: x\r\n")).collect();
        let cases = [
            ("garbage\r\n\r\n".to_owned(), "malformed-header"),
            (format!("HTTP/1.1 200 OK\r\n{many}\r\n"), "too-many-headers"),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n".to_owned(),
                "bad-length",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n".to_owned(),
                "bad-length",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999\r\n\r\n".to_owned(),
                "bad-length",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
                    .to_owned(),
                "bad-length",
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n".to_owned(),
                "transfer-encoding",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n".to_owned(),
                "decompression",
            ),
        ];
        for (text, sub_class) in cases {
            assert_eq!(read(&text), Err(Fault::protocol(sub_class)), "{text}");
        }
    }

    #[test]
    fn only_200_is_a_success() {
        assert_eq!(judge_status(200, false), Ok(()));
        assert_eq!(
            judge_status(302, false),
            Err(Fault::new(ErrorClass::Redirect, "unexpected"))
        );
        assert_eq!(
            judge_status(503, true),
            Err(Fault::code(ErrorClass::Overload, 503))
        );
        assert_eq!(
            judge_status(503, false),
            Err(Fault::code(ErrorClass::Status, 503))
        );
        assert_eq!(
            judge_status(404, false),
            Err(Fault::code(ErrorClass::Status, 404))
        );
        assert_eq!(
            judge_status(206, false),
            Err(Fault::code(ErrorClass::Status, 206))
        );
    }
}
