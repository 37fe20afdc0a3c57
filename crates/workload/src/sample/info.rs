//! The sample workload as data: operations, unit of work, metrics.

use serde::{Deserialize, Serialize};

use crate::{Clients, DriverRole, Metric, OperationInfo, OperationRole, UnitOfWork, WorkloadInfo};

/// What a user does, one request each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampleOperation {
    /// Read one record.
    Read,
    /// Read several records in a row.
    List,
    /// Add a record: the unit of work.
    Write,
}

impl SampleOperation {
    /// Every operation, in the order of [`INFO`] and of rows and columns of the matrix.
    pub const ALL: [Self; 3] = [Self::Read, Self::List, Self::Write];

    /// Its place in [`ALL`](Self::ALL).
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Its name in study files, tables and stored runs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        OPERATIONS[self.index()].name
    }
}

/// The sample workload.
pub static INFO: WorkloadInfo = WorkloadInfo {
    name: "sample",
    title: "Sample",
    operations: &OPERATIONS,
    unit: UnitOfWork {
        singular: "write",
        plural: "writes",
        rate: "writes/min",
    },
    times: "Pauses are not in the time of an operation.",
    clients: Clients {
        singular: "user",
        plural: "users",
    },
    metrics: &METRICS,
    headline: "writes_per_min",
    driver: DriverRole::Observer,
    own_checks: Some("transitions between operations against the matrix"),
};

const OPERATIONS: [OperationInfo; 3] = [
    OperationInfo::part("read"),
    OperationInfo::part("list"),
    OperationInfo {
        name: "write",
        role: OperationRole::Main,
    },
];

/// What its counters yield.
pub(super) static METRICS: [Metric; 7] = [
    Metric::higher(
        "writes_per_min",
        "writes/min",
        "Records written per minute over the window.",
    ),
    Metric::neither(
        "records_read",
        "records",
        "Records read one by one in the window.",
    ),
    Metric::neither(
        "records_listed",
        "records",
        "Records read by lists in the window.",
    ),
    Metric::neither(
        "records_written",
        "records",
        "Records written in the window.",
    ),
    Metric::lower("write_mean_ms", "ms", "Mean time of a write in the window."),
    Metric::neither(
        "records_written_from_start",
        "records",
        "Records whose write was acknowledged over the whole trial.",
    ),
    Metric::lower(
        "writes_unanswered",
        "records",
        "Writes that were sent, but whose outcome no answer told.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_stand_where_their_index_says() {
        for (operation, info) in SampleOperation::ALL.into_iter().zip(INFO.operations) {
            assert_eq!(operation.name(), info.name);
        }
        assert_eq!(INFO.main_operation(), SampleOperation::Write.name());
    }
}
