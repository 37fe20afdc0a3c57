//! Version 6: a study keeps for its workload, its stack, its load and its guests the keys of the
//! kinds that they are, and no others; the counters of a guest are one document, whatever its
//! workload; reasons have codes.

use rusqlite::Transaction;

use super::{Migration, MigrationError, Step, plan_json, rewrite};
use crate::{
    CellError,
    cells::{Cells, int},
    insert::insert,
    workloads,
};

pub(super) const MIGRATION: Migration = Migration {
    steps: &[
        Step::Rows(studies),
        Step::Sql(MAKE_GUESTS),
        Step::Rows(move_guests),
        Step::Sql("DROP TABLE guests; ALTER TABLE guests_new RENAME TO guests;"),
        Step::Sql(CODES),
    ],
};

const MAKE_GUESTS: &str = "
CREATE TABLE guests_new (
    trial INTEGER NOT NULL REFERENCES trials, guest TEXT NOT NULL, position INTEGER NOT NULL,
    group_name TEXT NOT NULL DEFAULT 'all', users INTEGER NOT NULL, busy_s REAL, idle_s REAL,
    drawn_delay_mean_s REAL, actual_delay_mean_s REAL, workload TEXT NOT NULL,
    counters_json TEXT NOT NULL,
    PRIMARY KEY (trial, guest)
) STRICT, WITHOUT ROWID;
CREATE TABLE metrics (
    trial INTEGER NOT NULL, guest TEXT NOT NULL, position INTEGER NOT NULL, metric TEXT NOT NULL,
    unit TEXT NOT NULL, value REAL,
    PRIMARY KEY (trial, guest, metric), FOREIGN KEY (trial, guest) REFERENCES guests
) STRICT, WITHOUT ROWID;";

/// The words of version 5, by code.
const CODES: &str = "
ALTER TABLE reasons ADD COLUMN code TEXT NOT NULL DEFAULT '';
UPDATE reasons SET code = CASE
    WHEN reason LIKE 'the driver used % of its CPUs%' THEN 'cpu'
    WHEN reason LIKE 'the driver''s % lag %' THEN 'lag'
    WHEN reason LIKE 'Little''s law%' THEN 'little'
    WHEN reason LIKE 'the users were there for%' THEN 'presence'
    WHEN reason LIKE 'think times were%' THEN 'pacing'
    WHEN reason LIKE '% users never connected' THEN 'unconnected'
    WHEN reason LIKE '% by a fault of the driver itself' THEN 'driver-errors'
    WHEN reason LIKE '% because the driver ran out of local%' THEN 'exhausted'
    WHEN reason LIKE '% of % arrivals % were dropped%' THEN 'arrivals-dropped'
    WHEN reason LIKE '% arrivals were drawn, but %' THEN 'arrivals-lost'
    WHEN reason LIKE '% died under load%' THEN 'guest-died'
    WHEN reason LIKE '% ran out of memory under load%' THEN 'out-of-memory'
    WHEN reason LIKE '% answered no request well%' THEN 'silent'
    ELSE '' END;";

fn studies(transaction: &Transaction<'_>) -> Result<(), MigrationError> {
    rewrite(transaction, "run", "study_json", plan_json::upgrade_study)?;
    rewrite(transaction, "run", "plan_json", plan_json::upgrade_plan)
}

fn move_guests(transaction: &Transaction<'_>) -> Result<(), MigrationError> {
    let mut statement = transaction.prepare("SELECT * FROM guests")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let cells = Cells(row);
        let read = || {
            let counters = workloads::counters_of_v5(&cells)?;
            Ok((
                (cells.small("trial")?, cells.text("guest")?),
                (cells.count("position")?, cells.small("users")?),
                (
                    cells.optional_real("busy_s")?,
                    cells.optional_real("idle_s")?,
                ),
                cells.optional_real("drawn_delay_mean_s")?,
                cells.optional_real("actual_delay_mean_s")?,
                counters,
            ))
        };
        let ((trial, guest), (position, users), (busy, idle), drawn, actual, counters) =
            read().map_err(|error: CellError| MigrationError::damaged("guests", error))?;
        insert(
            transaction,
            "guests_new",
            &[
                ("trial", &trial),
                ("guest", &guest),
                ("position", &int(position)),
                ("users", &users),
                ("busy_s", &busy),
                ("idle_s", &idle),
                ("drawn_delay_mean_s", &drawn),
                ("actual_delay_mean_s", &actual),
                ("workload", &counters["workload"].as_str()),
                ("counters_json", &counters.to_string()),
            ],
        )?;
    }
    Ok(())
}
