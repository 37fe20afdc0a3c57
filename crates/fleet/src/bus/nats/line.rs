//! What a NATS server says: lines that end with CR LF, and after `MSG` so many bytes and CR LF
//! (<https://docs.nats.io/reference/reference-protocols/nats-protocol>).

use serde::Deserialize;

/// Most bytes of a line: that with what the server is can be long.
const MOST_LINE: usize = 64 << 10;
/// Most bytes of a message. Ours are shorter.
pub(super) const MOST_MESSAGE: usize = 1 << 20;

/// What a server says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct ServerInfo {
    pub(super) version: String,
    pub(super) max_payload: usize,
    pub(super) nonce: String,
    pub(super) tls_required: bool,
    pub(super) tls_available: bool,
}

/// Something that a server says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// What it is.
    Info(Box<ServerInfo>),
    /// A message of our subscription.
    Message(Vec<u8>),
    /// It wants an answer.
    Ping,
    /// An answer.
    Pong,
    /// It did what it was asked for.
    Ok,
    /// It did not.
    Error(String),
}

/// Take what the server says first from `buffer`; nothing where it did not come whole yet.
///
/// # Errors
/// Why it is nothing that a NATS server says.
pub(super) fn next(buffer: &mut Vec<u8>) -> Result<Option<Said>, &'static str> {
    let window = &buffer[..buffer.len().min(MOST_LINE)];
    let Some(end) = window.windows(2).position(|pair| pair == b"\r\n") else {
        return match buffer.len() < MOST_LINE {
            true => Ok(None),
            false => Err("a line without an end"),
        };
    };
    let line = std::str::from_utf8(&buffer[..end]).map_err(|_| "a line that is no text")?;
    let behind = end + 2;
    let (word, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    let said = match word.to_ascii_uppercase().as_str() {
        "MSG" => {
            let length = rest
                .rsplit([' ', '\t'])
                .next()
                .and_then(|text| text.parse().ok());
            let length: usize = length.ok_or("a message without a length")?;
            if length > MOST_MESSAGE {
                return Err("a message that is too long");
            }
            let Some(bytes) = buffer.get(behind..behind + length + 2) else {
                return Ok(None);
            };
            let (bytes, crlf) = bytes.split_at(length);
            if crlf != b"\r\n" {
                return Err("a message of another length than it announced");
            }
            let bytes = bytes.to_vec();
            buffer.drain(..behind + length + 2);
            return Ok(Some(Said::Message(bytes)));
        }
        "INFO" => {
            let info = serde_json::from_str(rest).map_err(|_| "what it is, not as JSON")?;
            Said::Info(Box::new(info))
        }
        "PING" => Said::Ping,
        "PONG" => Said::Pong,
        "+OK" => Said::Ok,
        "-ERR" => Said::Error(rest.trim().trim_matches('\'').to_owned()),
        _ => return Err("a line that no NATS server says"),
    };
    buffer.drain(..behind);
    Ok(Some(said))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Result<Vec<Said>, &'static str> {
        let mut buffer = bytes.to_vec();
        let said = std::iter::from_fn(|| next(&mut buffer).transpose());
        said.collect()
    }

    #[test]
    fn what_a_server_says_is_read() {
        let bytes = b"INFO {\"version\":\"2.9.10\",\"max_payload\":1048576,\"nonce\":\"n\",\
                      \"go\":\"x\"} \r\nPING\r\n+OK\r\nMSG a.b 1 5\r\nab\r\nc\r\nMSG a.b 1 to 0\r\n\r\n\
                      pong\r\n-ERR 'Authorization Violation'\r\nPI";
        let said = all(bytes).expect("right");
        let info = ServerInfo {
            version: "2.9.10".to_owned(),
            max_payload: 1 << 20,
            nonce: "n".to_owned(),
            ..ServerInfo::default()
        };
        let expected = [
            Said::Info(Box::new(info)),
            Said::Ping,
            Said::Ok,
            Said::Message(b"ab\r\nc".to_vec()),
            Said::Message(Vec::new()),
            Said::Pong,
            Said::Error("Authorization Violation".to_owned()),
        ];
        assert_eq!(said, expected);
    }

    #[test]
    fn what_did_not_come_whole_is_waited_for() {
        let bytes = b"MSG a 1 3\r\nabc\r\n";
        for length in 0..bytes.len() {
            assert_eq!(all(&bytes[..length]), Ok(Vec::new()), "{length}");
        }
        assert_eq!(all(bytes), Ok(vec![Said::Message(b"abc".to_vec())]));
    }

    #[test]
    fn what_no_server_says_is_refused() {
        let long = [b'x'; MOST_LINE];
        for bytes in [
            &b"SSH-2.0-OpenSSH_9.2\r\n"[..],
            b"MSG a 1 99999999\r\n",
            b"MSG a 1 x\r\n",
            b"MSG a 1 1\r\nabc\r\n",
            b"INFO x\r\n",
            b"\xff\r\n",
            &long,
        ] {
            assert!(all(bytes).is_err(), "{:?}", String::from_utf8_lossy(bytes));
        }
    }
}
