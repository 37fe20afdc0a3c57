//! Bringing a store of an older version forward: in a copy where it is only read, in place where
//! the run goes on.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags, backup::Backup};

use crate::{
    StoreError,
    connection::{connect, distrust, unreadable},
    metrics,
    migrations::{MIGRATIONS, MigrationError, migrate},
    schema,
    whole_file::give_name,
};

/// Pages that are copied before others may have the file for a moment.
const PAGES_AT_A_TIME: i32 = 1000;

/// A copy of a store of an older version, brought forward. It lives in memory, or in a file without
/// a name where it is large, and goes with the connection.
///
/// # Errors
/// When the store is damaged, or there is no room for the copy.
pub(crate) fn copy(path: &Path, connection: &Connection) -> Result<Connection, StoreError> {
    let copied = || {
        let mut copy = Connection::open("")?;
        distrust(&copy)?;
        copy_pages(connection, &mut copy)?;
        Ok(copy)
    };
    let copy = copied().map_err(|source| unreadable(path, source))?;
    bring_forward(path, &copy)?;
    Ok(copy)
}

/// Bring a store of version `found` forward where it lies, in one transaction. A copy of it as it
/// was is kept beside it.
///
/// # Errors
/// When the store is damaged, or the disk refuses; the store is then as it was.
pub(crate) fn in_place(path: &Path, connection: &Connection, found: i64) -> Result<(), StoreError> {
    keep_copy(path, found)?;
    bring_forward(path, connection)
}

fn bring_forward(path: &Path, connection: &Connection) -> Result<(), StoreError> {
    let migrated = migrate(connection, MIGRATIONS).and_then(|transaction| {
        metrics::fill(&transaction)?;
        Ok(transaction)
    });
    let transaction = migrated.map_err(|error| failure(path, error))?;
    let difference = schema::difference(&transaction, schema::VERSION);
    match difference.map_err(|source| unreadable(path, source))? {
        None => transaction
            .commit()
            .map_err(|source| failure(path, source.into())),
        Some(what) => Err(StoreError::NotARun {
            path: path.to_owned(),
            what,
        }),
    }
}

/// Where the copy of a store of version `found` is kept.
pub(crate) fn copy_path(path: &Path, found: i64) -> PathBuf {
    path.with_file_name(format!("run-v{found}.sqlite"))
}

/// Under its name only when it is whole: a copy that is there can be put back.
fn keep_copy(path: &Path, found: i64) -> Result<(), StoreError> {
    let kept = copy_path(path, found);
    let part = kept.with_extension("sqlite.part");
    let failed = |source| StoreError::Backup {
        path: kept.clone(),
        source,
    };
    match fs::remove_file(&part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    // Another connection, because the one that writes holds a lock that a copy cannot share.
    let source = connect(path, path.as_os_str(), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let copied = Connection::open(&part).and_then(|mut target| copy_pages(&source, &mut target));
    copied.map_err(|error| failed(io::Error::other(error)))?;
    give_name(&part, &kept).map_err(failed)
}

fn copy_pages(source: &Connection, target: &mut Connection) -> rusqlite::Result<()> {
    Backup::new(source, target)?.run_to_completion(PAGES_AT_A_TIME, Duration::from_millis(10), None)
}

fn failure(path: &Path, error: MigrationError) -> StoreError {
    match error {
        MigrationError::Damaged { table, source } => StoreError::Damaged {
            path: path.to_owned(),
            table,
            row: None,
            source: Box::new(source),
        },
        // A row that the new tables do not take, or a page that is none.
        MigrationError::Database(source)
            if matches!(
                source.sqlite_error_code(),
                Some(
                    ErrorCode::ConstraintViolation
                        | ErrorCode::TypeMismatch
                        | ErrorCode::DatabaseCorrupt
                )
            ) =>
        {
            StoreError::Damaged {
                path: path.to_owned(),
                table: "sqlite_schema",
                row: None,
                source: Box::new(source.into()),
            }
        }
        MigrationError::Database(source) => StoreError::Database {
            path: path.to_owned(),
            step: "bringing the store to this version",
            source,
        },
    }
}
