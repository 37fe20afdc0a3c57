//! Page cache hits and misses, as the engine counts them for each connection.

use std::{
    ffi::c_int,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use rusqlite::{Connection, ffi};

/// What the page caches of all connections have done since the server started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounters {
    /// Pages that were found in a cache.
    pub hits: u64,
    /// Pages that were not.
    pub misses: u64,
}

impl CacheCounters {
    /// What has been added since `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            hits: self.hits.saturating_sub(before.hits),
            misses: self.misses.saturating_sub(before.misses),
        }
    }

    /// Share of page reads that a cache answered; nothing when there were none.
    ///
    /// ```
    /// use rookery_oltp::sqlite::CacheCounters;
    /// assert_eq!(CacheCounters { hits: 90, misses: 10 }.hit_ratio(), Some(0.9));
    /// assert_eq!(CacheCounters::default().hit_ratio(), None);
    /// ```
    #[must_use]
    pub fn hit_ratio(self) -> Option<f64> {
        let reads = self.hits + self.misses;
        (reads > 0).then(|| self.hits as f64 / reads as f64)
    }
}

/// The sums of all connections.
#[derive(Debug, Default)]
pub(super) struct SharedCounters {
    hits: AtomicU64,
    misses: AtomicU64,
}

impl SharedCounters {
    pub(super) fn read(&self) -> CacheCounters {
        CacheCounters {
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
        }
    }

    /// Adds what `connection` has counted since the last time, and starts its counters anew.
    pub(super) fn take_from(&self, connection: &Connection) {
        self.hits
            .fetch_add(take(connection, ffi::SQLITE_DBSTATUS_CACHE_HIT), Relaxed);
        self.misses
            .fetch_add(take(connection, ffi::SQLITE_DBSTATUS_CACHE_MISS), Relaxed);
    }
}

/// Reads a counter of a connection and sets it to 0.
fn take(connection: &Connection, counter: c_int) -> u64 {
    let (mut current, mut highest): (c_int, c_int) = (0, 0);
    const RESET: c_int = 1;
    // SAFETY: the handle is open as long as the connection is borrowed, and this thread alone uses
    // it; the call only writes to the two numbers.
    let status = unsafe {
        ffi::sqlite3_db_status(
            connection.handle(),
            counter,
            &raw mut current,
            &raw mut highest,
            RESET,
        )
    };
    // It fails for counters that do not exist alone; the number is then still 0.
    if status == ffi::SQLITE_OK {
        u64::try_from(current).unwrap_or(0)
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_counted_once() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("c.sqlite");
        let other = Connection::open(&file).expect("opened");
        other
            .execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
            .expect("executed");
        let connection = Connection::open(&file).expect("opened");
        let read = || connection.query_row("SELECT a FROM t", [], |row| row.get::<_, i64>(0));
        let shared = SharedCounters::default();
        assert_eq!(read(), Ok(1));
        shared.take_from(&connection);
        let first = shared.read();
        assert!(first.misses > 0, "its cache was empty: {first:?}");
        assert_eq!(read(), Ok(1));
        shared.take_from(&connection);
        let second = shared.read().since(first);
        assert!(
            second.hits > 0 && second.misses == 0,
            "its cache holds the table: {second:?}"
        );
        let all = shared.read();
        shared.take_from(&connection);
        assert_eq!(shared.read(), all, "nothing was read since");
    }
}
