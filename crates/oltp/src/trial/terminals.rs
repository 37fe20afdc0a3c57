//! Terminals of order entry, as what the connections of a trial do.

use rookery_driver::{OperationId, OperationTable, Span};
use rookery_workload::{
    Counters,
    orderentry::{DeliveryMode, Kind},
};

use super::{
    TrialConfig,
    delivery_queue::DeliveryQueue,
    job::{Job, JobTally},
    operations::{OPERATIONS, kind_of, operation},
    tally::Tally,
};
use crate::{DbSession, OltpError, Target};

/// Terminals of order entry.
#[derive(Debug)]
pub(crate) struct Terminals {
    pub(super) config: TrialConfig,
    /// By guest, where deliveries are deferred.
    pub(super) queues: Vec<DeliveryQueue>,
}

impl Terminals {
    pub(super) fn new(config: &TrialConfig) -> Self {
        Self {
            queues: DeliveryQueue::all(config.delivery, config.guests.len()),
            config: config.clone(),
        }
    }
}

impl JobTally for Tally {
    fn add(&mut self, other: &Self) {
        self.add(other);
    }

    fn reconnected(&mut self) {
        self.reconnections += 1;
    }

    fn doubtful(&mut self, operation: OperationId) {
        if let Some(kind) = kind_of(operation) {
            self.doubtful(kind);
        }
    }
}

impl Job for Terminals {
    type Session = DbSession;
    type Tally = Tally;

    fn operations(&self) -> OperationTable {
        OPERATIONS
    }

    fn whole(&self) -> Option<OperationId> {
        None
    }

    fn tally(&self) -> Tally {
        Tally::default()
    }

    fn counters(&self, tally: &Tally, window: Span) -> Counters {
        Counters::Orderentry(tally.counters(window, self.config.delivery))
    }

    fn in_background(&self) -> Option<OperationId> {
        let is_deferred = self.config.delivery == DeliveryMode::Deferred;
        is_deferred.then(|| operation(Kind::Delivery))
    }

    fn is_waiting(&self) -> bool {
        self.queues.iter().any(DeliveryQueue::is_waiting)
    }

    async fn connect(&self, target: &Target) -> Result<DbSession, OltpError> {
        DbSession::open(target, self.config.session).await
    }
}
