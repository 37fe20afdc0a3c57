//! Warming a database by a stated procedure, so that "warm" means the same in every trial.

use super::sql::{DATABASE, Database, SqlError};

/// What was read while warming.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Warmed {
    /// Indexes read from end to end; each table's rows are one of them.
    pub indexes: u64,
    /// Entries of all these.
    pub entries: u64,
}

/// Read every index of every table of the shop once, from end to end.
///
/// The procedure: for each index of `information_schema.STATISTICS` but the full-text ones,
/// `COUNT(*)` over the table with that index forced, in the order of tables and indexes by name;
/// the rows of a table are its primary key, or the unique one that stands for it, or are read for
/// themselves. Then one search of each full-text index, for a word that nothing holds: this loads
/// its dictionary. What does not fit into the buffer pool is evicted again.
///
/// # Errors
/// When the server refuses a query.
pub fn warm(database: &mut Database) -> Result<Warmed, SqlError> {
    warm_schema(database, DATABASE)
}

/// The same for the tables of any schema.
pub(crate) fn warm_schema(database: &mut Database, schema: &str) -> Result<Warmed, SqlError> {
    let indexes: Vec<(String, String, bool, String)> = database.query(&format!(
        "SELECT DISTINCT TABLE_NAME, INDEX_NAME, NON_UNIQUE, IF(INDEX_TYPE = 'FULLTEXT', \
         COLUMN_NAME, '') FROM information_schema.STATISTICS \
         WHERE TABLE_SCHEMA = '{schema}' ORDER BY 1, 2"
    ))?;
    let tables: Vec<(String,)> = database.query(&format!(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{schema}' AND \
         TABLE_TYPE = 'BASE TABLE' ORDER BY 1"
    ))?;
    let mut warmed = Warmed::default();
    let mut read = |statement: &str| -> Result<(), SqlError> {
        let entries = database.number(statement)?.cast_unsigned();
        warmed.indexes += 1;
        warmed.entries += entries;
        Ok(())
    };
    for (table, index, _, searched) in &indexes {
        if searched.is_empty() {
            read(&format!(
                "SELECT COUNT(*) FROM {schema}.{table} FORCE INDEX (`{index}`)"
            ))?;
        } else {
            read(&format!(
                "SELECT COUNT(*) FROM {schema}.{table} WHERE MATCH({searched}) \
                 AGAINST('rookerywarmsup')"
            ))?;
        }
    }
    // The rows of a table without a unique key are in no index: to count without any reads them.
    for (table,) in &tables {
        let keyed = indexes
            .iter()
            .any(|(of, _, repeats, _)| of == table && !repeats);
        if !keyed {
            read(&format!(
                "SELECT COUNT(*) FROM {schema}.{table} USE INDEX ()"
            ))?;
        }
    }
    Ok(warmed)
}
