//! Open loads: transactions arrive on a schedule, and the connections of a guest serve them in the order of their arrival.
//!
//! An arrival that finds no free connection waits for one; it is turned away when as many as allowed are present already.

use std::{
    cell::RefCell,
    collections::VecDeque,
    future::poll_fn,
    rc::Rc,
    task::{Context, Poll},
};

use rookery_driver::{
    Load,
    crew::{Arrival, Fault, Nanos, Schedule, Share},
};
use rookery_workload::orderentry::{Kind, terminal::Terminal};

use super::{
    TrialConfig,
    client::Client,
    worker::{Begun, Worker},
};

/// One guest's part of the lobby.
#[derive(Clone, Debug, Default)]
struct Hall {
    /// Rows of connections without work; the one that was left last is taken first.
    free: Vec<usize>,
    waiting: VecDeque<Arrival>,
    /// Arrivals that wait or are served.
    present: u32,
    /// So many may be present.
    most: u32,
}

/// What becomes of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Admission {
    /// The connection of this row serves it at once.
    Served(usize),
    Waits,
    TurnedAway,
}

/// Where the arrivals of one thread are received. Nobody ever comes to that of a closed load.
#[derive(Debug, Default)]
pub(super) struct Lobby {
    schedule: Schedule,
    /// By guest.
    halls: RefCell<Vec<Hall>>,
    /// By row: an arrival that found the connection free, and is not under way yet.
    called: RefCell<Vec<Option<Arrival>>>,
}

impl Lobby {
    /// The row of the lobby among the alarms; no connection has it.
    pub(super) const ROW: u32 = u32::MAX;

    /// The lobby of one thread of so many.
    pub(super) fn new(config: &TrialConfig, thread: usize, of: usize) -> Self {
        let Load::Open(load) = &config.load else {
            return Self::default();
        };
        let guests = config.guests.len();
        let hall = Hall {
            most: load.max_in_flight / of as u32
                + u32::from((thread as u32) < load.max_in_flight % of as u32),
            ..Hall::default()
        };
        Self {
            schedule: Schedule::new(
                load,
                &config.phases,
                guests,
                Share { thread, of },
                config.seed,
            ),
            halls: RefCell::new(vec![hall; guests]),
            called: RefCell::default(),
        }
    }

    pub(super) fn ring(&self) {
        self.schedule.ring();
    }

    pub(super) fn cut(&self, at: Nanos) {
        self.schedule.cut(at);
    }

    /// Whether somebody waits, or is still to come.
    pub(super) fn expects(&self) -> bool {
        let waits = || {
            self.halls
                .borrow()
                .iter()
                .any(|hall| !hall.waiting.is_empty())
        };
        let called = || self.called.borrow().iter().any(Option::is_some);
        self.schedule.next_at().is_some() || waits() || called()
    }

    fn admit(&self, arrival: Arrival) -> Admission {
        let hall = &mut self.halls.borrow_mut()[arrival.guest];
        if hall.present >= hall.most {
            return Admission::TurnedAway;
        }
        hall.present += 1;
        let Some(row) = hall.free.pop() else {
            hall.waiting.push_back(arrival);
            return Admission::Waits;
        };
        let mut called = self.called.borrow_mut();
        if called.len() <= row {
            called.resize(row + 1, None);
        }
        called[row] = Some(arrival);
        Admission::Served(row)
    }

    /// A connection asks for work: the arrival that has waited longest, else it is free.
    fn ask(&self, row: usize, guest: usize) -> Option<Arrival> {
        let hall = &mut self.halls.borrow_mut()[guest];
        let first = hall.waiting.pop_front();
        if first.is_none() {
            hall.free.push(row);
        }
        first
    }

    fn poll_called(&self, row: usize, worker: &Worker, context: &Context<'_>) -> Poll<Arrival> {
        match self.called.borrow_mut().get_mut(row).and_then(Option::take) {
            Some(arrival) => Poll::Ready(arrival),
            None => {
                worker.wake_by(row, context.waker());
                Poll::Pending
            }
        }
    }

    fn leave(&self, guest: usize) {
        self.halls.borrow_mut()[guest].present -= 1;
    }

    /// Whoever was never served: those that were not even received, and those that wait.
    fn left_over(&self) -> (Vec<Arrival>, Vec<Arrival>) {
        let waiting = self.halls.take().into_iter().flat_map(|hall| hall.waiting);
        (
            self.schedule.rest(),
            waiting
                .chain(self.called.take().into_iter().flatten())
                .collect(),
        )
    }

    /// The trial is over: whoever was due and never served has been turned away.
    pub(super) fn close(&self, worker: &Worker) {
        let (late, waiting) = self.left_over();
        late.iter().for_each(|&arrival| drawn(worker, arrival));
        late.into_iter()
            .chain(waiting)
            .for_each(|arrival| turn_away(worker, arrival));
    }
}

fn drawn(worker: &Worker, arrival: Arrival) {
    let mut recorder = worker.recorder(arrival.guest);
    let window = recorder.window();
    recorder.arrivals.drawn(window, arrival.at);
}

fn turn_away(worker: &Worker, arrival: Arrival) {
    let mut recorder = worker.recorder(arrival.guest);
    let window = recorder.window();
    recorder.arrivals.dropped(window, arrival.at);
    drop(recorder);
    worker.failure(arrival.guest, Kind::NewOrder, Fault::DROPPED, "");
}

/// Receives arrivals until the last.
pub(super) async fn receive(worker: Rc<Worker>) {
    let lobby = &worker.lobby;
    while lobby
        .schedule
        .wait(worker.clock(), worker.alarms(), Lobby::ROW)
        .await
    {
        while let Some(arrival) = lobby.schedule.due(worker.now()) {
            drawn(&worker, arrival);
            match lobby.admit(arrival) {
                Admission::Served(row) => worker.wake(row),
                Admission::Waits => {}
                Admission::TurnedAway => turn_away(&worker, arrival),
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
    /// Serves one arrival after the other. Response times count from the arrival, not from when a connection was free.
    pub(super) async fn serve(mut self) {
        let worker = Rc::clone(&self.client.worker);
        let (row, guest) = (self.client.row, self.client.guest);
        loop {
            let input = self.terminal.next_input(worker.wall(worker.now()));
            let waited = worker.lobby.ask(row, guest);
            let arrival = match waited {
                Some(arrival) => arrival,
                None => poll_fn(|context| worker.lobby.poll_called(row, &worker, context)).await,
            };
            let sent = worker.now();
            if waited.is_none() {
                worker.lagged(row, arrival.at, sent);
            }
            {
                let mut recorder = worker.recorder(guest);
                let window = recorder.window();
                recorder.arrivals.started(window, arrival.at);
            }
            worker.appear(row, sent);
            let begun = Begun {
                kind: input.kind(),
                intended: arrival.at,
                sent,
            };
            let finished = self.client.act(&input, begun).await;
            worker.disappear(row, finished.done);
            worker.lobby.leave(guest);
            if finished.is_last {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rookery_driver::{Arrivals, OpenLoad, Precision, Profile, Visit};

    use super::*;
    use crate::trial::tests::config;

    /// Ten arrivals per second for one second at each of two guests, at most four of them present.
    fn lobby(thread: usize, of: usize) -> Lobby {
        let mut config = config();
        config.guests.push(config.guests[0].clone());
        config.phases.steady = Duration::from_secs(1);
        config.load = Load::Open(OpenLoad {
            arrivals: Arrivals::Uniform,
            profile: Profile::Constant(10.0),
            weights: Vec::new(),
            max_in_flight: 4,
            precision: Precision::Exact,
            visit: Visit::Single,
        });
        Lobby::new(&config, thread, of)
    }

    fn next(lobby: &Lobby, guest: usize) -> Arrival {
        loop {
            let arrival = lobby.schedule.due(Nanos::MAX).expect("more come");
            if arrival.guest == guest {
                return arrival;
            }
        }
    }

    #[test]
    fn arrivals_are_served_in_order_or_turned_away() {
        let lobby = lobby(0, 1);
        assert_eq!(lobby.ask(7, 0), None, "the connection of row 7 is free");
        let all: Vec<Arrival> = (0..6).map(|_| next(&lobby, 0)).collect();
        let admissions: Vec<_> = all.iter().map(|&arrival| lobby.admit(arrival)).collect();
        use Admission::{Served, TurnedAway, Waits};
        assert_eq!(
            admissions,
            [Served(7), Waits, Waits, Waits, TurnedAway, TurnedAway]
        );
        assert_eq!(
            lobby.admit(next(&lobby, 1)),
            Waits,
            "another guest has its own hall"
        );
        assert_eq!(lobby.called.borrow_mut()[7].take(), Some(all[0]));
        lobby.leave(0);
        assert_eq!(lobby.ask(7, 0), Some(all[1]));
        assert_eq!(lobby.admit(all[4]), Waits, "one has left");
        let (late, waiting) = lobby.left_over();
        assert!(!late.is_empty() && !lobby.expects());
        assert_eq!(
            waiting.iter().filter(|arrival| arrival.guest == 0).count(),
            3,
            "two of the first and the last"
        );
    }

    #[test]
    fn threads_share_out_who_may_be_present() {
        let most: Vec<u32> = (0..3)
            .map(|thread| lobby(thread, 3).halls.borrow()[1].most)
            .collect();
        assert_eq!(most, [2, 1, 1]);
        assert!(!Lobby::default().expects(), "nobody comes to a closed load");
    }

    #[test]
    fn an_early_end_turns_nobody_away_that_was_not_due() {
        let lobby = lobby(0, 1);
        assert!(lobby.expects());
        lobby.cut(0);
        assert!(!lobby.expects());
        assert_eq!(lobby.left_over(), (Vec::new(), Vec::new()));
    }
}
