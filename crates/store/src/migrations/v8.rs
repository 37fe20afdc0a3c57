//! Version 8: a trial has a measurement and a verdict for each group of guests.

use super::{Migration, Step};

pub(super) const MIGRATION: Migration = Migration {
    steps: &[Step::Sql(PARTS)],
};

/// Until version 7 the guests of a trial were one group: part 0.
const PARTS: &str = "
ALTER TABLE guests ADD COLUMN part INTEGER NOT NULL DEFAULT 0;
CREATE TABLE measurements_of_parts (
    trial INTEGER NOT NULL REFERENCES trials, part INTEGER NOT NULL, mode TEXT NOT NULL,
    pacing TEXT NOT NULL, window_start_s REAL, window_end_s REAL, aborted TEXT,
    driver_cpus TEXT NOT NULL, driver_cpu_share REAL, driver_cpu_us_per_request REAL,
    driver_run_queue_share REAL, lag_mean_us REAL, lag_p50_us INTEGER NOT NULL,
    lag_p99_us INTEGER NOT NULL, lag_max_us INTEGER NOT NULL, unconnected_users INTEGER NOT NULL,
    connect_s REAL, little_error REAL, connections INTEGER NOT NULL, idle_retries INTEGER NOT NULL,
    arrivals_json TEXT,
    PRIMARY KEY (trial, part)
) STRICT, WITHOUT ROWID;
INSERT INTO measurements_of_parts
    SELECT trial, 0, mode, pacing, window_start_s, window_end_s, aborted, driver_cpus,
        driver_cpu_share, driver_cpu_us_per_request, driver_run_queue_share, lag_mean_us,
        lag_p50_us, lag_p99_us, lag_max_us, unconnected_users, connect_s, little_error,
        connections, idle_retries, arrivals_json
    FROM measurements;
DROP TABLE measurements;
ALTER TABLE measurements_of_parts RENAME TO measurements;
CREATE TABLE rules_of_parts (
    trial INTEGER NOT NULL REFERENCES trials, part INTEGER NOT NULL, position INTEGER NOT NULL,
    guest TEXT NOT NULL, operation TEXT, percentile REAL, limit_us_or_share REAL,
    value_us_or_share REAL, samples INTEGER NOT NULL, outcome TEXT NOT NULL,
    marginal INTEGER NOT NULL,
    PRIMARY KEY (trial, part, position)
) STRICT, WITHOUT ROWID;
INSERT INTO rules_of_parts
    SELECT trial, 0, position, guest, operation, percentile, limit_us_or_share, value_us_or_share,
        samples, outcome, marginal
    FROM rules;
DROP TABLE rules;
ALTER TABLE rules_of_parts RENAME TO rules;
CREATE TABLE verdicts_of_parts (
    trial INTEGER NOT NULL REFERENCES trials, part INTEGER NOT NULL, passed INTEGER NOT NULL,
    binding_rule INTEGER,
    PRIMARY KEY (trial, part)
) STRICT, WITHOUT ROWID;
INSERT INTO verdicts_of_parts SELECT trial, 0, passed, binding_rule FROM verdicts;
DROP TABLE verdicts;
ALTER TABLE verdicts_of_parts RENAME TO verdicts;";
