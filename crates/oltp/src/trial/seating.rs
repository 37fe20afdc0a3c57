//! How the connections of order entry begin to live: as terminals, as servers of arrivals, as
//! workers of deferred deliveries.

use std::rc::Rc;

use rookery_driver::{Load, nanos};
use rookery_workload::orderentry::terminal::Terminal;

use super::{
    arrivals::Server, client::Client, deferred, job::Seat, spawn::Spawn, terminal::Operator,
    terminals::Terminals, worker::Worker,
};
use crate::DbSession;

impl Spawn for Terminals {
    fn spawn(worker: &Rc<Worker<Self>>, seat: Seat, row: usize, session: Option<DbSession>) {
        let Seat { guest, number } = seat;
        let config = &worker.shared.job.config;
        let of = config.guests[guest].terminals;
        let load_end = nanos(config.phases.load_end());
        let drained = load_end.saturating_add(nanos(config.phases.drain));
        let client = |stops| Client::new(worker, row, guest, session, number, stops);
        if number == of {
            tokio::task::spawn_local(deferred::execute(client(drained)));
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
                    client: client(drained),
                    terminal,
                };
                tokio::task::spawn_local(server.serve());
            }
        }
    }
}
