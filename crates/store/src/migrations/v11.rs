//! Version 11: what the kernel counted inside the window.

use super::{Migration, Step};

pub(super) const MIGRATION: Migration = Migration {
    steps: &[Step::Sql(KERNEL_COUNTS)],
};

const KERNEL_COUNTS: &str = "
CREATE TABLE kernel_counts (
    trial INTEGER NOT NULL REFERENCES trials, position INTEGER NOT NULL, scope TEXT NOT NULL,
    counter TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (trial, position)
) STRICT, WITHOUT ROWID;";
