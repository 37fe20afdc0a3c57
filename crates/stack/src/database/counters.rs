//! What a server counts of its buffer pool, and the size of the pool.

use std::{
    collections::BTreeMap,
    thread,
    time::{Duration, Instant},
};

use super::{DATABASE, DatabaseError, Engine, Server, config::POSTGRESQL_CONFIG};

/// Longest wait for MariaDB to change the size of its pool.
const RESIZE_PATIENCE: Duration = Duration::from_secs(60);
/// A page of PostgreSQL, bytes.
const POSTGRESQL_PAGE: u64 = 8192;
/// When MariaDB begins at the latest, where it works on it in the background.
const RESIZE_BEGIN: Duration = Duration::from_secs(2);
/// One step of MariaDB's pool, bytes.
const MARIADB_STEP: u64 = 1 << 20;

/// What a server counts of its buffers since its start.
///
/// Engines count differently: InnoDB every level of an index, PostgreSQL every visit of a page. A
/// ratio is comparable within one engine alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferCounters {
    /// Pages that were asked for.
    pub logical: u64,
    /// Pages of these that were not in the buffer pool.
    pub misses: u64,
    /// Pages that were read ahead, unasked; nothing where the server does not count them.
    pub read_ahead: Option<u64>,
    /// Bytes that the server read from files. PostgreSQL's may have come from the cache of the
    /// system.
    pub read_bytes: Option<u64>,
    /// Size of the buffer pool, bytes.
    pub pool_bytes: Option<u64>,
    /// Size of the database with its indexes, bytes: MariaDB's files of tables, whose free room
    /// counts, since its statistics lag behind; PostgreSQL's with its catalogue of about 7 MiB.
    pub database_bytes: Option<u64>,
}

impl BufferCounters {
    /// What was counted since `earlier`; sizes as they are now. Nothing where a counter went back,
    /// because the server was started anew.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        let both = |now: Option<u64>, before: Option<u64>| match (now, before) {
            (Some(now), Some(before)) => now.checked_sub(before).map(Some),
            _ => Some(None),
        };
        Some(Self {
            logical: self.logical.checked_sub(earlier.logical)?,
            misses: self.misses.checked_sub(earlier.misses)?,
            read_ahead: both(self.read_ahead, earlier.read_ahead)?,
            read_bytes: both(self.read_bytes, earlier.read_bytes)?,
            ..*self
        })
    }

    /// 1 - misses / logical; nothing where nothing was asked for.
    #[must_use]
    pub fn hit_ratio(&self) -> Option<f64> {
        (self.logical > 0).then(|| 1.0 - self.misses as f64 / self.logical as f64)
    }
}

/// Read the counters of a server, connected as [`Account::Owner`](super::Account::Owner).
///
/// PostgreSQL's sessions tell what they did once a second at most, between transactions: windows of
/// ten seconds and more lose nothing that matters.
///
/// # Errors
/// When the server does not tell.
pub fn counters(server: &mut Server) -> Result<BufferCounters, DatabaseError> {
    let (query, sizes) = match server.engine() {
        Engine::Mariadb => (
            "SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_buffer_pool_read_requests', \
             'Innodb_buffer_pool_reads', \
             'Innodb_buffer_pool_read_ahead', 'Innodb_data_read')"
                .to_owned(),
            format!(
                "SELECT 'pool', CAST(@@innodb_buffer_pool_size AS CHAR) UNION ALL SELECT \
                 'database', \
                 CAST(COALESCE(SUM(FILE_SIZE), 0) AS CHAR) FROM \
                 information_schema.INNODB_SYS_TABLESPACES WHERE NAME LIKE '{DATABASE}/%'"
            ),
        ),
        Engine::Postgresql => (
            format!(
                "SELECT c.name, c.value::text FROM pg_stat_database d, LATERAL (VALUES ('logical', \
                 d.blks_hit + d.blks_read), \
                 ('misses', d.blks_read)) AS c (name, value) WHERE d.datname = '{DATABASE}'"
            ),
            "SELECT 'pool', (setting::bigint * 8192)::text FROM pg_settings WHERE name = \
             'shared_buffers' \
             UNION ALL SELECT 'database', pg_database_size(current_database())::text"
                .to_owned(),
        ),
    };
    let mut found: BTreeMap<String, String> = server.pairs(&query)?.into_iter().collect();
    found.extend(server.pairs(&sizes)?);
    let number = |name: &str| {
        let text = found.get(name).map_or("", String::as_str);
        text.parse::<u64>()
            .map_err(|_| server.answer(&query, &format!("{name} = {text}")))
    };
    Ok(match server.engine() {
        Engine::Mariadb => BufferCounters {
            logical: number("Innodb_buffer_pool_read_requests")?,
            misses: number("Innodb_buffer_pool_reads")?,
            read_ahead: Some(number("Innodb_buffer_pool_read_ahead")?),
            read_bytes: Some(number("Innodb_data_read")?),
            pool_bytes: Some(number("pool")?),
            database_bytes: Some(number("database")?),
        },
        Engine::Postgresql => BufferCounters {
            logical: number("logical")?,
            misses: number("misses")?,
            read_ahead: None,
            read_bytes: Some(number("misses")? * POSTGRESQL_PAGE),
            pool_bytes: Some(number("pool")?),
            database_bytes: Some(number("database")?),
        },
    })
}

/// What became of a new size for the buffer pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolChange {
    /// The pool has this size now, bytes.
    InForce(u64),
    /// The pool has this size after the next start of the server, bytes.
    AfterRestart(u64),
}

/// The line of a guest's configuration with which its server starts with a buffer pool of `bytes`,
/// rounded to what it takes, and the file that it is appended to; nothing of MariaDB, which changes
/// its pool while it runs.
#[must_use]
pub fn pool_line(engine: Engine, bytes: u64) -> Option<(&'static str, String)> {
    let line = || format!("shared_buffers = '{}kB'\n", whole_pages(bytes) / 1024);
    (engine == Engine::Postgresql).then(|| (POSTGRESQL_CONFIG, line()))
}

/// Whole pages of PostgreSQL, of which it takes no fewer than 16.
fn whole_pages(bytes: u64) -> u64 {
    (bytes / POSTGRESQL_PAGE).max(16) * POSTGRESQL_PAGE
}

/// Give a server a buffer pool of `bytes`, rounded to what it takes. MariaDB changes it while it
/// runs, PostgreSQL at its next start, if it has not started with it.
///
/// # Errors
/// When the server refuses the size or does not get there in time.
pub fn set_pool(server: &mut Server, bytes: u64) -> Result<PoolChange, DatabaseError> {
    match server.engine() {
        Engine::Mariadb => {
            resize(server, (bytes / MARIADB_STEP).max(1) * MARIADB_STEP).map(PoolChange::InForce)
        }
        Engine::Postgresql => {
            let whole = whole_pages(bytes);
            if counters(server)?.pool_bytes == Some(whole) {
                return Ok(PoolChange::InForce(whole));
            }
            server.execute(&format!(
                "ALTER SYSTEM SET shared_buffers = '{}kB'",
                whole / 1024
            ))?;
            Ok(PoolChange::AfterRestart(whole))
        }
    }
}

/// Change MariaDB's pool, and wait until it has its size.
fn resize(server: &mut Server, bytes: u64) -> Result<u64, DatabaseError> {
    let failed = |server: &Server, what: String| DatabaseError::Pool {
        engine: Engine::Mariadb,
        data: server.data().to_owned(),
        bytes,
        what,
    };
    if let Err(error) = server.execute(&format!("SET GLOBAL innodb_buffer_pool_size = {bytes}")) {
        return Err(failed(server, error.to_string()));
    }
    let begin = Instant::now();
    loop {
        let size = "SELECT 'pool', CAST(@@innodb_buffer_pool_size AS CHAR)";
        let status = "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_resize_status'";
        let now = server
            .pairs(size)?
            .pop()
            .and_then(|(_, value)| value.parse::<u64>().ok());
        let words = server
            .pairs(status)?
            .pop()
            .map(|(_, value)| value)
            .unwrap_or_default();
        // Older servers work on it in the background and say when they are done; newer ones have
        // done it when the statement returns.
        let done = words.is_empty()
            || words.starts_with("Completed")
            || words.starts_with("Size did not change");
        match now {
            // Servers with chunks round up to whole ones.
            Some(now) if done && now >= bytes => return Ok(now),
            // A server that says nothing has cut the size down to what it was started for.
            _ if begin.elapsed() > patience(&words) => {
                let now = now.map_or_else(|| "not known".to_owned(), |now| format!("{now} bytes"));
                let after = begin.elapsed().as_secs();
                return Err(failed(
                    server,
                    format!("after {after} s its size is {now}; the server says `{words}`"),
                ));
            }
            _ => thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// How long MariaDB may take that says these words.
fn patience(words: &str) -> Duration {
    if words.is_empty() {
        RESIZE_BEGIN
    } else {
        RESIZE_PATIENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_starts_with_its_pool_takes_whole_pages() {
        let line = |engine, bytes| pool_line(engine, bytes).map(|(_, line)| line);
        assert_eq!(
            line(Engine::Postgresql, 1_000_000).as_deref(),
            Some("shared_buffers = '976kB'\n")
        );
        assert_eq!(
            line(Engine::Postgresql, 1).as_deref(),
            Some("shared_buffers = '128kB'\n")
        );
        assert_eq!(line(Engine::Mariadb, 1_000_000), None);
    }

    #[test]
    fn what_was_counted_between_two_readings() {
        let before = BufferCounters {
            logical: 100,
            misses: 40,
            read_ahead: Some(5),
            read_bytes: None,
            pool_bytes: Some(1),
            database_bytes: Some(10),
        };
        let after = BufferCounters {
            logical: 1100,
            misses: 140,
            read_ahead: Some(5),
            read_bytes: Some(9),
            pool_bytes: Some(2),
            database_bytes: Some(11),
        };
        let between = after.since(&before).expect("went on");
        assert_eq!(
            (between.logical, between.misses, between.read_ahead),
            (1000, 100, Some(0))
        );
        assert_eq!(
            (
                between.read_bytes,
                between.pool_bytes,
                between.database_bytes
            ),
            (None, Some(2), Some(11))
        );
        assert_eq!(between.hit_ratio(), Some(0.9));
        assert_eq!(before.since(&after), None, "started anew in between");
        assert_eq!(BufferCounters::default().hit_ratio(), None);
    }
}
