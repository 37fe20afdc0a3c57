//! Version 15: a trial has a row for each host that performed a part of it.
//!
//! Names of several hosts stood in one row, joined by commas, without their clocks: what is known
//! of these stands among the settings of the trial.

use super::{Migration, Step};

pub(super) const MIGRATION: Migration = Migration {
    steps: &[Step::Sql(ONE_ROW_PER_HOST)],
};

/// The limit is for damaged stores: more names than any run has.
const ONE_ROW_PER_HOST: &str = "
ALTER TABLE trial_hosts RENAME TO joined_hosts;
CREATE TABLE trial_hosts (
    trial INTEGER NOT NULL REFERENCES trials, host TEXT NOT NULL,
    clock_offset_us INTEGER, clock_bound_us INTEGER, clock_stepped INTEGER,
    PRIMARY KEY (trial, host)
) STRICT, WITHOUT ROWID;
WITH RECURSIVE each_host (trial, host, others) AS (
    SELECT trial, NULL, host || ', ' FROM joined_hosts
    UNION ALL
    SELECT trial, substr(others, 1, instr(others, ', ') - 1),
        substr(others, instr(others, ', ') + 2)
    FROM each_host WHERE others != '' LIMIT 1000000
)
INSERT OR IGNORE INTO trial_hosts
SELECT each_host.trial, each_host.host,
    coalesce(joined.clock_offset_us, CAST(told.effective AS INTEGER)),
    coalesce(joined.clock_bound_us,
        CAST(substr(told.effective, instr(told.effective, ' known to ') + 10) AS INTEGER)),
    coalesce(joined.clock_stepped, told.effective LIKE '%, set meanwhile')
FROM each_host JOIN joined_hosts AS joined USING (trial)
LEFT JOIN tunings AS told
    ON told.trial = each_host.trial AND told.name = 'host.' || each_host.host || '.clock'
WHERE each_host.host IS NOT NULL;
DROP TABLE joined_hosts;";
