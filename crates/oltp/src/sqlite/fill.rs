//! Filling a fresh database file: no journal, no syncing, nobody else. It takes its place under its
//! name only when it is whole.

use std::{
    fs, io,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rookery_workload::orderentry::{
    Decimal, Dialect, Population, SchemaOptions, Timestamp, after_load, create_tables,
    population::{Part, PartRows, RowSink},
};
use rusqlite::{Connection, Statement, ToSql};
use thiserror::Error;

use crate::options::meta_of;

/// Rows between two words about the progress.
const STEP_ROWS: u64 = 20_000;

/// Page cache while loading, in KiB: indexes are made in it.
const CACHE_KIB: i64 = 65_536;

/// What was filled, and how long that took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Filled {
    pub(super) streaming: Duration,
    pub(super) indexing: Duration,
}

/// Why a file was not filled.
#[derive(Debug, Error)]
pub(super) enum FillError {
    #[error(transparent)]
    Engine(#[from] rusqlite::Error),
    #[error("{path}: {source}")]
    Storage { path: PathBuf, source: io::Error },
    #[error("stopped on request")]
    Stopped,
}

/// Is told of rows and bytes of text since the last word, and says whether to go on.
pub(super) type Report<'a> = dyn FnMut(u64, u64) -> ControlFlow<()> + 'a;

/// Fills a file beside `file` and gives it that name in the end, in place of what was there. Nobody
/// may use it meanwhile.
pub(super) fn fill(
    file: &Path,
    population: &Population,
    schema: SchemaOptions,
    report: &mut Report<'_>,
) -> Result<Filled, FillError> {
    let growing = file.with_extension("loading");
    remove(&growing)?;
    let filled = fill_new(&growing, population, schema, report);
    if filled.is_err() {
        // What is left would only take room; the error that counts is the first.
        let _ = remove(&growing);
    }
    let filled = filled?;
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| FillError::Storage { path, source }
    };
    fs::File::open(&growing)
        .and_then(|written| written.sync_all())
        .map_err(at(&growing))?;
    // The log of the old database must not be read into the new one.
    for ending in ["sqlite-wal", "sqlite-shm"] {
        remove(&file.with_extension(ending))?;
    }
    fs::rename(&growing, file).map_err(at(file))?;
    if let Some(directory) = file.parent() {
        fs::File::open(directory)
            .and_then(|directory| directory.sync_all())
            .map_err(at(directory))?;
    }
    Ok(filled)
}

fn remove(path: &Path) -> Result<(), FillError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(FillError::Storage {
            path: path.to_owned(),
            source,
        }),
        _ => Ok(()),
    }
}

fn fill_new(
    file: &Path,
    population: &Population,
    schema: SchemaOptions,
    report: &mut Report<'_>,
) -> Result<Filled, FillError> {
    let connection = Connection::open(file)?;
    // What is cut off is thrown away: nothing has to be undone, and nothing to be on the disk
    // before the end.
    connection.pragma_update_and_check(None, "journal_mode", "OFF", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.pragma_update_and_check(None, "locking_mode", "EXCLUSIVE", |_| Ok(()))?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    for statement in create_tables(Dialect::Sqlite, schema) {
        connection.execute_batch(&statement)?;
    }
    let began = Instant::now();
    let mut warehouse = None;
    for part in Part::all(population) {
        if warehouse != Some(part.warehouse) {
            if warehouse.is_some() {
                connection.execute_batch("COMMIT")?;
            }
            connection.execute_batch("BEGIN")?;
            warehouse = Some(part.warehouse);
        }
        insert_part(&connection, part, population, report)?;
    }
    connection.execute_batch("COMMIT")?;
    let streaming = began.elapsed();
    let began = Instant::now();
    for statement in after_load(Dialect::Sqlite, schema) {
        if report(0, 0).is_break() {
            return Err(FillError::Stopped);
        }
        connection.execute_batch(&statement)?;
    }
    for (key, value) in meta_of(population, schema) {
        connection.execute("INSERT INTO oe_meta (k, v) VALUES (?, ?)", (key, value))?;
    }
    // The file remembers this alone of its settings.
    connection.pragma_update_and_check(None, "locking_mode", "NORMAL", |_| Ok(()))?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    let indexing = began.elapsed();
    connection.close().map_err(|(_, error)| error)?;
    Ok(Filled {
        streaming,
        indexing,
    })
}

fn insert_part(
    connection: &Connection,
    part: Part,
    population: &Population,
    report: &mut Report<'_>,
) -> Result<(), FillError> {
    let columns: Vec<&str> = part
        .table
        .loaded_columns()
        .iter()
        .map(|column| column.name)
        .collect();
    let text = format!(
        "INSERT INTO {} ({}) VALUES ({})",
        part.table.name(),
        columns.join(", "),
        vec!["?"; columns.len()].join(", ")
    );
    let mut rows: PartRows = part.rows(population);
    let mut sink = InsertSink {
        statement: connection.prepare(&text)?,
        column: 0,
        rows: 0,
        bytes: 0,
        error: None,
    };
    loop {
        let more = rows.fill(&mut sink);
        if let Some(error) = sink.error.take() {
            return Err(error.into());
        }
        let (rows, bytes) = (
            std::mem::take(&mut sink.rows),
            std::mem::take(&mut sink.bytes),
        );
        if report(rows, bytes).is_break() {
            return Err(FillError::Stopped);
        }
        if !more {
            return Ok(());
        }
    }
}

/// Binds fields to an INSERT, and executes it for each row.
struct InsertSink<'c> {
    statement: Statement<'c>,
    column: usize,
    rows: u64,
    bytes: u64,
    error: Option<rusqlite::Error>,
}

impl InsertSink<'_> {
    fn bind(&mut self, value: impl ToSql, bytes: usize) {
        self.column += 1;
        // A separator follows each field of a text.
        self.bytes += bytes as u64 + 1;
        if let Err(error) = self.statement.raw_bind_parameter(self.column, value) {
            self.error.get_or_insert(error);
        }
    }
}

impl RowSink for InsertSink<'_> {
    fn int(&mut self, value: i64) {
        let digits = value.unsigned_abs().checked_ilog10().unwrap_or(0) as usize + 1;
        self.bind(value, digits);
    }

    fn text(&mut self, value: &[u8]) {
        match std::str::from_utf8(value) {
            Ok(text) => self.bind(text, value.len()),
            // Never with a population's rows, which are ASCII; then as it is.
            Err(_) => self.bind(value, value.len()),
        }
    }

    fn decimal(&mut self, value: Decimal) {
        self.int(value.unscaled);
    }

    fn time(&mut self, value: Timestamp) {
        let text = value.to_string();
        self.bind(&text, text.len());
    }

    fn null(&mut self) {
        self.bind(rusqlite::types::Null, 2);
    }

    fn end_row(&mut self) -> bool {
        self.column = 0;
        self.rows += 1;
        if let Err(error) = self.statement.raw_execute() {
            self.error.get_or_insert(error);
        }
        self.error.is_none() && self.rows < STEP_ROWS
    }
}

#[cfg(test)]
mod tests {
    use rookery_workload::orderentry::{Scale, Table};

    use super::*;

    fn population() -> Population {
        Population::new(Scale::new(1, 100).expect("valid"), 42)
    }

    #[test]
    fn a_file_is_filled_whole_or_not_at_all() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("f.sqlite");
        let stopped = fill(
            &file,
            &population(),
            SchemaOptions::default(),
            &mut |_, _| ControlFlow::Break(()),
        );
        assert!(matches!(stopped, Err(FillError::Stopped)));
        assert_eq!(
            fs::read_dir(directory.path()).expect("readable").count(),
            0,
            "nothing is left"
        );
        let (mut rows, mut bytes) = (0, 0);
        fill(
            &file,
            &population(),
            SchemaOptions::default(),
            &mut |step, size| {
                rows += step;
                bytes += size;
                ControlFlow::Continue(())
            },
        )
        .expect("filled");
        let connection = Connection::open(&file).expect("opened");
        let mut found = 0;
        for table in Table::LOADED {
            let query = format!("SELECT COUNT(*) FROM {}", table.name());
            let count: i64 = connection
                .query_row(&query, [], |row| row.get(0))
                .expect("counted");
            let count = count.unsigned_abs();
            if table != Table::OrderLine {
                assert_eq!(count, population().scale.rows(table), "{table:?}");
            }
            found += count;
        }
        assert_eq!(found, rows);
        let expected = population().scale.payload_bytes();
        assert!(
            bytes.abs_diff(expected) < expected / 5,
            "{bytes} of {expected}"
        );
        let balance: i64 = connection
            .query_row("SELECT MIN(c_balance) FROM customer", [], |row| row.get(0))
            .expect("read");
        assert_eq!(balance, -1000, "cents");
        let mode: String = connection
            .query_row("PRAGMA journal_mode", [], |row| row.get(0))
            .expect("read");
        assert_eq!(mode, "wal");
    }
}
