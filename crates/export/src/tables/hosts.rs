//! The hosts of a fleet, and which of them performed a trial.

use crate::{
    Table,
    column::{Source, flag, number, text, whole},
};

pub(super) const HOSTS: Table = Table {
    name: "hosts",
    row: "host of the fleet that performed the run; none of a run on one machine",
    columns: &[
        text("host", "Its name in the hosts file."),
        text("hostname", "Its own name."),
        text("kernel", "Kernel release."),
        text("cpu_model", "CPU model."),
        whole("cpus", "CPUs that were lent."),
        whole("memory_mib", "Memory that was lent."),
    ],
    source: Source::Stored {
        from: "hosts",
        order: "host",
    },
};

pub(super) const TRIAL_HOSTS: Table = Table {
    name: "trial_hosts",
    row: "host of a fleet that performed a trial, or its part of one",
    columns: &[
        whole("trial", "Number of the trial."),
        text("host", "Name of the host in the hosts file."),
        number(
            "clock_offset_ms",
            "How far its clock was ahead of the controller's.",
        )
        .from("clock_offset_us / 1000.0"),
        number("clock_bound_ms", "How wrong that may be at most.").from("clock_bound_us / 1000.0"),
        flag("clock_stepped", "Whether a clock was stepped meanwhile."),
    ],
    source: Source::Stored {
        from: "trial_hosts",
        order: "trial, host",
    },
};
