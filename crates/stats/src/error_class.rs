//! The error taxonomy: every response is judged, and a failure has exactly one class.

use serde::{Deserialize, Serialize};

/// Why an operation failed. The sub-class (a status code, `refused`, `truncated`, ...) travels
/// beside it as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorClass {
    /// No connection: refused, timeout, reset, local ports or descriptors exhausted.
    Connect,
    /// No encrypted connection: no agreement, or a certificate that does not prove what it must.
    Tls,
    /// Sending or receiving failed: timeout, reset, truncated body, idle connection closed.
    Io,
    /// The answer is not HTTP as we accept it: malformed or oversized header, unexpected interim
    /// response, bad chunk.
    Protocol,
    /// A status other than the expected one.
    Status,
    /// A redirect that was not expected or not allowed.
    Redirect,
    /// A marker is missing or the size is out of range.
    Content,
    /// The application said no: login rejected, form shown again.
    Semantic,
    /// A user that was logged in is asked to log in again, or may not do what it could before.
    SessionLost,
    /// A form field or token was not found.
    Parse,
    /// Data read back differs from what was written.
    Data,
    /// Unfinished at the drain deadline, or the server pushed back (429, 503 with Retry-After).
    Overload,
    /// A fault of the driver itself: makes the trial void.
    Driver,
}

impl ErrorClass {
    /// The name as printed and stored.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Io => "io",
            Self::Protocol => "protocol",
            Self::Status => "status",
            Self::Redirect => "redirect",
            Self::Content => "content",
            Self::Semantic => "semantic",
            Self::SessionLost => "session-lost",
            Self::Parse => "parse",
            Self::Data => "data",
            Self::Overload => "overload",
            Self::Driver => "driver",
        }
    }
}
