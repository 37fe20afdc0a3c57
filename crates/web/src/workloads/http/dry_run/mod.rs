//! A dry run: one user does every operation once, without pauses, and what comes back is told.
//!
//! It goes the way of a user under load, request by request; only that it goes on where a user
//! under load would give its session up.

mod seen;
mod words;

use std::{
    borrow::Cow,
    net::SocketAddr,
    rc::Rc,
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    time::{Duration, Instant},
};

use rookery_driver::{
    ArrivalQueue, Clock, DriverError, Fault, Nanos, Pace, SWEEP, Span, local_runtime, nanos,
};
use rookery_stats::{ErrorClass, Pacing};
use rookery_workload::{
    data_driven::{Course, Dry, OnFailure, Population, Template, Walk},
    http::HttpOperation,
};

pub use self::seen::{
    DryRunReport, EndedEarly, Redirected, TriedAnswer, TriedCapture, TriedCheck, TriedFault,
    TriedObject, TriedOperation,
};
use self::seen::{Secrets, Sight};
use super::{
    HttpScript, HttpSite, id_of,
    judge::{self, Document},
    page::Behind,
    visitor::{DRY, PageParts, Visitor},
};
use crate::{
    browser::{answer::Answer, rate::RatedReceive},
    client::Client,
    http::Limits,
    site::Site,
    target,
    worker::{Worker, WorkerSettings},
};

/// The largest body that is taken in, bytes.
const MOST_BODY: u64 = 64 << 20;
/// So many bytes of bodies end the dry run.
const MOST_BYTES: u64 = 256 << 20;
/// So long a dry run may take, all in all.
const MOST_TIME: Duration = Duration::from_secs(300);
/// Tasks that run between two looks at the kernel's queue.
const EVENT_INTERVAL: u32 = 16;
/// The header of an answer that is told beside those that are captured.
const CONTENT_TYPE: &str = "content-type";

/// What is to be tried, and where.
#[derive(Clone, Debug)]
pub struct DryRun {
    /// What the user does.
    pub script: HttpScript,
    /// The site as it was typed, for errors.
    pub name: String,
    /// Where it is.
    pub target: SocketAddr,
    /// The user confirmed the target, which is on another machine.
    pub confirmed: bool,
    /// Limit on an operation that has none of its own.
    pub timeout: Duration,
    /// Seed of what the user draws.
    pub seed: u64,
}

/// Does every operation once. At most 64 MiB are taken in of a body, 256 MiB in all, within five
/// minutes; setting `stop` ends it before the next operation.
///
/// # Errors
/// When nothing was sent: a target on another machine that was not confirmed, a workload that
/// cannot be done, or what the kernel refuses. What fails at the site is told in the report.
pub fn dry_run(config: &DryRun, stop: &AtomicBool) -> Result<DryRunReport, DriverError> {
    target::check(&config.name, config.target, config.confirmed)?;
    let mut script = config.script.clone();
    for operation in &mut script.workload.operations {
        operation.body_limit = operation.body_limit.min(MOST_BODY);
    }
    script.check().map_err(DriverError::from)?;
    let mut marked = rookery_driver::Secrets::default();
    marked.reveal(&mut script.workload.feeders)?;
    let mut site =
        HttpSite::new(&script, config.target, Population::Users(1)).map_err(DriverError::from)?;
    for operation in &mut site.compiled.operations {
        operation.wanted_headers.push(CONTENT_TYPE.to_owned());
        // What is shown is found in the whole of a body.
        operation.begin = None;
    }
    let (runtime, timer) = local_runtime(EVENT_INTERVAL).map_err(DriverError::Start)?;
    let worker = Rc::new(Worker::new(
        settings(config, &script),
        Clock::new(Instant::now()),
        timer.timer(),
        &[0],
        ArrivalQueue::default(),
    ));
    let client = Client::new(Rc::clone(&worker), Rc::new(Site::new(config.target)), 0, 0);
    Ok(runtime.block_on(async {
        let ringing = Rc::clone(&worker);
        tokio::task::spawn_local(timer.ring(move || ringing.ring()));
        tokio::task::spawn_local(async move {
            loop {
                tokio::time::sleep(SWEEP).await;
                worker.sweep(worker.clock().now());
            }
        });
        DryUser::new(Rc::new(site), client, config.seed, Secrets::new(marked))
            .walk(stop)
            .await
    }))
}

fn settings(config: &DryRun, script: &HttpScript) -> WorkerSettings {
    WorkerSettings {
        limits: Limits::default(),
        pace: Pace {
            pacing: Pacing::Think,
            time: Duration::ZERO,
            distribution: rookery_workload::DelayDistribution::Constant,
        },
        timeout: nanos(config.timeout),
        window: Span {
            start: 0,
            end: Nanos::MAX,
        },
        is_open: false,
        operations: vec![script.operations()],
    }
}

/// The one user.
struct DryUser {
    site: Rc<HttpSite>,
    visitor: Visitor,
    client: Client,
    secrets: Secrets,
}

impl DryUser {
    fn new(site: Rc<HttpSite>, client: Client, seed: u64, secrets: Secrets) -> Self {
        Self {
            visitor: Visitor::new(Rc::clone(&site), seed, 0, 0),
            site,
            client,
            secrets,
        }
    }

    /// Every operation once, in one session.
    async fn walk(mut self, stop: &AtomicBool) -> DryRunReport {
        let site = Rc::clone(&self.site);
        let order = site.workload.each_once();
        let script = Walk::Script(order.clone());
        let course = Course {
            walk: &script,
            login: None,
            on_failure: OnFailure::Continue,
            ..site.course()
        };
        let mut operations = Vec::new();
        let mut bytes = 0_u64;
        let mut why = None;
        for _ in &order {
            why = why.or_else(|| self.reason_to_end(stop, bytes));
            if why.is_some() {
                break;
            }
            let taken = self.visitor.journey.take(&course, |_, _| {});
            if taken.is_first {
                self.visitor.begin_session();
            }
            operations.push(self.operate(taken.operation, taken.drawn).await);
            bytes = bytes.saturating_add(std::mem::take(&mut self.visitor.counts).bytes.get());
            self.visitor.journey.advance(&course, false, |_, _| {});
        }
        let name = |index: &usize| site.workload.operations[*index].name.clone();
        let left = order.iter().skip(operations.len()).map(name).collect();
        DryRunReport {
            operations,
            ended_early: why.map(|why| EndedEarly { why, left }),
        }
    }

    fn reason_to_end(&self, stop: &AtomicBool, bytes: u64) -> Option<String> {
        if stop.load(SeqCst) {
            Some("interrupted".to_owned())
        } else if self.client.now() > nanos(MOST_TIME) {
            Some(format!("{} s are over", MOST_TIME.as_secs()))
        } else if bytes > MOST_BYTES {
            Some(format!("{} MiB came", bytes >> 20))
        } else {
            None
        }
    }

    /// Does one operation and tells of it.
    async fn operate(&mut self, index: usize, drawn: Result<(), Dry>) -> TriedOperation {
        let site = Rc::clone(&self.site);
        let described = &site.workload.operations[index];
        let left = nanos(MOST_TIME).saturating_sub(self.client.now());
        let limit = described.timeout.map_or(Nanos::MAX, nanos);
        let limit = limit.min(self.client.worker.timeout()).min(left);
        self.client.begin_act(self.client.now());
        let sent = self.client.open_operation(id_of(index), Some(limit));
        let mut sight = Sight::default();
        let outcome = match drawn {
            Ok(()) => self.perform(index, &mut sight).await,
            Err(Dry) => Err(DRY),
        };
        let fault = outcome.err().map(|fault| self.fault(described, fault));
        self.client.close_operation(id_of(index), sent, None);
        let time = self.client.ended_at().saturating_sub(sent);
        self.secrets.learn(&site, &self.visitor, described);
        sight.tell(described, time / 1_000, fault, &self.secrets)
    }

    /// What went wrong, with the first bytes of the answer.
    fn fault(&self, described: &HttpOperation, fault: Fault) -> TriedFault {
        let evidence = self.client.worker.scratch().evidence.clone();
        let detail = match (fault.class, fault.sub_class.text().as_ref()) {
            (ErrorClass::Parse, "no-value") => self.missing(described),
            _ => String::from_utf8_lossy(&evidence).into_owned(),
        };
        TriedFault {
            class: fault.class.name().to_owned(),
            sub_class: fault.sub_class.text().into_owned(),
            detail,
        }
    }

    /// The values that an operation needs and no answer gave.
    fn missing(&self, described: &HttpOperation) -> String {
        let names = self.site.workload.values();
        let values = self.visitor.journey.values();
        let mut missing: Vec<&str> = described
            .templates()
            .chain(
                self.site
                    .workload
                    .headers
                    .iter()
                    .map(|header| &header.value),
            )
            .flat_map(Template::names)
            .filter(|name| {
                let place = names.iter().position(|known| known == name);
                place.is_none_or(|place| values[place].is_none())
            })
            .collect();
        missing.sort_unstable();
        missing.dedup();
        format!("no operation before gave {}", missing.join(", "))
    }

    async fn perform(&mut self, index: usize, sight: &mut Sight) -> Result<(), Fault> {
        let site = Rc::clone(&self.site);
        self.visitor.draw(index)?;
        let rate = site.workload.browser.receive_rate;
        let rated = RatedReceive::new(rate, self.client.now());
        let PageParts {
            page,
            lines,
            user,
            values,
        } = self.visitor.page(&site, &self.client, index, &rated);
        let Some(line) = lines.first_mut() else {
            return Err(Fault::new(ErrorClass::Driver, "no-connection"));
        };
        let mut target = Vec::new();
        super::request::target(&mut target, &site, &page.operation.path, values)?;
        sight.target = Some(target);
        let redirected = |to: &[u8], answer: &Answer| sight.redirected(to, answer);
        let (target, answer) = page.ask(line, values, redirected).await?;
        sight.answered(&answer);
        let status = judge::status(page.described, &answer, page.logged_in);
        sight.judged_status(page.described, &answer, status);
        let mut document = Document::new(&answer.kept);
        for (check, must) in page.described.checks.iter().zip(&page.operation.checks) {
            let verdict = judge::check(must, &answer, &mut document, values);
            sight.judged(check, must, &answer, &mut document, verdict);
        }
        for (capture, (place, found)) in
            page.described.captures.iter().zip(&page.operation.captures)
        {
            let cookies = page.link.cookies.borrow();
            let value = judge::value(found, &answer, &mut document, &cookies);
            sight.captured(capture, value.as_deref().ok());
            values[*place] = value.ok().map(Cow::into_owned);
        }
        if status.is_err() {
            return Ok(());
        }
        let mut behind = Behind::default();
        let mut chance = || user.fraction();
        let wishes = page.wishes(&target, &answer, values, &mut behind, &mut chance)?;
        for wish in wishes {
            if page.link.counts.bytes.get() > MOST_BYTES {
                break;
            }
            let loaded = page.load_object(line, &wish).await;
            let evidence = page.link.worker.scratch().evidence.clone();
            sight.loaded(&wish.target, loaded, &evidence);
        }
        Ok(())
    }
}
