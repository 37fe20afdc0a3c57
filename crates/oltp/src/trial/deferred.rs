//! Deferred deliveries: terminals queue them, and one worker of each guest executes them in turn, over a connection of its own.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use rookery_driver::crew::Nanos;
use rookery_workload::orderentry::{
    DeliveryMode, Kind,
    terminal::{DeliveryInput, Input},
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{TrialConfig, client::Client};

/// A delivery that waits.
#[derive(Clone, Debug)]
pub(super) struct Queued {
    input: DeliveryInput,
    at: Nanos,
    /// Whether it was queued inside the window.
    within: bool,
}

/// The deliveries of one guest that wait, or are executed right now. Terminals of all threads may queue; a queue grows by some bytes with each.
#[derive(Debug)]
pub(super) struct Queue {
    sender: UnboundedSender<Queued>,
    receiver: Mutex<Option<UnboundedReceiver<Queued>>>,
    waiting: AtomicU64,
}

impl Queue {
    /// One for each guest, or none where deliveries are executed at once.
    pub(super) fn all(config: &TrialConfig) -> Vec<Self> {
        match config.delivery {
            DeliveryMode::Inline => Vec::new(),
            DeliveryMode::Deferred => config.guests.iter().map(|_| Self::new()).collect(),
        }
    }

    fn new() -> Self {
        let (sender, receiver) = unbounded_channel();
        Self {
            sender,
            receiver: Mutex::new(Some(receiver)),
            waiting: AtomicU64::new(0),
        }
    }

    pub(super) fn push(&self, input: DeliveryInput, at: Nanos, within: bool) {
        self.waiting.fetch_add(1, Relaxed);
        // The receiver is gone only when the trial is over.
        let _ = self.sender.send(Queued { input, at, within });
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.load(Relaxed) > 0
    }
}

/// Executes what is queued, one after the other.
pub(super) async fn execute(mut client: Client) {
    let (worker, guest, row) = (std::rc::Rc::clone(&client.worker), client.guest, client.row);
    let Some(queue) = worker.shared.queues.get(guest) else {
        return;
    };
    let receiver = queue
        .receiver
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    let Some(mut receiver) = receiver else { return };
    while let Some(queued) = receiver.recv().await {
        worker.set_working(row, true);
        let finished = client.transact(&Input::Delivery(queued.input)).await;
        worker.set_working(row, false);
        queue.waiting.fetch_sub(1, Relaxed);
        match finished.end {
            Ok(_) if queued.within => worker
                .tally(guest)
                .executed(finished.done.saturating_sub(queued.at)),
            Ok(_) => {}
            Err(fault) => worker.failure(guest, Kind::Delivery, fault, &finished.evidence),
        }
        if finished.is_last {
            return;
        }
    }
}
