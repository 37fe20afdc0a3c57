//! A client: one connection of a terminal, or of the worker of deferred deliveries, made again when
//! it is lost.

use std::rc::Rc;

use rookery_driver::{Fault, Nanos};
use rookery_workload::orderentry::{
    Kind,
    sql::Style,
    terminal::Input,
    transaction::{Desk, Ended, Outcome, Retries, perform},
};
use tokio::time::sleep;

use super::{
    fault,
    link::{Link, Unlinked},
    operations::operation,
    terminals::Terminals,
    worker::Worker,
};
use crate::{DbSession, OltpError};

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
    pub(super) link: Link<Terminals>,
    style: Style,
    desk: Desk,
    retries: Retries,
}

impl Client {
    /// Client `number` of a guest.
    pub(super) fn new(
        worker: &Rc<Worker<Terminals>>,
        row: usize,
        guest: usize,
        session: Option<DbSession>,
        number: u32,
        stops: Nanos,
    ) -> Self {
        let config = &worker.shared.job.config;
        Self {
            link: Link {
                worker: Rc::clone(worker),
                row,
                guest,
                session,
                stops,
            },
            style: config.session.style,
            desk: Desk::new(),
            retries: Retries::new(config.max_retries, config.plan(guest).seed, number),
        }
    }

    /// Executes one transaction to its end, over as many connections as that takes, and tells the
    /// ledger.
    pub(super) async fn transact(&mut self, input: &Input) -> Finished {
        let kind = input.kind();
        let worker = Rc::clone(&self.link.worker);
        loop {
            match self.link.connect(operation(kind)).await {
                Ok(()) => {}
                Err(Unlinked::Over {
                    fault,
                    evidence,
                    at,
                }) => {
                    return Finished {
                        done: at,
                        end: Err(fault),
                        evidence,
                        is_last: true,
                    };
                }
                Err(Unlinked::Refused(error)) => return self.broken(kind, worker.now(), error),
            }
            let Some(session) = &mut self.link.session else {
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
            let within = worker.within(self.link.guest, done);
            let mut tally = worker.tally(self.link.guest);
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
                    self.link.unlink();
                    return failed(fault::COMMIT_LOST, why.to_string());
                }
                // Nothing was changed: the same input again.
                Ended::Disconnected(why) => {
                    drop(tally);
                    self.link.unlink();
                    let fault = fault::lost(&why);
                    worker.trouble(self.link.row, operation(kind), fault, &why.to_string());
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

    fn broken(&self, kind: Kind, done: Nanos, error: OltpError) -> Finished {
        let evidence = error.to_string();
        let within = self.link.worker.within(self.link.guest, done);
        self.link.worker.tally(self.link.guest).failed(kind, within);
        self.link.worker.give_up(self.link.row, error);
        Finished {
            done,
            end: Err(fault::BROKEN),
            evidence,
            is_last: true,
        }
    }
}
