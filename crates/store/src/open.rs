//! Making and opening a store: marks, versions, and the check of what the header says.

use std::{
    ffi::OsString,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use rookery_study::{Plan, Point, Trial};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction};

use crate::{
    RunHeader, Store, StoreError,
    cells::{Cells, int, json_of},
    connection::{connect, unreadable},
    insert::insert,
    schema, upgrade,
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
        check_header(header).map_err(|what| StoreError::Damaged {
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
            Err("the new plan is not the old one with more".to_owned())
        };
        sound.map_err(|what| self.damaged("run", what))?;
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
            path,
            connection,
            header,
        })
    }
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

/// Refuses what would not come back: a plan that contradicts itself, or a number that JSON does not
/// know.
fn check_header(header: &RunHeader) -> Result<(), String> {
    check_plan(&header.plan)?;
    let whole = serde_json::from_str(&json_of(&header.study))
        .is_ok_and(|study: rookery_study::Study| study == header.study)
        && serde_json::from_str(&json_of(&header.plan)).is_ok_and(|plan: Plan| plan == header.plan);
    if whole {
        Ok(())
    } else {
        Err("the study or the plan holds a number that cannot be stored".to_owned())
    }
}

/// A plan that others may compute with: its references hold, its sums fit.
fn check_plan(plan: &Plan) -> Result<(), String> {
    let known = |id: u32| plan.points.iter().any(|point| point.id == id);
    for (index, point) in plan.points.iter().enumerate() {
        if plan.points[..index]
            .iter()
            .any(|earlier| earlier.id == point.id)
        {
            return Err(format!("the plan holds point {} twice", point.id));
        }
        let [group] = point.groups.as_slice() else {
            return Err(format!(
                "point {} has {} groups of guests; this program knows points of one",
                point.id,
                point.groups.len()
            ));
        };
        if group
            .users
            .iter()
            .try_fold(0u32, |sum, users| sum.checked_add(*users))
            .is_none()
        {
            return Err(format!(
                "point {} has more users than can be counted",
                point.id
            ));
        }
        if group
            .rate_per_s
            .is_some_and(|rate| !(rate > 0.0 && rate.is_finite()))
        {
            return Err(format!("point {} has a rate that is none", point.id));
        }
        let guests = usize::from(
            u16::try_from(group.guests)
                .map_err(|_| format!("point {} has more guests than any lab", point.id))?,
        );
        if point.layouts.is_empty() || [group.users.len(), group.pins.len()] != [guests; 2] {
            return Err(format!(
                "point {} has no layout, or not one number of users and one list of CPUs for each \
                 guest",
                point.id
            ));
        }
        if !plan
            .variants
            .iter()
            .any(|variant| variant.id == point.variant)
        {
            return Err(format!(
                "point {} is of variant {}, which is not in the plan",
                point.id, point.variant
            ));
        }
        if point.baseline.is_some_and(|baseline| !known(baseline)) {
            return Err(format!(
                "the baseline of point {} is not in the plan",
                point.id
            ));
        }
    }
    check_searches(plan)?;
    for (index, trial) in plan.trials.iter().enumerate() {
        if plan.trials[..index]
            .iter()
            .any(|earlier| earlier.id == trial.id)
        {
            return Err(format!("the plan holds trial {} twice", trial.id));
        }
        if !known(trial.point) {
            return Err(format!(
                "trial {} is of point {}, which is not in the plan",
                trial.id, trial.point
            ));
        }
    }
    Ok(())
}

fn check_searches(plan: &Plan) -> Result<(), String> {
    for (index, search) in plan.searches.iter().enumerate() {
        if plan.searches[..index]
            .iter()
            .any(|earlier| earlier.id == search.id)
        {
            return Err(format!("the plan holds search {} twice", search.id));
        }
        if !plan
            .variants
            .iter()
            .any(|variant| variant.id == search.variant)
            || search.layouts.is_empty()
        {
            return Err(format!(
                "search {} lacks its variant or its layout",
                search.id
            ));
        }
        if !(search.lowest > 0.0 && search.lowest <= search.highest && search.highest.is_finite()) {
            return Err(format!("search {} has a range that is none", search.id));
        }
        if let Some(missing) = search
            .ladder
            .iter()
            .find(|id| !plan.points.iter().any(|point| point.id == **id))
        {
            return Err(format!(
                "the ladder of search {} has point {missing}, which is not in the plan",
                search.id
            ));
        }
    }
    let of = |id: u32| plan.searches.iter().any(|search| search.id == id);
    match plan
        .points
        .iter()
        .find(|point| point.search.is_some_and(|search| !of(search)))
    {
        Some(point) => Err(format!(
            "point {} is of a search that is not in the plan",
            point.id
        )),
        None => Ok(()),
    }
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
        let connection =
            connect(&path, &immutable_uri(&path), flags).expect("an immutable connection");
        let store = Store::to_read(path, connection).expect("our own store");
        assert_eq!(store.trials().expect("readable").len(), 4);
    }
}
