//! Making the database of one size: generated rows stream into MariaDB, in parallel, without files
//! between.
//!
//! # Why this way
//!
//! Rows go in by `LOAD DATA LOCAL INFILE`, whose file is the generator itself. Each table has one
//! stream in the order of its primary key, so that pages fill one after the other; the streams
//! share the tables, longest first. Secondary indexes and full text are made after the rows,
//! foreign keys last and unchecked. `unique_checks` stays on, against custom: switched off, MariaDB
//! sorts every empty table's rows through temporary files first, which doubled the CPU time for
//! rows that are sorted already (`cargo xtask bench load` compares).
//!
//! # What is verified
//!
//! The rows that the server says it stored, statement by statement, against those generated; that
//! it warned of nothing; the first, last and next id of each table. Primary keys are then without
//! gaps, so that a foreign key is right when its least and greatest value are within them.

use rookery_diagnosis::Diagnosis;
use std::{
    io,
    ops::ControlFlow,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use rookery_stats::DatabaseLoad;
use rookery_workload::dvdstore::{CATEGORIES, Rows, Size, WordLists};

use super::{
    schema::{self, Table},
    sql::{Database, SqlError},
};
use crate::embedded::{LoadProgress, LoadSummary};

mod rows;

/// Longest wait for one statement: an index of the largest databases takes hours, one of the
/// smallest a moment. A server that hangs is told from a slow one by it.
fn patience(size: Size) -> Duration {
    Duration::from_secs(300 + size.megabytes())
}

/// What ended a load. The database is then of no use and must be thrown away.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The server refused a step.
    #[error(transparent)]
    Sql(#[from] SqlError),
    /// The server's settings do not suit the schema.
    #[error("MariaDB has {name} = {found}, the schema needs {wanted}")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// What the schema needs.
        wanted: &'static str,
        /// What is in force.
        found: String,
    },
    /// The server does not hold what was sent.
    #[error("table {table}: {what}")]
    Rows {
        /// The table.
        table: &'static str,
        /// What was expected and what found.
        what: String,
    },
    /// The caller wanted to end the load.
    #[error("the load was interrupted")]
    Interrupted,
    /// The system has no thread left.
    #[error("cannot start a thread for the load: {0}")]
    Thread(io::Error),
}

impl Diagnosis for LoadError {
    fn code(&self) -> &'static str {
        match self {
            Self::Sql(_) => "lamp::sql",
            Self::Setting { .. } => "lamp::setting",
            Self::Rows { .. } => "lamp::rows",
            Self::Interrupted => "lamp::interrupted",
            Self::Thread(_) => "lamp::thread",
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Sql(error) => return error.help(),
            Self::Setting { name, wanted, .. } => format!(
                "write `{name} = {wanted}` into the \
                server's configuration and start it anew"
            ),
            Self::Rows { .. } => "load again; if it happens again, report a defect".to_owned(),
            _ => return None,
        };
        Some(help)
    }
}

/// Make the database `DS2` of `size` with titles and actors from `words`, through `streams`
/// connections at a time (at least one; one per CPU is best), and report to `progress` about every
/// hundred thousand rows and after every index; its answer may end the load.
///
/// `database` must be connected as [`Account::Root`](super::sql::Account::Root) and hold no `DS2`
/// yet. The number of rows in reports is an estimate until the end: five lines an order.
///
/// # Errors
/// When the server refuses a step, does not hold afterwards what was sent, or `progress` ends the
/// load.
pub fn load(
    database: &mut Database,
    size: Size,
    words: &WordLists,
    streams: usize,
    progress: &dyn Fn(LoadProgress) -> ControlFlow<()>,
) -> Result<LoadSummary, LoadError> {
    let start = Instant::now();
    database.set_patience(patience(size));
    check_settings(database)?;
    database.execute_script(schema::TABLES)?;
    database.execute(schema::NEW_CUSTOMER)?;
    database.execute_script(schema::ACCOUNTS)?;
    categories(database)?;
    let created = start.elapsed();

    let rows = size.rows();
    let streams = streams.clamp(1, Table::ALL.len());
    let (counts, last_row) = Loader::new(rows, words).run(database, streams, progress)?;
    let loaded = last_row.saturating_duration_since(start);
    // As each stream had: without it the server would read every row again to check what is
    // verified below.
    database.execute("SET SESSION foreign_key_checks = 0")?;
    database.execute_script(schema::KEYS)?;
    database.execute("SET SESSION foreign_key_checks = 1")?;
    let indexed = start.elapsed();
    verify(database, rows, &counts)?;
    let rows = counts.iter().map(|(_, count)| count).sum::<u64>() + CATEGORIES.len() as u64;
    let bytes = bytes(database)?;
    let seconds = |from: Duration, to: Duration| to.saturating_sub(from).as_secs_f64();
    Ok(LoadSummary {
        rows,
        bytes,
        took: start.elapsed(),
        parts: DatabaseLoad {
            create_s: created.as_secs_f64(),
            rows_s: seconds(created, loaded),
            index_s: seconds(loaded.max(created), indexed),
            check_s: seconds(indexed, start.elapsed()),
            close_s: 0.0,
            rows,
            bytes,
        },
    })
}

/// `ER_INCORRECT_GLOBAL_LOCAL_VAR`: a variable that this server only takes at its start.
const READ_ONLY_VARIABLE: u16 = 1238;

/// Bring a loaded database into the state that clones best: on return, shut the server down
/// cleanly.
///
/// The next shutdown then purges what is left of deleted rows and empties the log, so that a clone
/// starts without recovery.
///
/// # Errors
/// When the server refuses a setting.
pub fn settle(database: &mut Database) -> Result<(), SqlError> {
    for statement in [
        "SET GLOBAL innodb_fast_shutdown = 0",
        // Else every clone would begin by reading what the builder had in memory, and no trial
        // would begin cold.
        "SET GLOBAL innodb_buffer_pool_dump_at_shutdown = OFF",
    ] {
        database.execute(statement)?;
    }
    // A clone makes its own log of the size that it is tuned to; it need not begin by copying the
    // one that the load needed.
    match database
        .execute("SET GLOBAL innodb_log_file_size = GREATEST(@@innodb_log_buffer_size, 4194304)")
    {
        // Before MariaDB 10.9 the log is as large as at the start.
        Err(error) if error.code() == Some(READ_ONLY_VARIABLE) => Ok(()),
        done => done.map(drop),
    }
}

/// Refuse a server that would index other words than the pages look for.
fn check_settings(database: &mut Database) -> Result<(), LoadError> {
    let variables = database.variables()?;
    for (name, wanted) in schema::SETTINGS {
        let found = variables.get(name).map_or("", String::as_str);
        if found != wanted {
            return Err(LoadError::Setting {
                name,
                wanted,
                found: found.to_owned(),
            });
        }
    }
    Ok(())
}

fn categories(database: &mut Database) -> Result<(), SqlError> {
    let values: Vec<String> = (1..)
        .zip(CATEGORIES)
        .map(|(id, name)| format!("({id}, '{name}')"))
        .collect();
    database
        .execute(&format!(
            "INSERT INTO DS2.CATEGORIES VALUES {}",
            values.join(", ")
        ))
        .map(drop)
}

/// What a stream tells the one who reports.
enum Step {
    Rows(u64),
    Index,
}

/// Everything that the streams share.
struct Loader<'a> {
    rows: Rows,
    words: &'a WordLists,
    /// Tables that nobody has taken yet, the next one last.
    waiting: Mutex<Vec<Table>>,
    /// Rows of each table that is done.
    done: Mutex<Vec<(Table, u64)>>,
    stop: AtomicBool,
}

impl<'a> Loader<'a> {
    fn new(rows: Rows, words: &'a WordLists) -> Self {
        Self {
            rows,
            words,
            waiting: Mutex::new(Table::ALL.into_iter().rev().collect()),
            done: Mutex::default(),
            stop: AtomicBool::new(false),
        }
    }

    /// Load all tables. Returns their rows, and when the last of them was sent.
    fn run(
        self,
        database: &Database,
        streams: usize,
        progress: &dyn Fn(LoadProgress) -> ControlFlow<()>,
    ) -> Result<(Vec<(Table, u64)>, Instant), LoadError> {
        let connections = (0..streams)
            .map(|_| database.another())
            .collect::<Result<Vec<_>, _>>()?;
        let (tell, told) = channel();
        let last_row = thread::scope(|scope| {
            let threads = connections.into_iter().map(|connection| {
                let (tell, loader) = (tell.clone(), &self);
                thread::Builder::new().spawn_scoped(scope, move || loader.stream(connection, &tell))
            });
            let threads: Vec<_> = threads.collect();
            drop(tell);
            let last_row = self.report(&told, progress);
            let mut first = Ok(());
            for thread in threads {
                let ended = match thread {
                    Ok(thread) => thread
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                    Err(error) => Err(LoadError::Thread(error)),
                };
                // A stream that was stopped because another failed is not the cause.
                if first.is_ok() || matches!(first, Err(LoadError::Interrupted)) {
                    first = first.and(ended);
                }
            }
            first.map(|()| last_row)
        })?;
        let done = self.done.into_inner();
        Ok((done.unwrap_or_else(PoisonError::into_inner), last_row))
    }

    /// Tell `progress` what the streams tell, until all have ended. Gives when the last row was
    /// told.
    fn report(
        &self,
        told: &Receiver<Step>,
        progress: &dyn Fn(LoadProgress) -> ControlFlow<()>,
    ) -> Instant {
        const EVERY: u64 = 100_000;
        let total: u64 = Table::ALL
            .iter()
            .map(|table| rows::expected(*table, self.rows))
            .sum();
        let indexes: u64 = Table::ALL
            .iter()
            .map(|table| table.indexes().len() as u64)
            .sum();
        let (mut loaded, mut told_of, mut indexed) = (0, 0, 0);
        let mut last_row = Instant::now();
        for step in told {
            let at = match step {
                Step::Rows(more) => {
                    loaded += more;
                    last_row = Instant::now();
                    if loaded - told_of < EVERY && loaded < total {
                        continue;
                    }
                    told_of = loaded;
                    LoadProgress {
                        step: "rows",
                        done: loaded.min(total),
                        total,
                    }
                }
                Step::Index => {
                    indexed += 1;
                    LoadProgress {
                        step: "indexes",
                        done: indexed,
                        total: indexes,
                    }
                }
            };
            if progress(at).is_break() {
                self.stop.store(true, Relaxed);
            }
        }
        last_row
    }

    /// Load one table after the other until none is left.
    fn stream(&self, mut connection: Database, tell: &Sender<Step>) -> Result<(), LoadError> {
        let ended = self.tables(&mut connection, tell);
        if ended.is_err() {
            self.stop.store(true, Relaxed);
        }
        ended
    }

    fn tables(&self, connection: &mut Database, tell: &Sender<Step>) -> Result<(), LoadError> {
        connection.execute(
            "SET SESSION foreign_key_checks = 0, unique_checks = 1, \
                            innodb_ft_enable_stopword = OFF",
        )?;
        while let Some(table) = self.next() {
            let mut count = 0;
            for part in rows::parts(table) {
                count += self.part(connection, table, part, tell)?;
            }
            for index in table.indexes() {
                self.go_on()?;
                connection.execute(index)?;
                // Whoever reports outlives the streams.
                let _ = tell.send(Step::Index);
            }
            connection.execute(&format!("ANALYZE TABLE DS2.{}", table.name()))?;
            self.done
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((table, count));
        }
        Ok(())
    }

    fn next(&self) -> Option<Table> {
        self.waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop()
    }

    fn go_on(&self) -> Result<(), LoadError> {
        if self.stop.load(Relaxed) {
            Err(LoadError::Interrupted)
        } else {
            Ok(())
        }
    }

    /// Load one part of a table by one statement. Returns its rows.
    fn part(
        &self,
        connection: &mut Database,
        table: Table,
        part: u8,
        tell: &Sender<Step>,
    ) -> Result<u64, LoadError> {
        self.go_on()?;
        let statement = format!(
            "LOAD DATA LOCAL INFILE 'rows' INTO TABLE DS2.{} CHARACTER SET ascii FIELDS TERMINATED \
             BY ','",
            table.name()
        );
        let (chunks, received) = tokio::sync::mpsc::channel(4);
        let count = |rows| {
            let _ = tell.send(Step::Rows(rows));
            self.go_on().map_err(|_| io::ErrorKind::Interrupted.into())
        };
        let (stored, sent) = thread::scope(|scope| {
            let generator = thread::Builder::new().spawn_scoped(scope, || {
                let sink = rows::Sink {
                    chunks,
                    count: &count,
                };
                rows::generate(table, part, self.rows, self.words, &sink)
            });
            let generator = generator.map_err(LoadError::Thread)?;
            let stored = connection.load_infile(&statement, received);
            let sent = generator
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok::<_, LoadError>((stored, sent))
        })?;
        self.go_on()?;
        let (stored, warnings) = stored?;
        if (stored, warnings) != (sent, 0) {
            return Err(LoadError::Rows {
                table: table.name(),
                what: format!(
                    "part {part} has {sent} rows, MariaDB stored {stored} with {warnings} warnings"
                ),
            });
        }
        Ok(sent)
    }
}

/// Check what each statement alone cannot tell: the ids that tables hold, and the next ones.
fn verify(database: &mut Database, rows: Rows, counts: &[(Table, u64)]) -> Result<(), LoadError> {
    for (table, sent) in counts {
        let name = table.name();
        let mismatch = |what: String| LoadError::Rows { table: name, what };
        for (column, last) in keys(*table, rows) {
            let ends: Vec<(Option<i64>, Option<i64>)> = database.query(&format!(
                "SELECT MIN({column}), MAX({column}) FROM DS2.{name}"
            ))?;
            let within =
                |id: Option<i64>| id.is_some_and(|id| (1..=last.cast_signed()).contains(&id));
            if !ends
                .iter()
                .all(|(least, greatest)| within(*least) && within(*greatest))
            {
                return Err(mismatch(format!(
                    "{column} must be within 1 to {last}, found {ends:?}"
                )));
            }
        }
        if table.counts() {
            let next = database.number(&format!(
                "SELECT CAST(AUTO_INCREMENT AS SIGNED) FROM information_schema.TABLES WHERE \
                 TABLE_SCHEMA = 'DS2' AND TABLE_NAME = '{name}'"
            ))?;
            if next.cast_unsigned() != sent + 1 {
                return Err(mismatch(format!(
                    "the next id must be {}, it is {next}",
                    sent + 1
                )));
            }
        }
    }
    Ok(())
}

/// Indexed columns of a table and the greatest id that may be in them.
fn keys(table: Table, rows: Rows) -> Vec<(&'static str, u64)> {
    let (customers, orders, products) = (rows.customers, rows.orders(), rows.products);
    match table {
        Table::Customers | Table::CustHist => vec![("CUSTOMERID", customers)],
        Table::Orders => vec![("ORDERID", orders), ("CUSTOMERID", customers)],
        Table::OrderLines => vec![("ORDERID", orders)],
        Table::Products | Table::Inventory => vec![("PROD_ID", products)],
    }
}

/// Bytes of data and indexes, as the server counts them.
fn bytes(database: &mut Database) -> Result<u64, SqlError> {
    let sum = "SELECT CAST(SUM(DATA_LENGTH + INDEX_LENGTH) AS SIGNED) FROM \
               information_schema.TABLES WHERE TABLE_SCHEMA = 'DS2'";
    database.number(sum).map(i64::cast_unsigned)
}
