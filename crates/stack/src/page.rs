//! One question to a guest's web server, outside the load.

use std::{net::SocketAddr, path::Path, time::Duration};

use rookery_host::{HttpGetError, http_get, in_netns};

use crate::StackError;

/// Limit on the whole conversation.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most bytes of an answer.
const MOST_BYTES: usize = 1 << 20;

/// The body of `GET path`, asked from inside `network` (`None` = the host's own).
///
/// # Errors
/// When it is not answered with 200.
pub(crate) fn get(
    network: Option<&Path>,
    address: SocketAddr,
    path: &str,
) -> Result<String, StackError> {
    get_with(network, address, path, 200)
}

/// The same, where the answer shall have this status.
///
/// # Errors
/// When it has another one, or there is none.
pub(crate) fn get_with(
    network: Option<&Path>,
    address: SocketAddr,
    path: &str,
    wanted: u16,
) -> Result<String, StackError> {
    let url = format!("http://{address}{path}");
    let answer = match in_netns(network, || page(address, path)) {
        Ok(answer) => answer,
        Err(source) => return Err(StackError::Request { url, source }),
    };
    match answer {
        Ok((status, body)) if status == wanted => Ok(String::from_utf8_lossy(&body).into_owned()),
        Ok((status, _)) => Err(StackError::Page {
            url,
            what: format!("the answer has the status {status}"),
        }),
        Err(HttpGetError::Io(source)) => Err(StackError::Request { url, source }),
        Err(error) => Err(StackError::Page {
            url,
            what: error.to_string(),
        }),
    }
}

/// Status and body.
fn page(address: SocketAddr, path: &str) -> Result<(u16, Vec<u8>), HttpGetError> {
    let answer = http_get(address, path.as_bytes(), PATIENCE)?;
    Ok((answer.status(), answer.body(MOST_BYTES)?))
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::TcpListener,
        thread,
    };

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
