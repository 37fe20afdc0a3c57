//! One user: sessions, one after the other.

use std::{cell::RefCell, rc::Rc, time::Duration};

use rookery_driver::{Fault, Nanos, OperationId, Pace, nanos};
use rookery_stats::ErrorClass;
use rookery_workload::{
    RandomDelay,
    http::{HttpUser, OnFailure},
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
    user: HttpUser,
    values: Vec<Option<Vec<u8>>>,
    cookies: RefCell<Cookies>,
    cache: RefCell<Cache>,
    lines: Vec<Line>,
    tls: Option<TlsUser>,
    counts: LineCounts,
    sessions: u64,
    /// The operation that was done last in the session.
    last: Option<usize>,
    /// What comes next.
    next: Next,
}

/// What a user does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// A new session.
    Session,
    /// The login of the session.
    Login(usize),
    /// An operation of the walk.
    Operation(usize),
}

impl Visitor {
    pub(crate) fn new(site: Rc<HttpSite>, seed: u64, guest: u32, number: u32) -> Self {
        let user = HttpUser::new(&site.workload, seed, guest, number, site.users);
        let connections = usize::from(site.workload.browser.connections.max(1));
        Self {
            values: vec![None; site.compiled.values],
            lines: (0..connections).map(|_| Line::default()).collect(),
            seed,
            guest,
            user,
            cookies: RefCell::default(),
            cache: RefCell::default(),
            tls: None,
            counts: LineCounts::default(),
            sessions: 0,
            last: None,
            next: Next::Session,
            site,
        }
    }

    /// A session begins: nothing of the one before is left.
    fn begin_session(&mut self) -> Result<(), Fault> {
        self.sessions += 1;
        self.user.leave();
        self.last = None;
        *self.cookies.borrow_mut() = Cookies::default();
        *self.cache.borrow_mut() = Cache::default();
        self.lines.iter_mut().for_each(Line::close);
        self.tls = self.site.tls_user();
        self.values.iter_mut().for_each(|value| *value = None);
        let own = [
            u64::from(self.user.number()),
            self.sessions,
            u64::from(self.user.guest()),
        ];
        for (value, own) in self.values.iter_mut().zip(own) {
            *value = Some(own.to_string().into_bytes());
        }
        let site = Rc::clone(&self.site);
        self.draw(&site.compiled.session_feeders)
    }

    /// Draws new values.
    fn draw(&mut self, feeders: &[(usize, usize)]) -> Result<(), Fault> {
        let site = &self.site;
        for &(index, first) in feeders {
            let mut place = first;
            let values = &mut self.values;
            let drawn = self
                .user
                .draw(index, &site.workload.feeders[index], |value| {
                    values[place] = Some(value.to_vec());
                    place += 1;
                });
            drawn.map_err(|_| Fault::new(ErrorClass::Data, "feeder-dry"))?;
        }
        Ok(())
    }

    /// The next operation of the walk; the walk may have ended before.
    fn step(&mut self) -> Next {
        let next = self.user.step(&self.site.workload);
        self.site.count_step(self.last, next);
        match next {
            Some(operation) => Next::Operation(operation),
            None => Next::Session,
        }
    }

    /// The operation that is to be done now, a new session begun before it where it needs one.
    fn take_next(&mut self) -> (usize, Result<(), Fault>) {
        let mut begun = Ok(());
        if self.next == Next::Session {
            begun = self.begin_session();
            self.next = match self.site.workload.login {
                Some(login) => Next::Login(login),
                None => self.step(),
            };
        }
        match self.next {
            Next::Login(operation) => (operation, begun),
            Next::Operation(operation) => {
                self.last = Some(operation);
                (operation, begun)
            }
            // A walk has at least one operation.
            Next::Session => (0, begun),
        }
    }

    async fn perform(
        &mut self,
        client: &Client,
        index: usize,
        behind: &mut Behind,
    ) -> Result<(), Fault> {
        let site = Rc::clone(&self.site);
        let operation = &site.compiled.operations[index];
        self.draw(&operation.feeders)?;
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
        let user = &mut self.user;
        page.load(&mut self.lines, &mut self.values, behind, || {
            user.fraction()
        })
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
        let restarts = self.site.workload.on_failure == OnFailure::Restart;
        let lost = failed && (restarts || matches!(self.next, Next::Login(_)));
        self.next = if lost { Next::Session } else { self.step() };
        if !failed && self.next == Next::Session && client.window().contains(client.ended_at()) {
            self.site.record.borrow_mut().sessions += 1;
        }
    }
}

impl UserScript for Visitor {
    const ACT: Option<OperationId> = Some(WHOLE);

    fn renew(&mut self, number: u32) {
        let site = &self.site;
        self.user = HttpUser::new(&site.workload, self.seed, self.guest, number, site.users);
        (self.sessions, self.next) = (0, Next::Session);
    }

    fn initial_delay(&mut self, longest: Duration) -> Nanos {
        self.user.initial_us(longest) * 1_000
    }

    fn think_time(&mut self, delay: RandomDelay) -> Nanos {
        self.user.delay_us(delay).saturating_mul(1_000)
    }

    /// As the operation that was last says; between sessions as the workload does.
    fn delay(&mut self, _pace: Pace) -> Nanos {
        let workload = &self.site.workload;
        let last = self.last.or(workload.login).unwrap_or_default();
        let own = workload.operations[last].delay;
        let delay = match workload.session_pause {
            Some(pause) if self.next == Next::Session => pause,
            _ => own,
        };
        self.think_time(delay)
    }

    /// A new user begins with its first operation.
    async fn arrive(&mut self, client: &mut Client) -> Result<(), Failed> {
        self.act(client).await
    }

    async fn act(&mut self, client: &mut Client) -> Result<(), Failed> {
        let (index, begun) = self.take_next();
        let outcome = self.operate(client, index, begun).await;
        self.advance(client, outcome.is_err());
        outcome
    }
}
