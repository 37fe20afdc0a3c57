//! Making and opening a store: marks, versions, and the check of what the header says.

use std::{
    ffi::OsString,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rookery_study::{Plan, Point, Trial};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction};

use crate::{
    CellError, Damage, PlanFault, RunHeader, Store, StoreError,
    cells::{Cells, int, json_of},
    connection::{connect, unreadable},
    insert::insert,
    plan_check::{check_header, check_plan},
    schema,
    store_file::StoreFile,
    upgrade,
    whole_file::give_name,
};

impl Store {
    /// Make the store of a new run.
    ///
    /// # Errors
    /// When the file exists, cannot be written, or the plan contradicts itself.
    pub fn create(path: impl AsRef<Path>, header: &RunHeader) -> Result<Self, StoreError> {
        let path = path.as_ref();
        if path.exists() {
            return Err(StoreError::Exists {
                path: path.to_owned(),
            });
        }
        check_header(header).map_err(|fault| damaged_header(path, fault))?;
        let part = path.with_extension("sqlite.part");
        let failed = |source| StoreError::Create {
            path: path.to_owned(),
            source,
        };
        match fs::remove_file(&part) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        make_whole(&part, header).map_err(|error| failed(io::Error::other(error)))?;
        give_name(&part, path).map_err(failed)?;
        Self::open(path)
    }

    /// Open the store of a run, to continue it. A store of an older version is brought forward in
    /// place, in one transaction; a copy of it as it was is left beside it (`run-v5.sqlite`).
    ///
    /// # Errors
    /// When it is missing, foreign, newer or damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = existing(path.as_ref())?;
        let connection = connect(&path, path.as_os_str(), OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let found = known_version(&path, &connection)?;
        if found < schema::VERSION {
            upgrade::in_place(&path, &connection, found)?;
        }
        let store = Self::with_header(path, connection)?;
        prepare(&store.connection).map_err(|source| store.failed("opening the store", source))?;
        Ok(store)
    }

    /// Open the store of a run, to read it. Works on read-only media too. A store of an older
    /// version is brought forward in a copy that goes with the `Store`; the file stays as it is.
    ///
    /// # Errors
    /// When it is missing, foreign, newer or damaged.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = existing(path.as_ref())?;
        let plain = connect(&path, path.as_os_str(), OpenFlags::SQLITE_OPEN_READ_ONLY);
        match plain.and_then(|connection| Self::to_read(path.clone(), connection)) {
            Err(StoreError::Database { source, .. })
                if cannot_open(&source) && !has_write_ahead_log(&path) =>
            {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
                let connection = connect(&path, &immutable_uri(&path), flags)?;
                Self::to_read(path, connection)
            }
            other => other,
        }
    }

    /// Put a plan that has grown in the place of the stored one: new points and trials are planned,
    /// in one transaction.
    ///
    /// # Errors
    /// When the new plan does not begin with all of the old one, or contradicts itself; when the
    /// disk refuses.
    pub fn grow_plan(&mut self, plan: Plan) -> Result<(), StoreError> {
        let header = RunHeader {
            plan,
            ..self.header.clone()
        };
        let old = &self.header.plan;
        let (points, trials) = (old.points.len(), old.trials.len());
        let same = header.plan.points.get(..points) == Some(&old.points[..])
            && header.plan.trials.get(..trials) == Some(&old.trials[..]);
        let sound = if same {
            check_header(&header)
        } else {
            Err(PlanFault::NotGrown)
        };
        sound.map_err(|fault| self.damaged("run", fault))?;
        self.write("growing the plan", |transaction| {
            transaction.execute("UPDATE run SET plan_json = ?1", [json_of(&header.plan)])?;
            insert_points(transaction, &header.plan.points[points..])?;
            insert_trials(transaction, &header.plan.trials[trials..])
        })?;
        self.header = header;
        Ok(())
    }

    fn to_read(path: PathBuf, connection: Connection) -> Result<Self, StoreError> {
        let found = known_version(&path, &connection)?;
        let connection = if found < schema::VERSION {
            upgrade::copy(&path, &connection)?
        } else {
            connection
        };
        Self::with_header(path, connection)
    }

    fn with_header(path: PathBuf, connection: Connection) -> Result<Self, StoreError> {
        let header = read_header(&path, &connection)?;
        Ok(Self {
            file: StoreFile::read(&path),
            path,
            connection,
            header,
        })
    }
}

/// Write a store with its header alone. It has another name until it is whole: a controller that is
/// killed meanwhile leaves nothing that could be taken for a run.
fn make_whole(part: &Path, header: &RunHeader) -> rusqlite::Result<()> {
    let connection = Connection::open(part)?;
    let transaction = connection.unchecked_transaction()?;
    write_header(&transaction, header)?;
    transaction.commit()?;
    connection.close().map_err(|(_, error)| error)
}

/// The version of a store, if it is one that can be read and its schema is the one of that version.
fn known_version(path: &Path, connection: &Connection) -> Result<i64, StoreError> {
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let versions = pragma("application_id").and_then(|id| Ok((id, pragma("user_version")?)));
    let (id, found) = versions.map_err(|source| unreadable(path, source))?;
    let foreign = |what| StoreError::NotARun {
        path: path.to_owned(),
        what,
    };
    if id != schema::APPLICATION_ID {
        return Err(foreign("it does not carry our mark".to_owned()));
    }
    if !(schema::OLDEST..=schema::VERSION).contains(&found) {
        return Err(StoreError::OtherVersion {
            path: path.to_owned(),
            found,
            oldest: schema::OLDEST,
            newest: schema::VERSION,
        });
    }
    let difference =
        schema::difference(connection, found).map_err(|source| unreadable(path, source))?;
    difference.map_or(Ok(found), |what| Err(foreign(what)))
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

/// What has a meaning in a URI; the rest of a path stays as it is.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.');

/// The URI that tells SQLite that nobody writes the file: no lock, no shared memory beside it.
fn immutable_uri(path: &Path) -> OsString {
    let encoded = percent_encode(path.as_os_str().as_bytes(), RESERVED);
    format!("file:{encoded}?immutable=1").into()
}

fn write_header(transaction: &Transaction<'_>, header: &RunHeader) -> rusqlite::Result<()> {
    schema::install(transaction, schema::VERSION)?;
    transaction.pragma_update(None, "application_id", schema::APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", schema::VERSION)?;
    insert(
        transaction,
        "run",
        &[
            ("id", &1),
            ("run_id", &header.run_id),
            ("title", &header.title),
            ("study_file", &header.study_file),
            ("study_text", &header.study_text),
            ("study_json", &json_of(&header.study)),
            ("plan_json", &json_of(&header.plan)),
            ("host_json", &json_of(&header.host)),
            ("rookery_version", &header.rookery_version),
            ("created_at", &header.created_at),
        ],
    )?;
    insert_points(transaction, &header.plan.points)?;
    insert_trials(transaction, &header.plan.trials)
}

fn insert_points(transaction: &Transaction<'_>, points: &[Point]) -> rusqlite::Result<()> {
    for point in points {
        let levels: Vec<String> = point
            .levels
            .iter()
            .map(|level| format!("{}={}", level.key, level.value))
            .collect();
        insert(
            transaction,
            "points",
            &[
                ("point", &point.id),
                ("variant", &point.variant),
                ("levels", &levels.join("; ")),
                ("layouts", &point.layouts.join(", ")),
                ("guests", &point.guests()),
                ("vcpus", &point.only_group().vcpus.cpus()),
                ("users", &point.total_users()),
                ("rate_per_s", &point.rate_per_s()),
                ("memory_mib", &int(point.only_group().memory_mib)),
                ("database", &point.only_group().database.to_string()),
                ("capacity_cpus", &point.capacity_cpus),
                ("baseline_point", &point.baseline),
                ("search", &point.search),
            ],
        )?;
    }
    Ok(())
}

fn insert_trials(transaction: &Transaction<'_>, trials: &[Trial]) -> rusqlite::Result<()> {
    for trial in trials {
        insert(
            transaction,
            "trials",
            &[
                ("trial", &trial.id),
                ("point", &trial.point),
                ("repeat", &trial.repeat),
                ("block", &trial.block),
                ("seed", &trial.seed.to_string()),
                ("purpose", &trial.purpose.name()),
                ("status", &"planned"),
                ("attempts", &0),
            ],
        )?;
    }
    Ok(())
}

fn read_header(path: &Path, connection: &Connection) -> Result<RunHeader, StoreError> {
    let header = connection
        .query_row("SELECT * FROM run", [], |row| Ok(header_of(&Cells(row))))
        .optional()
        .map_err(|error| damaged_header(path, error))?
        .ok_or_else(|| damaged_header(path, Damage::Empty))?
        .map_err(|error| damaged_header(path, error))?;
    check_plan(&header.plan).map_err(|fault| damaged_header(path, fault))?;
    Ok(header)
}

fn damaged_header(path: &Path, source: impl Into<Damage>) -> StoreError {
    StoreError::Damaged {
        path: path.to_owned(),
        table: "run",
        row: None,
        source: Box::new(source.into()),
    }
}

fn header_of(cells: &Cells<'_>) -> Result<RunHeader, CellError> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula;

    #[test]
    fn a_store_of_any_name_can_be_read_where_nothing_can_be_written() {
        let dir = tempfile::TempDir::new().expect("a temporary directory");
        let path = dir.path().join("a run?with#odd %name.sqlite");
        drop(Store::create(&path, &formula::header()).expect("a new store"));
        assert!(!has_write_ahead_log(&path));
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let connection =
            connect(&path, &immutable_uri(&path), flags).expect("an immutable connection");
        let store = Store::to_read(path, connection).expect("our own store");
        assert_eq!(store.trials().expect("readable").len(), 4);
    }
}
