//! Users whose statements are data, as what the connections of a trial do.

use std::time::Duration;

use rookery_cast::count_u8;
use rookery_driver::{OperationId, OperationTable, Pace, Span, seconds};
use rookery_workload::{
    Counters,
    data_driven::{Course, RecordCount, Steps},
    sql::{OPERATION, SqlCounters, SqlWorkload},
};

use super::{StatementsConfig, compiled::Compiled, session::StatementSession};
use crate::{
    OltpError, Target,
    trial::job::{Job, JobTally},
};

/// Any operation.
const WHOLE: OperationId = OperationId::new(0);

/// The place of an operation in the table.
pub(super) fn id_of(operation: usize) -> OperationId {
    OperationId::new(count_u8(operation + 1))
}

/// Users whose statements are data.
#[derive(Debug)]
pub(crate) struct Statements {
    pub(super) workload: SqlWorkload,
    pub(super) compiled: Compiled,
    pub(super) pace: Pace,
    /// Limit on an operation that has none of its own.
    pub(super) timeout: Duration,
    operations: OperationTable,
}

impl Statements {
    /// Users of `config` who do what `workload` says: that of `config`, with its secrets.
    pub(super) fn new(
        config: &StatementsConfig,
        workload: SqlWorkload,
        compiled: Compiled,
    ) -> Self {
        let names = workload.operations.iter().map(|one| one.name.as_str());
        let mean = workload
            .operations
            .iter()
            .map(|one| one.delay.mean)
            .sum::<Duration>()
            / rookery_cast::count_u32(workload.operations.len()).max(1);
        Self {
            operations: OperationTable::of_names(OPERATION, names),
            pace: Pace {
                pacing: config.pacing,
                // Each operation has its own pause; this one spreads the first operations of users.
                time: mean,
                distribution: rookery_workload::DelayDistribution::Constant,
            },
            timeout: config.timeout,
            workload,
            compiled,
        }
    }

    pub(super) fn course(&self) -> Course<'_> {
        self.workload.course(&self.compiled.of_session)
    }
}

/// What the users of one guest count.
#[derive(Clone, Debug)]
pub(crate) struct StatementTally {
    pub(super) counters: SqlCounters,
    /// What each operation counts.
    counts: Vec<Option<String>>,
}

impl StatementTally {
    /// An operation that makes a record ended well, or nobody knows whether it did.
    pub(super) fn record(&mut self, operation: usize, acknowledged: bool) {
        if let Some(Some(what)) = self.counts.get(operation) {
            RecordCount::count(&mut self.counters.records, what, acknowledged);
        }
    }
}

impl JobTally for StatementTally {
    fn add(&mut self, other: &Self) {
        self.counters.merge(&other.counters);
    }

    fn reconnected(&mut self) {
        self.counters.reconnections += 1;
    }

    fn doubtful(&mut self, operation: OperationId) {
        if let Some(operation) = operation.index().checked_sub(1) {
            self.record(operation, false);
        }
    }
}

impl Job for Statements {
    type Session = StatementSession;
    type Tally = StatementTally;

    fn operations(&self) -> OperationTable {
        self.operations
    }

    fn whole(&self) -> Option<OperationId> {
        Some(WHOLE)
    }

    fn tally(&self) -> StatementTally {
        let operations = &self.workload.operations;
        let names = operations.iter().map(|one| one.name.as_str());
        StatementTally {
            counters: SqlCounters {
                records: self.workload.records(),
                steps: Steps::new(&self.workload.walk, names),
                ..SqlCounters::default()
            },
            counts: operations.iter().map(|one| one.counts.clone()).collect(),
        }
    }

    fn counters(&self, tally: &StatementTally, window: Span) -> Counters {
        Counters::Sql(SqlCounters {
            window_s: seconds(window.length()),
            ..tally.counters.clone()
        })
    }

    async fn connect(&self, target: &Target) -> Result<StatementSession, OltpError> {
        StatementSession::open(target, &self.compiled.texts).await
    }
}
