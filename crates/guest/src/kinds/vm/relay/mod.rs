//! Unix sockets of a machine's service, led to the host.
//!
//! The host talks to a database over a Unix socket in its data directory, where the kernel says who
//! calls. A machine keeps that directory to itself: so its service listens at a port of the guest's
//! address ([`inside`]), and the host's end ([`outside`]) makes a socket of the same name for each.
//! Whoever connects there is carried over: TCP through the lab's network, and inside the guest a
//! connection by its root.
//!
//! A connection begins with one line, the token of this start and the socket's name; all that
//! follows are the two sides' own bytes.

pub(super) mod inside;
pub(super) mod outside;

use std::{
    io::{self, Read, Write},
    net::{Shutdown, TcpStream},
    os::unix::net::UnixStream,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use rookery_cast::index;
use rustix::net::sockopt;
use serde::{Deserialize, Serialize};

/// Where a guest listens for it: below the ports that programs choose, and none that a service is
/// known by.
pub(crate) const RELAY_PORT: u16 = 1023;
/// Connections that are carried at the same time, on either side; more are closed at once.
const MAX_CONNECTIONS: usize = 256;
/// How long either side may take for its part of a beginning: to connect, to say the line.
const BEGIN: Duration = Duration::from_secs(3);
/// Longest first line, bytes.
const MAX_LINE: u64 = 256;
/// A connection on which nothing is said is asked for after this time, s, and then again.
const QUIET_S: u64 = 10;
/// How often it is asked again, and after what time each, s.
const ASKED_AGAIN: (u32, u64) = (4, 5);
/// A machine that takes nothing for so long has lost its network, ms.
const TAKES_NOTHING_MS: u32 = 30_000;
/// Stack of a thread that carries bytes: its buffer is 8 KiB.
const STACK: usize = 128 << 10;

/// What a guest is told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Relay {
    /// Known to the host and to this start of the guest: 32 random hexadecimal digits.
    pub(crate) token: String,
    /// Sockets below the data directory that may be asked for.
    pub(crate) sockets: Vec<String>,
}

impl Relay {
    /// One for a new start of a guest.
    ///
    /// # Errors
    /// When the host gives no random bytes.
    pub(crate) fn new(sockets: &[String]) -> io::Result<Self> {
        let mut bytes = [0; 16];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self {
            token: bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            sockets: sockets.to_vec(),
        })
    }

    /// The first line of a connection to this socket.
    fn request(&self, socket: &str) -> String {
        format!("{} {socket}\n", self.token)
    }

    /// The socket that a first line asks for, if it may.
    fn asked(&self, line: &str) -> Option<&str> {
        let (token, socket) = line.strip_suffix('\n')?.split_once(' ')?;
        let known = self.sockets.iter().find(|known| *known == socket)?;
        (token == self.token).then_some(known)
    }
}

/// The first line of a connection, and not a byte more: what follows is for the service.
fn read_line(mut from: impl Read) -> io::Result<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < index(MAX_LINE) {
        from.read_exact(&mut byte)?;
        line.push(byte[0]);
        if byte[0] == b'\n' {
            return String::from_utf8(line).map_err(io::Error::other);
        }
    }
    Err(io::Error::other("the first line has no end"))
}

/// A place among the connections that are carried at the same time.
struct Slot<'a>(&'a AtomicUsize);

impl<'a> Slot<'a> {
    fn take(taken: &'a AtomicUsize) -> Option<Self> {
        let slot = Self(taken);
        (taken.fetch_add(1, Ordering::Relaxed) < MAX_CONNECTIONS).then_some(slot)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// See to it that small packets go at once, and that a machine that is gone ends the connection.
fn settle(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(None)?;
    stream.set_write_timeout(None)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, Duration::from_secs(QUIET_S))?;
    sockopt::set_tcp_keepcnt(stream, ASKED_AGAIN.0)?;
    sockopt::set_tcp_keepintvl(stream, Duration::from_secs(ASKED_AGAIN.1))?;
    sockopt::set_tcp_user_timeout(stream, TAKES_NOTHING_MS)?;
    Ok(())
}

/// Carry bytes both ways until both sides have ended theirs, or one is gone.
fn carry(tcp: &TcpStream, unix: &UnixStream) {
    let end_tcp = |how| drop(tcp.shutdown(how));
    let end_unix = |how| drop(unix.shutdown(how));
    thread::scope(|scope| {
        let out = || one_way((unix, &end_unix), (tcp, &end_tcp));
        if thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, out)
            .is_ok()
        {
            one_way((tcp, &end_tcp), (unix, &end_unix));
        }
    });
}

/// Carry bytes one way. An error ends both: nobody is left to read what would still come.
fn one_way<F: Read, T: Write>(
    (mut from, end_from): (F, &impl Fn(Shutdown)),
    (mut to, end_to): (T, &impl Fn(Shutdown)),
) {
    match io::copy(&mut from, &mut to) {
        Ok(_) => end_to(Shutdown::Write),
        Err(_) => {
            end_from(Shutdown::Both);
            end_to(Shutdown::Both);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relay() -> Relay {
        Relay {
            token: "0123456789abcdef0123456789abcdef".to_owned(),
            sockets: vec!["mysql.sock".to_owned(), "run/a b".to_owned()],
        }
    }

    #[test]
    fn only_a_known_socket_with_the_token_of_this_start_is_asked_for() {
        let relay = relay();
        for socket in &relay.sockets {
            assert_eq!(relay.asked(&relay.request(socket)), Some(socket.as_str()));
        }
        let token = &relay.token;
        for line in [
            format!("{token} other.sock\n"),
            format!("{token} ../mysql.sock\n"),
            format!("{token}  mysql.sock\n"),
            format!("{token} mysql.sock"),
            format!("{} mysql.sock\n", &token[1..]),
            " mysql.sock\n".to_owned(),
            "mysql.sock\n".to_owned(),
            "\n".to_owned(),
        ] {
            assert_eq!(relay.asked(&line), None, "{line:?}");
        }
        let other = Relay::new(&relay.sockets).expect("random");
        assert!(
            other.token.len() == 32 && other.token.bytes().all(|byte| byte.is_ascii_hexdigit())
        );
        assert_eq!(
            other.asked(&relay.request("mysql.sock")),
            None,
            "of another start"
        );
    }

    #[test]
    fn a_line_is_read_to_its_end_and_no_further() {
        let mut bytes: &[u8] = b"token path\nSELECT 1";
        assert_eq!(read_line(&mut bytes).expect("a line"), "token path\n");
        assert_eq!(bytes, b"SELECT 1");
        for none in [b"token path".as_slice(), b"", &[b'x'; 1000], b"\xff\n"] {
            assert!(read_line(none).is_err());
        }
    }

    #[test]
    fn places_are_bounded_and_given_back() {
        let taken = AtomicUsize::new(0);
        let slots: Vec<Slot<'_>> = (0..MAX_CONNECTIONS)
            .map(|_| Slot::take(&taken).expect("free"))
            .collect();
        assert!(Slot::take(&taken).is_none());
        drop(slots);
        assert!(Slot::take(&taken).is_some());
        assert_eq!(taken.load(Ordering::Relaxed), 0);
    }
}
