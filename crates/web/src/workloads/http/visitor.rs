//! One user: sessions, one after the other.

use std::{cell::RefCell, rc::Rc, time::Duration};

use rookery_driver::{Fault, Nanos, OperationId, Pace, nanos};
use rookery_stats::ErrorClass;
use rookery_workload::{
    RandomDelay,
    data_driven::{Dry, Journey},
};

use super::{
    HttpSite, WHOLE, id_of,
    page::{Behind, Page},
};
use crate::{
    browser::{
        cache::Cache,
        line::{Line, LineCounts, Link},
        rate::RatedReceive,
        tls::TlsUser,
    },
    client::{Client, Failed},
    http::cookies::Cookies,
    user::UserScript,
};

/// One user.
pub(crate) struct Visitor {
    site: Rc<HttpSite>,
    seed: u64,
    guest: u32,
    journey: Journey,
    cookies: RefCell<Cookies>,
    cache: RefCell<Cache>,
    lines: Vec<Line>,
    tls: Option<TlsUser>,
    counts: LineCounts,
}

const DRY: Fault = Fault::new(ErrorClass::Data, "feeder-dry");

impl Visitor {
    pub(crate) fn new(site: Rc<HttpSite>, seed: u64, guest: u32, number: u32) -> Self {
        let user = site.user(seed, guest, number);
        let connections = usize::from(site.workload.browser.connections.max(1));
        Self {
            journey: Journey::new(user, site.compiled.values),
            lines: (0..connections).map(|_| Line::default()).collect(),
            seed,
            guest,
            cookies: RefCell::default(),
            cache: RefCell::default(),
            tls: None,
            counts: LineCounts::default(),
            site,
        }
    }

    /// A session begins: nothing of the one before is left.
    fn begin_session(&mut self) {
        *self.cookies.borrow_mut() = Cookies::default();
        *self.cache.borrow_mut() = Cache::default();
        self.lines.iter_mut().for_each(Line::close);
        self.tls = self.site.tls_user();
    }

    async fn perform(
        &mut self,
        client: &Client,
        index: usize,
        behind: &mut Behind,
    ) -> Result<(), Fault> {
        let site = Rc::clone(&self.site);
        let operation = &site.compiled.operations[index];
        let drawn = self
            .journey
            .draw(&site.workload.feeders, &operation.feeders);
        drawn.map_err(|Dry| DRY)?;
        let worker = &client.worker;
        let rate = site.workload.browser.receive_rate;
        let rated = RatedReceive::new(rate, worker.clock().now());
        let page = Page {
            link: Link {
                worker,
                row: client.row,
                target: site.target,
                tls: self.tls.as_ref(),
                cookies: &self.cookies,
                rated: &rated,
                counts: &self.counts,
            },
            site: &site,
            described: &site.workload.operations[index],
            operation,
            cache: &self.cache,
            logged_in: site.workload.login.is_some_and(|login| login != index),
        };
        let (user, values) = self.journey.parts();
        page.load(&mut self.lines, values, behind, || user.fraction())
            .await
    }

    /// Does one operation and counts it.
    async fn operate(
        &mut self,
        client: &mut Client,
        index: usize,
        begun: Result<(), Fault>,
    ) -> Result<(), Failed> {
        let limit = self.site.workload.operations[index].timeout.map(nanos);
        let sent = client.open_operation(id_of(index), limit);
        let mut behind = Behind::default();
        let outcome = match begun {
            Ok(()) => self.perform(client, index, &mut behind).await,
            Err(fault) => Err(fault),
        };
        let fault = outcome.err();
        let written = client.close_operation(id_of(index), sent, fault);
        self.count(client, index, fault, written, behind);
        fault.map_or(Ok(()), |fault| Err(Failed { fault, written }))
    }

    fn count(
        &mut self,
        client: &Client,
        index: usize,
        fault: Option<Fault>,
        written: bool,
        behind: Behind,
    ) {
        if fault.is_none() || written {
            self.site.count_record(index, fault.is_none());
        }
        let counts = std::mem::take(&mut self.counts);
        if !client.window().contains(client.ended_at()) {
            return;
        }
        let record = &mut *self.site.record.borrow_mut();
        record.pages += u64::from(fault.is_none());
        record.requests += counts.requests.get();
        record.bytes += counts.bytes.get();
        record.tls_handshakes += counts.handshakes.get();
        record.tls_resumed += counts.resumed.get();
        record.redirects += behind.redirects;
        record.objects += behind.objects;
        record.not_modified += behind.not_modified;
        record.from_cache += behind.from_cache;
    }

    /// An operation ended: what comes next.
    fn advance(&mut self, client: &Client, failed: bool) {
        let site = &self.site;
        let step = |from, to| site.count_step(from, to);
        let ended = self.journey.advance(&site.course(), failed, step);
        if ended && client.window().contains(client.ended_at()) {
            self.site.record.borrow_mut().sessions += 1;
        }
    }
}

impl UserScript for Visitor {
    const ACT: Option<OperationId> = Some(WHOLE);

    fn renew(&mut self, number: u32) {
        self.journey
            .renew(self.site.user(self.seed, self.guest, number));
    }

    fn initial_delay(&mut self, longest: Duration) -> Nanos {
        self.journey.user().initial_us(longest) * 1_000
    }

    fn think_time(&mut self, delay: RandomDelay) -> Nanos {
        self.journey.user().delay_us(delay).saturating_mul(1_000)
    }

    /// As the operation that was last says; between sessions as the workload does.
    fn delay(&mut self, _pace: Pace) -> Nanos {
        let site = &self.site;
        let own = |index: usize| site.workload.operations[index].delay;
        let delay = self.journey.pause(&site.course(), own);
        self.think_time(delay)
    }

    /// A new user begins with its first operation.
    async fn arrive(&mut self, client: &mut Client) -> Result<(), Failed> {
        self.act(client).await
    }

    async fn act(&mut self, client: &mut Client) -> Result<(), Failed> {
        let site = Rc::clone(&self.site);
        let step = |from, to| site.count_step(from, to);
        let taken = self.journey.take(&site.course(), step);
        if taken.is_first {
            self.begin_session();
        }
        let begun = taken.drawn.map_err(|Dry| DRY);
        let outcome = self.operate(client, taken.operation, begun).await;
        self.advance(client, outcome.is_err());
        outcome
    }
}
