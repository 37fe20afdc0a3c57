//! Connections to the database file: each setting with its reason.

use std::{path::Path, str::FromStr, time::Duration};

use rusqlite::{Connection, OpenFlags, config::DbConfig, limits::Limit};

/// How long a statement waits for a lock, and a transaction for its turn to write.
pub(crate) const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// How soon a commit is on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Synced at every commit: it survives a power cut.
    #[default]
    Full,
    /// Synced at checkpoints alone: a power cut may undo the last commits, the end of the server
    /// does not.
    Relaxed,
}

impl Durability {
    /// The name on command lines and in studies.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Relaxed => "relaxed",
        }
    }
}

/// A word for no durability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("use full or relaxed")]
pub struct UnknownDurability;

impl FromStr for Durability {
    type Err = UnknownDurability;

    fn from_str(name: &str) -> Result<Self, UnknownDurability> {
        [Self::Full, Self::Relaxed]
            .into_iter()
            .find(|durability| durability.name() == name)
            .ok_or(UnknownDurability)
    }
}

/// What connections of sessions are opened with.
#[derive(Clone, Copy, Debug)]
pub(super) struct EngineSettings {
    pub(super) cache_kib: u32,
    pub(super) durability: Durability,
}

/// Opens a session's connection; a missing file becomes an empty database.
pub(super) fn open(file: &Path, settings: EngineSettings) -> Result<Connection, rusqlite::Error> {
    // Without SQLite's own mutex: a session has one thread.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(LOCK_PATIENCE)?;
    // Readers do not wait for the writer, nor it for them.
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    let synchronous = match settings.durability {
        Durability::Full => "FULL",
        Durability::Relaxed => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // Negative numbers are KiB.
    connection.pragma_update(None, "cache_size", -i64::from(settings.cache_kib))?;
    // One plan per statement, whatever the values of its first execution.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // Clients get at no other file.
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    Ok(connection)
}

/// The engine's number for an error, with its extension, and its words.
pub(super) fn in_words(error: &rusqlite::Error) -> (i64, String) {
    let code = error
        .sqlite_error()
        .map_or(1, |error| i64::from(error.extended_code));
    (code, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_have_the_settings_that_are_said() {
        let directory = tempfile::tempdir().expect("a directory");
        let settings = EngineSettings {
            cache_kib: 4096,
            durability: Durability::Relaxed,
        };
        let connection = open(&directory.path().join("e.sqlite"), settings).expect("opened");
        let read = |pragma: &str| {
            connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get::<_, i64>(0))
        };
        assert_eq!(read("cache_size"), Ok(-4096));
        assert_eq!(read("synchronous"), Ok(1));
        assert_eq!(read("foreign_keys"), Ok(1));
        let attached = connection
            .execute_batch("ATTACH 'other.sqlite' AS other")
            .expect_err("refused");
        assert!(attached.to_string().contains("attached"), "{attached}");
        let (code, words) = in_words(
            &connection
                .execute_batch("SELECT missing")
                .expect_err("no such column"),
        );
        assert!(
            code == 1 && words.contains("no such column"),
            "{code} {words}"
        );
        assert!("half".parse::<Durability>().is_err());
    }
}
