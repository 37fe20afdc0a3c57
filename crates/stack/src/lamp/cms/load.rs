//! Making the database of the site: generated rows stream into MariaDB, without files between.
//!
//! In the fast mode rows go in by `LOAD DATA LOCAL INFILE` in the order of their ids, with the indexes in place, some
//! ten thousand to a statement: one statement for all would grow the undo log with it. In the other
//! mode they are statements of a script, a MiB each, over one connection.

use std::{
    ops::ControlFlow,
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use rookery_stats::DatabaseLoad;
use rookery_workload::cms::{CmsData, LoadMode};

use super::{DATABASE, TABLES};
use crate::{
    cms::{CmsLoadProgress, Insert, account_inserts, account_lines, node_inserts, node_lines},
    lamp::{LoadError, sql::Database},
};

/// Nodes of one statement.
const NODES: u32 = 20_000;
/// Bytes that are handed over at a time.
const CHUNK: usize = 256 * 1024;
/// Longest wait for one statement.
const PATIENCE: Duration = Duration::from_secs(600);

/// Makes the database of these data, and reports after every statement; the answer of `progress`
/// may end the load.
///
/// `database` must be connected as root, and hold no site yet.
///
/// # Errors
/// When the server refuses a step, does not hold afterwards what was sent, or `progress` ends the
/// load.
pub fn load(
    database: &mut Database,
    data: &CmsData,
    mode: LoadMode,
    progress: &dyn Fn(CmsLoadProgress) -> ControlFlow<()>,
) -> Result<DatabaseLoad, LoadError> {
    let began = Instant::now();
    database.set_patience(PATIENCE);
    database.execute_script(TABLES)?;
    let created = began.elapsed();
    accounts(database, data, mode)?;
    let mut first = 0;
    while first < data.nodes {
        let end = first.saturating_add(NODES).min(data.nodes);
        match mode {
            LoadMode::Fast => rows(database, "nodes", node_lines(data, first..end))?,
            LoadMode::SqlScript => {
                let table = format!("{DATABASE}.nodes");
                statements(database, "nodes", node_inserts(&table, data, first..end))?;
            }
        }
        let now = CmsLoadProgress {
            step: "nodes",
            done: end,
            total: data.nodes,
        };
        if progress(now).is_break() {
            return Err(LoadError::Interrupted);
        }
        first = end;
    }
    let filled = began.elapsed();
    for table in ["accounts", "nodes"] {
        database.execute(&format!("ANALYZE TABLE {DATABASE}.{table}"))?;
    }
    let analysed = began.elapsed();
    verify(database, data)?;
    let bytes = database.number(&format!(
        "SELECT CAST(SUM(DATA_LENGTH + INDEX_LENGTH) AS SIGNED) FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA = '{DATABASE}'"
    ))?;
    let between = |from: Duration, to: Duration| to.saturating_sub(from).as_secs_f64();
    Ok(DatabaseLoad {
        create_s: created.as_secs_f64(),
        rows_s: between(created, filled),
        index_s: between(filled, analysed),
        check_s: between(analysed, began.elapsed()),
        close_s: 0.0,
        rows: data.rows(),
        bytes: bytes.cast_unsigned(),
    })
}

fn accounts(database: &mut Database, data: &CmsData, mode: LoadMode) -> Result<(), LoadError> {
    match mode {
        LoadMode::Fast => rows(database, "accounts", account_lines(data)),
        LoadMode::SqlScript => {
            let table = format!("{DATABASE}.accounts");
            statements(database, "accounts", account_inserts(&table, data))
        }
    }
}

/// Runs the statements of a script, one after the other, each in a transaction of its own.
fn statements(
    database: &mut Database,
    table: &'static str,
    inserts: impl Iterator<Item = Insert>,
) -> Result<(), LoadError> {
    for Insert { statement, rows } in inserts {
        let stored = database.execute(&statement)?;
        if stored != rows {
            return Err(LoadError::Rows {
                table,
                what: format!("{rows} rows were sent, MariaDB stored {stored}"),
            });
        }
    }
    Ok(())
}

/// Sends rows into a table by one statement, while they are generated.
fn rows(
    database: &mut Database,
    table: &'static str,
    lines: impl Iterator<Item = String> + Send,
) -> Result<(), LoadError> {
    let statement = format!(
        "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {DATABASE}.{table} CHARACTER SET utf8mb4"
    );
    let (chunks, received) = tokio::sync::mpsc::channel(4);
    let (stored, sent) = thread::scope(|scope| {
        let generator = thread::Builder::new().spawn_scoped(scope, move || {
            let (mut sent, mut chunk) = (0, Vec::with_capacity(CHUNK + 16_384));
            for line in lines {
                chunk.extend_from_slice(line.as_bytes());
                sent += 1;
                if chunk.len() >= CHUNK {
                    let full = Bytes::from(std::mem::take(&mut chunk));
                    if chunks.blocking_send(Ok(full)).is_err() {
                        // The statement has failed, and says why.
                        return sent;
                    }
                }
            }
            let _ = chunks.blocking_send(Ok(Bytes::from(chunk)));
            sent
        });
        let generator = generator.map_err(LoadError::Thread)?;
        let stored = database.load_infile(&statement, received);
        let sent: u64 = generator
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok::<_, LoadError>((stored, sent))
    })?;
    let (stored, warnings) = stored?;
    if (stored, warnings) != (sent, 0) {
        return Err(LoadError::Rows {
            table,
            what: format!(
                "{sent} rows were sent, MariaDB stored {stored} with {warnings} warnings"
            ),
        });
    }
    Ok(())
}

/// Checks what the statements alone do not tell: the first and the last id.
fn verify(database: &mut Database, data: &CmsData) -> Result<(), LoadError> {
    let first = i64::from(data.first_node);
    let expected = [
        ("accounts", 1, i64::from(data.users) + 1),
        ("nodes", first, first + i64::from(data.nodes) - 1),
    ];
    for (table, least, greatest) in expected {
        let found: Vec<(Option<i64>, Option<i64>)> =
            database.query(&format!("SELECT MIN(id), MAX(id) FROM {DATABASE}.{table}"))?;
        if found != [(Some(least), Some(greatest))] {
            return Err(LoadError::Rows {
                table,
                what: format!("ids must be {least} to {greatest}, found {found:?}"),
            });
        }
    }
    Ok(())
}
