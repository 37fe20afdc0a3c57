//! The workload as data: operations, unit of work, metrics.

use super::{CmsOperation, operation::OPERATION_COUNT};
use crate::{Clients, DriverRole, Metric, OperationInfo, OperationRole, UnitOfWork, WorkloadInfo};

/// Any of the eight operations.
pub const OPERATION: &str = "operation";

/// Content management.
pub static INFO: WorkloadInfo = WorkloadInfo {
    name: "cms",
    title: "Content management",
    operations: &OPERATIONS,
    unit: UnitOfWork {
        singular: "operation",
        plural: "operations",
        rate: "operations/min",
    },
    times: "The time of an operation is that of all its requests: one for a page that is read, two \
            for a logout, three for a login or a creation.",
    clients: Clients {
        singular: "user",
        plural: "users",
    },
    metrics: &METRICS,
    headline: "operations_per_minute",
    driver: DriverRole::Observer,
    own_checks: Some(
        "which operation followed which against the matrix, row by row (chi-square at 0.1 %, two \
         percentage points)",
    ),
};

static OPERATIONS: [OperationInfo; OPERATION_COUNT + 1] = operations();

/// Any operation, then each by itself.
const fn operations() -> [OperationInfo; OPERATION_COUNT + 1] {
    let mut out = [OperationInfo {
        name: OPERATION,
        role: OperationRole::Whole,
    }; OPERATION_COUNT + 1];
    let mut place = 0;
    while place < OPERATION_COUNT {
        out[place + 1] = OperationInfo::part(CmsOperation::ALL[place].name());
        place += 1;
    }
    out
}

/// What the counters yield, in this order.
pub(super) static METRICS: [Metric; 14] = [
    Metric::higher(
        "operations_per_minute",
        "operations/min",
        "Operations that went well, per minute of the window.",
    ),
    Metric::higher(
        "operations_per_s",
        "operations/s",
        "Operations that went well, per second of the window.",
    ),
    Metric::lower(
        "failed_pct",
        "%",
        "Operations of the window that failed, of all.",
    ),
    Metric::lower(
        "primary_failures",
        "operations",
        "Operations of the window that failed by themselves.",
    ),
    Metric::lower(
        "consequential_failures",
        "operations",
        "Operations of the window that failed because an earlier one of the same user had failed: \
         what needs a login after a login that failed.",
    ),
    Metric::lower(
        "mean_response_ms",
        "ms",
        "Mean time of an operation of the window, all its requests together.",
    ),
    Metric::neither(
        "requests_per_operation",
        "requests",
        "Mean requests of an operation of the window.",
    ),
    Metric::neither(
        "logouts",
        "operations",
        "Logouts of the window: as many as visits by users who logged in.",
    ),
    Metric::neither(
        "nodes_created",
        "nodes",
        "Stories and pages that were created in the window.",
    ),
    Metric::neither(
        "nodes_per_minute",
        "nodes/min",
        "Stories and pages that were created, per minute of the window.",
    ),
    Metric::higher(
        "offered_pct",
        "%",
        "Operations of the window, of those that so many users would make if every answer came \
         within its cycle.",
    ),
    Metric::higher(
        "received_mib_per_s",
        "MiB/s",
        "Bodies that all users received in the window.",
    ),
    Metric::neither(
        "nodes_created_from_start",
        "nodes",
        "Stories and pages that users were told of over the whole trial.",
    ),
    Metric::lower(
        "nodes_unanswered",
        "nodes",
        "Stories and pages that were sent, but whose outcome no answer told.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_stands_behind_the_whole_one() {
        let names = CmsOperation::ALL.map(CmsOperation::name);
        let listed = INFO.operations.iter().skip(1).map(|one| one.name);
        assert_eq!(listed.collect::<Vec<_>>(), names);
        assert_eq!(INFO.main_operation(), OPERATION);
    }
}
