//! Requests to the back-end.

use std::sync::Arc;

use rookery_workload::web2005::besim::{BESIM_PATH, Query};

use super::simulator::Simulator;
use crate::http_server::{Answer, Content, HttpSite, Method, Request};

/// Answers with 200 while the back-end runs.
const HEALTH_PATH: &str = "/health";

/// The back-end behind its connections.
pub(super) struct BesimSite {
    pub(super) simulator: Arc<Simulator>,
}

impl HttpSite for BesimSite {
    type Answer = Answer;

    async fn answer(&self, request: Request<'_>) -> Answer {
        if request.method != Method::Get {
            return text(405, "only GET is answered here");
        }
        match request.path {
            HEALTH_PATH => text(200, "ok"),
            BESIM_PATH => match Query::parse(request.query) {
                Ok(query) => self.reply(&query, request.query).await,
                Err(fault) => text(400, &fault.to_string()),
            },
            _ => text(404, "there is no such page"),
        }
    }

    fn refusal(status: u16, heading: &str, sentence: &str) -> Answer {
        text(status, &format!("{heading}: {sentence}"))
    }
}

impl BesimSite {
    async fn reply(&self, query: &Query<'_>, raw: &str) -> Answer {
        let Ok(reply) = self.simulator.ask(query).await else {
            return text(503, "the ledger cannot be written");
        };
        let mut body = Vec::with_capacity(1024);
        reply.print(raw, &mut body);
        Answer {
            status: 200,
            content: Content::Html,
            body,
        }
    }
}

fn text(status: u16, line: &str) -> Answer {
    Answer {
        status,
        content: Content::Text,
        body: format!("{line}\n").into_bytes(),
    }
}
