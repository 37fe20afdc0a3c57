//! One user: sessions, one after the other.

use std::{cell::RefCell, rc::Rc, time::Duration};

use rookery_driver::{Fault, Nanos, OperationId, Pace, nanos};
use rookery_stats::ErrorClass;
use rookery_workload::{
    RandomDelay,
    data_driven::{DescribedUser, Dry, Journey},
};

use super::{
    HttpSite, WHOLE,
    compiled::Values,
    id_of,
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
    pub(super) journey: Journey,
    pub(super) cookies: RefCell<Cookies>,
    cache: RefCell<Cache>,
    lines: Vec<Line>,
    tls: Option<TlsUser>,
    pub(super) counts: LineCounts,
}

/// What loads a page: what belongs to it, the connections, what the user draws and has.
pub(super) struct PageParts<'p> {
    pub(super) page: Page<'p>,
    pub(super) lines: &'p mut [Line],
    pub(super) user: &'p mut DescribedUser,
    pub(super) values: &'p mut Values,
}

pub(super) const DRY: Fault = Fault::new(ErrorClass::Data, "feeder-dry");

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
    pub(super) fn begin_session(&mut self) {
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
        self.draw(index)?;
        let rate = site.workload.browser.receive_rate;
        let began = rate.map_or(0, |_| client.now());
        let rated = RatedReceive::new(rate, began);
        let PageParts {
            page,
            lines,
            user,
            values,
        } = self.page(&site, client, index, &rated);
        page.load(lines, values, behind, || user.fraction()).await
    }

    /// Draws the values that an operation needs.
    pub(super) fn draw(&mut self, index: usize) -> Result<(), Fault> {
        let site = Rc::clone(&self.site);
        let from = &site.compiled.operations[index].feeders;
        let drawn = self.journey.draw(&site.workload.feeders, from);
        drawn.map_err(|Dry| DRY)
    }

    /// What loads the page of an operation.
    pub(super) fn page<'p>(
        &'p mut self,
        site: &'p HttpSite,
        client: &'p Client,
        index: usize,
        rated: &'p RatedReceive,
    ) -> PageParts<'p> {
        let (user, values) = self.journey.parts();
        let page = Page {
            link: Link {
                worker: &client.worker,
                row: client.row,
                target: site.target,
                tls: self.tls.as_ref(),
                cookies: &self.cookies,
                rated,
                counts: &self.counts,
            },
            site,
            described: &site.workload.operations[index],
            operation: &site.compiled.operations[index],
            cache: &self.cache,
            logged_in: site.workload.login.is_some_and(|login| login != index),
        };
        PageParts {
            page,
            lines: &mut self.lines,
            user,
            values,
        }
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

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use rookery_driver::{ArrivalQueue, Clock, local_runtime};
    use rookery_workload::data_driven::Population;

    use super::*;
    use crate::{
        browser::{cache::Validator, line::Line},
        check::tests::config_for,
        register::Row,
        site::Site,
        thread::worker_settings,
        user::User,
        worker::Worker,
        workloads::http::{HttpScript, SiteName},
    };

    /// Largest memory of a user with a session, a cookie jar and a cache of 50 objects.
    const MOST_BYTES: usize = 16 * 1024;

    fn script() -> HttpScript {
        let operation = |name: &str| {
            serde_json::json!({
                "name": name, "method": "GET", "path": "/${token}", "follow": true,
                "body_limit": 1000, "find_objects": true,
                "delay": {"mean": {"secs": 10, "nanos": 0}, "distribution": "exponential"},
                "captures": [{"name": "token", "source": {"regex": "t=([a-z]+)"}}],
            })
        };
        let operations = ["a", "b", "c", "d", "e"].map(operation);
        let workload = serde_json::json!({
            "operations": operations,
            "walk": {"script": [0, 1, 2, 3, 4]},
            "browser": {"connections": 2, "cache": true, "gzip": true, "receive_rate": null},
        });
        HttpScript {
            workload: serde_json::from_value(workload).expect("a workload"),
            site: SiteName::at(([127, 0, 0, 1], 1).into()),
        }
    }

    #[test]
    fn a_user_with_a_session_and_a_cache_is_small() {
        let target = ([127, 0, 0, 1], 1).into();
        let site = HttpSite::new(&script(), target, Population::Users(1)).expect("a site");
        let mut visitor = Visitor::new(Rc::new(site), 1, 0, 0);
        let mut jar = visitor.cookies.borrow_mut();
        for number in 0..16 {
            jar.set(format!("cookie{number}={}", "v".repeat(60)).as_bytes());
        }
        // Its buffer may be twice as long as what is in it.
        let mut heap = 2 * jar.header().len();
        drop(jar);
        for number in 0..50 {
            let tag = Validator::tag(b"\"5f2b1c-1a2b3c4d5e6f7\"");
            let target = format!("/static/objects/{number}.png");
            visitor.cache.borrow_mut().keep(target.as_bytes(), tag, 0);
        }
        heap += visitor.cache.borrow().heap_bytes();
        heap += visitor.lines.capacity() * size_of::<Line>();
        let (_, values) = visitor.journey.parts();
        // Each with a value of 64 bytes.
        heap += values.len() * (size_of::<Option<Vec<u8>>>() + 64);

        let config = config_for("127.0.0.1:1", "/");
        let (_runtime, timer) = local_runtime(1).expect("a runtime");
        let worker = Rc::new(Worker::new(
            worker_settings(&config),
            Clock::new(Instant::now()),
            timer.timer(),
            &[0],
            ArrivalQueue::default(),
        ));
        let client = Client::new(worker, Rc::new(Site::new(target)), 0, 0);
        let life = User::new(visitor, client).live(0, 0);
        let bytes = size_of_val(&life) + size_of::<Row>() + heap;
        assert!(
            bytes <= MOST_BYTES,
            "{bytes} bytes, of them {heap} on the heap"
        );
        // What the test does not count it would not test.
        assert!(heap > 3_000, "{heap}");
    }
}
