//! Connections to a file that may come from anybody.

use std::{ffi::OsStr, path::Path};

use rusqlite::{Connection, OpenFlags};

use crate::StoreError;

/// Open the file at `path` under the name that SQLite takes: its path, or a URI.
///
/// # Errors
/// When it cannot be opened, or is no SQLite file.
pub(crate) fn connect(
    path: &Path,
    name: &OsStr,
    flags: OpenFlags,
) -> Result<Connection, StoreError> {
    let connect = || {
        let connection =
            Connection::open_with_flags(Path::new(name), flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        distrust(&connection)?;
        Ok(connection)
    };
    connect().map_err(|source| unreadable(path, source))
}

/// What stands in the file may come from anybody.
pub(crate) fn distrust(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)
}

/// The error of a file that SQLite cannot read.
pub(crate) fn unreadable(path: &Path, source: rusqlite::Error) -> StoreError {
    match source.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => StoreError::NotARun {
            path: path.to_owned(),
            what: "it is no SQLite file".to_owned(),
        },
        Some(rusqlite::ErrorCode::DatabaseCorrupt) => StoreError::Damaged {
            path: path.to_owned(),
            table: "sqlite_schema",
            row: None,
            source: Box::new(source.into()),
        },
        _ => StoreError::Database {
            path: path.to_owned(),
            step: "opening the store",
            source,
        },
    }
}
