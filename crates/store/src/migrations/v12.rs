//! Version 12: the files that the study names, by their digests.

use super::{Migration, Step};

pub(super) const MIGRATION: Migration = Migration {
    steps: &[Step::Sql(FILES)],
};

const FILES: &str = "
CREATE TABLE files (
    name TEXT NOT NULL PRIMARY KEY, path TEXT, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL
) STRICT, WITHOUT ROWID;";
