//! What was seen beside the load: resources, audits, settings, logs, buffer pools.

use crate::{
    Table,
    column::{Source, flag, number, text, whole},
};

pub(super) const RESOURCES: Table = Table {
    name: "resources",
    row: "sample of the host, the driver or a guest",
    columns: &[
        whole("trial", "Number of the trial."),
        text(
            "subject",
            "`host`, `driver` or the name of a guest; `host@b` of one of several hosts of a trial.",
        ),
        number("at_s", "When, since the common start; negative before it."),
        number("cpu_cores", "Cores used since the sample before."),
        whole("memory_bytes", "Resident memory."),
        number(
            "reads_per_s",
            "Reads of block devices since the sample before.",
        ),
        number("writes_per_s", "Writes."),
        number("read_bytes_per_s", "What they read."),
        number("written_bytes_per_s", "What they wrote."),
        number("user_cores", "Of `cpu_cores`: in programs."),
        number("system_cores", "In the kernel of the host."),
        number("guest_cores", "In the code of a virtual machine."),
        number("emulator_cores", "In all else of its emulator."),
        number(
            "throttled_cores",
            "CPUs that stood still because the guest had used up its quota; nothing where nobody counts.",
        ),
        whole("swap_bytes", "Memory in swap; nothing where nobody tells."),
        number(
            "major_faults_per_s",
            "Faults that waited for a disk, since the sample before.",
        ),
        number(
            "refaults_per_s",
            "Pages that were read again soon after they had been dropped.",
        ),
        number(
            "scanned_pages_per_s",
            "Pages that the kernel looked at to free memory; nothing in control groups of version 1.",
        ),
        number("reclaimed_pages_per_s", "Pages that it took."),
        number(
            "memory_some_share",
            "Share of the time in which a task waited for memory; nothing where the kernel does not tell.",
        ),
        number(
            "memory_full_share",
            "Share of the time in which no task went on for want of memory.",
        ),
    ],
    source: Source::Stored {
        from: "resources",
        order: "trial, position",
    },
};

pub(super) const OTHER_PROGRAMS: Table = Table {
    name: "other_programs",
    row: "program that was no part of a trial, the most CPU first",
    columns: &[
        whole("trial", "Number of the trial."),
        text("name", "Name of the program."),
        number("cpu_cores", "Cores that its processes used in the window."),
        number(
            "disk_bytes_per_s",
            "What they read from and wrote to disks, as far as that could be read.",
        ),
        whole("memory_bytes", "Their resident memory."),
    ],
    source: Source::Stored {
        from: "other_programs",
        order: "trial, position",
    },
};

pub(super) const KERNEL_COUNTS: Table = Table {
    name: "kernel_counts",
    row: "counter of the kernel in the window of a trial",
    columns: &[
        whole("trial", "Number of the trial."),
        text(
            "scope",
            "`host`, a CPU, a guest, `lab` for the network of the lab, or an interface of one of \
             them.",
        ),
        text(
            "counter",
            "What is counted; the unit stands at its end where it is no plain count.",
        ),
        whole(
            "count",
            "By how much it grew; of sockets and their memory the value at the end.",
        ),
    ],
    source: Source::Stored {
        from: "kernel_counts",
        order: "trial, position",
    },
};

pub(super) const LOADS: Table = Table {
    name: "loads",
    row: "database of a trial: how long it took to be made",
    columns: &[
        whole("trial", "Number of the trial."),
        text(
            "guest",
            "The guest in which it was loaded; nothing of a template.",
        ),
        text("template", "Digest of the template that holds it."),
        flag("built", "Whether it was loaded for this trial."),
        text("database", "The database in words."),
        number("load_s", "Create, rows and indexes together.").from("create_s + rows_s + index_s"),
        number("create_s", "The empty database."),
        number("rows_s", "The rows."),
        number(
            "index_s",
            "Keys, indexes and statistics after the last row.",
        ),
        number("check_s", "Checks of what arrived."),
        number("close_s", "The orderly stop."),
        whole("rows", "Rows in all tables."),
        whole(
            "bytes",
            "Bytes of the database; 0 where nobody counts them.",
        ),
    ],
    source: Source::Stored {
        from: "loads",
        order: "trial, position",
    },
};

pub(super) const AUDITS: Table = Table {
    name: "audits",
    row: "guest of a trial that was audited",
    columns: &[
        whole("trial", "Number of the trial.").from("a.trial"),
        text("guest", "Name of the guest.").from("a.guest"),
        flag("killed", "Whether the guest was killed."),
        flag("consistent", "Whether it holds what its users were told."),
        text("detail", "In words."),
        text("what", "The unit of work, as the server keeps it.").from("p.what"),
        whole(
            "found",
            "Records found after the trial; nothing where they were not counted.",
        )
        .from("p.found"),
        whole("acknowledged", "Records that users were told of.").from("p.acknowledged"),
        whole(
            "unanswered",
            "Records that users asked for without an answer.",
        )
        .from("p.unanswered"),
    ],
    source: Source::Stored {
        from: "audits a LEFT JOIN proofs p ON p.trial = a.trial AND p.guest = a.guest AND \
               p.position = 0",
        order: "a.trial, a.position",
    },
};

pub(super) const PROOFS: Table = Table {
    name: "proofs",
    row: "kind of record that an audit compared",
    columns: &[
        whole("trial", "Number of the trial.").from("p.trial"),
        text("guest", "Name of the guest.").from("p.guest"),
        text("what", "The kind of record."),
        whole(
            "found",
            "Records found after the trial; nothing where they were not counted.",
        ),
        whole("acknowledged", "Records that users were told of."),
        whole(
            "unanswered",
            "Records that users asked for without an answer.",
        ),
    ],
    source: Source::Stored {
        from: "proofs p JOIN audits a ON a.trial = p.trial AND a.guest = p.guest",
        order: "p.trial, a.position, p.position",
    },
};

pub(super) const TUNINGS: Table = Table {
    name: "tunings",
    row: "setting of a guest or the host",
    columns: &[
        whole("trial", "Number of the trial."),
        text("guest", "Name of the guest, or `host`."),
        text("name", "Name of the setting."),
        text("asked", "Asked for."),
        text("effective", "In force at the start."),
        text("at_end", "In force at the end."),
    ],
    source: Source::Stored {
        from: "tunings",
        order: "trial, position",
    },
};

pub(super) const LOGS: Table = Table {
    name: "logs",
    row: "guest whose log was kept",
    columns: &[
        whole("trial", "Number of the trial."),
        text("guest", "Name of the guest."),
        text("text", "Tail of its log."),
    ],
    source: Source::Stored {
        from: "logs",
        order: "trial, position",
    },
};

pub(super) const OUTPUTS: Table = Table {
    name: "outputs",
    row: "guest that a program other than Rookery's driver measured",
    columns: &[
        whole("trial", "Number of the trial."),
        text("guest", "Name of the guest."),
        text("program", "The program, with its version."),
        text("text", "What it said, such as the JSON of iperf3."),
    ],
    source: Source::Stored {
        from: "outputs",
        order: "trial, position",
    },
};

pub(super) const POOLS: Table = Table {
    name: "pools",
    row: "point whose buffer pool was sized to hold a hit ratio",
    columns: &[
        whole("point", "Number of the point."),
        number("target_share", "Hit ratio that was asked for, 0 to 1.").from("target"),
        whole("pool_bytes", "Size of the buffer pool that is held.").from("bytes"),
        number("hit_share", "Hit ratio that was measured with it.").from("hit"),
        flag("reached", "Whether that is as near as was asked for."),
    ],
    source: Source::Stored {
        from: "pools",
        order: "point",
    },
};

pub(super) const POOL_ROUNDS: Table = Table {
    name: "pool_rounds",
    row: "size of a buffer pool that was tried",
    columns: &[
        whole("point", "Number of the point."),
        whole("round", "1, 2, 3, ...").from("r.key + 1"),
        whole("pool_bytes", "Size of the buffer pool.").from("json_extract(r.value, '$.bytes')"),
        number("hit_share", "Hit ratio that was measured with it.")
            .from("json_extract(r.value, '$.hit')"),
    ],
    source: Source::Stored {
        from: "pools, json_each(pools.rounds_json) r",
        order: "point, r.key",
    },
};
