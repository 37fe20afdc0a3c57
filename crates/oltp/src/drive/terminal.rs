//! One terminal: draws, executes, counts, and connects again.

use std::{
    future::Future,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use rookery_workload::orderentry::{
    Timestamp,
    terminal::{Input, Terminal},
    transaction::{Desk, Ended, Retries, perform},
};
use tokio::time::{sleep, timeout_at};

use super::{Shared, tally::Tally};
use crate::{DbSession, OltpError};

/// How long a transaction may go on behind the end of the run. Its outcome is then unknown.
const LAST_PATIENCE: Duration = Duration::from_secs(60);

/// Pause between two attempts to connect again.
const RECONNECT_PAUSE: Duration = Duration::from_millis(100);

/// Longest sleep without a look at whether the run ends.
const NAP: Duration = Duration::from_millis(200);

/// A terminal and its connection.
pub(super) struct Worker {
    session: DbSession,
    terminal: Terminal,
    retries: Retries,
    desk: Desk,
    tally: Tally,
}

/// What becomes of a terminal after a transaction.
enum Next {
    GoOn,
    End,
}

impl Worker {
    pub(super) async fn open(shared: &Shared<'_>, number: u32) -> Result<Self, OltpError> {
        let options = shared.options;
        Ok(Self {
            session: DbSession::open(shared.target, options.session).await?,
            terminal: Terminal::new(&shared.plan, number),
            retries: Retries::new(options.max_retries, options.seed, number),
            desk: Desk::new(),
            tally: Tally::new(),
        })
    }

    pub(super) async fn work(mut self, shared: &Shared<'_>) -> Result<Tally, OltpError> {
        let (_, end) = shared.window();
        loop {
            let arrival = shared.arrival();
            let input = self.terminal.next_input(now());
            let pauses = self.terminal.pauses(input.kind());
            let due = arrival.unwrap_or_else(|| Instant::now() + pauses.keying);
            if !wait_until(shared, due, end).await {
                return Ok(self.tally);
            }
            // In an open load the clock runs from the arrival, also when no terminal was free.
            let began = arrival.unwrap_or_else(Instant::now);
            if let Next::End = self.transact(shared, &input, began).await? {
                return Ok(self.tally);
            }
            if !wait_until(shared, Instant::now() + pauses.think, end).await {
                return Ok(self.tally);
            }
        }
    }

    /// Executes one transaction to its end, over as many connections as that takes.
    async fn transact(&mut self, shared: &Shared<'_>, input: &Input, began: Instant) -> Result<Next, OltpError> {
        let (begin, end) = shared.window();
        let kind = input.kind();
        loop {
            let performing = perform(
                &mut self.session,
                &mut self.desk,
                shared.options.session.style,
                input,
                &mut self.retries,
                async |wait| sleep(wait).await,
            );
            let limit = end + LAST_PATIENCE;
            let Ok(performed) = timeout_at(limit.into(), performing).await else {
                self.tally.lost(kind, false);
                return Ok(Next::End);
            };
            for (sum, retries) in self.tally.retries.iter_mut().zip(performed.retries) {
                *sum += u64::from(retries);
            }
            let ended = Instant::now();
            let within = (begin..end).contains(&ended) && !shared.ends();
            match performed.ended {
                Ended::Done(outcome) => {
                    self.tally.done(kind, outcome, began, ended, within);
                    return Ok(Next::GoOn);
                }
                Ended::Failed(_) => {
                    self.tally.counts.failed += u64::from(within);
                    return Ok(Next::GoOn);
                }
                Ended::Unknown(_) => {
                    self.tally.lost(kind, within);
                    self.reconnect(shared).await?;
                    return Ok(Next::GoOn);
                }
                // Nothing was changed: the same input again.
                Ended::Disconnected(_) => self.reconnect(shared).await?,
                Ended::Refused(why) => {
                    return Err(OltpError::Refused {
                        transaction: kind.name(),
                        why,
                    });
                }
                Ended::Bug(why) => {
                    return Err(OltpError::Bug {
                        transaction: kind.name(),
                        why,
                    });
                }
            }
        }
    }

    async fn reconnect(&mut self, shared: &Shared<'_>) -> Result<(), OltpError> {
        self.session = connect_again(shared, || DbSession::open(shared.target, shared.options.session)).await?;
        self.tally.reconnections += 1;
        Ok(())
    }
}

/// Connects, again and again while no server answers or it is only starting up, as long as the run's patience lasts.
pub(super) async fn connect_again<T, F>(shared: &Shared<'_>, mut connect: impl FnMut() -> F) -> Result<T, OltpError>
where
    F: Future<Output = Result<T, OltpError>>,
{
    let until = Instant::now() + shared.options.patience;
    loop {
        match connect().await {
            // A server that dies while statements are prepared is as far away as one that does not answer.
            Err(OltpError::NoServer { .. } | OltpError::Connect { .. } | OltpError::Statement { .. })
                if Instant::now() < until && !shared.ends() =>
            {
                sleep(RECONNECT_PAUSE).await;
            }
            other => return other,
        }
    }
}

/// Waits until `due`. Says whether the run goes on then.
async fn wait_until(shared: &Shared<'_>, due: Instant, end: Instant) -> bool {
    loop {
        let now = Instant::now();
        if shared.ends() || now >= end {
            return false;
        }
        if now >= due {
            return true;
        }
        sleep(due.min(end).saturating_duration_since(now).min(NAP)).await;
    }
}

/// The wall clock, for the times in rows.
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}
