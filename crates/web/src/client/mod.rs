//! One user's side of the wire: how a request is sent, judged and recorded.

pub(crate) mod connection;

use std::rc::Rc;

use rookery_driver::{EVIDENCE_BYTES, Fault, Nanos, OperationId, Span, Timing};

pub(crate) use self::connection::Ask;
use self::connection::{Connection, with_body};
use crate::{
    http::{
        decode::{Answer, Body},
        head::judge_status,
    },
    register::Open,
    site::Site,
    worker::Worker,
};

/// A request failed; the failure has been counted in its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    /// How.
    pub(crate) fault: Fault,
    /// A byte of it had been sent: the server may have done what was asked.
    pub(crate) written: bool,
}

/// The client of one user.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) worker: Rc<Worker>,
    site: Rc<Site>,
    pub(crate) row: usize,
    guest: usize,
    connection: Connection,
    /// When the next request should begin: the end of the one before, or the begin of the act.
    intended: Nanos,
    /// Time spent in the requests of the present act.
    service: Nanos,
}

impl Client {
    pub(crate) fn new(worker: Rc<Worker>, site: Rc<Site>, row: usize, guest: usize) -> Self {
        Self {
            worker,
            site,
            row,
            guest,
            connection: Connection::default(),
            intended: 0,
            service: 0,
        }
    }

    pub(crate) fn now(&self) -> Nanos {
        self.worker.clock().now()
    }

    /// The measured window, as it stands.
    pub(crate) fn window(&self) -> Span {
        self.worker.window(self.guest)
    }

    /// Requests of an act that is due at `due` follow.
    pub(crate) fn begin_act(&mut self, due: Nanos) {
        self.intended = due;
        self.service = 0;
    }

    /// When the last request ended.
    pub(crate) fn ended_at(&self) -> Nanos {
        self.intended
    }

    /// Time spent in the requests of the present act.
    pub(crate) fn service(&self) -> Nanos {
        self.service
    }

    /// Another visitor takes the client over.
    pub(crate) fn renew(&mut self) {
        self.connection.renew();
    }

    /// The next request opens a connection.
    pub(crate) fn disconnect(&mut self) {
        self.connection.abandon();
    }

    /// Sends one request, judges its answer, records both; the value of the answer and the time of
    /// the request. `judge` sees the body of a 200.
    pub(crate) async fn request<T>(
        &mut self,
        operation: OperationId,
        ask: Ask<impl Fn(&mut Vec<u8>)>,
        judge: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<(T, Nanos), Failed> {
        let intended = self.intended;
        let sent = self.now();
        self.worker.begin(
            self.row,
            Open {
                operation,
                intended,
                sent,
            },
        );
        let answer = self
            .connection
            .exchange(&self.worker, self.row, &self.site, ask)
            .await;
        let done = self.now();
        let timing = Timing {
            intended,
            sent,
            done,
            service: done - sent,
        };
        self.intended = done;
        self.service += timing.service;
        let judged = answer.and_then(|answer| judge_answer(&self.worker, answer, judge));
        let fault = judged.as_ref().err().copied();
        let written = self.worker.end(self.row, operation, timing, fault);
        judged
            .map(|value| (value, timing.service))
            .map_err(|fault| Failed { fault, written })
    }

    /// An operation of several requests begins; it may take `limit`, or as long as any request.
    pub(crate) fn open_operation(&mut self, operation: OperationId, limit: Option<Nanos>) -> Nanos {
        let sent = self.now();
        let open = Open {
            operation,
            intended: self.intended,
            sent,
        };
        self.worker.begin_within(self.row, open, limit);
        sent
    }

    /// It ended, well or with a fault; whether a byte of it had been sent.
    pub(crate) fn close_operation(
        &mut self,
        operation: OperationId,
        sent: Nanos,
        fault: Option<Fault>,
    ) -> bool {
        let done = self.now();
        let timing = Timing {
            intended: self.intended,
            sent,
            done,
            service: done - sent,
        };
        self.intended = done;
        self.service += timing.service;
        self.worker.end(self.row, operation, timing, fault)
    }

    /// The last request began at `sent` and ended at `done`, as far as simulations are concerned.
    #[cfg(test)]
    pub(crate) fn pretend(&mut self, sent: Nanos, done: Nanos) {
        self.intended = done;
        self.service = done - sent;
    }
}

/// The value of a good answer; for a bad one, its first bytes are kept as evidence.
fn judge_answer<T>(
    worker: &Worker,
    answer: Answer,
    judge: impl FnOnce(&[u8]) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let in_place = match &answer.body {
        Body::InPlace(range) => Some(range.end),
        _ => None,
    };
    let status = judge_status(answer.status, answer.retry_after);
    with_body_and_evidence(worker, answer.body, in_place, |body| {
        status.and_then(|()| judge(body))
    })
}

fn with_body_and_evidence<T>(
    worker: &Worker,
    body: Body,
    in_place: Option<usize>,
    judge: impl FnOnce(&[u8]) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let mut seen = Vec::new();
    let judged = with_body(worker, body, |body| {
        let judged = judge(body);
        if judged.is_err() {
            seen.extend_from_slice(&body[..body.len().min(EVIDENCE_BYTES)]);
        }
        judged
    });
    if judged.is_err() {
        match in_place {
            // The whole answer still lies in the scratch buffer: its head is the better evidence.
            Some(end) => {
                let scratch = &mut *worker.scratch();
                scratch.evidence.clear();
                scratch
                    .evidence
                    .extend_from_slice(&scratch.received[..end.min(EVIDENCE_BYTES)]);
            }
            None => worker.set_evidence(&seen),
        }
    }
    judged
}
