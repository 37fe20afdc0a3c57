//! Version 9: programs that worked beside a trial.

use super::{Migration, Step};

pub(super) const MIGRATION: Migration = Migration {
    steps: &[Step::Sql(OTHER_PROGRAMS)],
};

const OTHER_PROGRAMS: &str = "
CREATE TABLE other_programs (
    trial INTEGER NOT NULL REFERENCES trials, position INTEGER NOT NULL, name TEXT NOT NULL,
    cpu_cores REAL NOT NULL, disk_bytes_per_s REAL NOT NULL, memory_bytes INTEGER NOT NULL,
    PRIMARY KEY (trial, position)
) STRICT, WITHOUT ROWID;";
