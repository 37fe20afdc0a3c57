//! Opening the database: flags and settings, each with its reason.

use std::{path::Path, time::Duration};

use rusqlite::{Connection, OpenFlags, config::DbConfig};

/// Statements that one connection keeps prepared; more than the server has, so that none is ever
/// prepared twice.
const STATEMENTS: usize = 64;

/// How long a connection waits for a lock that another process holds before the request is answered
/// 503.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);

/// Pages of write-ahead log after which the writer copies them into the database: 16 MiB. A
/// product's stock is written by many orders; a longer log copies such a page once for all of them,
/// a shorter one is read faster. SQLite's own default is 4 MiB.
const CHECKPOINT_PAGES: u32 = 4_096;

/// Open for one reader. The caller uses the connection from one thread at a time.
pub(crate) fn open_reader(database: &Path) -> Result<Connection, rusqlite::Error> {
    let connection = open(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "query_only", true)?;
    // In WAL mode a commit empties every reader's own page cache; mapped pages stay, and are read
    // without copying.
    connection.pragma_update(None, "mmap_size", 1_i64 << 30)?;
    // Small for the same reason: the mapping is the cache.
    connection.pragma_update(None, "cache_size", -2_048)?;
    Ok(connection)
}

/// Open for the one writer.
pub(crate) fn open_writer(database: &Path) -> Result<Connection, rusqlite::Error> {
    let connection = open(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // Synchronises the log at every commit: an acknowledged order survives a power cut.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    connection.pragma_update(None, "cache_size", -16_384)?;
    Ok(connection)
}

/// Open what reader and writer have in common.
fn open(database: &Path, mode: OpenFlags) -> Result<Connection, rusqlite::Error> {
    // Without SQLITE_OPEN_CREATE a missing file is an error; without SQLite's own mutex, as no
    // connection is shared.
    let connection = Connection::open_with_flags(database, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    settle(&connection)?;
    // No page sorts more than a few rows. Loading does, so it keeps to temporary files.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(connection)
}

/// Settings of every connection.
pub(crate) fn settle(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.busy_timeout(LOCK_PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // One plan per statement: without it, statistics of single values make SQLite prepare a
    // statement again for each new parameter.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// Whether waiting a little may help.
pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked)
    )
}
