//! Version 16: what programs that measured a trial said of it.

use super::{Migration, Step};

pub(super) const MIGRATION: Migration = Migration {
    steps: &[Step::Sql(OUTPUTS)],
};

const OUTPUTS: &str = "
CREATE TABLE outputs (
    trial INTEGER NOT NULL REFERENCES trials, position INTEGER NOT NULL,
    guest TEXT NOT NULL, program TEXT NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (trial, position)
) STRICT;";
