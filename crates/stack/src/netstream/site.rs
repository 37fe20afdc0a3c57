//! What is answered to whom, and counted.

use std::{
    io::{self, Write as _},
    net::TcpStream,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use rookery_workload::netstream::{ExchangeSize, receipt};

use super::{
    Counts, Partner,
    answer::{AnswerBegin, Piece, text},
    fetch::{Fetcher, Line},
    request::Wanted,
};

/// What all connections of a server share.
pub(super) struct ExchangeSite {
    piece: Piece,
    answers: AtomicU64,
    bytes: AtomicU64,
    /// Whose answers it fetches.
    partner: Option<Fetcher>,
}

/// What the answers of one connection need beside the site.
#[derive(Default)]
pub(super) struct Answering {
    begin: AnswerBegin,
    /// The connection to the partner.
    line: Option<Line>,
}

impl ExchangeSite {
    pub(super) fn new(partner: Option<Partner>) -> Self {
        Self {
            piece: Piece::new(),
            answers: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            partner: partner.map(Fetcher::new),
        }
    }

    /// The answers that were begun.
    pub(super) fn counts(&self) -> Counts {
        Counts {
            answers: self.answers.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
        }
    }

    /// Answer one request.
    ///
    /// # Errors
    /// When the client does not take the answer.
    pub(super) fn answer(
        &self,
        mut stream: &TcpStream,
        wanted: Wanted,
        is_last: bool,
        answering: &mut Answering,
    ) -> io::Result<()> {
        let (status, body) = match wanted {
            Wanted::Exchange(bytes) => {
                // Before it is sent: what a client received must have been counted.
                self.answers.fetch_add(1, Relaxed);
                self.bytes.fetch_add(bytes.into(), Relaxed);
                let (begin, left) = answering.begin.of(bytes, is_last);
                return self.piece.send(&mut stream, begin, left);
            }
            Wanted::Fetch => self.fetch(answering),
            Wanted::Health => ("200 OK", "ok\n".to_owned()),
            Wanted::NoSize => {
                let most = ExchangeSize::MOST_ANSWER;
                let body = format!("answer=1 to answer={most} is answered\n");
                ("400 Bad Request", body)
            }
            Wanted::Unknown => ("404 Not Found", "there is no such page\n".to_owned()),
        };
        stream.write_all(&text(status, &body, is_last))
    }

    /// Receive an answer of the partner, and say so.
    fn fetch(&self, answering: &mut Answering) -> (&'static str, String) {
        let Some(partner) = &self.partner else {
            return (
                "404 Not Found",
                "there is no partner to fetch from\n".to_owned(),
            );
        };
        match partner.exchange(&mut answering.line) {
            Ok(()) => ("200 OK", receipt(partner.answer_bytes())),
            Err(error) => ("502 Bad Gateway", format!("the partner failed: {error}\n")),
        }
    }
}
