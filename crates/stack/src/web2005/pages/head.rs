//! Heads of answers: headers, filled up to the length that the tables of bytes allow for.

use hyper::{
    StatusCode,
    header::{HeaderName, HeaderValue, SERVER},
};

use crate::http_server::{AnswerBody, FullAnswer};

/// Bytes of a head, with the empty line at its end: the allowance behind the tables of bytes per
/// page, and about what a usual web server sends.
pub(super) const HEAD_BYTES: usize = 250;

/// What fills a head up.
const FILL: HeaderName = HeaderName::from_static("x-fill");

/// Bytes of the `date` header, which the connection adds.
const DATE_BYTES: usize = "date: Thu, 07 Oct 2004 01:50:10 GMT\r\n".len();

/// An answer whose head has [`HEAD_BYTES`] bytes, as far as its headers leave room.
pub(super) fn headed(
    status: u16,
    mut headers: Vec<(HeaderName, HeaderValue)>,
    body: AnswerBody,
) -> FullAnswer {
    headers.push((SERVER, HeaderValue::from_static("rookery")));
    let length = match &body {
        AnswerBody::Bytes(bytes) => bytes.len() as u64,
        AnswerBody::File(file) => file.left(),
    };
    let status_line = {
        let reason = StatusCode::from_u16(status)
            .map_or("", |status| status.canonical_reason().unwrap_or_default());
        format!("HTTP/1.1 {status} {reason}\r\n").len()
    };
    let length_line = match status {
        304 => 0,
        _ => format!("content-length: {length}\r\n").len(),
    };
    let lines: usize = headers
        .iter()
        .map(|(name, value)| line_bytes(name, value.len()))
        .sum();
    let known = status_line + length_line + DATE_BYTES + lines + "\r\n".len();
    let room = HEAD_BYTES.saturating_sub(known + line_bytes(&FILL, 0));
    if let Ok(fill) = HeaderValue::from_str(&"x".repeat(room))
        && room > 0
    {
        headers.push((FILL, fill));
    }
    FullAnswer {
        status,
        headers,
        body,
    }
}

/// Bytes of a header line.
fn line_bytes(name: &HeaderName, value_bytes: usize) -> usize {
    name.as_str().len() + ": ".len() + value_bytes + "\r\n".len()
}

#[cfg(test)]
mod tests {
    use hyper::header::{CONTENT_TYPE, LAST_MODIFIED};

    use super::*;

    #[test]
    fn heads_have_their_length() {
        let html = (CONTENT_TYPE, HeaderValue::from_static("text/html"));
        let modified = HeaderValue::from_static("Thu, 07 Oct 2004 01:50:10 GMT");
        for (status, headers, body) in [
            (200, vec![html], vec![0; 5_888]),
            (200, vec![(LAST_MODIFIED, modified.clone())], vec![0; 43]),
            (304, vec![(LAST_MODIFIED, modified)], Vec::new()),
        ] {
            let length = body.len();
            let answer = headed(status, headers, AnswerBody::Bytes(body));
            let reason = if status == 200 { "OK" } else { "Not Modified" };
            let mut text = format!("HTTP/1.1 {status} {reason}\r\n");
            for (name, value) in &answer.headers {
                text += &format!("{name}: {}\r\n", value.to_str().expect("text"));
            }
            if status == 200 {
                text += &format!("content-length: {length}\r\n");
            }
            text += "date: Thu, 07 Oct 2004 01:50:10 GMT\r\n\r\n";
            assert_eq!(text.len(), HEAD_BYTES, "{text}");
        }
    }
}
