//! One page of a web server, asked for outside any load.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use thiserror::Error;

/// Most bytes of an answer's head.
const LONGEST_HEAD: usize = 64 << 10;
/// Most fields of an answer's head.
const MOST_FIELDS: usize = 128;
/// Most bytes that are quoted of an answer which is no HTTP.
const LONGEST_QUOTE: usize = 64;

/// An answer whose head has come; its body is still to be read.
#[derive(Debug)]
pub struct HttpAnswer {
    connection: Connection,
    status: u16,
    /// The length of the body, where the head announces it.
    announced: Option<usize>,
    /// What has come of the body.
    body: Vec<u8>,
}

/// Why a page could not be had.
#[derive(Debug, Error)]
pub enum HttpGetError {
    /// The connection failed, or the time was over.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// What answers does not speak HTTP/1.
    #[error("what answers does not speak HTTP: `{beginning}`")]
    NotHttp {
        /// How it begins, in readable characters.
        beginning: String,
    },
    /// The connection ended within the head, or before the announced end of the body.
    #[error("the answer broke off after {bytes} bytes")]
    BrokenOff {
        /// What had come.
        bytes: usize,
    },
    /// The answer is longer than it may be.
    #[error("the answer is longer than {most} bytes")]
    TooLong {
        /// What it may have.
        most: usize,
    },
}

/// Asks `address` for `path` and waits for the head of the answer. Connecting, asking, and reading
/// the answer with its body take at most `timeout` together, so that a server that trickles bytes
/// holds nothing up.
///
/// The request is in HTTP/1.0: the answer does not come in chunks, and the server closes after it.
///
/// # Errors
/// When no head of an HTTP answer comes in time; any status is an answer.
pub fn http_get(
    address: SocketAddr,
    path: &[u8],
    timeout: Duration,
) -> Result<HttpAnswer, HttpGetError> {
    let mut connection = Connection::open(address, timeout)?;
    // In one piece: several writes would be several packets.
    let mut request = b"GET ".to_vec();
    request.extend_from_slice(path);
    request.extend_from_slice(
        format!(" HTTP/1.0\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes(),
    );
    connection.write(&request)?;
    let mut begun = Vec::new();
    loop {
        if let Some(head) = parse_head(&begun)? {
            return Ok(HttpAnswer {
                connection,
                status: head.status,
                announced: head.announced,
                body: begun.split_off(head.length),
            });
        }
        if begun.len() >= LONGEST_HEAD {
            return Err(HttpGetError::TooLong { most: LONGEST_HEAD });
        }
        if connection.read_more(&mut begun)? == 0 {
            return Err(HttpGetError::BrokenOff { bytes: begun.len() });
        }
    }
}

impl HttpAnswer {
    /// The status, such as 200.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The body of at most `most` bytes: all that is announced, or all until the server closes.
    ///
    /// # Errors
    /// When it does not come in time, breaks off, or is longer.
    pub fn body(mut self, most: usize) -> Result<Vec<u8>, HttpGetError> {
        loop {
            if self.announced.unwrap_or(self.body.len()) > most {
                return Err(HttpGetError::TooLong { most });
            }
            // Some servers keep the connection open although they were asked to close it.
            if let Some(length) = self.announced
                && self.body.len() >= length
            {
                self.body.truncate(length);
                return Ok(self.body);
            }
            if self.connection.read_more(&mut self.body)? == 0 {
                return match self.announced {
                    None => Ok(self.body),
                    Some(_) => Err(HttpGetError::BrokenOff {
                        bytes: self.body.len(),
                    }),
                };
            }
        }
    }
}

/// A connection that ends at a deadline.
#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    deadline: Instant,
}

impl Connection {
    fn open(address: SocketAddr, timeout: Duration) -> io::Result<Self> {
        let deadline = Instant::now() + timeout;
        let stream = TcpStream::connect_timeout(&address, timeout)?;
        Ok(Self { stream, deadline })
    }

    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(left)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write_all(bytes)
    }

    /// Appends what comes next, and gives how much it is; 0 when the server closed.
    fn read_more(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        let mut piece = [0; 16 << 10];
        loop {
            self.stream.set_read_timeout(Some(self.left()?))?;
            match self.stream.read(&mut piece) {
                Ok(length) => {
                    bytes.extend_from_slice(&piece[..length]);
                    return Ok(length);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The head of an answer.
struct Head {
    status: u16,
    announced: Option<usize>,
    /// With the empty line behind it.
    length: usize,
}

/// The head that `bytes` begin with, once it is whole.
fn parse_head(bytes: &[u8]) -> Result<Option<Head>, HttpGetError> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut response = httparse::Response::new(&mut fields);
    let no_http = |_| HttpGetError::NotHttp {
        beginning: readable(&bytes[..bytes.len().min(LONGEST_QUOTE)]),
    };
    let httparse::Status::Complete(length) = response.parse(bytes).map_err(no_http)? else {
        return Ok(None);
    };
    let announced = response
        .headers
        .iter()
        .find(|field| field.name.eq_ignore_ascii_case("content-length"))
        .and_then(|field| std::str::from_utf8(field.value).ok()?.trim().parse().ok());
    Ok(response.code.map(|status| Head {
        status,
        announced,
        length,
    }))
}

/// Readable characters, others as single spaces.
fn readable(bytes: &[u8]) -> String {
    let text =
        String::from_utf8_lossy(bytes).replace(|c: char| c.is_control() || c == '\u{fffd}', " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, thread};

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(5);

    /// What is got from a server that gives `pieces` with `pause` behind each, and then closes.
    fn got(pieces: Vec<Vec<u8>>, pause: Duration, timeout: Duration) -> Result<String, String> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let address = listener.local_addr().expect("an address");
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("accepted");
            let mut request = [0; 512];
            let length = stream.read(&mut request).expect("a request");
            for piece in pieces {
                // The client may have had enough.
                if stream.write_all(&piece).is_err() {
                    break;
                }
                thread::sleep(pause);
            }
            String::from_utf8_lossy(&request[..length]).into_owned()
        });
        let result = http_get(address, b"/x?y=%20z", timeout)
            .and_then(|answer| Ok((answer.status(), answer.body(100)?)))
            .map(|(status, body)| format!("{status} {}", String::from_utf8_lossy(&body)))
            .map_err(|error| error.to_string());
        let request = server.join().expect("no panic");
        assert_eq!(
            request,
            format!("GET /x?y=%20z HTTP/1.0\r\nHost: {address}\r\nConnection: close\r\n\r\n")
        );
        result
    }

    fn at_once(answer: &str) -> Result<String, String> {
        got(vec![answer.into()], Duration::ZERO, TIMEOUT)
    }

    #[test]
    fn answers_of_any_status_are_given_whole() {
        for (answer, expected) in [
            ("HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody", "200 body"),
            ("HTTP/1.0 404 Not Found\r\n\r\nno", "404 no"),
            (
                "HTTP/1.1 200 OK\r\ncontent-Length: 4\r\n\r\nbody, and more",
                "200 body",
            ),
            (
                "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
                "204 ",
            ),
        ] {
            assert_eq!(at_once(answer).as_deref(), Ok(expected), "{answer}");
        }
    }

    #[test]
    fn what_is_no_whole_answer_is_refused() {
        let long = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(101));
        for (answer, expected) in [
            ("", "broke off after 0 bytes"),
            ("HTTP/1.1 200 OK\r\nA: b\r\n", "broke off after 23 bytes"),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbody",
                "broke off after 4 bytes",
            ),
            (
                "SSH-2.0-hello\x1b[31m there",
                "does not speak HTTP: `SSH-2.0-hello [31m there`",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n",
                "longer than 100 bytes",
            ),
            (long.as_str(), "longer than 100 bytes"),
        ] {
            let error = at_once(answer).expect_err(answer);
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_server_that_trickles_bytes_is_left_at_the_deadline() {
        let pieces = b"HTTP/1.1 200 OK\r\n\r\n"
            .iter()
            .map(|&byte| vec![byte])
            .collect();
        let began = Instant::now();
        let (pause, timeout) = (Duration::from_millis(100), Duration::from_millis(300));
        assert!(got(pieces, pause, timeout).is_err());
        assert!(began.elapsed() < TIMEOUT);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_of_a_server_make_a_panic(bytes: Vec<u8>) {
            let _ = parse_head(&bytes);
            let _ = parse_head(&[b"HTTP/1.1 200 OK\r\n", &bytes[..]].concat());
        }
    }
}
