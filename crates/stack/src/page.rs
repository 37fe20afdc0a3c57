//! One question to a guest's web server, outside the load.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    time::Duration,
};

use rookery_host::in_netns;

use crate::StackError;

/// Limit on connecting, and on each wait for bytes.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most bytes of an answer.
const MOST_BYTES: u64 = 1 << 20;

/// The body of `GET path`, asked from inside `network` (`None` = the host's own).
///
/// # Errors
/// When it is not answered with 200.
pub(crate) fn get(
    network: Option<&Path>,
    address: SocketAddr,
    path: &str,
) -> Result<String, StackError> {
    let url = format!("http://{address}{path}");
    let answer = match in_netns(network, || talk(address, path)).and_then(|answer| answer) {
        Ok(answer) => answer,
        Err(source) => return Err(StackError::Request { url, source }),
    };
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.lines().next().unwrap_or_default();
    if status.split(' ').nth(1) == Some("200") {
        return Ok(body.to_owned());
    }
    Err(StackError::Page {
        url,
        what: format!("the answer is `{}`", status.escape_debug()),
    })
}

/// In HTTP/1.0, so that the body ends with the connection.
fn talk(address: SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes())?;
    let mut answer = Vec::new();
    stream.take(MOST_BYTES).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, thread};

    use super::*;

    fn answered(text: &'static str) -> Result<String, StackError> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let address = listener.local_addr().expect("an address");
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("accepted");
            let _ = stream.read(&mut [0; 512]);
            let _ = stream.write_all(text.as_bytes());
        });
        let result = get(None, address, "/x");
        server.join().expect("no panic");
        result
    }

    #[test]
    fn bodies_of_good_answers_are_given() {
        let body = answered("HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody").expect("answered");
        assert_eq!(body, "body");
        assert!(
            answered("HTTP/1.1 404 Not Found\r\n\r\nno")
                .expect_err("refused")
                .to_string()
                .contains("404")
        );
        assert!(answered("").is_err());
    }
}
