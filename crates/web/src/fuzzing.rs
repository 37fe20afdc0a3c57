//! What fuzz targets reach of the inside of this crate.

use crate::http::{
    Limits,
    cookies::Cookies,
    decode::{Answer, Assembler, Body, Feeding, Keep, Pool},
};

/// What a server's bytes came to: status, body and the cookies that were kept; `None` = a fault.
pub type Read = Option<(u16, Vec<u8>, Vec<u8>)>;

/// Read one answer from bytes that come in pieces of `piece` bytes (at least 1), after which the
/// server closes.
#[must_use]
pub fn http_answer(bytes: &[u8], piece: usize, limits: Limits) -> Read {
    let (mut cookies, mut pool, mut assembler) =
        (Cookies::default(), Pool::default(), Assembler::new());
    for part in bytes.chunks(piece) {
        let mut feeding = Feeding {
            limits,
            keep: Keep::Body,
            cookies: &mut cookies,
            pool: &mut pool,
        };
        if let Some(answer) = assembler.feed(part, &mut feeding).ok()? {
            return Some(read(answer, part, &cookies));
        }
    }
    assembler
        .close(Keep::Body)
        .ok()
        .map(|answer| read(answer, &[], &cookies))
}

fn read(answer: Answer, last: &[u8], cookies: &Cookies) -> (u16, Vec<u8>, Vec<u8>) {
    let body = match answer.body {
        Body::InPlace(range) => last[range].to_vec(),
        Body::Gathered(bytes) => bytes,
        Body::Counted => Vec::new(),
    };
    (answer.status, body, cookies.header().to_vec())
}
