//! Answers whole and in pieces, compressed and not, right and wrong.

use super::*;

const WANTED: Wanted<'static> = Wanted {
    header_bytes: 4096,
    body_bytes: 10_000,
    whole: true,
    digest: true,
    markers: None,
    no_body: false,
    versions: true,
    enough: None,
    headers: &[],
};

fn receive(wanted: Wanted<'_>, bytes: &[u8], piece: usize) -> Result<Option<Answer>, Fault> {
    let (mut cookies, mut pool) = (Cookies::default(), Pool::default());
    let mut reception = Reception::new(wanted);
    for part in bytes.chunks(piece) {
        // As it would be received: behind it is what another answer left there.
        let mut buffer = [part, b"left over"].concat().into_boxed_slice();
        let fed = reception.feed(&mut buffer, part.len(), &mut cookies, &mut pool)?;
        if fed.is_some() {
            return Ok(fed);
        }
    }
    Ok(None)
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(data).expect("into memory");
    encoder.finish().expect("into memory")
}

fn with_length(headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

#[test]
fn a_compressed_body_is_seen_as_it_was_whatever_the_pieces() {
    let text = b"hello ".repeat(500);
    let bytes = with_length("Content-Encoding: gzip\r\nETag: \"v\"\r\n", &gzip(&text));
    for piece in [1, 7, 100_000] {
        let answer = receive(WANTED, &bytes, piece)
            .expect("a good answer")
            .expect("complete");
        assert_eq!(&*answer.kept, text);
        assert_eq!(answer.bytes, 3000);
        assert_eq!(answer.digest, Some(Sha256::digest(&text).into()));
        assert_eq!(answer.told.validator(), Validator::tag(b"\"v\""));
    }
}

#[test]
fn bombs_and_broken_compression_are_refused() {
    let bomb = gzip(&vec![b'x'; 10_000_000]);
    assert!(bomb.len() < 20_000);
    let bytes = with_length("Content-Encoding: gzip\r\n", &bomb);
    let wanted = Wanted {
        body_bytes: 100_000,
        ..WANTED
    };
    assert_eq!(
        receive(wanted, &bytes, 1000).expect_err("a bomb"),
        TOO_LARGE
    );
    let broken = with_length("Content-Encoding: gzip\r\n", b"no gzip at all");
    assert_eq!(
        receive(WANTED, &broken, 1000).expect_err("broken"),
        DECOMPRESSION
    );
    let half = &gzip(b"hello hello hello")[..20];
    let half = with_length("Content-Encoding: gzip\r\n", half);
    assert_eq!(
        receive(WANTED, &half, 1000).expect_err("cut off"),
        DECOMPRESSION
    );
    let other = with_length("Content-Encoding: br\r\n", b"x");
    assert_eq!(
        receive(WANTED, &other, 1000).expect_err("unknown"),
        DECOMPRESSION
    );
}

#[test]
fn bodies_that_are_not_wanted_are_counted() {
    let wanted = Wanted {
        whole: false,
        ..WANTED
    };
    let answer = receive(wanted, &with_length("", &[b'x'; 5000]), 999)
        .expect("good")
        .expect("complete");
    assert_eq!((answer.kept.len(), answer.bytes), (512, 5000));
    let long = with_length("", &[b'x'; 20_000]);
    assert_eq!(receive(wanted, &long, 999).expect_err("long"), TOO_LARGE);
}

#[test]
fn no_more_is_kept_when_the_begin_is_enough() {
    let text = [b"token=5;".as_slice(), &[b'x'; 6000]].concat();
    let bytes = with_length("", &text);
    let is_enough = |body: &[u8]| body.contains(&b';');
    let wanted = Wanted {
        digest: false,
        enough: Some(Enough(&is_enough)),
        ..WANTED
    };
    for piece in [1, 100, HEAD_FIRST, 10_000] {
        let answer = receive(wanted, &bytes, piece).expect("good");
        let answer = answer.expect("complete");
        assert_eq!((answer.bytes, answer.sent_bytes), (6008, 6008));
        assert!(answer.kept.starts_with(b"token=5;"), "{piece}");
        assert_eq!(answer.kept.len() == 6008, piece == 10_000, "{piece}");
    }
}

#[test]
fn what_caches_need_is_read() {
    let bytes = with_length(
        "Cache-Control: public, max-age=60\r\nLast-Modified: then\r\nX-Id: 7\r\n",
        b"",
    );
    let headers = ["x-id".to_owned()];
    let wanted = Wanted {
        headers: &headers,
        ..WANTED
    };
    let answer = receive(wanted, &bytes, 3).expect("good").expect("complete");
    assert_eq!(answer.told.max_age_s, Some(60));
    assert_eq!(answer.told.validator(), Validator::modified(b"then"));
    assert_eq!(answer.told.headers, [Some(b"7".to_vec())]);
}

#[test]
fn the_answer_to_head_has_no_body() {
    let wanted = Wanted {
        no_body: true,
        ..WANTED
    };
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n";
    assert!(receive(wanted, bytes, 1000).expect("good").is_some());
}
