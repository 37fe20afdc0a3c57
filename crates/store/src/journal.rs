//! The store itself: creation, opening, and the journal of trials.

use std::{
    ffi::OsString,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use rookery_study::{Plan, Trial};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, params};

use crate::{
    Attempt, Note, RunHeader, StoreError, TrialRecord, TrialRow, TrialStatus,
    cells::{Cells, int, name_of},
    schema,
    write::write_record,
};

/// The store of one run.
pub struct Store {
    pub(crate) path: PathBuf,
    pub(crate) connection: Connection,
    header: RunHeader,
}

impl Store {
    /// Make the store of a new run.
    ///
    /// # Errors
    /// When the file exists, cannot be written, or the plan contradicts itself.
    pub fn create(path: impl AsRef<Path>, header: &RunHeader) -> Result<Self, StoreError> {
        let path = path.as_ref();
        if path.exists() {
            return Err(StoreError::Exists { path: path.to_owned() });
        }
        check_plan(&header.plan).map_err(|what| StoreError::Damaged {
            path: path.to_owned(),
            table: "run",
            what,
        })?;
        let failed = |source| StoreError::Database {
            path: path.to_owned(),
            step: "making the store",
            source,
        };
        let connection = Connection::open(path).map_err(failed)?;
        prepare(&connection).map_err(failed)?;
        let transaction = connection.unchecked_transaction().map_err(failed)?;
        write_header(&transaction, header)
            .and_then(|()| transaction.commit())
            .map_err(failed)?;
        Ok(Self {
            path: path.to_owned(),
            connection,
            header: header.clone(),
        })
    }

    /// Open the store of a run, to continue it.
    ///
    /// # Errors
    /// When it is missing, foreign, newer or damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = existing(path.as_ref())?;
        let connection = connect(&path, path.as_os_str(), OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let store = Self::checked(path, connection)?;
        prepare(&store.connection).map_err(|source| store.failed("opening the store", source))?;
        Ok(store)
    }

    /// Open the store of a run, to read it. Works on read-only media too.
    ///
    /// # Errors
    /// When it is missing, foreign, newer or damaged.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = existing(path.as_ref())?;
        let plain = connect(&path, path.as_os_str(), OpenFlags::SQLITE_OPEN_READ_ONLY);
        match plain.and_then(|connection| Self::checked(path.clone(), connection)) {
            Err(StoreError::Database { source, .. }) if cannot_open(&source) && !has_write_ahead_log(&path) => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
                let connection = connect(&path, &immutable_uri(&path), flags)?;
                Self::checked(path, connection)
            }
            other => other,
        }
    }

    fn checked(path: PathBuf, connection: Connection) -> Result<Self, StoreError> {
        let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let versions = pragma("application_id").and_then(|id| Ok((id, pragma("user_version")?)));
        let (id, found) = versions.map_err(|source| unreadable(&path, source))?;
        if id != schema::APPLICATION_ID {
            return Err(StoreError::NotARun {
                path,
                what: "it does not carry our mark".to_owned(),
            });
        }
        if found > schema::VERSION {
            return Err(StoreError::Newer {
                path,
                found,
                known: schema::VERSION,
            });
        }
        if found < schema::VERSION {
            return Err(StoreError::NotARun {
                path,
                what: format!("schema {found} was never published"),
            });
        }
        if let Some(what) = schema::difference(&connection).map_err(|source| unreadable(&path, source))? {
            return Err(StoreError::NotARun { path, what });
        }
        let header = read_header(&path, &connection)?;
        Ok(Self { path, connection, header })
    }

    /// Where the store lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was known of the run before its first trial.
    ///
    /// # Errors
    /// When the table is damaged.
    pub fn header(&self) -> Result<RunHeader, StoreError> {
        Ok(self.header.clone())
    }

    /// Journal that a trial begins, before anything is touched. `at` is RFC 3339. An earlier void or failed record of the
    /// trial is dropped; its attempt stays in the journal.
    ///
    /// # Errors
    /// When the trial is not planned, is done, or runs already; when the disk refuses.
    pub fn begin_trial(&self, trial: u32, at: &str) -> Result<(), StoreError> {
        match self.status(trial)? {
            TrialStatus::Done => return Err(self.state(trial, "is done already; a finished trial is never repeated")),
            TrialStatus::Running => return Err(self.state(trial, "was begun and never ended\n  mend: continue the run with --resume")),
            TrialStatus::Planned | TrialStatus::Void | TrialStatus::Failed => {}
        }
        self.write("journaling the begin of a trial", |transaction| {
            forget_record(transaction, trial)?;
            transaction.execute(
                "UPDATE trials SET status = 'running', attempts = attempts + 1, started_at = ?2, ended_at = NULL WHERE trial = ?1",
                params![trial, at],
            )?;
            transaction.execute(
                "INSERT INTO attempts (trial, attempt, started_at) SELECT trial, attempts, ?2 FROM trials WHERE trial = ?1",
                params![trial, at],
            )?;
            Ok(())
        })
    }

    /// Store everything that a trial yielded and journal its end, in one transaction. `at` is RFC 3339.
    ///
    /// # Errors
    /// When the trial was not begun; when the disk refuses.
    pub fn end_trial(&self, trial: u32, at: &str, record: &TrialRecord) -> Result<(), StoreError> {
        if self.status(trial)? != TrialStatus::Running {
            return Err(self.state(trial, "was not begun, so it cannot end"));
        }
        self.write("storing a trial", |transaction| {
            write_record(transaction, trial, record)?;
            let status = name_of(TrialStatus::from(record.outcome));
            transaction.execute(
                "UPDATE trials SET status = ?2, ended_at = ?3 WHERE trial = ?1",
                params![trial, status, at],
            )?;
            transaction.execute(
                "UPDATE attempts SET ended_at = ?2, ended_as = ?3 WHERE trial = ?1 AND ended_as IS NULL",
                params![trial, at, status],
            )?;
            Ok(())
        })
    }

    /// Every planned trial and where it stands, in the order of execution.
    ///
    /// # Errors
    /// When a table is damaged.
    pub fn trials(&self) -> Result<Vec<TrialRow>, StoreError> {
        let mut rows = self.collect("trials", "SELECT * FROM trials ORDER BY trial", [], |cells| self.trial_row(cells))?;
        if rows.len() != self.header.plan.trials.len() {
            return Err(self.damaged("trials", "it does not hold the trials of the plan".to_owned()));
        }
        for row in &mut rows {
            row.reasons = self.reasons(row.trial.id)?;
        }
        Ok(rows)
    }

    /// Every attempt at every trial.
    ///
    /// # Errors
    /// When the table is damaged.
    pub fn attempts(&self) -> Result<Vec<Attempt>, StoreError> {
        self.collect("attempts", "SELECT * FROM attempts ORDER BY trial, attempt", [], |cells| {
            Ok(Attempt {
                trial: cells.small("trial")?,
                attempt: cells.small("attempt")?,
                started_at: cells.text("started_at")?,
                ended_at: cells.optional_text("ended_at")?,
                end: cells.optional_text("ended_as")?,
            })
        })
    }

    /// Plan again every trial that was begun and never ended; the attempt stays in the journal as `interrupted`. Returns
    /// these trials.
    ///
    /// # Errors
    /// When a table is damaged or the disk refuses.
    pub fn reset_running(&self) -> Result<Vec<u32>, StoreError> {
        let running = self.collect(
            "trials",
            "SELECT trial FROM trials WHERE status = 'running' ORDER BY trial",
            [],
            |cells| cells.small("trial"),
        )?;
        self.write("planning interrupted trials again", |transaction| {
            transaction.execute("UPDATE attempts SET ended_as = 'interrupted' WHERE ended_as IS NULL", [])?;
            transaction.execute("UPDATE trials SET status = 'planned' WHERE status = 'running'", [])?;
            Ok(())
        })?;
        Ok(running)
    }

    /// Keep a remark on the whole run. `at` is RFC 3339.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn note(&self, at: &str, text: &str) -> Result<(), StoreError> {
        self.write("keeping a note", |transaction| {
            transaction.execute("INSERT INTO notes (at, text) VALUES (?1, ?2)", params![at, text])?;
            Ok(())
        })
    }

    /// The remarks, oldest first.
    ///
    /// # Errors
    /// When the table is damaged.
    pub fn notes(&self) -> Result<Vec<Note>, StoreError> {
        self.collect("notes", "SELECT * FROM notes ORDER BY note", [], |cells| {
            Ok(Note {
                at: cells.text("at")?,
                text: cells.text("text")?,
            })
        })
    }

    pub(crate) fn reasons(&self, trial: u32) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT reason FROM reasons WHERE trial = ?1 ORDER BY position";
        self.collect("reasons", sql, [trial], |cells| cells.text("reason"))
    }

    /// The rows of a query, read and checked one by one.
    pub(crate) fn collect<T>(
        &self,
        table: &'static str,
        sql: &str,
        params: impl rusqlite::Params,
        read: impl Fn(&Cells<'_>) -> Result<T, String>,
    ) -> Result<Vec<T>, StoreError> {
        let damaged = |error: rusqlite::Error| self.damaged(table, error.to_string());
        let mut statement = self.connection.prepare_cached(sql).map_err(damaged)?;
        let mut rows = statement.query(params).map_err(damaged)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next().map_err(damaged)? {
            all.push(read(&Cells(row)).map_err(|what| self.damaged(table, what))?);
        }
        Ok(all)
    }

    pub(crate) fn damaged(&self, table: &'static str, what: String) -> StoreError {
        StoreError::Damaged {
            path: self.path.clone(),
            table,
            what,
        }
    }

    fn write(&self, step: &'static str, write: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>) -> Result<(), StoreError> {
        let transaction = self
            .connection
            .unchecked_transaction()
            .map_err(|source| self.failed(step, source))?;
        write(&transaction)
            .and_then(|()| transaction.commit())
            .map_err(|source| self.failed(step, source))
    }

    fn failed(&self, step: &'static str, source: rusqlite::Error) -> StoreError {
        StoreError::Database {
            path: self.path.clone(),
            step,
            source,
        }
    }

    fn state(&self, trial: u32, what: &str) -> StoreError {
        StoreError::State {
            path: self.path.clone(),
            trial,
            what: what.to_owned(),
        }
    }

    fn status(&self, trial: u32) -> Result<TrialStatus, StoreError> {
        let sql = "SELECT status FROM trials WHERE trial = ?1";
        let found = self.collect("trials", sql, [trial], |cells| cells.named("status"))?;
        found.into_iter().next().ok_or_else(|| self.state(trial, "is not in the plan"))
    }

    fn trial_row(&self, cells: &Cells<'_>) -> Result<TrialRow, String> {
        let id = cells.small("trial")?;
        let planned = self.header.plan.trials.iter().find(|trial| trial.id == id);
        let trial: Trial = planned.ok_or_else(|| format!("trial {id} is not in the plan"))?.clone();
        Ok(TrialRow {
            trial,
            status: cells.named("status")?,
            attempts: cells.small("attempts")?,
            started_at: cells.optional_text("started_at")?,
            ended_at: cells.optional_text("ended_at")?,
            reasons: Vec::new(),
        })
    }
}

/// Settings of a connection that writes: a write-ahead log, flushed at every commit.
fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)
}

fn existing(path: &Path) -> Result<PathBuf, StoreError> {
    let path = path.to_owned();
    if path.is_file() {
        Ok(path)
    } else {
        Err(StoreError::Missing { path })
    }
}

fn connect(path: &Path, name: &std::ffi::OsStr, flags: OpenFlags) -> Result<Connection, StoreError> {
    let connect = || {
        let connection = Connection::open_with_flags(Path::new(name), flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        Ok(connection)
    };
    connect().map_err(|source| unreadable(path, source))
}

fn unreadable(path: &Path, source: rusqlite::Error) -> StoreError {
    match source.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => StoreError::NotARun {
            path: path.to_owned(),
            what: "it is no SQLite file".to_owned(),
        },
        Some(rusqlite::ErrorCode::DatabaseCorrupt) => StoreError::Damaged {
            path: path.to_owned(),
            table: "sqlite_schema",
            what: source.to_string(),
        },
        _ => StoreError::Database {
            path: path.to_owned(),
            step: "opening the store",
            source,
        },
    }
}

fn cannot_open(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, ReadOnly};
    matches!(error.sqlite_error_code(), Some(CannotOpen | ReadOnly))
}

/// Whether commits still wait beside the file; then it must not be read without them.
fn has_write_ahead_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).is_ok_and(|metadata| metadata.len() > 0)
}

/// The URI that tells SQLite that nobody writes the file: no lock, no shared memory beside it.
fn immutable_uri(path: &Path) -> OsString {
    let mut uri = String::from("file:");
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri += &format!("%{byte:02X}");
        }
    }
    uri += "?immutable=1";
    uri.into()
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("our own types have string keys and finite structure")
}

fn write_header(transaction: &Transaction<'_>, header: &RunHeader) -> rusqlite::Result<()> {
    transaction.execute_batch(schema::TABLES)?;
    transaction.pragma_update(None, "application_id", schema::APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", schema::VERSION)?;
    transaction.execute(
        "INSERT INTO run VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            header.run_id,
            header.title,
            header.study_file,
            header.study_text,
            json(&header.study),
            json(&header.plan),
            json(&header.host),
            header.rookery_version,
            header.created_at,
        ],
    )?;
    for point in &header.plan.points {
        transaction.execute(
            "INSERT INTO points VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                point.id,
                point.layouts.join(", "),
                point.guests,
                point.vcpus.cpus(),
                point.total_users(),
                int(point.memory_mib),
                point.database.to_string(),
                point.capacity_cpus,
                point.baseline,
            ],
        )?;
    }
    for trial in &header.plan.trials {
        transaction.execute(
            "INSERT INTO trials VALUES (?1, ?2, ?3, ?4, 'planned', 0, NULL, NULL)",
            params![trial.id, trial.point, trial.repeat, trial.seed.to_string()],
        )?;
    }
    Ok(())
}

fn read_header(path: &Path, connection: &Connection) -> Result<RunHeader, StoreError> {
    let damaged = |what: String| StoreError::Damaged {
        path: path.to_owned(),
        table: "run",
        what,
    };
    let header = connection
        .query_row("SELECT * FROM run", [], |row| Ok(header_of(&Cells(row))))
        .optional()
        .map_err(|error| damaged(error.to_string()))?
        .ok_or_else(|| damaged("it is empty".to_owned()))?
        .map_err(damaged)?;
    check_plan(&header.plan).map_err(damaged)?;
    Ok(header)
}

fn header_of(cells: &Cells<'_>) -> Result<RunHeader, String> {
    Ok(RunHeader {
        run_id: cells.text("run_id")?,
        title: cells.text("title")?,
        study_file: cells.text("study_file")?,
        study_text: cells.text("study_text")?,
        study: cells.json("study_json")?,
        plan: cells.json("plan_json")?,
        host: cells.json("host_json")?,
        rookery_version: cells.text("rookery_version")?,
        created_at: cells.text("created_at")?,
    })
}

/// A plan that others may compute with: its references hold, its sums fit.
fn check_plan(plan: &Plan) -> Result<(), String> {
    let known = |id: u32| plan.points.iter().any(|point| point.id == id);
    for (index, point) in plan.points.iter().enumerate() {
        if plan.points[..index].iter().any(|earlier| earlier.id == point.id) {
            return Err(format!("the plan holds point {} twice", point.id));
        }
        if point.users.iter().try_fold(0u32, |sum, users| sum.checked_add(*users)).is_none() {
            return Err(format!("point {} has more users than can be counted", point.id));
        }
        if point.layouts.is_empty() || point.users.len() != point.guests as usize {
            return Err(format!(
                "point {} has no layout, or not one number of users for each guest",
                point.id
            ));
        }
        if point.baseline.is_some_and(|baseline| !known(baseline)) {
            return Err(format!("the baseline of point {} is not in the plan", point.id));
        }
    }
    for (index, trial) in plan.trials.iter().enumerate() {
        if plan.trials[..index].iter().any(|earlier| earlier.id == trial.id) {
            return Err(format!("the plan holds trial {} twice", trial.id));
        }
        if !known(trial.point) {
            return Err(format!("trial {} is of point {}, which is not in the plan", trial.id, trial.point));
        }
    }
    Ok(())
}

/// Details first: they refer to what is above them.
fn forget_record(transaction: &Transaction<'_>, trial: u32) -> rusqlite::Result<()> {
    let tables = [
        "error_examples",
        "errors",
        "seconds",
        "operations",
        "guests",
        "measurements",
        "rules",
        "verdicts",
        "resources",
        "audits",
        "tunings",
        "logs",
        "reasons",
        "records",
    ];
    for table in tables {
        transaction.execute(&format!("DELETE FROM {table} WHERE trial = ?1"), [trial])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_store_of_any_name_can_be_read_where_nothing_can_be_written() {
        let dir = tempfile::TempDir::new().expect("a temporary directory");
        let path = dir.path().join("a run?with#odd %name.sqlite");
        drop(Store::create(&path, &fixture::header()).expect("a new store"));
        assert!(!has_write_ahead_log(&path));
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let connection = connect(&path, &immutable_uri(&path), flags).expect("an immutable connection");
        let store = Store::checked(path, connection).expect("our own store");
        assert_eq!(store.trials().expect("readable").len(), 4);
    }
}
