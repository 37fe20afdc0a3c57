//! A client: one connection of a terminal, or of the worker of deferred deliveries, made again when
//! it is lost.

use std::{rc::Rc, time::Duration};

use rookery_driver::{Fault, Nanos, nanos};
use rookery_workload::orderentry::{
    Kind,
    sql::Style,
    terminal::Input,
    transaction::{Desk, Ended, Outcome, Retries, perform},
};
use tokio::time::sleep;

use super::{connect::open, fault, worker::Worker};
use crate::{DbSession, OltpError};

/// Pause after the first failed attempt to connect; it grows by as much with every further one.
const RECONNECT_PAUSE: Duration = Duration::from_millis(100);
/// Largest multiple of it.
const MOST_PAUSES: u32 = 10;

/// How a transaction ended, at what moment.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) done: Nanos,
    pub(super) end: Result<Outcome, Fault>,
    /// What the failure looked like.
    pub(super) evidence: String,
    /// The client does not go on.
    pub(super) is_last: bool,
}

/// A client and its buffers.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) worker: Rc<Worker>,
    pub(super) row: usize,
    pub(super) guest: usize,
    session: Option<DbSession>,
    style: Style,
    desk: Desk,
    retries: Retries,
    /// It makes no connection at or after.
    pub(super) stops: Nanos,
}

impl Client {
    /// Client `number` of a guest.
    pub(super) fn new(
        worker: &Rc<Worker>,
        row: usize,
        guest: usize,
        session: Option<DbSession>,
        number: u32,
        stops: Nanos,
    ) -> Self {
        let config = &worker.shared.config;
        Self {
            worker: Rc::clone(worker),
            row,
            guest,
            session,
            style: config.session.style,
            desk: Desk::new(),
            retries: Retries::new(config.max_retries, config.plan(guest).seed, number),
            stops,
        }
    }

    /// Executes one transaction to its end, over as many connections as that takes, and tells the
    /// ledger.
    pub(super) async fn transact(&mut self, input: &Input) -> Finished {
        let kind = input.kind();
        let worker = Rc::clone(&self.worker);
        loop {
            if let Err(finished) = self.connect(kind).await {
                return finished;
            }
            let Some(session) = &mut self.session else {
                continue;
            };
            let performing = perform(
                session,
                &mut self.desk,
                self.style,
                input,
                &mut self.retries,
                async |wait| {
                    sleep(wait).await;
                },
            );
            let performed = performing.await;
            let done = worker.now();
            let within = worker.within(self.guest, done);
            let mut tally = worker.tally(self.guest);
            if performed.attempts > 1 {
                tally.retried(kind, performed.retries, within);
            }
            let failed = |end: Fault, evidence: String| Finished {
                done,
                end: Err(end),
                evidence,
                is_last: false,
            };
            match performed.ended {
                Ended::Done(outcome) => {
                    tally.done(kind, outcome, within);
                    return Finished {
                        done,
                        end: Ok(outcome),
                        evidence: String::new(),
                        is_last: false,
                    };
                }
                Ended::Failed(cause) => {
                    tally.failed(kind, within);
                    return failed(
                        fault::given_up(cause),
                        format!("given up after {} attempts", performed.attempts),
                    );
                }
                Ended::Unknown(why) => {
                    tally.lost(kind, within);
                    drop(tally);
                    self.unlink();
                    return failed(fault::COMMIT_LOST, why.to_string());
                }
                // Nothing was changed: the same input again.
                Ended::Disconnected(why) => {
                    drop(tally);
                    self.unlink();
                    worker.trouble(self.row, kind, fault::lost(&why), &why.to_string());
                }
                Ended::Refused(why) => {
                    drop(tally);
                    let transaction = kind.name();
                    return self.broken(kind, done, OltpError::Refused { transaction, why });
                }
                Ended::Bug(why) => {
                    drop(tally);
                    let transaction = kind.name();
                    return self.broken(kind, done, OltpError::Bug { transaction, why });
                }
            }
        }
    }

    fn unlink(&mut self) {
        self.session = None;
        self.worker.unlinked(self.row);
    }

    fn broken(&self, kind: Kind, done: Nanos, error: OltpError) -> Finished {
        let evidence = error.to_string();
        let within = self.worker.within(self.guest, done);
        self.worker.tally(self.guest).failed(kind, within);
        self.worker.give_up(self.row, error);
        Finished {
            done,
            end: Err(fault::BROKEN),
            evidence,
            is_last: true,
        }
    }

    /// Connects if need be, again and again while no server answers or it is only starting up.
    async fn connect(&mut self, kind: Kind) -> Result<(), Finished> {
        if self.session.is_some() {
            return Ok(());
        }
        let worker = Rc::clone(&self.worker);
        let config = &worker.shared.config;
        let until = config
            .patience
            .map(|patience| worker.now().saturating_add(nanos(patience)));
        let mut pauses = 0;
        loop {
            let now = worker.now();
            if worker.stopping() || now >= self.stops {
                return Err(Finished {
                    done: now,
                    end: Err(fault::NO_CONNECTION),
                    evidence: "the load ended before there was a connection again".to_owned(),
                    is_last: true,
                });
            }
            match open(config, self.guest).await {
                Ok(session) => {
                    self.session = Some(session);
                    worker.linked(self.row);
                    return Ok(());
                }
                Err(error) => {
                    worker.trouble(
                        self.row,
                        kind,
                        fault::not_connected(&error),
                        &error.to_string(),
                    );
                    if !fault::may_pass(&error) || until.is_some_and(|until| worker.now() >= until)
                    {
                        return Err(self.broken(kind, worker.now(), error));
                    }
                }
            }
            pauses = (pauses + 1).min(MOST_PAUSES);
            sleep(RECONNECT_PAUSE * pauses).await;
        }
    }
}
