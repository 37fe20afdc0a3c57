//! Tests of bringing stores forward, over every store of an earlier version in `tests/data`.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use proptest::prelude::*;
use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::{Store, StoreError, TrialRecord, schema, upgrade};

/// Name and path of every store of an earlier version, by name.
fn stores() -> Vec<(String, PathBuf)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/v5");
    let mut all: Vec<(String, PathBuf)> = fs::read_dir(dir)
        .expect("the test data")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|end| end == "sqlite"))
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy();
            (name.into_owned(), path)
        })
        .collect();
    all.sort();
    assert!(all.len() >= 16, "{all:?}");
    all
}

/// A copy of a store that may be altered.
fn copied(store: &Path) -> (TempDir, PathBuf) {
    let dir = TempDir::new().expect("a temporary directory");
    let path = dir.path().join("run.sqlite");
    fs::copy(store, &path).expect("copied");
    (dir, path)
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .expect("readable")
        .map(|entry| {
            let name = entry.expect("readable").file_name();
            name.to_string_lossy().into_owned()
        })
        .collect();
    names.sort();
    names
}

/// What any version must tell of a trial: numbers that no migration may change.
fn facts(record: &TrialRecord) -> String {
    let mut facts = format!(
        "{:?} ready {:.3} s, {} resources, {} machines, {} tunings, {} logs\n",
        record.outcome,
        record.ready_s,
        record.resources.len(),
        record.machines.len(),
        record.tunings.len(),
        record.logs.len()
    );
    for reason in &record.reasons {
        writeln!(facts, "  reason: {} {reason}", reason.code).expect("text");
    }
    for audit in &record.audits {
        writeln!(facts, "  audit: {audit:?}").expect("text");
    }
    if let Some(verdict) = &record.verdict {
        let (rules, binding) = (verdict.rules.len(), verdict.binding);
        writeln!(facts, "  passed {} {rules} {binding:?}", verdict.passed).expect("text");
    }
    let Some(measurement) = &record.measurement else {
        return facts;
    };
    let (window, driver) = (measurement.window, &measurement.driver);
    writeln!(
        facts,
        "  {:?} {:?} {:.3} to {:.3} s, lag {} us, arrivals {:?}",
        measurement.mode,
        measurement.pacing,
        window.start_s,
        window.end_s,
        driver.lag_p99_us,
        driver.arrivals
    )
    .expect("text");
    for guest in &measurement.guests {
        let throughput = guest
            .counters
            .headline()
            .map_or_else(String::new, |headline| {
                format!("{:.1} {}", headline.value, headline.metric.name)
            });
        writeln!(
            facts,
            "  {} of {} users: {throughput}, {} seconds, {} classes of errors",
            guest.guest,
            guest.users,
            guest.series.len(),
            guest.errors.len()
        )
        .expect("text");
        for operation in &guest.operations {
            let percentile = operation.response.percentile_us(95.0);
            writeln!(
                facts,
                "    {} {} of {}, {} failed, p95 {percentile:?} us",
                operation.name, operation.succeeded, operation.started, operation.failed
            )
            .expect("text");
        }
    }
    facts
}

fn all_facts(store: &Store) -> String {
    let header = store.header().expect("a header");
    let mut facts = format!(
        "{}: {} points, {} searches, {} notes, pools {:?}\n",
        header.title,
        header.plan.points.len(),
        header.plan.searches.len(),
        store.notes().expect("notes").len(),
        store.pools().expect("pools")
    );
    for row in store.trials().expect("trials") {
        let status = row.status;
        write!(facts, "trial {} {status:?} ", row.trial.id).expect("text");
        match store.record(row.trial.id).expect("a record") {
            Some(record) => facts += &self::facts(&record),
            None => facts += "no record\n",
        }
    }
    facts
}

#[test]
fn what_earlier_versions_stored_is_read_as_it_was() {
    let mut told = String::new();
    for (name, path) in stores() {
        let (_dir, path) = copied(&path);
        let before = fs::read(&path).expect("readable");
        let store = Store::open_read_only(&path).expect("readable");
        writeln!(told, "== {name}\n{}", all_facts(&store)).expect("text");
        drop(store);
        assert_eq!(before, fs::read(&path).expect("readable"), "{name}");
        assert!(!upgrade::copy_path(&path, OLDEST).exists(), "{name}");
    }
    insta::assert_snapshot!(told);
}

#[test]
fn a_run_that_goes_on_is_brought_forward_in_place_and_kept_as_it_was() {
    for (name, old) in stores() {
        let (dir, path) = copied(&old);
        let read = Store::open_read_only(&path).expect("readable");
        let store = Store::open(&path).expect("brought forward");
        assert_eq!(all_facts(&read), all_facts(&store), "{name}");
        store
            .note("2026-01-02T03:04:05Z", "goes on")
            .expect("written");
        drop((read, store));
        Store::open(&path).expect("opened again");
        let kept = upgrade::copy_path(&path, OLDEST);
        if schema::VERSION == OLDEST {
            assert!(!kept.exists());
            continue;
        }
        assert_eq!(names(dir.path()), ["run-v5.sqlite", "run.sqlite"], "{name}");
        let kept = Connection::open(kept).expect("a store");
        let difference = schema::difference(&kept, OLDEST).expect("readable");
        assert_eq!(difference, None, "{name}");
    }
}

#[test]
fn an_interrupted_run_of_an_earlier_version_goes_on() {
    let (_dir, path) = copied(&store_named("interrupted"));
    let store = Store::open(&path).expect("brought forward");
    assert_eq!(store.reset_running().expect("a reset"), [3]);
    store.begin_trial(3, "2026-01-02T03:04:05Z").expect("begun");
    let record = store.record(2).expect("readable").expect("ended");
    store
        .end_trial(3, "2026-01-02T03:05:05Z", &record)
        .expect("stored");
    assert_eq!(store.record(3).expect("readable"), Some(record));
}

fn store_named(name: &str) -> PathBuf {
    let all = stores();
    let found = all.iter().find(|(other, _)| other == name);
    found.expect("a store of this name").1.clone()
}

#[test]
fn an_earlier_store_of_a_foreign_shape_is_refused_before_anything_is_done() {
    for (sql, what) in [
        ("DROP TABLE notes", "the table notes is missing"),
        ("CREATE VIEW endless AS SELECT 1", "a foreign view, endless"),
        ("PRAGMA user_version = 4", "an older Rookery (schema 4"),
    ] {
        let (_dir, path) = copied(&store_named("bare"));
        let altered = Connection::open(&path).expect("a store");
        altered.execute_batch(sql).expect("valid SQL");
        drop(altered);
        for opened in [Store::open(&path), Store::open_read_only(&path)] {
            let Err(refused) = opened else {
                panic!("{sql} was not refused")
            };
            assert!(refused.to_string().contains(what), "{refused}");
        }
        assert!(!upgrade::copy_path(&path, OLDEST).exists());
    }
}

#[test]
fn hosts_of_a_trial_that_stood_in_one_row_have_rows_of_their_own() {
    let store = Connection::open_in_memory().expect("a database");
    schema::install(&store, 14).expect("made");
    store
        .execute_batch(
            "PRAGMA user_version = 14;
            INSERT INTO points (point, variant, levels, layouts, guests, vcpus, users, memory_mib,
                database) VALUES (1, 1, '', 'one', 1, 1, 1, 1, '');
            INSERT INTO trials (trial, point, repeat, block, seed, purpose, status, attempts)
                VALUES (1, 1, 1, 1, '1', 'study', 'done', 1), (2, 1, 2, 2, '2', 'study', 'done', 1);
            INSERT INTO trial_hosts VALUES (1, 'c', -7, 3, 0), (2, 'a, b', NULL, NULL, NULL);
            INSERT INTO tunings VALUES
                (2, 0, 'host', 'host.b.clock', '', '-5 us ahead, known to 12 us, set meanwhile', '');",
        )
        .expect("filled");
    let migrated = migrate(&store, MIGRATIONS).expect("migrated");
    migrated.commit().expect("committed");
    let mut rows = store
        .prepare(
            "SELECT concat_ws(' ', trial, host, clock_offset_us, clock_bound_us, clock_stepped)
            FROM trial_hosts",
        )
        .expect("valid");
    let rows = rows.query_map([], |row| row.get(0)).expect("rows");
    let rows: Vec<String> = rows.map(|row| row.expect("text")).collect();
    assert_eq!(rows, ["1 c -7 3 0", "2 a", "2 b -5 12 1"]);
}

/// Changes a shape, fills it, and drops what was: every kind of step.
static TEST: &[Migration] = &[Migration {
    steps: &[
        Step::Sql("ALTER TABLE notes ADD COLUMN words INTEGER;"),
        Step::Rows(|transaction| {
            transaction.execute("UPDATE notes SET words = length(text)", [])?;
            rewrite(transaction, "run", "host_json", |host| {
                host["name"] = host["hostname"].take();
            })
        }),
        Step::Sql(
            "CREATE TABLE logs_new (trial INTEGER PRIMARY KEY REFERENCES trials, text TEXT) STRICT;
            INSERT INTO logs_new SELECT trial, max(text) FROM logs GROUP BY trial;
            DROP TABLE logs; ALTER TABLE logs_new RENAME TO logs;",
        ),
    ],
}];

#[test]
fn a_migrated_store_has_the_schema_of_a_new_one() {
    let (_dir, path) = copied(&store_named("search"));
    let store = Connection::open(&path).expect("a store");
    migrate(&store, TEST)
        .expect("migrated")
        .commit()
        .expect("committed");
    let model = Connection::open_in_memory().expect("a database");
    schema::install_from(&model, TEST, OLDEST + 1).expect("made");
    assert_eq!(
        schema::objects(&store).expect("readable"),
        schema::objects(&model).expect("readable")
    );
    let (version, words, host): (i64, i64, String) = store
        .query_row(
            "SELECT user_version, words, host_json FROM pragma_user_version, notes, run",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .expect("a row");
    assert_eq!((version, words > 10), (OLDEST + 1, true));
    assert!(host.contains(r#""hostname":null"#) && host.contains(r#""name":"host""#));
    // Nothing is left to do.
    migrate(&store, TEST)
        .expect("migrated")
        .commit()
        .expect("committed");
}

#[test]
fn what_cannot_be_brought_forward_is_named_and_stays() {
    let (_dir, path) = copied(&store_named("bare"));
    let store = Connection::open(&path).expect("a store");
    store
        .execute_batch("UPDATE run SET host_json = 'host'")
        .expect("altered");
    let Err(refused) = migrate(&store, TEST) else {
        panic!("it is not JSON")
    };
    assert_eq!(
        refused.to_string(),
        "table run is damaged: host_json: expected value at line 1 column 1"
    );
    assert_eq!(schema::difference(&store, OLDEST).expect("readable"), None);
}

/// Reads everything a face may read.
fn read_all(path: &Path) -> Result<(), StoreError> {
    let store = Store::open_read_only(path)?;
    store.notes()?;
    store.attempts()?;
    for row in store.trials()? {
        store.record(row.trial.id)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_damaged_store_of_an_earlier_version_never_panics(
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 1..20)
    ) {
        static WHOLE: LazyLock<Vec<u8>> =
            LazyLock::new(|| fs::read(store_named("mariadb")).expect("readable"));
        let dir = TempDir::new().expect("a temporary directory");
        let path = dir.path().join("run.sqlite");
        let mut bytes = WHOLE.clone();
        for (index, bit) in flips {
            let at = index.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        fs::write(&path, bytes).expect("writable");
        if let Err(error) = read_all(&path) {
            prop_assert!(!matches!(error, StoreError::Missing { .. }), "{}", error);
        }
        if let Err(error) = Store::open(&path) {
            prop_assert!(!matches!(error, StoreError::Missing { .. }), "{}", error);
        }
    }
}
