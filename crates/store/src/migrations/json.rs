//! Changing JSON documents that stand in a column.

use rusqlite::{Transaction, params};
use serde_json::Value;

use super::MigrationError;
use crate::cells::CellError;

/// Put every JSON document of a column through `change`; NULL stays. What `change` does not find
/// where it looks it leaves alone: whoever reads the document afterwards says what is wrong with
/// it.
///
/// # Errors
/// When the database refuses, or a cell holds something else than JSON.
pub(super) fn rewrite(
    transaction: &Transaction<'_>,
    table: &'static str,
    column: &'static str,
    change: impl Fn(&mut Value),
) -> Result<(), MigrationError> {
    let mut select = transaction.prepare(&format!(
        "SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL"
    ))?;
    let documents: Vec<String> = select
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    // By content and not by row: tables without row ids have none to go by.
    let mut update = transaction.prepare(&format!(
        "UPDATE {table} SET {column} = ?2 WHERE {column} = ?1"
    ))?;
    let mut changed = Vec::new();
    for old in documents {
        let mut document: Value = serde_json::from_str(&old).map_err(|source| {
            let column = column.to_owned();
            MigrationError::damaged(table, CellError::Json { column, source })
        })?;
        change(&mut document);
        changed.push((old, document.to_string()));
    }
    for (old, new) in changed.iter().filter(|(old, new)| old != new) {
        update.execute(params![old, new])?;
    }
    Ok(())
}
