//! Loading: the rows of a population are streamed into the database over several connections, one
//! table of one warehouse at a time.
//!
//! Memory stays bounded: a connection holds a few chunks of text, whatever the size of the
//! database. The schema comes before the rows; keys, indexes, procedures and statistics behind
//! them; `oe_meta` last, so that a load that was cut off is never taken for a whole one.

mod binary;
mod bulk;

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rookery_workload::orderentry::{
    Dialect, Moment, Table, after_load, create_tables, drop_tables,
    population::Part,
    sql::{create_procedures, drop_procedures},
};

use crate::{
    Database, LoadOptions, OltpError, Progress, Target, options::meta_of, runtime, sqlite,
    stopping::unless_stopped, target::Protocol, verify,
};

/// What was loaded.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The server's version, in its own words.
    pub version: String,
    /// Rows, without those of `oe_meta`.
    pub rows: u64,
    /// Bytes that were sent.
    pub bytes: u64,
    /// How long the empty tables took.
    pub preparing: Duration,
    /// How long the rows took.
    pub streaming: Duration,
    /// How long keys, indexes, procedures and statistics took.
    pub indexing: Duration,
    /// How long the checks took; nothing where they were left out.
    pub checking: Option<Duration>,
    /// Conditions that are broken; a right load has none.
    pub broken: Vec<verify::Check>,
}

/// Loads a population. Blocks; `progress` is called from several threads, a few times per megabyte;
/// `stop` ends the load soon.
///
/// # Errors
/// When there is no way to the database, it already holds such tables, or rows do not arrive. What
/// was loaded until then stays there, without its `oe_meta`, and is refused by everything but
/// another load with `overwrite`.
pub fn load(
    target: &Target,
    options: &LoadOptions,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Loaded, OltpError> {
    let runtime = runtime()?;
    let work = Work {
        parts: Mutex::new(Box::new(Part::all(&options.population))),
        failed: AtomicBool::new(false),
        progress,
        total: Mutex::new(BTreeMap::new()),
    };
    let (preparing, streaming, indexing) = if target.protocol == Protocol::Sqlite {
        let (streaming, indexing) = fill_sqlite(&runtime, target, options, &work, stop)?;
        (Duration::ZERO, streaming, indexing)
    } else {
        let began = Instant::now();
        runtime.block_on(unless_stopped(stop, prepare(target, options)))?;
        let preparing = began.elapsed();
        let began = Instant::now();
        stream(target, options, &work, stop)?;
        let streaming = began.elapsed();
        let began = Instant::now();
        runtime.block_on(unless_stopped(stop, async {
            finish(&mut Database::connect(target).await?, options).await
        }))?;
        (preparing, streaming, began.elapsed())
    };
    let sent = work
        .total
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    runtime.block_on(unless_stopped(stop, async {
        let mut database = Database::connect(target).await?;
        let began = Instant::now();
        let mut broken = Vec::new();
        if options.check {
            for (&table, sent) in &sent {
                verify::check_rows(&mut database, table, sent.rows).await?;
            }
            let found = verify::verify_on(&mut database, target, Moment::AfterLoad).await?;
            broken = found
                .checks
                .into_iter()
                .filter(|check| !check.offenders.is_empty())
                .collect();
        }
        Ok(Loaded {
            version: database.version().to_owned(),
            rows: sent.values().map(|sent| sent.rows).sum(),
            bytes: sent.values().map(|sent| sent.bytes).sum(),
            preparing,
            streaming,
            indexing,
            checking: options.check.then(|| began.elapsed()),
            broken,
        })
    }))
}

/// What the loading threads share.
struct Work<'a> {
    parts: Mutex<Box<dyn Iterator<Item = Part> + Send>>,
    /// One of the connections met an error: the others end.
    failed: AtomicBool,
    progress: &'a (dyn Fn(Progress) + Sync),
    total: Mutex<BTreeMap<Table, Progress>>,
}

impl Work<'_> {
    fn next(&self) -> Option<Part> {
        self.parts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .next()
    }

    fn add(&self, table: Table, sent: Progress) {
        let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = total.entry(table).or_default();
        entry.rows += sent.rows;
        entry.bytes += sent.bytes;
    }
}

/// The server of SQLite makes the rows itself. Gives how long rows took, and the rest.
fn fill_sqlite(
    runtime: &tokio::runtime::Runtime,
    target: &Target,
    options: &LoadOptions,
    work: &Work<'_>,
    stop: &AtomicBool,
) -> Result<(Duration, Duration), OltpError> {
    let sum = Mutex::new(Progress::default());
    let progress = |step: Progress| {
        let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
        sum.rows += step.rows;
        sum.bytes += step.bytes;
        (work.progress)(step);
    };
    let times = runtime.block_on(unless_stopped(
        stop,
        sqlite::load(target, options, &progress),
    ))?;
    let mut left = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    // All but the number of order lines is known; they are the rest.
    for table in Table::LOADED
        .into_iter()
        .filter(|&table| table != Table::OrderLine)
    {
        let rows = options.population.scale.rows(table);
        left.rows = left.rows.saturating_sub(rows);
        work.add(table, Progress { rows, bytes: 0 });
    }
    work.add(Table::OrderLine, left);
    Ok((times.streaming, times.indexing))
}

async fn prepare(target: &Target, options: &LoadOptions) -> Result<(), OltpError> {
    let mut database = Database::connect(target).await?;
    let dialect = database.dialect();
    if options.overwrite {
        drop_all(&mut database).await?;
    } else if let Some(table) = first_table(&mut database).await? {
        return Err(OltpError::Exists {
            target: target.to_string(),
            table,
        });
    }
    for statement in create_tables(dialect, options.schema) {
        database.execute(&statement).await?;
    }
    Ok(())
}

/// Removes what the workload has made before.
async fn drop_all(database: &mut Database) -> Result<(), OltpError> {
    let dialect = database.dialect();
    for statement in drop_procedures(dialect).iter().chain(&drop_tables(dialect)) {
        match database.execute(statement).await {
            // Not every database can be told to drop a table only if there is one.
            Err(OltpError::Statement { .. }) if !statement.contains("IF EXISTS") => {}
            done => done?,
        }
    }
    Ok(())
}

async fn first_table(database: &mut Database) -> Result<Option<&'static str>, OltpError> {
    #[cfg(feature = "odbc")]
    if let crate::database::AnyClient::Odbc(connection) = &mut database.client {
        for table in Table::ALL {
            if connection.has_table(table).await {
                return Ok(Some(table.name()));
            }
        }
        return Ok(None);
    }
    let schema = if database.dialect().is_mysql_like() {
        "DATABASE()"
    } else {
        "current_schema()"
    };
    let query =
        format!("SELECT table_name FROM information_schema.tables WHERE table_schema = {schema}");
    let rows = database.short_rows(&query).await?;
    let names: Vec<String> = rows.into_iter().flatten().flatten().collect();
    Ok(Table::ALL
        .into_iter()
        .map(Table::name)
        .find(|name| names.iter().any(|found| found == name)))
}

/// Runs the loading threads, and gives the first error.
fn stream(
    target: &Target,
    options: &LoadOptions,
    work: &Work<'_>,
    stop: &AtomicBool,
) -> Result<(), OltpError> {
    let threads = options.connections.max(1);
    let ends: Vec<Result<(), OltpError>> = thread::scope(|scope| {
        let spawned: Vec<_> = (0..threads)
            .map(|number| {
                thread::Builder::new()
                    .name(format!("load-{number}"))
                    .spawn_scoped(scope, || {
                        let end = runtime().and_then(|runtime| {
                            runtime.block_on(unless_stopped(
                                stop,
                                unless_stopped(&work.failed, load_parts(target, options, work)),
                            ))
                        });
                        if end.is_err() {
                            work.failed.store(true, Ordering::Relaxed);
                        }
                        end
                    })
                    .map_err(OltpError::Runtime)
            })
            .collect();
        let joined = spawned.into_iter().map(|thread| match thread?.join() {
            Ok(end) => end,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.collect()
    });
    // The others were only told to stop.
    let (stopped, failed): (Vec<OltpError>, Vec<OltpError>) = ends
        .into_iter()
        .filter_map(Result::err)
        .partition(|error| matches!(error, OltpError::Stopped));
    match failed.into_iter().chain(stopped).next() {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

async fn load_parts(
    target: &Target,
    options: &LoadOptions,
    work: &Work<'_>,
) -> Result<(), OltpError> {
    let mut database = Database::connect(target).await?;
    for statement in session_settings(database.dialect()) {
        database.execute(statement).await?;
    }
    while let Some(part) = work.next() {
        let sent = bulk::load_part(&mut database, target, &options.population, part, work).await?;
        work.add(part.table, sent);
    }
    Ok(())
}

fn session_settings(dialect: Dialect) -> &'static [&'static str] {
    if dialect.is_mysql_like() {
        // Unique checks stay on: without them MariaDB fills an empty table in bulk, sorted through
        // files, which takes twice the CPU time of plain rows that come in the order of their key,
        // and locks out all others meanwhile. The numbers of payments are locked for a whole table.
        &["SET SESSION foreign_key_checks = 0, innodb_lock_wait_timeout = 86400"]
    } else if dialect != Dialect::Postgresql {
        &[]
    } else {
        // Nothing has to survive before the load has ended, and a checkpoint ends it.
        &["SET synchronous_commit = off"]
    }
}

/// Keys, indexes, statistics, procedures, and at the very end the word that all is there.
async fn finish(database: &mut Database, options: &LoadOptions) -> Result<(), OltpError> {
    let dialect = database.dialect();
    for statement in after_load(dialect, options.schema) {
        match database.execute(&statement).await {
            // Not every user may ask for a checkpoint; the server makes one in its own time.
            Err(OltpError::Statement { why, .. })
                if statement == "CHECKPOINT"
                    && why.code().is_some_and(|(state, _)| state == "42501") => {}
            done => done?,
        }
    }
    for statement in create_procedures(dialect) {
        database.execute(&statement).await?;
    }
    let rows = meta_of(&options.population, options.schema);
    let values: Vec<String> = rows
        .iter()
        .map(|(key, value)| format!("('{key}', '{value}')"))
        .collect();
    database
        .execute(&format!(
            "INSERT INTO oe_meta (k, v) VALUES {}",
            values.join(", ")
        ))
        .await
}
