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
use rookery_workload::orderentry::{DeliveryMode, Kind, terminal::Terminal};
use tokio::runtime::LocalRuntime;

use super::{
    Shared, TrialConfig,
    arrivals::{self, Server},
    client::Client,
    connect::open,
    deferred, fault,
    tally::Tally,
    terminal::Operator,
    worker::Worker,
};
use crate::{DbSession, OltpError, stopping::unless_stopped};

/// Connections that one thread makes at a time: each prepares some forty statements, and a server
/// has other clients too.
const CONNECTING: usize = 8;
/// Tasks that run between two looks at the kernel's queue.
const EVENT_INTERVAL: u32 = 61;

/// The threads of a trial.
pub(super) struct TerminalTask<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) threads: usize,
    pub(super) stop: &'a AtomicBool,
}

/// A connection of this thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seat {
    guest: usize,
    /// The terminal's number at its guest; behind the last is the worker of deferred deliveries.
    number: u32,
}

/// What a thread needs before it says that it is ready.
pub(super) struct Ready {
    runtime: LocalRuntime,
    timer: AlarmClock,
    seats: Vec<(Seat, Option<DbSession>)>,
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
pub(super) struct Recorded {
    pub(super) results: ThreadResults,
    /// By guest.
    pub(super) tallies: Vec<Tally>,
}

/// The connections of one thread: all terminals of all guests are dealt out like cards, and the
/// workers behind them.
fn seats(config: &TrialConfig, thread: usize, threads: usize) -> Vec<Seat> {
    let guests = || config.guests.iter().enumerate();
    let terminals = guests()
        .flat_map(|(guest, of)| (0..of.terminals).map(move |number| Seat { guest, number }));
    let mut dealt: Vec<Seat> = terminals.skip(thread).step_by(threads).collect();
    if config.delivery == DeliveryMode::Deferred {
        let workers = guests().skip(thread).step_by(threads);
        dealt.extend(workers.map(|(guest, of)| Seat {
            guest,
            number: of.terminals,
        }));
    }
    dealt
}

impl TerminalTask<'_> {
    /// Makes the connections, a few at a time. A guest that does not answer once is left to its
    /// terminals.
    async fn connect(&self, seats: Vec<Seat>) -> Result<Connected, OltpError> {
        let config = &self.shared.config;
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
                match open(config, seat.guest).await {
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
        let made: Vec<Result<(Seat, Option<DbSession>), OltpError>> =
            stream::iter(attempts).buffered(CONNECTING).collect().await;
        let seats = made.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok((seats, troubles.into_inner()))
    }
}

type Connected = (Vec<(Seat, Option<DbSession>)>, Vec<(usize, OltpError)>);

impl ThreadTask for TerminalTask<'_> {
    type Ready = Ready;
    type Report = Report;
    type Output = Recorded;
    type Error = OltpError;

    fn prepare(&self, index: usize) -> Result<(Ready, Report), OltpError> {
        let (runtime, timer) = local_runtime(EVENT_INTERVAL).map_err(OltpError::Runtime)?;
        let began = Instant::now();
        let (seats, mut troubles) = runtime.block_on(unless_stopped(
            self.stop,
            self.connect(seats(&self.shared.config, index, self.threads)),
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

    fn work(&self, index: usize, ready: Ready, clock: Clock) -> Recorded {
        let Ready {
            runtime,
            timer,
            seats,
            troubles,
            took,
        } = ready;
        let config = &self.shared.config;
        let queue = arrivals::queue(config, index, self.threads);
        let worker = Rc::new(Worker::new(self.shared, clock, timer.timer(), queue, took));
        for (guest, error) in troubles {
            worker.failure(
                guest,
                Kind::NewOrder,
                fault::not_connected(&error),
                &error.to_string(),
            );
        }
        let (results, tallies) = runtime.block_on(async {
            let ringing = Rc::clone(&worker);
            tokio::task::spawn_local(timer.ring(move || ringing.ring()));
            for (seat, session) in seats {
                spawn(config, &worker, seat, session);
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

fn spawn(config: &TrialConfig, worker: &Rc<Worker>, seat: Seat, session: Option<DbSession>) {
    let Seat { guest, number } = seat;
    let of = config.guests[guest].terminals;
    let is_background = number == of;
    let row = worker.add_row(guest, session.is_some(), is_background);
    let load_end = nanos(config.phases.load_end());
    let client = |stops| Client::new(worker, row, guest, session, number, stops);
    if is_background {
        let client = client(load_end.saturating_add(nanos(config.phases.drain)));
        tokio::task::spawn_local(deferred::execute(client));
        return;
    }
    let terminal = Terminal::new(&config.plan(guest), number);
    match &config.load {
        Load::Closed => {
            let (starts, stops) = config.phases.lifetime(number, of);
            let operator = Operator {
                client: client(stops),
                terminal,
                starts,
                stops,
            };
            tokio::task::spawn_local(operator.live());
        }
        Load::Open(_) => {
            let server = Server {
                client: client(load_end.saturating_add(nanos(config.phases.drain))),
                terminal,
            };
            tokio::task::spawn_local(server.serve());
        }
    }
}

#[cfg(test)]
mod tests;
