//! One driver thread: its share of all connections, made before the start, and a runtime that
//! carries them.

use std::{
    cell::RefCell,
    rc::Rc,
    sync::{Arc, atomic::AtomicBool},
    time::Instant,
};

use futures_util::{StreamExt as _, stream};
use rookery_driver::{
    AlarmClock, Clock, Load, Nanos, ThreadResults, ThreadTask, local_runtime, nanos, supervise,
};
use tokio::runtime::LocalRuntime;

use super::{
    Shared, arrivals, fault,
    job::{Common, Job, Seat, open},
    spawn::Spawn,
    worker::Worker,
};
use crate::{OltpError, stopping::unless_stopped};

/// Connections that one thread makes at a time: each prepares some forty statements, and a server
/// has other clients too.
const CONNECTING: usize = 8;
/// Tasks that run between two looks at the kernel's queue.
const EVENT_INTERVAL: u32 = 61;

/// The threads of a trial.
pub(super) struct TerminalTask<'a, J: Job> {
    pub(super) shared: &'a Arc<Shared<J>>,
    pub(super) threads: usize,
    pub(super) stop: &'a AtomicBool,
}

/// What a thread needs before it says that it is ready.
pub(super) struct Ready<S> {
    runtime: LocalRuntime,
    timer: AlarmClock,
    seats: Vec<Taken<S>>,
    /// Guests that did not answer, with the words of the first attempt.
    troubles: Vec<(usize, OltpError)>,
    took: Nanos,
}

/// How connecting went.
pub(super) struct Report {
    connected: usize,
    refusal: Option<OltpError>,
}

/// Refuses a trial without any database.
pub(super) fn judge(reports: Vec<Report>) -> Result<(), OltpError> {
    if reports.iter().any(|report| report.connected > 0) {
        return Ok(());
    }
    let refusal = reports.into_iter().find_map(|report| report.refusal);
    Err(refusal.unwrap_or(OltpError::Stopped))
}

/// What one thread recorded.
pub(super) struct Recorded<T> {
    pub(super) results: ThreadResults,
    /// By guest.
    pub(super) tallies: Vec<T>,
}

/// The connections of one thread: all terminals of all guests are dealt out like cards, and the
/// workers behind them.
fn seats(config: &Common, has_background: bool, thread: usize, threads: usize) -> Vec<Seat> {
    let guests = || config.guests.iter().enumerate();
    let terminals = guests()
        .flat_map(|(guest, of)| (0..of.connections).map(move |number| Seat { guest, number }));
    let mut dealt: Vec<Seat> = terminals.skip(thread).step_by(threads).collect();
    if has_background {
        let workers = guests().skip(thread).step_by(threads);
        dealt.extend(workers.map(|(guest, of)| Seat {
            guest,
            number: of.connections,
        }));
    }
    dealt
}

impl<J: Job> TerminalTask<'_, J> {
    /// Makes the connections, a few at a time. A guest that does not answer once is left to its
    /// terminals.
    async fn connect(&self, seats: Vec<Seat>) -> Result<Connected<J::Session>, OltpError> {
        let (job, config) = (&self.shared.job, &self.shared.common);
        let troubles = RefCell::new(Vec::new());
        let attempts = seats.into_iter().map(|seat| {
            let troubles = &troubles;
            async move {
                let is_dead = || {
                    troubles
                        .borrow()
                        .iter()
                        .any(|(guest, _)| *guest == seat.guest)
                };
                if is_dead() {
                    return Ok((seat, None));
                }
                match open(job, &config.guests[seat.guest].target).await {
                    Ok(session) => Ok((seat, Some(session))),
                    Err(error) if fault::may_pass(&error) => {
                        if !is_dead() {
                            troubles.borrow_mut().push((seat.guest, error));
                        }
                        Ok((seat, None))
                    }
                    Err(error) => Err(error),
                }
            }
        });
        let made: Vec<Result<Taken<J::Session>, OltpError>> =
            stream::iter(attempts).buffered(CONNECTING).collect().await;
        let seats = made.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok((seats, troubles.into_inner()))
    }
}

/// A seat with its connection, where there is one.
type Taken<S> = (Seat, Option<S>);

type Connected<S> = (Vec<Taken<S>>, Vec<(usize, OltpError)>);

impl<J: Spawn> ThreadTask for TerminalTask<'_, J> {
    type Ready = Ready<J::Session>;
    type Report = Report;
    type Output = Recorded<J::Tally>;
    type Error = OltpError;

    fn prepare(&self, index: usize) -> Result<(Ready<J::Session>, Report), OltpError> {
        let (runtime, timer) = local_runtime(EVENT_INTERVAL).map_err(OltpError::Runtime)?;
        let began = Instant::now();
        let (seats, mut troubles) = runtime.block_on(unless_stopped(
            self.stop,
            self.connect(seats(
                &self.shared.common,
                self.shared.job.in_background().is_some(),
                index,
                self.threads,
            )),
        ))?;
        let connected = seats
            .iter()
            .filter(|(_, session)| session.is_some())
            .count();
        let report = Report {
            connected,
            refusal: (connected == 0)
                .then(|| troubles.pop())
                .flatten()
                .map(|(_, error)| error),
        };
        let ready = Ready {
            runtime,
            timer,
            seats,
            troubles,
            took: nanos(began.elapsed()),
        };
        Ok((ready, report))
    }

    fn work(&self, index: usize, ready: Ready<J::Session>, clock: Clock) -> Recorded<J::Tally> {
        let Ready {
            runtime,
            timer,
            seats,
            troubles,
            took,
        } = ready;
        let config = &self.shared.common;
        let queue = arrivals::queue(config, index, self.threads);
        let worker = Rc::new(Worker::new(self.shared, clock, timer.timer(), queue, took));
        for (guest, error) in troubles {
            worker.failure(
                guest,
                self.shared.job.operations().main(),
                fault::not_connected(&error),
                &error.to_string(),
            );
        }
        let (results, tallies) = runtime.block_on(async {
            let ringing = Rc::clone(&worker);
            tokio::task::spawn_local(timer.ring(move || ringing.ring()));
            for (seat, session) in seats {
                let is_background = seat.number == config.guests[seat.guest].connections;
                let row = worker.add_row(seat.guest, session.is_some(), is_background);
                J::spawn(&worker, seat, row, session);
            }
            if config.load != Load::Closed {
                tokio::task::spawn_local(arrivals::receive(Rc::clone(&worker)));
            }
            let end = supervise(
                &*worker,
                &config.phases,
                clock,
                &self.shared.control,
                &self.shared.statuses[index],
            )
            .await;
            worker.finish(end)
        });
        Recorded { results, tallies }
    }
}

#[cfg(test)]
mod tests;
