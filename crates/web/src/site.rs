//! One guest as its users see it: where it is, and how to ask it.

use std::net::SocketAddr;

/// Shared by all users of one guest on one thread.
#[derive(Debug)]
pub(crate) struct Site {
    target: SocketAddr,
    /// What follows the request target: version and `Host`.
    tail: Vec<u8>,
}

impl Site {
    pub(crate) fn new(target: SocketAddr) -> Self {
        Self {
            target,
            tail: format!(" HTTP/1.1\r\nHost: {target}\r\n").into_bytes(),
        }
    }

    pub(crate) fn target(&self) -> SocketAddr {
        self.target
    }

    /// Write a whole request into `out`. Like the original driver's it has no header but `Host`,
    /// and the cookies that the server set.
    pub(crate) fn render(&self, out: &mut Vec<u8>, target: impl Fn(&mut Vec<u8>), cookies: &[u8]) {
        out.clear();
        out.extend_from_slice(b"GET ");
        target(out);
        out.extend_from_slice(&self.tail);
        if !cookies.is_empty() {
            out.extend_from_slice(b"Cookie: ");
            out.extend_from_slice(cookies);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_complete() {
        let site = Site::new(([127, 0, 0, 1], 8080).into());
        let mut out = b"left over".to_vec();
        site.render(&mut out, |out| out.extend_from_slice(b"/x?y=1"), b"a=1");
        assert_eq!(
            out,
            b"GET /x?y=1 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nCookie: a=1\r\n\r\n"
        );
        site.render(&mut out, |out| out.push(b'/'), b"");
        assert_eq!(out, b"GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n");
    }
}
