//! One health request: `GET path`, answered 200.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// Ask once, within `timeout` for each of connecting, sending and the answer's first line.
///
/// # Errors
/// When it is not healthy, in words.
pub(crate) fn ask(address: SocketAddr, path: &str, timeout: Duration) -> Result<(), String> {
    let talk = || {
        let mut stream = TcpStream::connect_timeout(&address, timeout)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        // In one piece: `write!` would send every part as a packet of its own.
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes())?;
        // "HTTP/1.1 200" is all that matters; a server that trickles bytes is not healthy.
        let mut status = [0; 12];
        stream.read_exact(&mut status)?;
        Ok::<_, std::io::Error>(status)
    };
    let status = talk().map_err(|error| format!("{address}{path}: {error}"))?;
    match status.strip_prefix(b"HTTP/1.1 ").or_else(|| status.strip_prefix(b"HTTP/1.0 ")) {
        Some(b"200") => Ok(()),
        _ => Err(format!(
            "{address}{path} answers `{}`",
            String::from_utf8_lossy(&status).escape_debug()
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, thread};

    use super::*;

    fn answer(text: &'static str) -> Result<(), String> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let address = listener.local_addr().expect("address");
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("accept");
            let _ = stream.read(&mut [0; 512]);
            let _ = stream.write_all(text.as_bytes());
        });
        let result = ask(address, "/health", Duration::from_secs(5));
        server.join().expect("server");
        result
    }

    #[test]
    fn only_200_is_healthy() {
        assert_eq!(answer("HTTP/1.1 200 OK\r\n\r\n"), Ok(()));
        assert!(answer("HTTP/1.1 503 Busy\r\n\r\n").expect_err("not healthy").contains("503"));
        assert!(answer("SSH-2.0-hello there").is_err());
        assert!(answer("HTTP").is_err());
    }
}
