//! Why a request failed, as one class and sub-class.

use std::{borrow::Cow, io};

use rookery_stats::ErrorClass;

/// The sub-class of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubClass {
    /// In words.
    Text(&'static str),
    /// A status code.
    Code(u16),
}

impl SubClass {
    /// As it is printed.
    #[must_use]
    pub fn text(self) -> Cow<'static, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Code(code) => Cow::Owned(code.to_string()),
        }
    }
}

/// One failure: exactly one class and sub-class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its class.
    pub class: ErrorClass,
    /// Its sub-class.
    pub sub_class: SubClass,
}

impl Fault {
    /// A fault whose sub-class is a word.
    #[must_use]
    pub const fn new(class: ErrorClass, sub_class: &'static str) -> Self {
        Self {
            class,
            sub_class: SubClass::Text(sub_class),
        }
    }

    /// A fault whose sub-class is a status code.
    #[must_use]
    pub const fn code(class: ErrorClass, code: u16) -> Self {
        Self {
            class,
            sub_class: SubClass::Code(code),
        }
    }

    /// An answer that breaks the protocol.
    #[must_use]
    pub const fn protocol(sub_class: &'static str) -> Self {
        Self::new(ErrorClass::Protocol, sub_class)
    }

    /// The operation was still under way at the drain deadline.
    pub const UNFINISHED: Self = Self::new(ErrorClass::Overload, "unfinished");
    /// An arrival that found as many visitors as allowed, or a driver that never came to it.
    pub const DROPPED: Self = Self::new(ErrorClass::Overload, "dropped");
    /// An idle connection had been closed by the server before any byte of the answer.
    pub const IDLE_CLOSED: Self = Self::new(ErrorClass::Io, "idle-connection-closed");
    /// The server closed in the middle of the answer, or gave none.
    pub const TRUNCATED: Self = Self::new(ErrorClass::Io, "truncated");

    /// No connection.
    #[must_use]
    pub fn connecting(error: &io::Error) -> Self {
        use rustix::io::Errno;
        let sub_class = match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::CONNREFUSED) => "refused",
            Some(Errno::CONNRESET | Errno::CONNABORTED) => "reset",
            Some(Errno::TIMEDOUT) => "timeout",
            Some(Errno::ADDRNOTAVAIL | Errno::ADDRINUSE) => "local-port-exhausted",
            Some(Errno::MFILE | Errno::NFILE) => "fd-limit",
            Some(Errno::HOSTUNREACH | Errno::NETUNREACH) => "unreachable",
            _ => "other",
        };
        Self::new(ErrorClass::Connect, sub_class)
    }

    /// No answer.
    #[must_use]
    pub fn receiving(error: &io::Error) -> Self {
        let sub_class = match error.kind() {
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => "recv-reset",
            io::ErrorKind::TimedOut => "recv-timeout",
            _ => "recv",
        };
        Self::new(ErrorClass::Io, sub_class)
    }
}

/// Up to 512 bytes of an answer, made printable: what is not visible ASCII becomes an escape, line
/// ends stay readable.
pub(crate) fn printable(bytes: &[u8]) -> String {
    bytes
        .iter()
        .take(EVIDENCE_BYTES)
        .flat_map(|byte| byte.escape_ascii())
        .map(char::from)
        .collect()
}

/// How much of an answer an example keeps.
pub const EVIDENCE_BYTES: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_words_find_their_sub_class() {
        use rustix::io::Errno;
        let cases = [
            (Errno::CONNREFUSED, "refused"),
            (Errno::CONNRESET, "reset"),
            (Errno::TIMEDOUT, "timeout"),
            (Errno::ADDRNOTAVAIL, "local-port-exhausted"),
            (Errno::MFILE, "fd-limit"),
            (Errno::NETUNREACH, "unreachable"),
            (Errno::INVAL, "other"),
        ];
        for (errno, sub_class) in cases {
            let fault = Fault::connecting(&io::Error::from(errno));
            assert_eq!(fault, Fault::new(ErrorClass::Connect, sub_class), "{errno}");
        }
    }

    #[test]
    fn evidence_is_printable_and_short() {
        assert_eq!(printable(b"a\r\n\x00<\xff"), "a\\r\\n\\x00<\\xff");
        assert_eq!(printable(&[b'x'; 5_000]).len(), 512);
    }
}
