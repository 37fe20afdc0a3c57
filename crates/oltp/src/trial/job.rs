//! What the connections of a trial do: the part that each workload has of its own.

use std::{fmt::Debug, net::IpAddr, path::PathBuf, time::Duration};

use rookery_driver::{
    GuestLoad, Load, LoadDescription, OperationId, OperationTable, Phases, Span, Visit,
    allow_descriptors, check_open_load,
};
use rookery_stats::{Mode, Pacing as Spacing};
use rookery_workload::Counters;
use tokio::time::timeout;

use super::Threads;
use crate::{ClientError, OltpError, Target};

/// A guest of a trial, as far as connections go.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Its name in results.
    pub(crate) name: String,
    /// Its database.
    pub(crate) target: Target,
    /// Connections that carry the load.
    pub(crate) connections: u32,
}

/// What all trials have.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    pub(crate) guests: Vec<Place>,
    pub(crate) threads: Threads,
    /// Network namespace that the threads enter.
    pub(crate) network: Option<PathBuf>,
    pub(crate) load: Load,
    pub(crate) phases: Phases,
    /// From where to where the pauses of a closed load last.
    pub(crate) spacing: Spacing,
    /// How long a connection is tried for before the whole trial is given up.
    pub(crate) patience: Option<Duration>,
    pub(crate) seed: u64,
    /// Foreign addresses that the user confirmed.
    pub(crate) confirmed: Vec<IpAddr>,
}

impl Common {
    /// Refuses what cannot be. `background` is connections of each guest beside those of the load.
    pub(crate) fn check(&self, background: u32) -> Result<(), OltpError> {
        if self.threads.placement().is_empty()
            || self.guests.is_empty()
            || self.guests.iter().any(|guest| guest.connections == 0)
        {
            return Err(OltpError::setting(
                "there must be at least one thread and one guest, and at least one terminal at \
                 each guest",
            ));
        }
        if self.phases.steady.is_zero() {
            return Err(OltpError::setting(
                "the steady window must be longer than 0 s",
            ));
        }
        if self.network.is_none() {
            self.guests
                .iter()
                .try_for_each(|guest| guest.target.refuse_foreign(&self.confirmed))?;
        }
        let connections = self
            .guests
            .iter()
            .map(|guest| u64::from(guest.connections) + u64::from(background));
        Ok(allow_descriptors(connections.sum())?)
    }

    /// Refuses an open load that cannot be.
    pub(crate) fn check_arrivals(&self) -> Result<(), OltpError> {
        let Load::Open(load) = &self.load else {
            return Ok(());
        };
        let threads = self.threads.placement().len();
        check_open_load(load, self.guests.len(), threads)?;
        let too_few = |guest: &Place| (guest.connections as usize) < threads;
        if self.guests.iter().any(too_few) {
            return Err(OltpError::setting(
                "an open load needs at least one connection at each guest for each thread of the \
                 driver",
            ));
        }
        Ok(())
    }

    /// The load as it is stored with the measurement.
    pub(crate) fn description(&self, operations: OperationTable) -> LoadDescription<'_> {
        let guests = self.guests.iter().map(|guest| GuestLoad {
            name: &guest.name,
            users: if self.load == Load::Closed {
                guest.connections
            } else {
                0
            },
            operations,
        });
        let (mode, pacing, open) = match &self.load {
            Load::Closed => (Mode::Closed, self.spacing, None),
            Load::Open(load) => {
                let mode = match load.visit {
                    Visit::Single => Mode::Open,
                    Visit::GoOn(_) | Visit::Acts(_) => Mode::PartlyOpen,
                };
                (mode, Spacing::Arrivals, Some(load))
            }
        };
        LoadDescription {
            mode,
            pacing,
            cpus: self.threads.cpus(),
            open,
            guests: guests.collect(),
        }
    }
}

/// A connection of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) guest: usize,
    /// Its number at its guest; behind the last is one that works in the background.
    pub(crate) number: u32,
}

/// What the connections of a trial do.
pub(crate) trait Job: Debug + Send + Sync + Sized + 'static {
    /// A connection with what is prepared on it.
    type Session: 'static;
    /// What the connections of one guest count.
    type Tally: JobTally;

    /// The operations as they are recorded.
    fn operations(&self) -> OperationTable;

    /// The operation that stands for any of them, where one does.
    fn whole(&self) -> Option<OperationId>;

    /// Nothing was counted yet.
    fn tally(&self) -> Self::Tally;

    /// The counters of a guest as they are stored.
    fn counters(&self, tally: &Self::Tally, window: Span) -> Counters;

    /// What one more connection of each guest does in the background, where one does.
    fn in_background(&self) -> Option<OperationId> {
        None
    }

    /// Whether something waits to be done in the background.
    fn is_waiting(&self) -> bool {
        false
    }

    /// Connects and prepares.
    fn connect(&self, target: &Target) -> impl Future<Output = Result<Self::Session, OltpError>>;
}

/// What the connections of one guest count beside the times of their operations.
pub(crate) trait JobTally: Debug + Send + 'static {
    /// Adds what others counted.
    fn add(&mut self, other: &Self);

    /// A connection was made again.
    fn reconnected(&mut self);

    /// Nobody knows what became of an operation.
    fn doubtful(&mut self, operation: OperationId);
}

/// Connects and prepares, within the target's patience.
pub(crate) async fn open<J: Job>(job: &J, target: &Target) -> Result<J::Session, OltpError> {
    let patience = target.patience.answer;
    match timeout(patience, job.connect(target)).await {
        Ok(opened) => opened,
        Err(_) => Err(OltpError::Connect {
            target: target.to_string(),
            why: ClientError::Timeout(patience),
        }),
    }
}
