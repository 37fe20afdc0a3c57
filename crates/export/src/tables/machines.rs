//! Looks at virtual machines.

use crate::{
    Table,
    column::{Source, number, text, whole},
};

pub(super) const MACHINES: Table = Table {
    name: "machines",
    row: "look at a virtual machine; its numbers count from its start",
    columns: &[
        whole("trial", "Number of the trial."),
        text("guest", "Name of the guest."),
        number("at_s", "When, since the common start."),
        number(
            "outside_cpu_s",
            "CPU time of the machine's processes, as the host counts it.",
        )
        .from("outside_cpu_us / 1e6"),
        number("vcpu_s", "CPU time of its vCPUs.").from("vcpu_us / 1e6"),
        number(
            "vcpu_wait_s",
            "Time that its vCPUs waited for a CPU of the host.",
        )
        .from("vcpu_wait_us / 1e6"),
        whole("balloon_bytes", "Memory that its balloon leaves it."),
        whole("resident_bytes", "Resident memory of its processes."),
        whole("reads", "Reads of its disks."),
        whole("read_bytes", "What they read."),
        whole("writes", "Writes."),
        whole("written_bytes", "What they wrote."),
        whole("flushes", "Flushes."),
        number("disk_s", "Time spent in these requests.").from("disk_us / 1e6"),
        whole("received_bytes", "Received from the network."),
        whole("sent_bytes", "Sent to it."),
        whole("dropped", "Packets that were dropped."),
        number(
            "inside_uptime_s",
            "Time since its boot; this and what follows is nothing where the guest did not answer.",
        )
        .from("inside_uptime_us / 1e6"),
        number(
            "inside_user_s",
            "Its CPU time in programs, as its own kernel counts it.",
        )
        .from("inside_user_us / 1e6"),
        number("inside_system_s", "In its kernel.").from("inside_system_us / 1e6"),
        number("inside_idle_s", "Idle.").from("inside_idle_us / 1e6"),
        number("inside_iowait_s", "Waiting for its disks.").from("inside_iowait_us / 1e6"),
        number("inside_steal_s", "Ready to run, but not run by the host.")
            .from("inside_steal_us / 1e6"),
        whole("inside_memory_bytes", "Its memory."),
        whole("inside_available_bytes", "Of it, available."),
        number(
            "inside_cpu_pressure_s",
            "Time in which a task waited for a CPU.",
        )
        .from("inside_cpu_pressure_us / 1e6"),
        number("inside_memory_pressure_s", "For memory.").from("inside_memory_pressure_us / 1e6"),
        number("inside_io_pressure_s", "For its disks.").from("inside_io_pressure_us / 1e6"),
    ],
    source: Source::Stored {
        from: "machines",
        order: "trial, position",
    },
};
