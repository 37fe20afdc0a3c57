//! One user: operation after operation over its connection, until its load ends; or the visitors of
//! an open load, one after the other.

use std::{rc::Rc, time::Duration};

use rookery_cast::{count_u32, low_u32};
use rookery_driver::{Failures, Fault, Load, Nanos, Pause, Visit, nanos, persistence};
use rookery_stats::ErrorClass as FaultClass;
use rookery_workload::{
    data_driven::{DescribedUser, Dry, Journey, Population, Taken},
    orderentry::transaction::{Answer, Cause, ErrorClass, Retries, Value, Verdict},
    sql::RowChecks,
};
use tokio::time::{sleep, timeout};

use super::{
    compiled::Statement,
    job::{Statements, id_of},
    session::{Control, StatementSession},
};
use crate::{
    ClientError,
    trial::{
        arrivals, fault,
        job::Seat,
        link::{Link, Unlinked},
        spawn::Spawn,
        worker::{Begun, Ending, Worker},
    },
};

const DRY: Fault = Fault::new(FaultClass::Data, "feeder-dry");
const NO_VALUE: Fault = Fault::new(FaultClass::Parse, "no-value");
const NOT_CAPTURED: Fault = Fault::new(FaultClass::Parse, "capture");
const ROWS: Fault = Fault::new(FaultClass::Content, "rows");
const VALUES: Fault = Fault::new(FaultClass::Content, "values");
const REFUSED: Fault = Fault::new(FaultClass::Semantic, "refused");
const LATE: Fault = Fault::new(FaultClass::Io, "timeout");

/// A user and its connection.
#[derive(Debug)]
struct User {
    link: Link<Statements>,
    journey: Journey,
    retries: Retries,
    failures: Failures,
}

/// An operation that was done.
#[derive(Clone, Copy, Debug)]
struct Acted {
    done: Nanos,
    /// The user does not go on.
    is_last: bool,
}

/// Why an attempt did not do well.
#[derive(Debug)]
enum Failure {
    /// An answer is not what it must be, or a value is missing.
    Answer(Fault),
    /// The database or the way to it.
    Client(ClientError),
}

/// How far an attempt came.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    statements: u64,
    rows: u64,
    /// Statements whose effects stay, whatever comes.
    lasting: bool,
    /// A commit was sent.
    committing: bool,
    /// What was done ends with a transaction, or not at all.
    in_transaction: bool,
}

impl Progress {
    /// Whether the operation may have left something, when its answer never came.
    fn is_doubtful(self) -> bool {
        self.committing || !self.in_transaction
    }
}

/// How an operation ended.
struct Ended {
    done: Nanos,
    fault: Option<Fault>,
    evidence: String,
    /// Nobody knows whether it left something.
    is_doubtful: bool,
    /// The user does not go on.
    is_last: bool,
    progress: Progress,
    retries: u64,
}

/// What a user draws, or a visitor of an open load, by its number at its guest.
fn drawn_user(worker: &Worker<Statements>, guest: usize, number: u32) -> DescribedUser {
    let (common, job) = (&worker.shared.common, &worker.shared.job);
    let population = match &common.load {
        Load::Closed => Population::Users(common.guests[guest].connections),
        Load::Open(load) => Population::Visitors {
            draws: load.visit.most_acts(),
        },
    };
    let feeders = job.workload.feeders.len();
    DescribedUser::new(feeders, common.seed, count_u32(guest), number, population)
}

impl Spawn for Statements {
    fn spawn(worker: &Rc<Worker<Self>>, seat: Seat, row: usize, session: Option<StatementSession>) {
        let common = &worker.shared.common;
        match &common.load {
            Load::Closed => {
                let users = common.guests[seat.guest].connections;
                let (starts, stops) = common.phases.lifetime(seat.number, users);
                let user = User::new(worker, seat, row, session, stops);
                tokio::task::spawn_local(user.live(starts));
            }
            Load::Open(load) => {
                let load_end = nanos(common.phases.load_end());
                let drained = load_end.saturating_add(nanos(common.phases.drain));
                let user = User::new(worker, seat, row, session, drained);
                tokio::task::spawn_local(user.serve(load.visit));
            }
        }
    }
}

impl User {
    fn new(
        worker: &Rc<Worker<Statements>>,
        seat: Seat,
        row: usize,
        session: Option<StatementSession>,
        stops: Nanos,
    ) -> Self {
        let (common, job) = (&worker.shared.common, &worker.shared.job);
        let Seat { guest, number } = seat;
        let user = drawn_user(worker, guest, number);
        Self {
            link: Link {
                worker: Rc::clone(worker),
                row,
                guest,
                session,
                stops,
            },
            journey: Journey::new(user, job.compiled.values),
            retries: Retries::new(job.workload.retries, common.seed, number),
            failures: Failures::default(),
        }
    }

    /// The whole life of a user of a closed load, which appears at `starts`.
    async fn live(mut self, starts: Nanos) {
        let (worker, row) = (Rc::clone(&self.link.worker), self.link.row);
        worker.sleep_until(row, starts).await;
        let mut ended = worker.now();
        worker.appear(row, ended);
        let longest = worker.shared.job.pace.initial_delay();
        let mut due = ended + self.journey.user().initial_us(longest) * 1_000;
        let mut pause: Option<Pause> = None;
        let mut is_first = true;
        loop {
            let in_time = worker.now() < due;
            if in_time && due < self.link.stops {
                worker.sleep_until(row, due).await;
            }
            let sent = worker.now();
            if due >= self.link.stops || sent >= self.link.stops || worker.stopping() {
                return;
            }
            if !is_first {
                worker.recorder(self.link.guest).waited(ended, sent, pause);
            }
            if in_time {
                worker.lagged(row, due, sent);
            }
            let intended = if in_time { due } else { sent };
            let acted = self.act(intended, sent).await;
            if acted.is_last {
                return;
            }
            (due, pause) = self.next(sent, acted.done);
            (ended, is_first) = (acted.done, false);
        }
    }

    /// Serves the visitors of an open load over one connection, one after the other. Response times
    /// count from the arrival, not from when a connection was free.
    async fn serve(mut self, visit: Visit) {
        let worker = Rc::clone(&self.link.worker);
        let (row, guest) = (self.link.row, self.link.guest);
        loop {
            let (arrival, sent) = arrivals::next(&worker, row, guest).await;
            // A visitor is new: only the connection is an old one.
            self.journey
                .renew(drawn_user(&worker, guest, low_u32(arrival.number)));
            self.failures = Failures::default();
            let acts = visit.acts(persistence(worker.shared.common.seed, arrival));
            let left = self.stay((arrival.at, sent), acts).await;
            worker.disappear(row, left.done);
            worker.queue.leave(guest);
            if left.is_last {
                return;
            }
        }
    }

    /// Operation after operation of a visitor, with pauses between them; its last.
    async fn stay(&mut self, (at, begins): (Nanos, Nanos), acts: u32) -> Acted {
        let worker = Rc::clone(&self.link.worker);
        let (row, guest) = (self.link.row, self.link.guest);
        let (mut intended, mut sent, mut left) = (at, begins, acts);
        loop {
            let acted = self.act(intended, sent).await;
            left = left.saturating_sub(1);
            if left == 0 || acted.is_last {
                return acted;
            }
            let (due, pause) = self.next(sent, acted.done);
            if due >= worker.queue.schedule().ends() {
                return acted;
            }
            let in_time = worker.now() < due;
            if in_time {
                worker.sleep_until(row, due).await;
            }
            if worker.stopping() {
                return acted;
            }
            sent = worker.now();
            intended = if in_time { due } else { sent };
            worker.recorder(guest).waited(acted.done, sent, pause);
            if in_time {
                worker.lagged(row, due, sent);
            }
        }
    }

    /// When the next operation is due, and the pause before it.
    fn next(&mut self, sent: Nanos, done: Nanos) -> (Nanos, Option<Pause>) {
        let worker = Rc::clone(&self.link.worker);
        let job = &worker.shared.job;
        let delay = self
            .journey
            .pause(&job.course(), |index| job.workload.operations[index].delay);
        let drawn = self.journey.user().delay_us(delay).saturating_mul(1_000);
        job.pace.after(sent, done, self.failures, drawn)
    }

    /// One operation, begun at `sent`.
    async fn act(&mut self, intended: Nanos, sent: Nanos) -> Acted {
        let worker = Rc::clone(&self.link.worker);
        let (job, guest) = (&worker.shared.job, self.link.guest);
        let step = |from, to| worker.tally(guest).counters.steps.count(from, to);
        let taken = self.journey.take(&job.course(), step);
        let begun = Begun {
            operation: id_of(taken.operation),
            intended,
            sent,
        };
        worker.begin(self.link.row, begun);
        let ended = self.operate(taken).await;
        self.book(taken.operation, &ended);
        let ending = match ended.fault {
            None => Ending::Success,
            Some(fault) => Ending::Failure(fault),
        };
        worker.end(self.link.row, begun, ended.done, ending, &ended.evidence);
        let failed = ended.fault.is_some();
        self.failures.count(failed);
        let session_ended = self.journey.advance(&job.course(), failed, step);
        if session_ended && worker.within(guest, ended.done) {
            worker.tally(guest).counters.sessions += 1;
        }
        Acted {
            done: ended.done,
            is_last: ended.is_last,
        }
    }

    fn book(&self, operation: usize, ended: &Ended) {
        let (worker, guest) = (&self.link.worker, self.link.guest);
        let within = worker.within(guest, ended.done);
        let is_transaction = worker.shared.job.workload.operations[operation].transaction;
        let tally = &mut *worker.tally(guest);
        let succeeded = ended.fault.is_none();
        if succeeded || ended.is_doubtful {
            tally.record(operation, succeeded);
        }
        if !within {
            return;
        }
        let counters = &mut tally.counters;
        counters.operations_done += u64::from(succeeded);
        counters.statements += ended.progress.statements;
        counters.rows += ended.progress.rows;
        counters.transactions += u64::from(succeeded && is_transaction);
        counters.retries += ended.retries;
    }

    /// Does an operation to its end, over as many attempts as that takes.
    async fn operate(&mut self, taken: Taken) -> Ended {
        let worker = Rc::clone(&self.link.worker);
        let job = &worker.shared.job;
        let operation = &job.compiled.operations[taken.operation];
        let drawn = taken
            .drawn
            .and_then(|()| self.journey.draw(&job.workload.feeders, &operation.feeders));
        if let Err(Dry) = drawn {
            return Ended {
                done: worker.now(),
                fault: Some(DRY),
                evidence: String::new(),
                is_doubtful: false,
                is_last: false,
                progress: Progress::default(),
                retries: 0,
            };
        }
        let limit = job.workload.operations[taken.operation].timeout;
        let limit = limit.unwrap_or(job.timeout);
        let mut retries = 0;
        let mut ended = self.attempts(taken.operation, limit, &mut retries).await;
        ended.retries = retries;
        ended
    }

    async fn attempts(&mut self, operation: usize, limit: Duration, retries: &mut u64) -> Ended {
        let worker = Rc::clone(&self.link.worker);
        let deadline = worker.now().saturating_add(nanos(limit));
        let mut attempts = 0;
        loop {
            if let Err(unlinked) = self.link.connect(id_of(operation)).await {
                return self.unlinked(unlinked);
            }
            attempts += 1;
            let mut progress = Progress::default();
            let left = Duration::from_nanos(deadline.saturating_sub(worker.now()));
            let attempt = self.attempt(operation, &mut progress);
            let outcome = timeout(left, attempt).await;
            let mut ended = Ended {
                done: worker.now(),
                fault: None,
                evidence: String::new(),
                is_doubtful: progress.lasting,
                is_last: false,
                progress,
                retries: 0,
            };
            let failure = match outcome {
                Ok(Ok(())) => return ended,
                Ok(Err(failure)) => failure,
                Err(_) => {
                    // What comes next on the line belongs to a statement that was given up.
                    self.link.unlink();
                    ended.is_doubtful = progress.is_doubtful();
                    ended.fault = Some(LATE);
                    ended.evidence = format!("not done within {} s", limit.as_secs_f64());
                    return ended;
                }
            };
            match self.judge(failure, &mut ended, attempts).await {
                Some(wait) => {
                    *retries += 1;
                    sleep(wait).await;
                }
                None => return ended,
            }
        }
    }

    /// What a failed attempt means: fills in the end, or gives the pause before the next attempt.
    async fn judge(
        &mut self,
        failure: Failure,
        ended: &mut Ended,
        attempts: u32,
    ) -> Option<Duration> {
        let error = match failure {
            Failure::Answer(fault) => {
                self.roll_back().await;
                ended.fault = Some(fault);
                return None;
            }
            Failure::Client(error) => error,
        };
        ended.evidence = error.to_string();
        let class = match &self.link.session {
            Some(session) => session.classify(&error),
            None => ErrorClass::ConnectionLost,
        };
        let is_servers = error.code().is_some();
        match class {
            ErrorClass::Retry(cause) => {
                self.roll_back().await;
                // What was refused was undone, the commit included.
                if ended.progress.lasting {
                    ended.fault = Some(fault::given_up(cause));
                    return None;
                }
                self.wait_or_give_up(cause, ended, attempts)
            }
            ErrorClass::Bug if is_servers => {
                self.roll_back().await;
                ended.fault = Some(REFUSED);
                None
            }
            ErrorClass::ConnectionLost | ErrorClass::Bug => {
                self.link.unlink();
                let is_transaction = ended.progress.committing;
                ended.fault = Some(if is_transaction {
                    fault::COMMIT_LOST
                } else {
                    fault::lost(&error)
                });
                ended.is_doubtful = ended.progress.is_doubtful();
                None
            }
        }
    }

    fn wait_or_give_up(
        &mut self,
        cause: Cause,
        ended: &mut Ended,
        attempts: u32,
    ) -> Option<Duration> {
        match self.retries.judge(attempts) {
            Verdict::After(wait) => Some(wait),
            Verdict::GiveUp => {
                ended.fault = Some(fault::given_up(cause));
                None
            }
        }
    }

    fn unlinked(&self, unlinked: Unlinked) -> Ended {
        let worker = &self.link.worker;
        let (done, fault, evidence) = match unlinked {
            Unlinked::Over {
                fault,
                evidence,
                at,
            } => (at, fault, evidence),
            Unlinked::Refused(error) => {
                let evidence = error.to_string();
                worker.give_up(self.link.row, error);
                (worker.now(), fault::BROKEN, evidence)
            }
        };
        Ended {
            done,
            fault: Some(fault),
            evidence,
            is_doubtful: false,
            is_last: true,
            progress: Progress::default(),
            retries: 0,
        }
    }

    /// Undoes what was begun; a connection on which that is not possible is given up.
    async fn roll_back(&mut self) {
        let Some(session) = &mut self.link.session else {
            return;
        };
        if session.in_transaction() && session.control(Control::RollBack).await.is_err() {
            self.link.unlink();
        }
    }

    async fn attempt(&mut self, index: usize, progress: &mut Progress) -> Result<(), Failure> {
        let worker = Rc::clone(&self.link.worker);
        let job = &worker.shared.job;
        let (described, operation) = (
            &job.workload.operations[index],
            &job.compiled.operations[index],
        );
        let gone = || Failure::Client(ClientError::Session("there is no connection".to_owned()));
        let session = self.link.session.as_mut().ok_or_else(gone)?;
        progress.in_transaction = described.transaction;
        if described.transaction {
            let begin = if operation.reads {
                Control::BeginRead
            } else {
                Control::BeginWrite
            };
            session.control(begin).await.map_err(Failure::Client)?;
        }
        for (statement, checks) in operation
            .statements
            .iter()
            .zip(described.statements.iter().map(|one| &one.checks))
        {
            let (_, values) = self.journey.parts();
            let answer = execute(session, statement, values).await?;
            progress.statements += 1;
            progress.rows += answer.len() as u64;
            progress.lasting |= !described.transaction;
            take(&answer, statement, checks, values).map_err(Failure::Answer)?;
        }
        if described.transaction {
            progress.committing = true;
            let committed = session.control(Control::Commit).await;
            committed.map_err(Failure::Client)?;
        }
        Ok(())
    }
}

async fn execute<'s>(
    session: &'s mut StatementSession,
    statement: &Statement,
    values: &[Option<Vec<u8>>],
) -> Result<Answer<'s>, Failure> {
    let parameters: Option<Vec<&[u8]>> = statement
        .parameters
        .iter()
        .map(|place| values.get(*place)?.as_deref())
        .collect();
    let parameters = parameters.ok_or(Failure::Answer(NO_VALUE))?;
    let called = session.call(statement.number, &parameters).await;
    called.map_err(Failure::Client)
}

/// Judges an answer, and takes values from it.
fn take(
    answer: &Answer<'_>,
    statement: &Statement,
    checks: &RowChecks,
    values: &mut [Option<Vec<u8>>],
) -> Result<(), Fault> {
    let rows = match answer.len() {
        0 => answer.affected(),
        rows => rows as u64,
    };
    let too_few = checks.min_rows.is_some_and(|min| rows < min);
    let too_many = checks.max_rows.is_some_and(|max| rows > max);
    if too_few || too_many {
        return Err(ROWS);
    }
    let cell = |column: usize| {
        answer
            .row(0)
            .and_then(|row| row.value(column).and_then(as_text))
    };
    for (column, wanted) in statement.values.iter().enumerate() {
        let wanted = wanted.with(values).ok_or(NO_VALUE)?;
        if cell(column) != Some(wanted) {
            return Err(VALUES);
        }
    }
    for (place, column) in &statement.captures {
        let value = cell(*column).ok_or(NOT_CAPTURED)?;
        if let Some(kept) = values.get_mut(*place) {
            *kept = Some(value);
        }
    }
    Ok(())
}

/// A column as text; nothing of a null.
fn as_text(value: Value<'_>) -> Option<Vec<u8>> {
    match value {
        Value::Null => None,
        Value::Int(number) => Some(number.to_string().into_bytes()),
        Value::Decimal(decimal) => {
            let mut out = Vec::new();
            decimal.write(&mut out);
            Some(out)
        }
        Value::Time(time) => Some(time.to_string().into_bytes()),
        Value::Text(text) => Some(text.to_vec()),
    }
}
