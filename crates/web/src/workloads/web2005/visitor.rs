//! One user: sessions, one after the other, without a gap between them.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::Duration,
};

use rookery_driver::{Fault, Nanos, OperationId, Pace, nanos};
use rookery_stats::ErrorClass;
use rookery_workload::{
    RandomDelay, UserDelays,
    web2005::{
        Arrival, Delivered, Expected, ModernBrowser, Onward, PageOutcome, PageRequest, WebUser,
        WebWalk,
    },
};

use super::{
    WHOLE, WebSite, id_of,
    page::{Loaded, Page, Wish},
};
use crate::{
    browser::{
        cache::{Cache, Need},
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
    /// What a browser of today has of files.
    cache: RefCell<Cache>,
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
            cache: RefCell::default(),
            counts: LineCounts::with_first_byte(),
            site,
        }
    }

    /// A session begins: nothing of the one before is left but what a browser of today keeps.
    fn begin_session(&mut self) {
        *self.cookies.borrow_mut() = Cookies::default();
        let lines = self.lines.iter_mut().chain(&mut self.secure_lines);
        lines.for_each(Line::close);
        let (keeps_tickets, keeps_files) = match self.site.script.profile.modern() {
            None => (false, false),
            Some(browser) => (
                self.user.browser_does(ModernBrowser::TICKET_PERCENT),
                self.user.browser_does(browser.returning_percent),
            ),
        };
        if !keeps_tickets || self.tls.is_none() {
            self.tls = self.site.tls_user();
        }
        if !keeps_files {
            *self.cache.borrow_mut() = Cache::default();
        }
    }

    /// The byte from which on a file is asked for: its second half after a break, which a browser
    /// of today resumes.
    fn first_wanted_byte(&mut self, request: &PageRequest) -> u64 {
        let resumes = self.site.script.profile.modern().is_some()
            && self
                .user
                .browser_does(ModernBrowser::RESUMED_DOWNLOAD_PERCENT);
        match request.expected {
            Expected::File { bytes } if resumes => bytes / 2,
            _ => 0,
        }
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
        let from = self.first_wanted_byte(request);
        let (wishes, fresh) = self.wishes(arrival, request, client.now());
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
            cache: site.script.profile.modern().map(|_| &self.cache),
        };
        let asked = page.ask(lines, request, from).await;
        if asked.is_ok() {
            site.ended(self.number, Some(true));
        }
        let outcome = match asked {
            Ok(body_bytes) => page.load_objects(lines, wishes, body_bytes).await,
            Err(fault) => Err(fault),
        };
        let fault = outcome.err();
        let written = client.close_operation(operation, sent, fault);
        // Nothing is left to be told where the request had its answer.
        site.ended(self.number, written.then_some(false));
        let delivered = |loaded: Loaded, first_byte_at: Nanos| Delivered {
            bytes: rated.total(),
            body_bytes: loaded.body_bytes,
            response_us: client.ended_at().saturating_sub(sent) / 1_000,
            first_byte_us: first_byte_at.saturating_sub(sent) / 1_000,
            objects: loaded.objects,
            not_modified: loaded.not_modified,
            fresh,
        };
        self.count(client, arrival, outcome, delivered);
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

    /// The embedded files that are to be loaded, fixed ones and then products, and how many need
    /// not be: in 2005 a request for a fixed one is conditional by chance; a browser of today looks
    /// into its cache.
    fn wishes(&mut self, arrival: Arrival, request: &PageRequest, now: Nanos) -> (Vec<Wish>, u64) {
        let site = Rc::clone(&self.site);
        let is_modern = site.script.profile.modern().is_some();
        let fixed = site.embedded[arrival.page]
            .iter()
            .map(|file| (&file.target, file.bytes, Some(file.p304_percent)));
        let products = request
            .products
            .iter()
            .map(|(target, bytes)| (target, *bytes, None));
        let mut wishes = Vec::new();
        let mut fresh = 0;
        for (target, bytes, p304_percent) in fixed.chain(products) {
            let known = if is_modern {
                match self.cache.borrow().need(target.as_bytes(), now) {
                    Need::Nothing => {
                        fresh += 1;
                        continue;
                    }
                    Need::Changes(version) => Some(version),
                    Need::Everything => None,
                }
            } else {
                let conditional =
                    p304_percent.is_some_and(|percent| self.user.browser_does(percent));
                site.modified.clone().filter(|_| conditional)
            };
            wishes.push(Wish {
                target: target.clone(),
                bytes,
                known,
            });
        }
        (wishes, fresh)
    }

    fn count(
        &mut self,
        client: &Client,
        arrival: Arrival,
        outcome: Result<Loaded, Fault>,
        delivered: impl Fn(Loaded, Nanos) -> Delivered,
    ) {
        let counts = std::mem::replace(&mut self.counts, LineCounts::with_first_byte());
        if !client.window().contains(client.ended_at()) {
            return;
        }
        let site = &self.site;
        let outcome = match outcome {
            Ok(loaded) => {
                let delivered = delivered(loaded, counts.first_byte_at.map_or(0, Cell::into_inner));
                let page = &site.model().pages()[arrival.page];
                let (time_us, bytes) = (delivered.response_us, delivered.bytes);
                PageOutcome::Right {
                    band: site.script.bands.judge(page, time_us, bytes),
                    delivered,
                }
            }
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
