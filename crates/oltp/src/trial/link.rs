//! A connection that is made again when it is lost.

use std::{rc::Rc, time::Duration};

use rookery_driver::{Fault, Nanos, OperationId, nanos};
use tokio::time::sleep;

use super::{
    fault,
    job::{Job, open},
    worker::Worker,
};
use crate::OltpError;

/// Pause after the first failed attempt to connect; it grows by as much with every further one.
const RECONNECT_PAUSE: Duration = Duration::from_millis(100);
/// Largest multiple of it.
const MOST_PAUSES: u32 = 10;

/// A row of the register with its connection.
#[derive(Debug)]
pub(crate) struct Link<J: Job> {
    pub(crate) worker: Rc<Worker<J>>,
    pub(crate) row: usize,
    pub(crate) guest: usize,
    pub(crate) session: Option<J::Session>,
    /// It makes no connection at or after.
    pub(crate) stops: Nanos,
}

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum Unlinked {
    /// The load has ended.
    Over {
        fault: Fault,
        evidence: String,
        at: Nanos,
    },
    /// Trying again does not help.
    Refused(OltpError),
}

impl<J: Job> Link<J> {
    /// The connection is of no use any more.
    pub(crate) fn unlink(&mut self) {
        self.session = None;
        self.worker.unlinked(self.row);
    }

    /// Connects if need be, again and again while no server answers or it is only starting up.
    pub(crate) async fn connect(&mut self, operation: OperationId) -> Result<(), Unlinked> {
        if self.session.is_some() {
            return Ok(());
        }
        let worker = Rc::clone(&self.worker);
        let shared = &worker.shared;
        let until = shared
            .common
            .patience
            .map(|patience| worker.now().saturating_add(nanos(patience)));
        let mut pauses = 0;
        loop {
            let now = worker.now();
            if worker.stopping() || now >= self.stops {
                return Err(Unlinked::Over {
                    fault: fault::NO_CONNECTION,
                    evidence: "the load ended before there was a connection again".to_owned(),
                    at: now,
                });
            }
            match open(&shared.job, &shared.common.guests[self.guest].target).await {
                Ok(session) => {
                    self.session = Some(session);
                    worker.linked(self.row);
                    return Ok(());
                }
                Err(error) => {
                    let (fault, words) = (fault::not_connected(&error), error.to_string());
                    worker.trouble(self.row, operation, fault, &words);
                    if !fault::may_pass(&error) || until.is_some_and(|until| worker.now() >= until)
                    {
                        return Err(Unlinked::Refused(error));
                    }
                }
            }
            pauses = (pauses + 1).min(MOST_PAUSES);
            sleep(RECONNECT_PAUSE * pauses).await;
        }
    }
}
