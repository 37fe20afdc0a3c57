//! Loading a site's tables: generated rows stream into MariaDB, without files between.
//!
//! In the fast mode rows go in by `LOAD DATA LOCAL INFILE` in the order of their ids, with the
//! indexes in place, some ten thousand to a statement: one statement for all would grow the undo
//! log with it. In the other mode they are statements of a script, a MiB each, over one connection.

use std::{
    ops::ControlFlow,
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use rookery_stats::DatabaseLoad;
use rookery_workload::cms::{CmsData, LoadMode};

use crate::{
    cms::{CmsLoadProgress, Insert, SiteTable, SiteTables, Value, each_node, inserts, lines},
    lamp::{LoadError, sql::Database},
};

/// Nodes of one statement.
const NODES: u32 = 20_000;
/// Bytes that are handed over at a time.
const CHUNK: usize = 256 * 1024;
/// Longest wait for one statement.
const PATIENCE: Duration = Duration::from_secs(600);

/// What is loaded, and into what.
pub(crate) struct SiteLoad<'a> {
    /// The database.
    pub(crate) schema: &'static str,
    pub(crate) tables: &'a SiteTables,
    pub(crate) data: &'a CmsData,
    pub(crate) mode: LoadMode,
}

impl SiteLoad<'_> {
    /// Loads the tables, which are there and hold no such rows, and reports after every statement;
    /// the answer of `progress` may end the load. `created` is how long the making of the tables
    /// took.
    ///
    /// `database` must be connected as root.
    ///
    /// # Errors
    /// When the server refuses a step, does not hold afterwards what was sent, or `progress` ends
    /// the load.
    pub(crate) fn load(
        &self,
        database: &mut Database,
        created: Duration,
        progress: &dyn Fn(CmsLoadProgress) -> ControlFlow<()>,
    ) -> Result<DatabaseLoad, LoadError> {
        let began = Instant::now();
        database.set_patience(PATIENCE);
        for table in self.tables.accounts {
            self.put(database, table, || self.tables.each_account(self.data))?;
        }
        let mut first = 0;
        while first < self.data.nodes {
            let end = first.saturating_add(NODES).min(self.data.nodes);
            for table in self.tables.nodes {
                self.put(database, table, || each_node(self.data, first..end))?;
            }
            let now = CmsLoadProgress {
                step: "nodes",
                done: end,
                total: self.data.nodes,
            };
            if progress(now).is_break() {
                return Err(LoadError::Interrupted);
            }
            first = end;
        }
        let filled = began.elapsed();
        for name in self.names() {
            database.execute(&format!("ANALYZE TABLE {}.{name}", self.schema))?;
        }
        let analysed = began.elapsed();
        self.verify(database)?;
        let bytes = database.number(&format!(
            "SELECT CAST(SUM(DATA_LENGTH + INDEX_LENGTH) AS SIGNED) FROM \
             information_schema.TABLES WHERE TABLE_SCHEMA = '{}'",
            self.schema
        ))?;
        let between = |from: Duration, to: Duration| to.saturating_sub(from).as_secs_f64();
        Ok(DatabaseLoad {
            create_s: created.as_secs_f64(),
            rows_s: filled.as_secs_f64(),
            index_s: between(filled, analysed),
            check_s: between(analysed, began.elapsed()),
            close_s: 0.0,
            rows: self.tables.rows(self.data),
            bytes: bytes.cast_unsigned(),
        })
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        let accounts = self.tables.accounts.iter().map(|table| table.name);
        accounts.chain(self.tables.nodes.iter().map(|table| table.name))
    }

    fn put<T, I: Iterator<Item = T>>(
        &self,
        database: &mut Database,
        table: &SiteTable<impl Fn(&T) -> Vec<Value> + Sync>,
        all: impl Fn() -> I + Sync,
    ) -> Result<(), LoadError> {
        match self.mode {
            LoadMode::Fast => {
                let columns = match table.columns {
                    "" => String::new(),
                    columns => format!(" ({columns})"),
                };
                let statement = format!(
                    "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {}.{} CHARACTER SET utf8mb4{columns}",
                    self.schema, table.name
                );
                stream(database, table.name, &statement, || lines(table, all()))
            }
            LoadMode::SqlScript => {
                statements(database, table.name, inserts(self.schema, table, all()))
            }
        }
    }

    /// Checks what the statements alone do not tell: how many rows there are, and the last id.
    fn verify(&self, database: &mut Database) -> Result<(), LoadError> {
        let first_account = i64::from(self.tables.first_account());
        let first_node = i64::from(self.data.first_node);
        let (last_account, nodes) = (i64::from(self.data.users) + 1, i64::from(self.data.nodes));
        let accounts = self.tables.accounts.iter();
        let accounts = accounts.map(|table| (table.name, table.id, first_account, last_account));
        let last_node = first_node + nodes - 1;
        let of_nodes = self.tables.nodes.iter();
        let of_nodes = of_nodes.map(|table| (table.name, table.id, first_node, last_node));
        for (table, id, first, last) in accounts.chain(of_nodes) {
            let found: Vec<(i64, Option<i64>)> = database.query(&format!(
                "SELECT COUNT(*), MAX({id}) FROM {}.{table} WHERE {id} >= {first}",
                self.schema
            ))?;
            if found != [(last - first + 1, Some(last))] {
                return Err(LoadError::Rows {
                    table,
                    what: format!("ids must be {first} to {last}, found {found:?}"),
                });
            }
        }
        Ok(())
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
fn stream<I: Iterator<Item = String>>(
    database: &mut Database,
    table: &'static str,
    statement: &str,
    lines: impl FnOnce() -> I + Send,
) -> Result<(), LoadError> {
    let (chunks, received) = tokio::sync::mpsc::channel(4);
    let (stored, sent) = thread::scope(|scope| {
        let generator = thread::Builder::new().spawn_scoped(scope, move || {
            let (mut sent, mut chunk) = (0, Vec::with_capacity(CHUNK + 16_384));
            for line in lines() {
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
        let stored = database.load_infile(statement, received);
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
