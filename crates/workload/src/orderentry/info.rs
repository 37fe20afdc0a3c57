//! Order entry as data: operations, unit of work, metrics.

use crate::{Clients, DriverRole, Metric, OperationInfo, OperationRole, UnitOfWork, WorkloadInfo};

/// Operation of a committed or rolled-back New-Order.
pub const NEW_ORDER: &str = "new-order";

/// The operations, in the order of mixes: the names under which their times are recorded.
pub const TRANSACTIONS: [&str; 5] = [
    NEW_ORDER,
    "payment",
    "order-status",
    "delivery",
    "stock-level",
];

/// Order entry.
pub static INFO: WorkloadInfo = WorkloadInfo {
    name: "orderentry",
    title: "order entry",
    operations: &OPERATIONS,
    unit: UnitOfWork {
        singular: "New-Order",
        plural: "New-Orders",
        rate: "nopm",
    },
    times: "Retries are in the time of a transaction, pauses are not.",
    clients: Clients {
        singular: "terminal",
        plural: "terminals",
    },
    metrics: &METRICS,
    headline: "nopm",
    driver: DriverRole::Observer,
    own_checks: Some(
        "transactions: failures, empty districts, the database's own count, hit ratio",
    ),
};

const OPERATIONS: [OperationInfo; 5] = [
    OperationInfo {
        name: TRANSACTIONS[0],
        role: OperationRole::Main,
    },
    OperationInfo::part(TRANSACTIONS[1]),
    OperationInfo::part(TRANSACTIONS[2]),
    OperationInfo::part(TRANSACTIONS[3]),
    OperationInfo::part(TRANSACTIONS[4]),
];

/// What its counters yield.
pub(super) static METRICS: [Metric; 17] = [
    Metric::higher(
        "nopm",
        "1/min",
        "Committed New-Orders per minute of the window, without those that roll back on purpose.",
    ),
    Metric::higher(
        "tpm",
        "1/min",
        "Completed transactions of all types per minute of the window, rolled-back New-Orders \
         included.",
    ),
    Metric::neither(
        "completed",
        "transactions",
        "Transactions that completed in the window, rolled-back New-Orders included.",
    ),
    Metric::neither(
        "new_orders",
        "transactions",
        "New-Orders that were committed in the window.",
    ),
    Metric::neither(
        "rolled_back",
        "transactions",
        "New-Orders that asked for an unused item and rolled back in the window.",
    ),
    Metric::lower(
        "failed_or_unknown",
        "transactions",
        "Transactions of the window that failed, or whose outcome no answer told.",
    ),
    Metric::lower(
        "retries",
        "transactions",
        "Transactions that were executed again in the window.",
    ),
    Metric::lower(
        "short_deliveries",
        "transactions",
        "Deliveries in the window that found a district without an undelivered order.",
    ),
    Metric::lower(
        "reconnections",
        "connections",
        "Connections that were made again in the whole trial.",
    ),
    Metric::neither(
        "deferred_queued",
        "deliveries",
        "Deliveries that were queued in the window to be executed later.",
    ),
    Metric::neither(
        "deferred_in_time",
        "deliveries",
        "Queued deliveries that were executed within 80 s.",
    ),
    Metric::higher(
        "database_nopm",
        "1/min",
        "Orders per minute by the database's own numbers.",
    ),
    Metric::higher(
        "buffer_hit_ratio",
        "",
        "Share of the pages asked for that were in the buffer pool.",
    ),
    Metric::neither(
        "logical_reads",
        "pages",
        "Pages that the database was asked for.",
    ),
    Metric::neither(
        "buffer_misses",
        "pages",
        "Pages asked for that were not in the buffer pool.",
    ),
    Metric::neither("buffer_pool_bytes", "bytes", "Size of the buffer pool."),
    Metric::neither(
        "database_bytes",
        "bytes",
        "Size of the database at the end of the window.",
    ),
];
