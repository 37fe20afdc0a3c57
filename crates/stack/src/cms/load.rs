//! Making the database: generated rows go straight into the tables, without files between.

use std::{
    fs::{self, File},
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rookery_stats::DatabaseLoad;
use rookery_workload::cms::{ADMIN, CmsData, PASSWORD};
use rusqlite::{Connection, params};
use sha2::{Digest as _, Sha256};

use super::{CmsError, schema};
use crate::embedded::settle;

/// Rows between two reports of progress.
const REPORT_EVERY: u32 = 10_000;

/// The salt of all passwords: one hash serves every account, as every account has one password.
pub(super) const SALT: &str = "rookery";

/// How far a load is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CmsLoadProgress {
    /// What is being made: `accounts`, `nodes`.
    pub step: &'static str,
    /// Rows of it that are done.
    pub done: u32,
    /// Rows of it altogether.
    pub total: u32,
}

/// The hash of a password as accounts have it.
pub(super) fn hashed(salt: &str, password: &str) -> String {
    let mut digest = Sha256::new();
    digest.update(salt.as_bytes());
    digest.update(password.as_bytes());
    let hex: String = digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{salt}${hex}")
}

/// Makes a database of these data at `database`, and reports about every ten thousand rows; the
/// answer of `progress` may end the load, of which nothing stays then.
///
/// The file appears under its name only when it is complete: a load that was killed leaves
/// `<name>.part`, which the next load replaces.
///
/// # Errors
/// When `database` exists, the disk is full, SQLite refuses, or `progress` ends the load.
pub fn load(
    database: &Path,
    data: &CmsData,
    progress: &dyn Fn(CmsLoadProgress) -> ControlFlow<()>,
) -> Result<DatabaseLoad, CmsError> {
    let began = Instant::now();
    if database.exists() {
        return Err(CmsError::Exists(database.to_owned()));
    }
    let part = part_path(database);
    match fs::remove_file(&part) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            return Err(CmsError::file(&part, "removing an unfinished load")(source));
        }
        _ => {}
    }
    let loaded = fill(&part, data, progress).and_then(|times| {
        let bytes = publish(&part, database)?;
        Ok(times.load(began.elapsed(), data.rows(), bytes))
    });
    if loaded.is_err() {
        // The first error is the one to tell; a remainder is replaced by the next load.
        let _ = fs::remove_file(&part);
    }
    loaded
}

fn part_path(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

/// When the empty tables, all rows and all indexes were there, since the begin.
struct Times {
    created: Duration,
    filled: Duration,
    indexed: Duration,
}

impl Times {
    fn load(&self, whole: Duration, rows: u64, bytes: u64) -> DatabaseLoad {
        let between = |from: Duration, to: Duration| to.saturating_sub(from).as_secs_f64();
        DatabaseLoad {
            create_s: self.created.as_secs_f64(),
            rows_s: between(self.created, self.filled),
            index_s: between(self.filled, self.indexed),
            check_s: 0.0,
            close_s: between(self.indexed, whole),
            rows,
            bytes,
        }
    }
}

/// Everything into the file at `part`.
fn fill(
    part: &Path,
    data: &CmsData,
    progress: &dyn Fn(CmsLoadProgress) -> ControlFlow<()>,
) -> Result<Times, CmsError> {
    let began = Instant::now();
    let at = |step| CmsError::database(part, step);
    let mut connection = Connection::open(part).map_err(at("creating the database"))?;
    let settings = |connection: &Connection| {
        settle(connection)?;
        // A load that fails is thrown away whole: nothing has to be undone, or synchronised before
        // the end.
        for (name, value) in [
            ("journal_mode", "OFF"),
            ("synchronous", "OFF"),
            ("locking_mode", "EXCLUSIVE"),
        ] {
            connection.pragma_update(None, name, value)?;
        }
        connection.pragma_update(None, "cache_size", -65_536)
    };
    settings(&connection).map_err(at("setting up the database"))?;
    connection
        .execute_batch(schema::TABLES)
        .map_err(at("creating the tables"))?;
    let created = began.elapsed();
    let rows = |connection: &mut Connection| {
        let transaction = connection.transaction()?;
        accounts(&transaction, data, progress)?;
        nodes(&transaction, data, progress)?;
        schema::describe(&transaction, data)?;
        transaction.commit()
    };
    rows(&mut connection).map_err(at("loading the rows"))?;
    let filled = began.elapsed();
    connection
        .execute_batch(schema::INDEXES)
        .map_err(at("building the indexes"))?;
    let indexed = began.elapsed();
    // Write-ahead logging is a property of the file: readers and the writer do not block each
    // other.
    connection
        .pragma_update(None, "locking_mode", "NORMAL")
        .and_then(|()| connection.pragma_update(None, "journal_mode", "WAL"))
        .map_err(at("finishing"))?;
    connection
        .close()
        .map_err(|(_, source)| source)
        .map_err(at("finishing"))?;
    Ok(Times {
        created,
        filled,
        indexed,
    })
}

fn accounts(
    connection: &Connection,
    data: &CmsData,
    progress: &dyn Fn(CmsLoadProgress) -> ControlFlow<()>,
) -> Result<(), rusqlite::Error> {
    let mut insert = connection.prepare("INSERT INTO accounts VALUES (?1, ?2, ?3, ?4, ?5)")?;
    let pass = hashed(SALT, PASSWORD);
    let created = data.node(0).created_s.cast_signed();
    let mut add = |id: u32, name: &str| {
        insert.execute(params![
            id,
            name,
            pass,
            format!("{name}@site.invalid"),
            created
        ])
    };
    // The administrator is the first, as on the sites that these are like.
    add(1, ADMIN)?;
    for number in 1..=data.users {
        add(number + 1, &CmsData::user_name(number))?;
        report("accounts", number, data.users, progress)?;
    }
    Ok(())
}

fn nodes(
    connection: &Connection,
    data: &CmsData,
    progress: &dyn Fn(CmsLoadProgress) -> ControlFlow<()>,
) -> Result<(), rusqlite::Error> {
    let mut insert = connection.prepare("INSERT INTO nodes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    for place in 0..data.nodes {
        let (node, text) = (data.node(place), data.text(place));
        insert.execute(params![
            node.id,
            node.kind.name(),
            text.title,
            text.body,
            node.author + 1,
            node.created_s.cast_signed(),
            node.promoted,
        ])?;
        report("nodes", place + 1, data.nodes, progress)?;
    }
    Ok(())
}

/// A listener that has had enough interrupts the load, as SQLite calls it.
fn report(
    step: &'static str,
    done: u32,
    total: u32,
    progress: &dyn Fn(CmsLoadProgress) -> ControlFlow<()>,
) -> Result<(), rusqlite::Error> {
    if !done.is_multiple_of(REPORT_EVERY) && done != total {
        return Ok(());
    }
    match progress(CmsLoadProgress { step, done, total }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_INTERRUPT),
            None,
        )),
    }
}

/// Makes `part` durable and gives it its name; its bytes.
fn publish(part: &Path, database: &Path) -> Result<u64, CmsError> {
    let publish = || {
        let file = File::open(part)?;
        file.sync_all()?;
        let bytes = file.metadata()?.len();
        fs::rename(part, database)?;
        if let Some(directory) = database
            .parent()
            .filter(|directory| !directory.as_os_str().is_empty())
        {
            File::open(directory)?.sync_all()?;
        }
        Ok(bytes)
    };
    publish().map_err(CmsError::file(part, "giving the database its name"))
}
