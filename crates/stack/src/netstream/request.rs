//! Requests as they are read from a connection: heads of HTTP/1.1 without a body, and nothing else.

use std::mem::MaybeUninit;

use rookery_workload::netstream::{EXCHANGE_PATH, ExchangeSize, FETCH_PATH, HEALTH_PATH};

/// Longest head of a request.
pub const MOST_HEAD: usize = 8 * 1024;

/// Most header lines of a request.
const MOST_HEADERS: usize = 64;

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Whether the server is there.
    Health,
    /// So many bytes, 1 to [`ExchangeSize::MOST_ANSWER`].
    Exchange(u32),
    /// An exchange of another size, or of none.
    NoSize,
    /// An answer of the partner.
    Fetch,
    /// A page that is not there.
    Unknown,
}

/// A request whose head is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What is asked for.
    pub wanted: Wanted,
    /// The client asks for nothing more on this connection.
    pub is_last: bool,
    /// Bytes of the head, at most [`MOST_HEAD`]; what follows belongs to the next request.
    pub head_bytes: usize,
}

/// The bytes are no request that is answered here: no HTTP/1, another method than GET, a body, or a
/// head that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// The request at the begin of what came; `None` where its head is not whole yet.
///
/// # Errors
/// When nothing that may still follow makes it a request.
///
/// ```
/// use rookery_stack::netstream::{Refused, Wanted, read_request};
///
/// let came = b"GET /exchange?answer=100 HTTP/1.1\r\nhost: a\r\n\r\nGET /";
/// let request = read_request(came).expect("a request").expect("a whole one");
/// assert_eq!(request.wanted, Wanted::Exchange(100));
/// assert_eq!(&came[request.head_bytes..], b"GET /");
/// assert_eq!(read_request(b"GET /"), Ok(None));
/// assert_eq!(read_request(b"POST / HTTP/1.1\r\n\r\n"), Err(Refused));
/// ```
pub fn read_request(came: &[u8]) -> Result<Option<Request>, Refused> {
    let came = &came[..came.len().min(MOST_HEAD)];
    // Setting their memory to something would take longer than reading a usual request.
    let mut headers = [const { MaybeUninit::uninit() }; MOST_HEADERS];
    let mut head = httparse::Request::new(&mut []);
    match head
        .parse_with_uninit_headers(came, &mut headers)
        .map_err(|_| Refused)?
    {
        httparse::Status::Complete(head_bytes) => understand(&head, head_bytes).map(Some),
        httparse::Status::Partial if came.len() < MOST_HEAD => Ok(None),
        httparse::Status::Partial => Err(Refused),
    }
}

fn understand(head: &httparse::Request<'_, '_>, head_bytes: usize) -> Result<Request, Refused> {
    if head.method != Some("GET") {
        return Err(Refused);
    }
    // HTTP/1.0 closes unless something else was agreed on, which is not done here.
    let mut is_last = head.version == Some(0);
    for header in head.headers.iter() {
        if header.name.eq_ignore_ascii_case("connection") {
            is_last |= header
                .value
                .split(|byte| *byte == b',')
                .any(|word| word.trim_ascii().eq_ignore_ascii_case(b"close"));
        }
        let has_body = header.name.eq_ignore_ascii_case("transfer-encoding")
            || (header.name.eq_ignore_ascii_case("content-length")
                && header.value.trim_ascii() != b"0");
        if has_body {
            return Err(Refused);
        }
    }
    Ok(Request {
        wanted: wanted(path_and_query(head.path.unwrap_or_default())),
        is_last,
        head_bytes,
    })
}

/// A target without the scheme and the server that requests to a proxy have.
fn path_and_query(target: &str) -> &str {
    match target.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => {
            rest.find('/').map_or("/", |at| &rest[at..])
        }
        _ => target,
    }
}

fn wanted(target: &str) -> Wanted {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    match path {
        EXCHANGE_PATH => size(query).map_or(Wanted::NoSize, Wanted::Exchange),
        FETCH_PATH => Wanted::Fetch,
        HEALTH_PATH => Wanted::Health,
        _ => Wanted::Unknown,
    }
}

fn size(query: &str) -> Option<u32> {
    query
        .split('&')
        .find_map(|pair| pair.strip_prefix("answer="))
        .and_then(|number| number.parse().ok())
        .filter(|bytes| (1..=ExchangeSize::MOST_ANSWER).contains(bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a whole request with this target, and these lines of its head, asks for.
    fn read(target: &str, lines: &str) -> Result<Request, Refused> {
        let text = format!("GET {target} HTTP/1.1\r\n{lines}\r\n");
        let request = read_request(text.as_bytes())?.expect("whole");
        assert_eq!(request.head_bytes, text.len());
        Ok(request)
    }

    #[test]
    fn targets_say_what_is_wanted() {
        for (target, wanted) in [
            ("/health", Wanted::Health),
            ("/fetch?x", Wanted::Fetch),
            ("/exchange?answer=1", Wanted::Exchange(1)),
            (
                "/exchange?pad=xx&answer=67108864",
                Wanted::Exchange(64 << 20),
            ),
            ("http://127.0.0.1:80/exchange?answer=7", Wanted::Exchange(7)),
            ("HTTP://a", Wanted::Unknown),
            ("/exchange", Wanted::NoSize),
            ("/exchange?answer=0", Wanted::NoSize),
            ("/exchange?answer=67108865", Wanted::NoSize),
            ("/exchange?answer=4294967297", Wanted::NoSize),
            ("/exchange?pad=answer=1", Wanted::NoSize),
            ("/exchanges?answer=1", Wanted::Unknown),
            ("*", Wanted::Unknown),
        ] {
            let request = read(target, "").expect("a request");
            assert_eq!(
                (request.wanted, request.is_last),
                (wanted, false),
                "{target}"
            );
        }
    }

    #[test]
    fn clients_say_when_a_connection_ends() {
        for (lines, is_last) in [
            ("Connection: keep-alive\r\n", false),
            ("Connection: keep-alive, Close\r\n", true),
            ("connection: closed\r\n", false),
            ("host: a\r\nCONNECTION:close\r\n", true),
        ] {
            let request = read("/health", lines).expect("a request");
            assert_eq!(request.is_last, is_last, "{lines}");
        }
        let old = read_request(b"GET /health HTTP/1.0\r\n\r\n").expect("a request");
        assert!(old.expect("whole").is_last);
    }

    #[test]
    fn what_has_a_body_or_another_method_is_refused() {
        assert!(read("/health", "content-length: 0\r\n").is_ok());
        for lines in [
            "content-length: 1\r\n",
            "content-length: 00\r\n",
            "Transfer-Encoding: chunked\r\n",
            "a b: c\r\n",
        ] {
            assert_eq!(read("/health", lines), Err(Refused), "{lines}");
        }
        for other in ["HEAD / HTTP/1.1\r\n\r\n", "GET / HTTP/2.0\r\n\r\n", "\0"] {
            assert_eq!(read_request(other.as_bytes()), Err(Refused), "{other}");
        }
    }

    #[test]
    fn heads_are_bounded() {
        let long = |bytes: usize| {
            let mut text = b"GET /health HTTP/1.1\r\nx: ".to_vec();
            text.resize(bytes - 4, b'x');
            text.extend(b"\r\n\r\n");
            text
        };
        assert!(matches!(read_request(&long(MOST_HEAD)), Ok(Some(_))));
        assert_eq!(read_request(&long(MOST_HEAD + 1)), Err(Refused));
        let lines = "x: y\r\n".repeat(MOST_HEADERS);
        assert!(read("/health", &lines).is_ok());
        assert_eq!(read("/health", &(lines + "x: y\r\n")), Err(Refused));
    }

    /// Bytes that are nearly requests.
    fn nearly() -> impl Strategy<Value = Vec<u8>> {
        let words = prop::sample::select(vec![
            "GET ",
            "HEAD ",
            "/exchange?answer=",
            "/health",
            "1",
            "99",
            "&",
            "?",
            " HTTP/1.1\r\n",
            " HTTP/1.0\r\n",
            "\r\n",
            "\n",
            "content-length: ",
            "connection: close\r\n",
            "x: y\r\n",
            "\0",
            "é",
        ]);
        prop::collection::vec(words, 0..12).prop_map(|words| words.concat().into_bytes())
    }

    proptest! {
        #[test]
        fn what_was_understood_stays_so_when_more_comes(came in nearly()) {
            let mut earlier = Ok(None);
            for bytes in 0..=came.len() {
                let now = read_request(&came[..bytes]);
                if earlier == Ok(None) {
                    if let Ok(Some(request)) = now {
                        prop_assert_eq!(request.head_bytes, bytes);
                    }
                    earlier = now;
                } else {
                    prop_assert_eq!(now, earlier, "with {} bytes", bytes);
                }
            }
        }
    }
}
