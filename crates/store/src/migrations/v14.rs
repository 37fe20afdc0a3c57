//! Version 14: what became of the memory of guests and of the host, sample by sample.

use super::{Migration, Step};

pub(super) const MIGRATION: Migration = Migration {
    steps: &[Step::Sql(MEMORY)],
};

const MEMORY: &str = "
ALTER TABLE resources ADD COLUMN swap_bytes INTEGER;
ALTER TABLE resources ADD COLUMN major_faults_per_s REAL;
ALTER TABLE resources ADD COLUMN refaults_per_s REAL;
ALTER TABLE resources ADD COLUMN scanned_pages_per_s REAL;
ALTER TABLE resources ADD COLUMN reclaimed_pages_per_s REAL;
ALTER TABLE resources ADD COLUMN memory_some_share REAL;
ALTER TABLE resources ADD COLUMN memory_full_share REAL;";
