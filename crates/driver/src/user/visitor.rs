//! Visitors of an open load: they take a place in turn, act, and leave it to the next.

use std::future::poll_fn;

use rookery_workload::dvdstore::Shopper;

use super::User;
use crate::{
    arrival::{Arrival, persistence},
    clock::Nanos,
    load::Visit,
    script,
};

impl User {
    /// One visitor after the other.
    pub(crate) async fn receive(mut self, seed: u64, visit: Visit) {
        loop {
            let worker = &self.worker;
            let arrival = poll_fn(|context| worker.poll_visitor(self.row, context)).await;
            self.welcome(seed, arrival);
            self.stay(arrival.at, visit.acts(persistence(seed, arrival)))
                .await;
            self.worker.leave(self.row, arrival.guest);
        }
    }

    /// A visitor that nobody has seen before: it has choices of its own and no cookies. Only the connection may be an old one.
    fn welcome(&mut self, seed: u64, arrival: Arrival) {
        self.shopper = Shopper::new(seed, arrival.guest as u32, arrival.number as u32);
        self.connection.renew();
        (self.failures, self.ended) = (0, None);
    }

    /// Act after act, with a think time between them. The first is due at the arrival, whether or not the driver is in time.
    async fn stay(&mut self, at: Nanos, acts: u32) {
        let (mut due, mut pause, mut in_time) = (at, None, true);
        for left in (0..acts).rev() {
            let sent = self.now();
            self.begin(due, sent, in_time, pause);
            let outcome = script::act(self).await;
            let done = self.finish(due, sent, outcome);
            if left == 0 {
                return;
            }
            (due, pause) = self.next(sent, done);
            if due >= self.worker.desk.schedule.ends() {
                return;
            }
            in_time = self.now() < due;
            if in_time {
                self.sleep_until(due).await;
            }
            if self.worker.stopping.get() {
                return;
            }
        }
    }
}
