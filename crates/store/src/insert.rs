//! Writing one row: every value stands beside the name of its column.

use rusqlite::{ToSql, Transaction};

/// Insert a row. Columns that are not named stay NULL.
///
/// # Errors
/// When the database refuses.
pub(crate) fn insert(
    transaction: &Transaction<'_>,
    table: &str,
    row: &[(&str, &dyn ToSql)],
) -> rusqlite::Result<()> {
    let mut sql = format!("INSERT INTO {table} (");
    let mut places = String::new();
    for (index, (column, _)) in row.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        sql.push_str(comma);
        sql.push_str(column);
        places.push_str(comma);
        places.push('?');
    }
    sql.push_str(") VALUES (");
    sql.push_str(&places);
    sql.push(')');
    let values: Vec<&dyn ToSql> = row.iter().map(|(_, value)| *value).collect();
    transaction
        .prepare_cached(&sql)?
        .execute(values.as_slice())?;
    Ok(())
}
