//! The metrics of guests: what their counters yield, as rows for queries and exports. They are not
//! read back.

use rookery_workload::Counters;
use rusqlite::Transaction;

use crate::{
    CellError,
    cells::{Cells, int},
    insert::insert,
    migrations::MigrationError,
};

/// Write the metrics of a guest.
pub(crate) fn write(
    transaction: &Transaction<'_>,
    trial: u32,
    guest: &str,
    counters: &Counters,
) -> rusqlite::Result<()> {
    for (position, metric) in counters.metrics().iter().enumerate() {
        insert(
            transaction,
            "metrics",
            &[
                ("trial", &trial),
                ("guest", &guest),
                ("position", &int(position as u64)),
                ("metric", &metric.metric.name),
                ("unit", &metric.metric.unit),
                ("value", &metric.value),
            ],
        )?;
    }
    Ok(())
}

/// Write the metrics of all guests anew, from their counters: those of a store that was brought
/// forward are the metrics of this version.
///
/// # Errors
/// When the database refuses, or counters are damaged.
pub(crate) fn fill(transaction: &Transaction<'_>) -> Result<(), MigrationError> {
    transaction.execute("DELETE FROM metrics", [])?;
    let mut statement = transaction.prepare("SELECT trial, guest, counters_json FROM guests")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let cells = Cells(row);
        let read = || {
            Ok((
                cells.small("trial")?,
                cells.text("guest")?,
                cells.counters("counters_json")?,
            ))
        };
        let (trial, guest, counters) =
            read().map_err(|error: CellError| MigrationError::damaged("guests", error))?;
        write(transaction, trial, &guest, &counters)?;
    }
    Ok(())
}
