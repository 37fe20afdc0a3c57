//! The netstream workload as data: its operation, unit of work, metrics.

use serde::{Deserialize, Serialize};

use crate::{Clients, DriverRole, Metric, OperationInfo, OperationRole, UnitOfWork, WorkloadInfo};

/// What a user does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetstreamOperation {
    /// Send a request, and receive its whole answer: the unit of work.
    Exchange,
}

impl NetstreamOperation {
    /// Its name in study files, tables and stored runs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        OPERATIONS[self as usize].name
    }
}

/// The netstream workload.
pub static INFO: WorkloadInfo = WorkloadInfo {
    name: "netstream",
    title: "Netstream",
    operations: &OPERATIONS,
    unit: UnitOfWork {
        singular: "exchange",
        plural: "exchanges",
        rate: "exchanges/min",
    },
    times: "Pauses are not in the time of an exchange; where each opens a connection, connecting \
            is.",
    clients: Clients {
        singular: "connection",
        plural: "connections",
    },
    metrics: &METRICS,
    headline: "exchanges_per_min",
    driver: DriverRole::End,
    own_checks: Some("CPU time: guests and driver together against the host"),
};

const OPERATIONS: [OperationInfo; 1] = [OperationInfo {
    name: "exchange",
    role: OperationRole::Main,
}];

/// What its counters yield.
pub(super) static METRICS: [Metric; 24] = [
    Metric::higher(
        "exchanges_per_min",
        "exchanges/min",
        "Exchanges that ended in the window, per minute.",
    ),
    Metric::higher(
        "received_mbit_per_s",
        "Mbit/s",
        "Content of answers that was received over the window, in million bits per second; of an \
         answer that reaches over an end of the window what lies inside by time.",
    ),
    Metric::higher(
        "exchanges_per_s",
        "1/s",
        "Exchanges that ended in the window, per second.",
    ),
    Metric::neither(
        "exchanges",
        "exchanges",
        "Exchanges that ended in the window.",
    ),
    Metric::lower(
        "guest_cpu_s_per_gb",
        "s/GB",
        "CPU time of the guest for each 10^9 bytes of content.",
    ),
    Metric::lower(
        "partner_cpu_s_per_gb",
        "s/GB",
        "CPU time of the guests that sent the content to this one, for each 10^9 bytes of it.",
    ),
    Metric::lower(
        "driver_cpu_s_per_gb",
        "s/GB",
        "CPU time of the driver for each 10^9 bytes of content.",
    ),
    Metric::lower(
        "elsewhere_cpu_s_per_gb",
        "s/GB",
        "CPU time of the host for each 10^9 bytes of content that neither guests nor driver spent: \
         interrupts and waking idle CPUs, which no program is charged with, and other work.",
    ),
    Metric::lower(
        "host_cpu_s_per_gb",
        "s/GB",
        "CPU time of the whole host for each 10^9 bytes of content: guests, driver and elsewhere, \
         without what a hypervisor took.",
    ),
    Metric::lower(
        "guest_cpu_s_per_million",
        "s/10^6",
        "CPU time of the guest for a million exchanges.",
    ),
    Metric::lower(
        "partner_cpu_s_per_million",
        "s/10^6",
        "CPU time of the guests that answered this one, for a million exchanges.",
    ),
    Metric::lower(
        "driver_cpu_s_per_million",
        "s/10^6",
        "CPU time of the driver for a million exchanges.",
    ),
    Metric::lower(
        "elsewhere_cpu_s_per_million",
        "s/10^6",
        "CPU time of the host for a million exchanges that neither guests nor driver spent.",
    ),
    Metric::lower(
        "host_cpu_s_per_million",
        "s/10^6",
        "CPU time of the whole host for a million exchanges.",
    ),
    Metric::neither(
        "guest_system_share",
        "",
        "Share of the guest's CPU time in the host's kernel.",
    ),
    Metric::neither(
        "partner_system_share",
        "",
        "Share of the CPU time of the guests that answered this one in the host's kernel.",
    ),
    Metric::neither(
        "driver_system_share",
        "",
        "Share of the driver's CPU time in the kernel.",
    ),
    Metric::neither(
        "host_user_share",
        "",
        "Share of the host's CPU time in programs.",
    ),
    Metric::neither(
        "host_system_share",
        "",
        "Share of the host's CPU time in the kernel, interrupts apart.",
    ),
    Metric::neither(
        "host_interrupt_share",
        "",
        "Share of the host's CPU time in soft and hard interrupts.",
    ),
    Metric::lower(
        "resent_segments",
        "segments",
        "TCP segments that the guest's network sent again; where guests share the network of the \
         host, those of the host.",
    ),
    Metric::lower(
        "partner_resent_segments",
        "segments",
        "TCP segments that the networks of the guests that answered this one sent again, its part \
         by what it received.",
    ),
    Metric::neither(
        "exchanges_from_start",
        "exchanges",
        "Exchanges over the whole trial.",
    ),
    Metric::lower(
        "exchanges_unanswered",
        "exchanges",
        "Requests that were sent, but whose answer did not come whole.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operation_is_the_unit_of_work() {
        assert_eq!(INFO.main_operation(), NetstreamOperation::Exchange.name());
        assert_eq!(INFO.headline, METRICS[0].name);
        assert_eq!(INFO.unit.rate, METRICS[0].unit);
    }
}
