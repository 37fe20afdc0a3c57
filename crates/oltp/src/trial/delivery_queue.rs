//! Deliveries that terminals leave to a worker.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use rookery_driver::Nanos;
use rookery_workload::orderentry::{DeliveryMode, terminal::DeliveryInput};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A delivery that waits.
#[derive(Clone, Debug)]
pub(super) struct QueuedDelivery {
    pub(super) input: DeliveryInput,
    pub(super) at: Nanos,
    /// Whether it was queued inside the window.
    pub(super) within: bool,
}

/// The deliveries of one guest that wait, or are executed right now. Terminals of all threads may
/// queue; a queue grows by some bytes with each.
#[derive(Debug)]
pub(super) struct DeliveryQueue {
    sender: UnboundedSender<QueuedDelivery>,
    receiver: Mutex<Option<UnboundedReceiver<QueuedDelivery>>>,
    waiting: AtomicU64,
}

impl DeliveryQueue {
    /// One for each guest, or none where deliveries are executed at once.
    pub(super) fn all(delivery: DeliveryMode, guests: usize) -> Vec<Self> {
        match delivery {
            DeliveryMode::Inline => Vec::new(),
            DeliveryMode::Deferred => (0..guests).map(|_| Self::new()).collect(),
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
        let _ = self.sender.send(QueuedDelivery { input, at, within });
    }

    /// The end of the queue from which deliveries are taken; once.
    pub(super) fn take_receiver(&self) -> Option<UnboundedReceiver<QueuedDelivery>> {
        self.receiver
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// A delivery that was taken has been executed.
    pub(super) fn executed(&self) {
        self.waiting.fetch_sub(1, Relaxed);
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.load(Relaxed) > 0
    }
}
