//! How stores of earlier versions become stores of this one.
//!
//! The schema is the one of version [`OLDEST`] (`v5.sql`) and every migration since. A new store is
//! made by the same steps as an old one is brought forward, so both have the same schema to the
//! letter, and a stored schema can be compared with the model of its own version.
//!
//! The list is append-only: a migration that was released is never changed, moved or removed,
//! because stores exist that went through it. To change the schema, or the shape of a stored JSON
//! document, write a file with a `MIGRATION` beside this one (`v6.rs`), append it to
//! [`MIGRATIONS`], and look at the tests over the stores in `tests/data`. A migration that was not
//! released yet may still grow.

mod json;
mod plan_json;
#[cfg(test)]
mod tests;
mod v10;
mod v11;
mod v12;
mod v13;
mod v14;
mod v15;
mod v16;
mod v6;
mod v7;
mod v8;
mod v9;

use rusqlite::{Transaction, TransactionBehavior};

use json::rewrite;

use crate::damage::Damage;

/// The oldest version that can be brought forward.
pub(crate) const OLDEST: i64 = 5;
/// What each version after [`OLDEST`] changed, in order.
pub(crate) const MIGRATIONS: &[Migration] = &[
    v6::MIGRATION,
    v7::MIGRATION,
    v8::MIGRATION,
    v9::MIGRATION,
    v10::MIGRATION,
    v11::MIGRATION,
    v12::MIGRATION,
    v13::MIGRATION,
    v14::MIGRATION,
    v15::MIGRATION,
    v16::MIGRATION,
];
/// The schema of version [`OLDEST`].
pub(crate) const BASE: &str = include_str!("v5.sql");

/// The step from one version to the next.
pub(crate) struct Migration {
    /// What it does, in order.
    pub(crate) steps: &'static [Step],
}

/// A part of a migration.
pub(crate) enum Step {
    /// Changes the schema, and rows as far as SQL can.
    #[allow(dead_code, reason = "for the migrations to come")]
    Sql(&'static str),
    /// Changes rows where SQL does not reach. Leaves the schema alone, and does not run where a new
    /// store is made: there are no rows.
    Rows(fn(&Transaction<'_>) -> Result<(), MigrationError>),
}

/// Why a store could not be brought forward.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MigrationError {
    /// The database refused.
    #[error(transparent)]
    Database(#[from] rusqlite::Error),
    /// What stands in the store cannot be right.
    #[error("table {table} is damaged: {source}")]
    Damaged {
        /// The table.
        table: &'static str,
        /// What is wrong.
        source: Damage,
    },
}

impl MigrationError {
    /// Contents of a table that cannot be right.
    pub(crate) fn damaged(table: &'static str, source: impl Into<Damage>) -> Self {
        Self::Damaged {
            table,
            source: source.into(),
        }
    }
}

/// The version after all of `migrations`.
pub(crate) const fn newest(migrations: &[Migration]) -> i64 {
    OLDEST + migrations.len().cast_signed() as i64
}

/// The migrations of a store of version `found`; none for a version that is not known.
fn after(migrations: &'static [Migration], found: i64) -> &'static [Migration] {
    let done = usize::try_from(found - OLDEST).unwrap_or(usize::MAX);
    migrations.get(done..).unwrap_or_default()
}

/// Bring a store to the newest version of `migrations`, in one transaction, which is handed back to
/// be looked at and committed.
///
/// # Errors
/// When the database refuses, or what is stored cannot be brought forward.
pub(crate) fn migrate<'c>(
    connection: &'c rusqlite::Connection,
    migrations: &'static [Migration],
) -> Result<Transaction<'c>, MigrationError> {
    // Tables that are made anew are dropped first: references must not follow them. SQLite takes
    // this setting outside of transactions alone.
    connection.pragma_update(None, "foreign_keys", false)?;
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let found = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for step in after(migrations, found).iter().flat_map(|next| next.steps) {
        match step {
            Step::Sql(sql) => transaction.execute_batch(sql)?,
            Step::Rows(change) => change(&transaction)?,
        }
    }
    transaction.pragma_update(None, "user_version", newest(migrations))?;
    check_references(&transaction)?;
    Ok(transaction)
}

/// No row may refer to one that is not there.
fn check_references(transaction: &Transaction<'_>) -> Result<(), MigrationError> {
    let mut statement = transaction.prepare("PRAGMA foreign_key_check")?;
    let mut rows = statement.query([])?;
    match rows.next()? {
        None => Ok(()),
        Some(row) => {
            let table = row.get(0)?;
            Err(MigrationError::damaged(
                "sqlite_schema",
                Damage::Reference { table },
            ))
        }
    }
}
