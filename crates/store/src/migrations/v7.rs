//! Version 7: audits keep every row of a workload's proof, and not its first alone.

use super::{Migration, Step};

pub(super) const MIGRATION: Migration = Migration {
    steps: &[Step::Sql(PROOFS)],
};

/// Until version 6 both workloads counted new orders first. A database that could not be audited
/// was written as one without orders.
const PROOFS: &str = "
CREATE TABLE proofs (
    trial INTEGER NOT NULL REFERENCES trials, guest TEXT NOT NULL, position INTEGER NOT NULL,
    what TEXT NOT NULL, found INTEGER, acknowledged INTEGER NOT NULL, unanswered INTEGER NOT NULL,
    PRIMARY KEY (trial, guest, position)
) STRICT, WITHOUT ROWID;
INSERT INTO proofs (trial, guest, position, what, found, acknowledged, unanswered)
    SELECT trial, guest, 0, 'new orders',
        CASE WHEN detail LIKE 'the database could not be audited%' THEN NULL
            ELSE orders_in_database END,
        orders_acknowledged, unanswered
    FROM audits;
ALTER TABLE audits DROP COLUMN orders_in_database;
ALTER TABLE audits DROP COLUMN orders_acknowledged;
ALTER TABLE audits DROP COLUMN unanswered;";
