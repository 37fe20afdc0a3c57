//! Version 10: how databases were loaded, and how long guests stood still by their quota.

use super::{Migration, Step};

pub(super) const MIGRATION: Migration = Migration {
    steps: &[Step::Sql(LOADS)],
};

const LOADS: &str = "
CREATE TABLE loads (
    trial INTEGER NOT NULL REFERENCES trials, position INTEGER NOT NULL, guest TEXT, template TEXT,
    built INTEGER NOT NULL, database TEXT NOT NULL, create_s REAL, rows_s REAL, index_s REAL,
    check_s REAL, close_s REAL, rows INTEGER NOT NULL, bytes INTEGER NOT NULL,
    PRIMARY KEY (trial, position)
) STRICT, WITHOUT ROWID;
ALTER TABLE resources ADD COLUMN throttled_cores REAL;";
