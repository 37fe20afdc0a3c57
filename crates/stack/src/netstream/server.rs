//! Requests to the server of the netstream workload.

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use hyper::{
    body::Bytes,
    header::{CONTENT_TYPE, HeaderValue},
};
use rookery_workload::netstream::{EXCHANGE_PATH, ExchangeSize, FETCH_PATH, HEALTH_PATH, receipt};

use super::{Counts, Partner, fetch::Fetcher};
use crate::http_server::{
    Answer, AnswerBody, Content, FullAnswer, HttpServer, HttpSite, Method, RepeatedBody, Request,
    ServerError, StopSignal,
};

/// A piece of an answer: what iperf3 writes at a time. It stays in the cache of a CPU.
const PIECE_BYTES: usize = 128 * 1024;

/// What to serve and where.
#[derive(Clone, Debug)]
pub struct ServeConfig {
    /// Where the counts go at the end.
    pub counts: PathBuf,
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Worker threads, at least 1.
    pub workers: usize,
    /// Another guest, whose answers it fetches when it is asked to.
    pub partner: Option<Partner>,
}

/// A server that listens already: clients may connect, and are answered once it runs.
pub struct Server {
    http: HttpServer,
    site: Arc<ExchangeSite>,
    counts: PathBuf,
}

impl Server {
    /// Start the threads, and listen.
    ///
    /// # Errors
    /// When the address is taken.
    pub fn bind(config: &ServeConfig) -> Result<Self, ServerError> {
        Ok(Self {
            http: HttpServer::bind(config.listen, config.workers, "netstream-worker")?,
            site: Arc::new(ExchangeSite::new(config.partner.clone())),
            counts: config.counts.clone(),
        })
    }

    /// Where it listens, with the port that was taken.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.http.local_addr()
    }

    /// Serve until `stop` is raised, let requests in flight finish (at most 5 s), and write the
    /// counts.
    ///
    /// # Errors
    /// When the counts cannot be written.
    pub fn run(self, stop: &StopSignal) -> Result<(), ServerError> {
        let site = Arc::clone(&self.site);
        self.http.run(self.site, stop);
        site.counts().write(&self.counts)
    }
}

struct ExchangeSite {
    /// What answers consist of, again and again.
    piece: Bytes,
    answers: AtomicU64,
    bytes: AtomicU64,
    /// Whose answers it fetches.
    partner: Option<Fetcher>,
}

impl ExchangeSite {
    fn new(partner: Option<Partner>) -> Self {
        Self {
            piece: Bytes::from(vec![b'x'; PIECE_BYTES]),
            answers: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            partner: partner.map(Fetcher::new),
        }
    }

    fn counts(&self) -> Counts {
        Counts {
            answers: self.answers.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }

    fn exchange(&self, query: &str) -> FullAnswer {
        let asked = query
            .split('&')
            .find_map(|pair| pair.strip_prefix("answer="))
            .and_then(|number| number.parse::<u32>().ok())
            .filter(|bytes| (1..=ExchangeSize::MOST_ANSWER).contains(bytes));
        let Some(bytes) = asked else {
            let most = ExchangeSize::MOST_ANSWER;
            return text(400, &format!("answer=1 to answer={most} is answered\n")).into();
        };
        self.answers.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes.into(), Ordering::Relaxed);
        FullAnswer {
            status: 200,
            headers: vec![(
                CONTENT_TYPE,
                HeaderValue::from_static("application/octet-stream"),
            )],
            body: AnswerBody::Repeated(RepeatedBody::new(self.piece.clone(), bytes.into())),
        }
    }
}

impl ExchangeSite {
    /// Receive an answer of the partner, and say so.
    async fn fetch(&self) -> Answer {
        let Some(partner) = &self.partner else {
            return text(404, "there is no partner to fetch from\n");
        };
        match partner.exchange().await {
            Ok(()) => text(200, &receipt(partner.answer_bytes())),
            Err(error) => text(502, &format!("the partner failed: {error}\n")),
        }
    }
}

impl HttpSite for ExchangeSite {
    type Answer = FullAnswer;

    async fn answer(&self, request: Request<'_>) -> FullAnswer {
        if request.method != Method::Get {
            return text(405, "only GET is answered here\n").into();
        }
        match request.path {
            HEALTH_PATH => text(200, "ok\n").into(),
            EXCHANGE_PATH => self.exchange(request.query),
            FETCH_PATH => self.fetch().await.into(),
            _ => text(404, "there is no such page\n").into(),
        }
    }

    fn refusal(status: u16, heading: &str, sentence: &str) -> Answer {
        text(status, &format!("{heading}: {sentence}\n"))
    }
}

fn text(status: u16, body: &str) -> Answer {
    Answer {
        status,
        content: Content::Text,
        body: body.as_bytes().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(site: &ExchangeSite, path: &str, query: &str) -> FullAnswer {
        let request = Request {
            method: Method::Get,
            path,
            query,
            form: "",
            headers: None,
        };
        tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime")
            .block_on(site.answer(request))
    }

    #[test]
    fn answers_are_as_long_as_asked_and_counted() {
        let site = ExchangeSite::new(None);
        for (query, bytes) in [("answer=1", 1), ("answer=67108864&pad=xxx", 64 << 20)] {
            let answer = answer(&site, EXCHANGE_PATH, query);
            let AnswerBody::Repeated(body) = answer.body else {
                panic!("{query}: another body");
            };
            assert_eq!((answer.status, body.left()), (200, bytes), "{query}");
        }
        for wrong in [
            "",
            "answer=0",
            "answer=67108865",
            "answer=x",
            "pad=answer=1",
        ] {
            assert_eq!(answer(&site, EXCHANGE_PATH, wrong).status, 400, "{wrong}");
        }
        assert_eq!(answer(&site, HEALTH_PATH, "").status, 200);
        for unknown in ["/other", FETCH_PATH] {
            assert_eq!(answer(&site, unknown, "").status, 404);
        }
        assert_eq!(
            site.counts(),
            Counts {
                answers: 2,
                bytes: (64 << 20) + 1
            }
        );
    }
}
