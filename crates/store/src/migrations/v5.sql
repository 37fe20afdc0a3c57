CREATE TABLE run (
    id INTEGER PRIMARY KEY CHECK (id = 1), run_id TEXT NOT NULL, title TEXT NOT NULL, study_file TEXT NOT NULL,
    study_text TEXT NOT NULL, study_json TEXT NOT NULL, plan_json TEXT NOT NULL, host_json TEXT NOT NULL,
    rookery_version TEXT NOT NULL, created_at TEXT NOT NULL
) STRICT;
CREATE TABLE points (
    point INTEGER PRIMARY KEY, variant INTEGER NOT NULL, levels TEXT NOT NULL, layouts TEXT NOT NULL, guests INTEGER NOT NULL, vcpus REAL NOT NULL, users INTEGER NOT NULL,
    rate_per_s REAL, memory_mib INTEGER NOT NULL, database TEXT NOT NULL, capacity_cpus REAL, baseline_point INTEGER,
    search INTEGER
) STRICT;
CREATE TABLE trials (
    trial INTEGER PRIMARY KEY, point INTEGER NOT NULL REFERENCES points, repeat INTEGER NOT NULL, block INTEGER NOT NULL, seed TEXT NOT NULL,
    purpose TEXT NOT NULL, status TEXT NOT NULL, attempts INTEGER NOT NULL, started_at TEXT, ended_at TEXT
) STRICT;
CREATE TABLE attempts (
    trial INTEGER NOT NULL REFERENCES trials, attempt INTEGER NOT NULL, started_at TEXT NOT NULL, ended_at TEXT, ended_as TEXT,
    PRIMARY KEY (trial, attempt)
) STRICT, WITHOUT ROWID;
CREATE TABLE records (
    trial INTEGER PRIMARY KEY REFERENCES trials, outcome TEXT NOT NULL, ready_s REAL
) STRICT;
CREATE TABLE reasons (
    trial INTEGER NOT NULL REFERENCES trials, position INTEGER NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (trial, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE measurements (
    trial INTEGER PRIMARY KEY REFERENCES trials, mode TEXT NOT NULL, pacing TEXT NOT NULL, window_start_s REAL, window_end_s REAL,
    aborted TEXT, driver_cpus TEXT NOT NULL, driver_cpu_share REAL, driver_cpu_us_per_request REAL, driver_run_queue_share REAL,
    lag_mean_us REAL, lag_p50_us INTEGER NOT NULL, lag_p99_us INTEGER NOT NULL, lag_max_us INTEGER NOT NULL,
    unconnected_users INTEGER NOT NULL, connect_s REAL, little_error REAL, connections INTEGER NOT NULL, idle_retries INTEGER NOT NULL,
    arrivals_json TEXT
) STRICT;
CREATE TABLE guests (
    trial INTEGER NOT NULL REFERENCES trials, guest TEXT NOT NULL, position INTEGER NOT NULL, users INTEGER NOT NULL,
    busy_s REAL, idle_s REAL, drawn_delay_mean_s REAL, actual_delay_mean_s REAL,
    n_overall INTEGER NOT NULL, opm REAL, rt_tot_avg_msec REAL, rt_tot_lastn_max_msec REAL, n_rollbacks_overall INTEGER NOT NULL,
    rollback_rate REAL, n_login_overall INTEGER NOT NULL, n_newcust_overall INTEGER NOT NULL, n_browse_overall INTEGER NOT NULL,
    n_purchase_overall INTEGER NOT NULL, rt_login_avg_msec REAL, rt_newcust_avg_msec REAL, rt_browse_avg_msec REAL,
    rt_purchase_avg_msec REAL, n_purchase_from_start INTEGER NOT NULL, n_rollbacks_from_start INTEGER NOT NULL,
    n_purchase_unanswered INTEGER NOT NULL, orderentry_json TEXT,
    PRIMARY KEY (trial, guest)
) STRICT, WITHOUT ROWID;
CREATE TABLE operations (
    trial INTEGER NOT NULL, guest TEXT NOT NULL, operation TEXT NOT NULL, position INTEGER NOT NULL,
    started INTEGER NOT NULL, completed INTEGER NOT NULL, succeeded INTEGER NOT NULL, failed INTEGER NOT NULL, unfinished INTEGER NOT NULL,
    service_mean_us REAL, service_p50_us INTEGER, service_p95_us INTEGER, service_p99_us INTEGER, service_max_us INTEGER,
    service_hdr BLOB NOT NULL, service_overflow INTEGER NOT NULL, response_hdr BLOB NOT NULL, response_overflow INTEGER NOT NULL,
    PRIMARY KEY (trial, guest, operation), FOREIGN KEY (trial, guest) REFERENCES guests
) STRICT;
CREATE TABLE seconds (
    trial INTEGER NOT NULL, guest TEXT NOT NULL, second INTEGER NOT NULL, requests INTEGER NOT NULL, orders INTEGER NOT NULL,
    errors INTEGER NOT NULL, p50_us INTEGER NOT NULL, p95_us INTEGER NOT NULL, p99_us INTEGER NOT NULL, max_us INTEGER NOT NULL,
    PRIMARY KEY (trial, guest, second), FOREIGN KEY (trial, guest) REFERENCES guests
) STRICT, WITHOUT ROWID;
CREATE TABLE errors (
    trial INTEGER NOT NULL, guest TEXT NOT NULL, position INTEGER NOT NULL, class TEXT NOT NULL, sub_class TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (trial, guest, position), FOREIGN KEY (trial, guest) REFERENCES guests
) STRICT, WITHOUT ROWID;
CREATE TABLE error_examples (
    trial INTEGER NOT NULL, guest TEXT NOT NULL, position INTEGER NOT NULL, example INTEGER NOT NULL, at_s REAL, operation TEXT NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (trial, guest, position, example), FOREIGN KEY (trial, guest, position) REFERENCES errors
) STRICT, WITHOUT ROWID;
CREATE TABLE verdicts (
    trial INTEGER PRIMARY KEY REFERENCES trials, passed INTEGER NOT NULL, binding_rule INTEGER
) STRICT;
CREATE TABLE rules (
    trial INTEGER NOT NULL REFERENCES verdicts, position INTEGER NOT NULL, guest TEXT NOT NULL, operation TEXT,
    percentile REAL, limit_us_or_share REAL, value_us_or_share REAL, samples INTEGER NOT NULL, outcome TEXT NOT NULL, marginal INTEGER NOT NULL,
    PRIMARY KEY (trial, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE resources (
    trial INTEGER NOT NULL REFERENCES trials, position INTEGER NOT NULL, subject TEXT NOT NULL, at_s REAL, cpu_cores REAL,
    memory_bytes INTEGER NOT NULL, reads_per_s REAL, writes_per_s REAL, read_bytes_per_s REAL, written_bytes_per_s REAL,
    user_cores REAL, system_cores REAL, guest_cores REAL, emulator_cores REAL,
    PRIMARY KEY (trial, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE machines (
    trial INTEGER NOT NULL REFERENCES trials, position INTEGER NOT NULL, guest TEXT NOT NULL, at_s REAL, outside_cpu_us INTEGER NOT NULL,
    vcpu_us INTEGER NOT NULL, vcpu_wait_us INTEGER NOT NULL, balloon_bytes INTEGER NOT NULL, resident_bytes INTEGER NOT NULL,
    reads INTEGER NOT NULL, read_bytes INTEGER NOT NULL, writes INTEGER NOT NULL, written_bytes INTEGER NOT NULL, flushes INTEGER NOT NULL,
    disk_us INTEGER NOT NULL, received_bytes INTEGER NOT NULL, sent_bytes INTEGER NOT NULL, dropped INTEGER NOT NULL,
    inside_uptime_us INTEGER, inside_user_us INTEGER, inside_system_us INTEGER, inside_idle_us INTEGER, inside_iowait_us INTEGER,
    inside_steal_us INTEGER, inside_memory_bytes INTEGER, inside_available_bytes INTEGER, inside_cpu_pressure_us INTEGER,
    inside_memory_pressure_us INTEGER, inside_io_pressure_us INTEGER,
    PRIMARY KEY (trial, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE audits (
    trial INTEGER NOT NULL REFERENCES trials, position INTEGER NOT NULL, guest TEXT NOT NULL, orders_in_database INTEGER NOT NULL,
    orders_acknowledged INTEGER NOT NULL, unanswered INTEGER NOT NULL, killed INTEGER NOT NULL, consistent INTEGER NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (trial, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE tunings (
    trial INTEGER NOT NULL REFERENCES trials, position INTEGER NOT NULL, guest TEXT NOT NULL, name TEXT NOT NULL, asked TEXT NOT NULL,
    effective TEXT NOT NULL, at_end TEXT NOT NULL,
    PRIMARY KEY (trial, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE logs (
    trial INTEGER NOT NULL REFERENCES trials, position INTEGER NOT NULL, guest TEXT NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (trial, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE pools (
    point INTEGER PRIMARY KEY REFERENCES points, target REAL, bytes INTEGER NOT NULL, hit REAL, reached INTEGER NOT NULL, rounds_json TEXT NOT NULL
) STRICT;
CREATE TABLE notes (
    note INTEGER PRIMARY KEY, at TEXT NOT NULL, text TEXT NOT NULL
) STRICT;
