//! One terminal of a closed load: appears, keys, executes, thinks, and stops in its turn.

use rookery_driver::{Nanos, Pause, nanos};
use rookery_workload::orderentry::{
    terminal::{Input, Terminal},
    transaction::Outcome,
};

use super::{
    client::{Client, Finished},
    delivery_queue::DeliveryQueue,
    operations::operation,
    worker::{Begun, Ending},
};

/// A terminal and its connection.
#[derive(Debug)]
pub(super) struct Operator {
    pub(super) client: Client,
    pub(super) terminal: Terminal,
    pub(super) starts: Nanos,
    /// It begins nothing at or after.
    pub(super) stops: Nanos,
}

impl Operator {
    /// The whole life of a terminal.
    pub(super) async fn live(mut self) {
        let (row, worker) = (
            self.client.link.row,
            std::rc::Rc::clone(&self.client.link.worker),
        );
        worker.sleep_until(row, self.starts).await;
        let appeared = worker.now();
        worker.appear(row, appeared);
        let (mut ended, mut think, mut is_first) = (appeared, 0, true);
        loop {
            let thought = ended + think;
            if think > 0 && thought < self.stops {
                worker.sleep_until(row, thought).await;
            }
            let input = self.terminal.next_input(worker.wall(thought));
            let pauses = self.terminal.pauses(input.kind());
            let keying = nanos(pauses.keying);
            let due = thought + keying;
            if due >= self.stops || worker.stopping() {
                return;
            }
            if keying > 0 {
                worker.sleep_until(row, due).await;
                if worker.stopping() {
                    return;
                }
            }
            let sent = worker.now();
            if sent >= self.stops {
                return;
            }
            let drawn = think + keying;
            if !is_first {
                let pause = (drawn > 0).then_some(Pause { drawn, from: ended });
                worker
                    .recorder(self.client.link.guest)
                    .waited(ended, sent, pause);
            }
            if drawn > 0 {
                worker.lagged(row, due, sent);
            }
            let begun = Begun {
                operation: operation(input.kind()),
                intended: if drawn > 0 { due } else { sent },
                sent,
            };
            let finished = self.client.act(&input, begun).await;
            if finished.is_last {
                return;
            }
            (ended, think, is_first) = (finished.done, nanos(pauses.think), false);
        }
    }
}

impl Client {
    /// Executes a transaction and books it; a delivery that is deferred is only queued.
    pub(super) async fn act(&mut self, input: &Input, begun: Begun) -> Finished {
        let worker = std::rc::Rc::clone(&self.link.worker);
        worker.begin(self.link.row, begun);
        let finished = match (input, worker.shared.job.queues.get(self.link.guest)) {
            (Input::Delivery(delivery), Some(queue)) => self.defer(queue, delivery.clone()),
            _ => self.transact(input).await,
        };
        let ending = match finished.end {
            Ok(Outcome::NewOrder { .. }) => Ending::Unit,
            Ok(Outcome::RolledBack) => Ending::Void,
            Ok(_) => Ending::Success,
            Err(fault) => Ending::Failure(fault),
        };
        let (done, evidence) = (finished.done, &finished.evidence);
        worker.end(self.link.row, begun, done, ending, evidence);
        finished
    }

    fn defer(
        &self,
        queue: &DeliveryQueue,
        delivery: rookery_workload::orderentry::terminal::DeliveryInput,
    ) -> Finished {
        let done = self.link.worker.now();
        let within = self.link.worker.within(self.link.guest, done);
        queue.push(delivery, done, within);
        if within {
            self.link.worker.tally(self.link.guest).queued();
        }
        Finished {
            done,
            end: Ok(Outcome::Delivery {
                delivered: 0,
                skipped: 0,
            }),
            evidence: String::new(),
            is_last: false,
        }
    }
}
