//! Open loads: transactions arrive on a schedule, and the connections of a guest serve them in the
//! order of their arrival.
//!
//! An arrival that finds no free connection waits for one; it is turned away when as many as
//! allowed are present already.

use std::{
    future::poll_fn,
    rc::Rc,
    task::{Context, Poll},
};

use rookery_driver::{Admission, Arrival, ArrivalQueue, Load, Nanos, Share};
use rookery_workload::orderentry::terminal::Terminal;

use super::{
    client::Client,
    job::{Common, Job},
    operations::operation,
    worker::{Begun, Worker},
};

/// The queue of one thread of so many.
pub(super) fn queue(config: &Common, thread: usize, of: usize) -> ArrivalQueue {
    match &config.load {
        Load::Closed => ArrivalQueue::default(),
        Load::Open(load) => {
            let share = Share { thread, of };
            ArrivalQueue::new(
                load,
                &config.phases,
                config.guests.len(),
                share,
                config.seed,
            )
        }
    }
}

/// Receives arrivals until the last.
pub(super) async fn receive<J: Job>(worker: Rc<Worker<J>>) {
    let schedule = worker.queue.schedule();
    while schedule
        .wait(worker.clock(), worker.alarms(), ArrivalQueue::ROW)
        .await
    {
        while let Some(arrival) = schedule.due(worker.now()) {
            worker.drawn(arrival);
            match worker.queue.admit(arrival) {
                Admission::Assigned(row) => worker.wake(row),
                Admission::NoIdleRow => worker.queue.wait(arrival),
                Admission::TurnedAway => worker.turn_away(arrival),
            }
        }
    }
}

/// A connection that serves arrivals.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) client: Client,
    pub(super) terminal: Terminal,
}

impl Server {
    /// Serves one arrival after the other. Response times count from the arrival, not from when a
    /// connection was free.
    pub(super) async fn serve(mut self) {
        let worker = Rc::clone(&self.client.link.worker);
        let (row, guest) = (self.client.link.row, self.client.link.guest);
        loop {
            let input = self.terminal.next_input(worker.wall(worker.now()));
            let (arrival, sent) = next(&worker, row, guest).await;
            let begun = Begun {
                operation: operation(input.kind()),
                intended: arrival.at,
                sent,
            };
            let finished = self.client.act(&input, begun).await;
            worker.disappear(row, finished.done);
            worker.queue.leave(guest);
            if finished.is_last {
                return;
            }
        }
    }
}

/// The arrival that a connection serves next, and when it begins with it.
pub(crate) async fn next<J: Job>(worker: &Worker<J>, row: usize, guest: usize) -> (Arrival, Nanos) {
    let waited = worker.queue.take_waiting(row, guest);
    let arrival = match waited {
        Some(arrival) => arrival,
        None => poll_fn(|context| poll_assigned(worker, row, context)).await,
    };
    let sent = worker.now();
    // Whoever waited for a connection did not wait for the driver.
    if waited.is_none() {
        worker.lagged(row, arrival.at, sent);
    }
    worker.recorder(guest).arrival_started(arrival.at);
    worker.appear(row, sent);
    (arrival, sent)
}

/// The arrival that an idle connection is given.
fn poll_assigned<J: Job>(worker: &Worker<J>, row: usize, context: &Context<'_>) -> Poll<Arrival> {
    match worker.queue.take_assigned(row) {
        Some(arrival) => Poll::Ready(arrival),
        None => {
            worker.wake_by(row, context.waker());
            Poll::Pending
        }
    }
}
