//! One user: operation after operation.

use std::{cell::RefCell, rc::Rc, time::Duration};

use rookery_driver::{Nanos, OperationId, Pace};
use rookery_workload::{
    RandomDelay, UserDelays,
    cms::{CmsOperation, CmsUser},
};

use super::{
    CmsSite, WHOLE,
    exchange::{Broken, Exchange},
    id_of,
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

/// One user.
pub(crate) struct CmsVisitor {
    site: Rc<CmsSite>,
    seed: u64,
    guest: u32,
    number: u32,
    user: CmsUser,
    /// Of pauses that are not those of the workload.
    delays: UserDelays,
    cookies: RefCell<Cookies>,
    line: Line,
    tls: Option<TlsUser>,
    counts: LineCounts,
}

impl CmsVisitor {
    pub(crate) fn new(site: Rc<CmsSite>, seed: u64, guest: u32, number: u32) -> Self {
        site.record.borrow_mut().users += 1;
        Self {
            user: CmsUser::new(seed, guest, number),
            delays: UserDelays::new(seed, guest, number),
            seed,
            guest,
            number,
            cookies: RefCell::default(),
            line: Line::default(),
            tls: site.tls_user(),
            counts: LineCounts::default(),
            site,
        }
    }

    /// Does an operation and counts it.
    async fn operate(
        &mut self,
        client: &mut Client,
        operation: CmsOperation,
    ) -> Result<(), Failed> {
        let site = Rc::clone(&self.site);
        let ready = self.user.is_ready_for(operation);
        let work = self.user.work(operation, &site.places);
        let sent = client.open_operation(id_of(operation), None);
        let rated = RatedReceive::new(None, sent);
        let exchange = Exchange {
            site: &site,
            link: Link {
                worker: &client.worker,
                row: client.row,
                target: site.target,
                tls: self.tls.as_ref(),
                cookies: &self.cookies,
                rated: &rated,
                counts: &self.counts,
            },
            user: self.number,
        };
        let outcome = exchange.perform(&mut self.line, work).await;
        if let Ok(Some(link)) = &outcome {
            self.user.logs_out_at(Some(link.clone()));
        }
        let outcome = outcome.map(drop);
        let fault = outcome.as_ref().err().map(|broken| broken.fault);
        let written = client.close_operation(id_of(operation), sent, fault);
        // Only a creation that ended without an answer is still open.
        site.created(self.number, written.then_some(false));
        let response = client.ended_at().saturating_sub(sent);
        self.count(client, operation, ready, &outcome, response);
        self.believe(operation, outcome);
        fault.map_or(Ok(()), |fault| Err(Failed { fault, written }))
    }

    fn count(
        &mut self,
        client: &Client,
        operation: CmsOperation,
        ready: bool,
        outcome: &Result<(), Broken>,
        response: Nanos,
    ) {
        let counts = std::mem::take(&mut self.counts);
        if !client.window().contains(client.ended_at()) {
            return;
        }
        let mut record = self.site.record.borrow_mut();
        record.bytes = record.bytes.saturating_add(counts.bytes.get());
        if let Some(count) = record.operations.get_mut(operation.index()) {
            count.requests += counts.requests.get();
            if outcome.is_ok() {
                count.completed += 1;
                count.response_us += response / 1_000;
            }
        }
        if let Err(Broken { fault, step, .. }) = outcome {
            let class = format!("{} {}", fault.class.name(), fault.sub_class.text());
            record.failed(operation, step.name(), &class, !ready);
        }
    }

    /// What the user makes of what came.
    fn believe(&mut self, operation: CmsOperation, outcome: Result<(), Broken>) {
        let script = &self.site.script;
        let forgets = match outcome {
            Ok(()) => {
                self.user.succeeded(operation);
                operation == CmsOperation::Logout && !script.keep_cookies
            }
            Err(broken) => self.user.failed(broken.lost, script.on_error),
        };
        if forgets {
            *self.cookies.borrow_mut() = Cookies::default();
        }
    }
}

impl UserScript for CmsVisitor {
    const ACT: Option<OperationId> = Some(WHOLE);

    fn renew(&mut self, number: u32) {
        self.number = number;
        self.user = CmsUser::new(self.seed, self.guest, number);
        self.delays = UserDelays::new(self.seed, self.guest, number);
        *self.cookies.borrow_mut() = Cookies::default();
    }

    fn initial_delay(&mut self, longest: Duration) -> Nanos {
        self.user.initial_us(longest) * 1_000
    }

    fn think_time(&mut self, delay: RandomDelay) -> Nanos {
        self.delays.think_us(delay).saturating_mul(1_000)
    }

    /// As the operation that was last says.
    fn delay(&mut self, _pace: Pace) -> Nanos {
        let pace = &self.site.script.pace;
        self.user.delay_us(pace).saturating_mul(1_000)
    }

    /// A new user begins with its first operation.
    async fn arrive(&mut self, client: &mut Client) -> Result<(), Failed> {
        self.act(client).await
    }

    async fn act(&mut self, client: &mut Client) -> Result<(), Failed> {
        let (from, to) = self.user.step(&self.site.script.matrix);
        {
            let place = CmsOperation::index;
            let mut record = self.site.record.borrow_mut();
            record.steps.count(from.map(place), Some(place(to)));
        }
        self.operate(client, to).await
    }
}
