//! One user: sessions, one after the other, without a gap between them.

use std::{cell::RefCell, rc::Rc, time::Duration};

use rookery_driver::{Fault, Nanos, OperationId, Pace, nanos};
use rookery_stats::ErrorClass;
use rookery_workload::{
    RandomDelay, UserDelays,
    web2005::{Arrival, Expected, Onward, PageOutcome, PageRequest, WebUser, WebWalk},
};

use super::{
    WHOLE, WebSite, id_of,
    page::{Loaded, Page, Wish},
};
use crate::{
    browser::{
        line::{Line, LineCounts, Link},
        rate::RatedReceive,
        tls::TlsUser,
    },
    client::{Client, Failed},
    http::cookies::Cookies,
    user::UserScript,
};

/// How much longer than its line time a page may take, beside the limit of any request.
const LINE_MARGIN: f64 = 1.1;

/// One user.
pub(crate) struct WebVisitor {
    site: Rc<WebSite>,
    seed: u64,
    guest: u32,
    number: u32,
    walk: WebWalk,
    user: WebUser,
    /// Of pauses that are not those of the workload.
    delays: UserDelays,
    cookies: RefCell<Cookies>,
    lines: Vec<Line>,
    /// Connections to where pages are encrypted, if that is another place.
    secure_lines: Vec<Line>,
    tls: Option<TlsUser>,
    counts: LineCounts,
}

impl WebVisitor {
    pub(crate) fn new(site: Rc<WebSite>, seed: u64, guest: u32, number: u32) -> Self {
        site.record.borrow_mut().users += 1;
        let connections = site.script.connections.max(1);
        Self {
            walk: WebWalk::new(site.model(), seed, guest, number),
            user: WebUser::new(&site.data, seed, guest, number),
            delays: UserDelays::new(seed, guest, number),
            lines: (0..connections).map(|_| Line::default()).collect(),
            secure_lines: (0..connections).map(|_| Line::default()).collect(),
            seed,
            guest,
            number,
            cookies: RefCell::default(),
            tls: None,
            counts: LineCounts::default(),
            site,
        }
    }

    /// A session begins: nothing of the one before is left.
    fn begin_session(&mut self) {
        *self.cookies.borrow_mut() = Cookies::default();
        let lines = self.lines.iter_mut().chain(&mut self.secure_lines);
        lines.for_each(Line::close);
        self.tls = self.site.tls_user();
    }

    /// Loads a page and counts it.
    async fn load(
        &mut self,
        client: &mut Client,
        arrival: Arrival,
        request: &PageRequest,
    ) -> Result<(), Failed> {
        let site = Rc::clone(&self.site);
        let operation = id_of(arrival.page);
        let limit = self.limit(client, arrival, request);
        let wishes = self.wishes(arrival, request);
        let sent = client.open_operation(operation, Some(limit));
        let rated = RatedReceive::new(site.script.receive_rate, sent);
        site.sending(self.number, request.writes.clone());
        let (place, target, is_secure) = site.place_of(arrival.page);
        let lines = if is_secure {
            &mut self.secure_lines
        } else {
            &mut self.lines
        };
        let page = Page {
            site: &site,
            place,
            link: Link {
                worker: &client.worker,
                row: client.row,
                target,
                tls: self.tls.as_ref().filter(|_| place.https),
                cookies: &self.cookies,
                rated: &rated,
                counts: &self.counts,
            },
        };
        let asked = page.ask(lines, request).await;
        if asked.is_ok() {
            site.ended(self.number, Some(true));
        }
        let outcome = match asked {
            Ok(()) => page.load_objects(lines, wishes).await,
            Err(fault) => Err(fault),
        };
        let fault = outcome.err();
        let written = client.close_operation(operation, sent, fault);
        // Nothing is left to be told where the request had its answer.
        site.ended(self.number, written.then_some(false));
        let response = client.ended_at().saturating_sub(sent);
        self.count(client, arrival, outcome, response, rated.total());
        fault.map_or(Ok(()), |fault| Err(Failed { fault, written }))
    }

    /// Limit on the whole page: the one on any request, and the time that its bytes need on the
    /// line.
    fn limit(&self, client: &Client, arrival: Arrival, request: &PageRequest) -> Nanos {
        let page = &self.site.model().pages()[arrival.page];
        let file = match request.expected {
            Expected::File { bytes } => bytes as f64,
            Expected::Page { .. } => 0.0,
        };
        let bytes = page.published_bytes.max(file);
        let line_s = match self.site.script.receive_rate {
            Some(rate) => LINE_MARGIN * bytes / rate.max(1) as f64,
            None => 0.0,
        };
        let line = Duration::try_from_secs_f64(line_s).unwrap_or_default();
        client.worker.timeout().saturating_add(nanos(line))
    }

    /// The embedded files: fixed ones with a request that is conditional by chance, then products.
    fn wishes(&mut self, arrival: Arrival, request: &PageRequest) -> Vec<Wish> {
        let site = Rc::clone(&self.site);
        let fixed = site.embedded[arrival.page].iter().map(|file| Wish {
            target: file.target.clone(),
            bytes: file.bytes,
            conditional: self.user.is_conditional(file.p304_percent),
        });
        let products = request.products.iter().map(|(target, bytes)| Wish {
            target: target.clone(),
            bytes: *bytes,
            conditional: false,
        });
        fixed.chain(products).collect()
    }

    fn count(
        &mut self,
        client: &Client,
        arrival: Arrival,
        outcome: Result<Loaded, Fault>,
        response: Nanos,
        bytes: u64,
    ) {
        let counts = std::mem::take(&mut self.counts);
        if !client.window().contains(client.ended_at()) {
            return;
        }
        let site = &self.site;
        let response_us = response / 1_000;
        let outcome = match outcome {
            Ok(loaded) => PageOutcome::Right {
                band: site.script.bands.judge(
                    &site.model().pages()[arrival.page],
                    response_us,
                    bytes,
                ),
                bytes,
                response_us,
                objects: loaded.objects,
                not_modified: loaded.not_modified,
            },
            Err(fault) if is_validation(fault.class) => PageOutcome::Invalid,
            Err(_) => PageOutcome::Unanswered,
        };
        let mut record = site.record.borrow_mut();
        record.tls_handshakes += counts.handshakes.get();
        record.tls_resumed += counts.resumed.get();
        if let Some(page) = record.pages.get_mut(arrival.page) {
            page.count(outcome);
        }
    }

    /// A page ended: what comes next.
    fn advance(&mut self, client: &Client, arrival: Arrival, failed: bool) {
        let onward = self.walk.advance(arrival.state, failed);
        let inside = client.window().contains(client.ended_at());
        let mut record = self.site.record.borrow_mut();
        let state = Some(arrival.state);
        match onward {
            Onward::Next(next) => record.steps.count(state, Some(next)),
            Onward::Ended | Onward::Left => record.steps.count(state, None),
            Onward::Broken => {}
        }
        if inside && matches!(onward, Onward::Ended | Onward::Left) {
            record.sessions += 1;
            record.left += u64::from(onward == Onward::Left);
        }
    }
}

/// Whether a fault says that an answer came, and that it was a wrong one.
fn is_validation(class: ErrorClass) -> bool {
    matches!(
        class,
        ErrorClass::Status
            | ErrorClass::Redirect
            | ErrorClass::Content
            | ErrorClass::Semantic
            | ErrorClass::SessionLost
            | ErrorClass::Parse
    )
}

impl UserScript for WebVisitor {
    const ACT: Option<OperationId> = Some(WHOLE);

    fn renew(&mut self, number: u32) {
        let site = &self.site;
        self.number = number;
        self.walk = WebWalk::new(site.model(), self.seed, self.guest, number);
        self.user = WebUser::new(&site.data, self.seed, self.guest, number);
        self.delays = UserDelays::new(self.seed, self.guest, number);
    }

    fn initial_delay(&mut self, longest: Duration) -> Nanos {
        self.delays.initial_us(longest) * 1_000
    }

    fn think_time(&mut self, delay: RandomDelay) -> Nanos {
        self.delays.think_us(delay).saturating_mul(1_000)
    }

    /// As the page says that comes next: none before the first of a session.
    fn delay(&mut self, _pace: Pace) -> Nanos {
        let think = self.site.script.think;
        self.walk.think_us(think).saturating_mul(1_000)
    }

    /// A new user begins with its first page.
    async fn arrive(&mut self, client: &mut Client) -> Result<(), Failed> {
        self.act(client).await
    }

    async fn act(&mut self, client: &mut Client) -> Result<(), Failed> {
        let arrival = self.walk.arrival();
        if arrival.is_first {
            self.begin_session();
            let mut record = self.site.record.borrow_mut();
            record.steps.count(None, Some(arrival.state));
        }
        let request = self.user.request(&self.site.data, arrival);
        let outcome = self.load(client, arrival, &request).await;
        if outcome.is_ok() {
            self.user.answered(arrival);
        }
        self.advance(client, arrival, outcome.is_err());
        outcome
    }
}
