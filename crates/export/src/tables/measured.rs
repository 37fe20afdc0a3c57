//! What was measured in a trial, as it is stored.

use crate::{
    Table,
    column::{Source, flag, number, text, whole},
};

pub(super) const MEASUREMENTS: Table = Table {
    name: "measurements",
    row: "measured group of a trial: its window, and the evidence of the driver about itself",
    columns: &[
        whole("trial", "Number of the trial."),
        whole(
            "part",
            "Place of the measured group in its point, from 0; 0 of points without groups.",
        ),
        text("load_model", "`closed`, `open` or `partly-open`.").from("mode"),
        text("pacing", "`think`, `cycle` or `arrivals`."),
        number(
            "window_start_s",
            "Begin of the window that counts, since the common start.",
        ),
        number("window_end_s", "Its end."),
        text(
            "aborted",
            "Why the load ended early; nothing where it did not.",
        ),
        text("driver_cpus", "CPUs of the driver, joined by commas."),
        number(
            "driver_cpu_share",
            "CPU time of the driver inside the window, over that of its CPUs.",
        ),
        number(
            "driver_cpu_ms_per_request",
            "CPU time of the driver for a request.",
        )
        .from("driver_cpu_us_per_request / 1000.0"),
        number(
            "driver_run_queue_share",
            "Time that the driver waited for its CPUs, over its run time.",
        ),
        number("lag_mean_ms", "How late requests were started: mean.").from("lag_mean_us / 1000.0"),
        number("lag_p50_ms", "Median.").from("lag_p50_us / 1000.0"),
        number("lag_p99_ms", "99th percentile.").from("lag_p99_us / 1000.0"),
        number("lag_max_ms", "Largest.").from("lag_max_us / 1000.0"),
        whole("unconnected_users", "Users that never connected."),
        number("connect_s", "Time until all users were connected."),
        number(
            "little_error_share",
            "Deviation from Little's law, over the population.",
        )
        .from("little_error"),
        whole("connections", "Connections that were opened."),
        whole(
            "idle_retries",
            "Requests that were sent again, because a server had closed an idle connection.",
        ),
        text(
            "arrivals_spacing",
            "How arrivals were spaced: `poisson` or `uniform`; nothing of a closed load.",
        )
        .from("json_extract(arrivals_json, '$.spacing')"),
        text(
            "arrivals_precision",
            "`exact`, or `batched` by milliseconds.",
        )
        .from("json_extract(arrivals_json, '$.precision')"),
        whole(
            "arrivals_drawn",
            "Arrivals that the schedule held inside the window.",
        )
        .from("json_extract(arrivals_json, '$.drawn')"),
        whole("arrivals_started", "Of these, started.")
            .from("json_extract(arrivals_json, '$.started')"),
        whole(
            "arrivals_dropped",
            "Of these, never started: as many visitors as allowed were present.",
        )
        .from("json_extract(arrivals_json, '$.dropped')"),
    ],
    source: Source::Stored {
        from: "measurements",
        order: "trial, part",
    },
};

pub(super) const LIMITS: Table = Table {
    name: "limits",
    row: "limit of a guest in a trial",
    columns: &[
        whole("trial", "Number of the trial.").from("r.trial"),
        text("guest", "Name of the guest."),
        text("operation", "The operation; nothing for all requests of the guest together."),
        number("percentile", "The percentile of response times that is limited; nothing of a limit of errors."),
        number("limit_ms", "The limit of a percentile.")
            .from("CASE WHEN percentile IS NOT NULL THEN limit_us_or_share / 1000.0 END"),
        number("value_ms", "The percentile; nothing where it was not judged, or lies among operations that never finished.")
            .from("CASE WHEN percentile IS NOT NULL THEN value_us_or_share / 1000.0 END"),
        number("limit_share", "The limit of failed and unfinished operations, 0 to 1.")
            .from("CASE WHEN percentile IS NULL THEN limit_us_or_share END"),
        number("value_share", "The share of failed and unfinished operations.")
            .from("CASE WHEN percentile IS NULL THEN value_us_or_share END"),
        whole("samples", "Number of operations behind the value."),
        text("verdict", "`met`, `missed` or `not judged`: too few operations.")
            .from("CASE outcome WHEN 'passed' THEN 'met' WHEN 'failed' THEN 'missed' ELSE 'not judged' END"),
        flag("marginal", "Whether the 95 % bounds of the value lie on both sides of the limit."),
        flag("binding", "Whether it is the limit that decided over the trial.")
            .from("coalesce(v.binding_rule = r.position, 0)"),
    ],
    source: Source::Stored {
        from: "rules r JOIN verdicts v ON v.trial = r.trial AND v.part = r.part",
        order: "r.trial, r.part, r.position",
    },
};

pub(super) const METRICS: Table = Table {
    name: "metrics",
    row: "metric of the workload, of a guest",
    columns: &[
        whole("trial", "Number of the trial."),
        text("guest", "Name of the guest."),
        text("metric", "Name of the metric, see below."),
        text("unit", "Its unit; empty for a plain number."),
        number(
            "value",
            "Its value; nothing where it could not be computed.",
        ),
    ],
    source: Source::Stored {
        from: "metrics",
        order: "trial, guest, position",
    },
};

pub(super) const COUNTERS: Table = Table {
    name: "counters",
    row: "counter of the workload, of a guest; metrics follow from them",
    columns: &[
        whole("trial", "Number of the trial."),
        text("guest", "Name of the guest."),
        text(
            "counter",
            "Name of the counter, with the place in a list or matrix: `matrix[2][1]`.",
        )
        .from("substr(c.fullkey, 3)"),
        number("value", "Its value.").from("c.atom"),
    ],
    source: Source::Stored {
        from: "guests g JOIN json_tree(g.counters_json) c ON c.type IN ('integer', 'real')",
        order: "trial, guest, c.id",
    },
};

pub(super) const SECONDS: Table = Table {
    name: "seconds",
    row: "second of a guest",
    columns: &[
        whole("trial", "Number of the trial."),
        text("guest", "Name of the guest."),
        whole("second", "Since the common start; 0 is the first."),
        whole("requests", "Successful requests completed in it."),
        whole("units", "Units of work completed in it.").from("orders"),
        whole("failed", "Failed requests.").from("errors"),
        number(
            "service_p50_ms",
            "Median service time of the requests; 0 without any.",
        )
        .from("p50_us / 1000.0"),
        number("service_p95_ms", "95th percentile.").from("p95_us / 1000.0"),
        number("service_p99_ms", "99th percentile.").from("p99_us / 1000.0"),
        number("service_max_ms", "Largest.").from("max_us / 1000.0"),
    ],
    source: Source::Stored {
        from: "seconds",
        order: "trial, guest, second",
    },
};

pub(super) const ERRORS: Table = Table {
    name: "errors",
    row: "class of failures of a guest",
    columns: &[
        whole("trial", "Number of the trial."),
        text("guest", "Name of the guest."),
        text("class", "Class."),
        text("sub_class", "Sub-class: `refused`, `500`, `truncated`."),
        whole("count", "How many over the whole trial."),
    ],
    source: Source::Stored {
        from: "errors",
        order: "trial, guest, position",
    },
};

pub(super) const ERROR_EXAMPLES: Table = Table {
    name: "error_examples",
    row: "failure that was kept as an example",
    columns: &[
        whole("trial", "Number of the trial.").from("x.trial"),
        text("guest", "Name of the guest.").from("x.guest"),
        text("class", "Class.").from("e.class"),
        text("sub_class", "Sub-class.").from("e.sub_class"),
        number("at_s", "When, since the common start."),
        text("operation", "The operation."),
        text("detail", "What happened, with the begin of the answer."),
    ],
    source: Source::Stored {
        from: "error_examples x JOIN errors e ON e.trial = x.trial AND e.guest = x.guest AND \
               e.position = x.position",
        order: "x.trial, x.guest, x.position, x.example",
    },
};
