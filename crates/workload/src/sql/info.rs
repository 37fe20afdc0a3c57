//! The workload as data: what holds of all of them.

use crate::{Clients, DriverRole, Metric, OperationInfo, OperationRole, UnitOfWork, WorkloadInfo};

/// Any operation, with all its statements.
pub const OPERATION: &str = "operation";

/// The workload as data. The operations of a workload file come beside the one that stands for any
/// of them.
pub static INFO: WorkloadInfo = WorkloadInfo {
    name: "sql",
    title: "SQL",
    operations: &[OperationInfo {
        name: OPERATION,
        role: OperationRole::Whole,
    }],
    unit: UnitOfWork {
        singular: "operation",
        plural: "operations",
        rate: "operations/min",
    },
    times: "The time of an operation runs from the first byte of its first statement to the last byte \
            of its last answer, begin and commit of a transaction, retries and connecting included.",
    clients: Clients {
        singular: "connection",
        plural: "connections",
    },
    metrics: &METRICS,
    headline: "operations_per_minute",
    driver: DriverRole::Observer,
    own_checks: Some(
        "which operation followed which against the mix of the workload (chi-square at 0.1 %, two \
         percentage points)",
    ),
};

/// What the counters yield, in this order.
pub(super) static METRICS: [Metric; 7] = [
    Metric::higher(
        "operations_per_minute",
        "operations/min",
        "operations that did well",
    ),
    Metric::higher(
        "statements_per_second",
        "statements/s",
        "statements of operations, without begin and commit",
    ),
    Metric::neither("rows", "", "rows that were answered"),
    Metric::neither("transactions", "", "transactions that were committed"),
    Metric::lower(
        "retries",
        "",
        "attempts after a deadlock, a lock that came too late or a conflict of transactions",
    ),
    Metric::neither("sessions", "", "sessions that ended as the mix says"),
    Metric::lower("reconnections", "", "connections that were made again"),
];
