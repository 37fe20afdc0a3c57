//! The tables, and what a database says it was loaded with.

use std::path::Path;

use rookery_workload::cms::CmsData;
use rusqlite::Connection;

use super::CmsError;

/// Version of everything below; a database of another version is refused.
const VERSION: i64 = 1;

/// `PRAGMA application_id`: "RkCM".
const APPLICATION_ID: i64 = 0x526b_434d;

/// All tables. A title is unique only where a user made it: generated ones may meet.
pub(super) const TABLES: &str = "
CREATE TABLE meta (data TEXT NOT NULL) STRICT;
CREATE TABLE accounts (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, pass TEXT NOT NULL, mail TEXT NOT NULL,
  created INTEGER NOT NULL) STRICT;
CREATE TABLE nodes (
  id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, title TEXT NOT NULL, body TEXT NOT NULL,
  author INTEGER NOT NULL, created INTEGER NOT NULL, promoted INTEGER NOT NULL) STRICT;
";

/// Made behind the rows.
pub(super) const INDEXES: &str = "
CREATE UNIQUE INDEX accounts_name ON accounts (name);
CREATE INDEX nodes_promoted ON nodes (promoted, created, id);
ANALYZE;
";

/// Says of a database what it was loaded with.
pub(super) fn describe(connection: &Connection, data: &CmsData) -> Result<(), rusqlite::Error> {
    let text = serde_json::to_string(data)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    connection.execute("INSERT INTO meta VALUES (?1)", [text])?;
    connection.pragma_update(None, "user_version", VERSION)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)
}

/// What a database was loaded with.
///
/// # Errors
/// When it is no database of this server and version.
pub(super) fn described(connection: &Connection, path: &Path) -> Result<CmsData, CmsError> {
    let header = |name| {
        connection
            .pragma_query_value(None, name, |row| row.get::<_, i64>(0))
            .map_err(CmsError::database(path, "reading the header"))
    };
    let found = (header("application_id")?, header("user_version")?);
    let foreign = |what: String| CmsError::Foreign {
        path: path.to_owned(),
        what,
    };
    if found != (APPLICATION_ID, VERSION) {
        let (id, version) = found;
        return Err(foreign(format!(
            "application id {id:#x}, version {version}; expected {APPLICATION_ID:#x}, {VERSION}"
        )));
    }
    let text: String = connection
        .query_row("SELECT data FROM meta", [], |row| row.get(0))
        .map_err(CmsError::database(path, "reading what was loaded"))?;
    serde_json::from_str(&text).map_err(|error| foreign(error.to_string()))
}
