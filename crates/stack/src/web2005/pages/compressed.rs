//! Pages that are compressed on their way, for browsers that ask for it.

use std::io::{self, Write as _};

use flate2::{Compression, write::GzEncoder};
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderValue, VARY};

use crate::http_server::{AnswerBody, FullAnswer, Request};

/// The usual level of web servers.
const LEVEL: u32 = 6;

/// Whether a browser takes a compressed answer.
pub(super) fn accepts_gzip(request: &Request<'_>) -> bool {
    request
        .header(&ACCEPT_ENCODING)
        .is_some_and(|value| value.split(',').any(|coding| coding.trim() == "gzip"))
}

/// Compresses a whole page. Other answers, and one that cannot be, stay as they are.
pub(super) fn compress(answer: &mut FullAnswer) {
    let AnswerBody::Bytes(body) = &answer.body else {
        return;
    };
    if answer.status != 200 {
        return;
    }
    if let Ok(compressed) = gzip(body) {
        answer.body = AnswerBody::Bytes(compressed);
        answer.headers.extend([
            (CONTENT_ENCODING, HeaderValue::from_static("gzip")),
            (VARY, HeaderValue::from_static("accept-encoding")),
        ]);
    }
}

fn gzip(body: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 3), Compression::new(LEVEL));
    encoder.write_all(body)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;
    use rookery_workload::web2005::files::{Content as FileContent, ContentKind};

    use super::*;
    use crate::http_server::{Answer, Content};

    fn page(status: u16, body: Vec<u8>) -> FullAnswer {
        FullAnswer::from(Answer {
            status,
            content: Content::Html,
            body,
        })
    }

    #[test]
    fn a_page_of_padding_shrinks_to_a_quarter_and_comes_back() {
        let mut body = vec![0; 30_000];
        FileContent::new(7, ContentKind::Text).fill(0, &mut body);
        let mut answer = page(200, body.clone());
        compress(&mut answer);
        let AnswerBody::Bytes(sent) = &answer.body else {
            panic!("{answer:?}");
        };
        let ratio = body.len() as f64 / sent.len() as f64;
        assert!((3.0..6.0).contains(&ratio), "{ratio}");
        let mut back = Vec::new();
        GzDecoder::new(&sent[..])
            .read_to_end(&mut back)
            .expect("gzip");
        assert_eq!(back, body);
        let mut refusal = page(400, body);
        compress(&mut refusal);
        assert_eq!(refusal.headers.len(), 1);
    }
}
