//! The workload as data: what holds of all workload files.

use crate::{Clients, DriverRole, Metric, OperationInfo, OperationRole, UnitOfWork, WorkloadInfo};

/// Any operation, with all that is loaded behind it.
pub const PAGE: &str = "page";

/// The workload as data. The operations of a workload file come beside the one that stands for any
/// of them.
pub static INFO: WorkloadInfo = WorkloadInfo {
    name: "http",
    title: "HTTP",
    operations: &[OperationInfo {
        name: PAGE,
        role: OperationRole::Whole,
    }],
    unit: UnitOfWork {
        singular: "page",
        plural: "pages",
        rate: "pages/min",
    },
    times: "The time of an operation runs from the first byte of its request to the last byte of its \
            last embedded object, redirects and connecting included.",
    clients: Clients {
        singular: "user",
        plural: "users",
    },
    metrics: &METRICS,
    headline: "pages_per_minute",
    driver: DriverRole::Observer,
    own_checks: Some(
        "which operation followed which against the mix of the workload (chi-square at 0.1 %, two \
         percentage points)",
    ),
};

/// What the counters yield, in this order.
pub(super) static METRICS: [Metric; 10] = [
    Metric::higher(
        "pages_per_minute",
        "pages/min",
        "operations that were answered well",
    ),
    Metric::higher("requests_per_second", "requests/s", "requests of all kinds"),
    Metric::neither("objects", "", "embedded objects that were loaded"),
    Metric::neither(
        "not_modified",
        "",
        "of them, those of which the server said that they had not changed",
    ),
    Metric::neither(
        "from_cache",
        "",
        "embedded objects that users still had and did not ask for",
    ),
    Metric::neither("redirects", "", "redirects that were followed"),
    Metric::neither(
        "received_mib_per_s",
        "MiB/s",
        "bodies that were received, as sent",
    ),
    Metric::neither("sessions", "", "sessions that ended as the mix says"),
    Metric::neither("tls_handshakes", "", "full handshakes of TLS"),
    Metric::neither("tls_resumed", "", "handshakes that resumed a TLS session"),
];
