//! Tests of the store against damage, foreign files and crashes.

use std::{fs, path::PathBuf, sync::LazyLock};

use proptest::prelude::*;
use rookery_diagnosis::{Diagnosis as _, ErrorFields};
use tempfile::TempDir;

use crate::{
    Outcome, Store, StoreError, TrialRecord, TrialStatus,
    formula::{header, record},
    schema::{OLDEST, VERSION},
};

struct Place {
    dir: TempDir,
    path: PathBuf,
}

fn place() -> Place {
    let dir = TempDir::new().expect("a temporary directory");
    let path = dir.path().join("run.sqlite");
    Place { dir, path }
}

/// A finished trial, a void one, a running one, a planned one.
fn partial_run(place: &Place) -> Store {
    let store = Store::create(&place.path, &header()).expect("a new store");
    for (trial, outcome) in [(1, Outcome::Done), (2, Outcome::Void)] {
        store
            .begin_trial(trial, "2026-01-02T03:05:00Z")
            .expect("a planned trial");
        let record = TrialRecord {
            outcome,
            ..record(trial, 100)
        };
        store
            .end_trial(trial, "2026-01-02T03:06:00Z", &record)
            .expect("a running trial");
    }
    store
        .begin_trial(3, "2026-01-02T03:07:00Z")
        .expect("a planned trial");
    store
        .note("2026-01-02T03:08:00Z", "the host was busy")
        .expect("a note");
    store
}

fn refusal<T>(result: Result<T, StoreError>, place: &Place) -> String {
    let Err(error) = result else {
        panic!("it was not refused")
    };
    ErrorFields::new(&error)
        .to_string()
        .replace(&place.dir.path().display().to_string(), "DIR")
}

fn statuses(store: &Store) -> Vec<(u32, TrialStatus, u32)> {
    let rows = store.trials().expect("readable trials");
    rows.into_iter()
        .map(|row| (row.trial.id, row.status, row.attempts))
        .collect()
}

#[test]
fn everything_comes_back_as_it_was_stored() {
    let place = place();
    drop(partial_run(&place));
    for store in [Store::open(&place.path), Store::open_read_only(&place.path)] {
        let store = store.expect("our own store");
        assert_eq!(store.header().expect("a header"), header());
        assert_eq!(store.record(1).expect("readable"), Some(record(1, 100)));
        assert_eq!(store.record(3).expect("readable"), None);
        assert_eq!(
            store.notes().expect("readable")[0].text,
            "the host was busy"
        );
        assert_eq!(
            store.trials().expect("readable")[1].reasons,
            record(2, 100).reasons
        );
    }
}

#[test]
fn a_store_that_disappears_is_noticed_at_the_next_write() {
    let place = place();
    let store = partial_run(&place);
    let elsewhere = place.dir.path().join("moved.sqlite");
    fs::rename(&place.path, &elsewhere).expect("moved");
    let failed = store.note("2026-01-02T03:09:00Z", "nobody will read this");
    insta::assert_snapshot!(refusal(failed, &place), @r"
    error[store::gone]: keeping a note is not possible: the store was deleted or moved away
      at: DIR/run.sqlite
      help: put the run's directory back to where it was and resume the run, or begin a new one; the trials since are not stored
    ");
    fs::write(&place.path, "").expect("another file of its name");
    let record = TrialRecord {
        outcome: Outcome::Done,
        ..record(3, 100)
    };
    let failed = store.end_trial(3, "2026-01-02T03:09:00Z", &record);
    assert!(matches!(failed, Err(StoreError::Gone { .. })), "{failed:?}");
    fs::rename(&elsewhere, &place.path).expect("put back");
    store
        .end_trial(3, "2026-01-02T03:09:00Z", &record)
        .expect("it is there again");
}

#[test]
fn numbers_that_could_not_be_computed_stay_so() {
    let place = place();
    let store = Store::create(&place.path, &header()).expect("a new store");
    let mut record = record(1, 100);
    record.ready_s = f64::NAN;
    store.begin_trial(1, "a").expect("a planned trial");
    store.end_trial(1, "b", &record).expect("a running trial");
    assert!(
        store
            .record(1)
            .expect("readable")
            .expect("ended")
            .ready_s
            .is_nan()
    );
}

#[test]
fn a_plan_that_would_not_come_back_is_refused() {
    let place = place();
    let mut header = header();
    header.plan.points[0].capacity_cpus = f64::NAN;
    let refused = refusal(Store::create(&place.path, &header), &place);
    assert!(refused.contains("cannot be stored"), "{refused}");
    assert!(!place.path.exists());
}

#[test]
fn the_journal_knows_what_was_begun_and_never_ended() {
    use TrialStatus::{Done, Planned, Running, Void};
    let place = place();
    let store = partial_run(&place);
    assert_eq!(
        statuses(&store),
        [(1, Done, 1), (2, Void, 1), (3, Running, 1), (4, Planned, 0)]
    );
    drop(store);
    let store = Store::open(&place.path).expect("our own store");
    assert_eq!(store.reset_running().expect("a reset"), [3]);
    assert_eq!(store.reset_running().expect("a reset"), [0u32; 0]);
    assert_eq!(statuses(&store)[2], (3, Planned, 1));
    store
        .begin_trial(3, "2026-01-02T04:00:00Z")
        .expect("a planned trial");
    store
        .end_trial(3, "2026-01-02T04:01:00Z", &record(2, 50))
        .expect("a running trial");
    let ends: Vec<_> = store
        .attempts()
        .expect("readable")
        .into_iter()
        .map(|attempt| (attempt.trial, attempt.end))
        .collect();
    let named = |trial, end: &str| (trial, Some(end.to_owned()));
    assert_eq!(
        ends,
        [
            named(1, "done"),
            named(2, "void"),
            named(3, "interrupted"),
            named(3, "done")
        ]
    );
}

#[test]
fn what_was_reported_as_stored_survives_a_controller_that_never_closes() {
    let place = place();
    std::mem::forget(partial_run(&place));
    let store = Store::open(&place.path).expect("our own store");
    assert_eq!(store.record(1).expect("readable"), Some(record(1, 100)));
    assert_eq!(statuses(&store)[2].1, TrialStatus::Running);
}

#[test]
fn steps_out_of_order_are_refused() {
    let place = place();
    let store = partial_run(&place);
    insta::assert_snapshot!(refusal(store.begin_trial(1, "t"), &place), @r"
    error[store::state]: trial 1 is done already; a finished trial is never repeated
      at: DIR/run.sqlite
    ");
    insta::assert_snapshot!(refusal(store.begin_trial(3, "t"), &place), @r"
    error[store::state]: trial 3 was begun and never ended; `rookery run --resume` continues it
      at: DIR/run.sqlite
    ");
    insta::assert_snapshot!(refusal(store.begin_trial(9, "t"), &place), @r"
    error[store::state]: trial 9 is not in the plan
      at: DIR/run.sqlite
    ");
    insta::assert_snapshot!(refusal(store.end_trial(4, "t", &record(1, 1)), &place), @r"
    error[store::state]: trial 4 was not begun, so it cannot end
      at: DIR/run.sqlite
    ");
}

#[test]
fn a_void_trial_may_be_tried_again_and_its_first_record_goes() {
    let place = place();
    let store = partial_run(&place);
    store
        .begin_trial(2, "2026-01-02T05:00:00Z")
        .expect("a void trial");
    assert_eq!(store.record(2).expect("readable"), None);
    store
        .end_trial(2, "2026-01-02T05:01:00Z", &record(1, 70))
        .expect("a running trial");
    assert_eq!(store.record(2).expect("readable"), Some(record(1, 70)));
}

#[test]
fn a_trial_that_cannot_be_stored_leaves_no_half() {
    let place = place();
    let store = partial_run(&place);
    let mut twins = record(2, 100);
    let guests = &mut twins.measurement.as_mut().expect("measured").guests;
    guests[1].guest = guests[0].guest.clone();
    assert!(store.end_trial(3, "t", &twins).is_err());
    assert_eq!(statuses(&store)[2].1, TrialStatus::Running);
    assert_eq!(store.record(3).expect("readable"), None);
}

#[test]
fn foreign_and_newer_files_are_refused_with_help() {
    let place = place();
    insta::assert_snapshot!(refusal(Store::open(&place.path), &place), @r"
    error[store::missing]: there is no run here
      at: DIR/run.sqlite
      help: name the directory of a run, the one that holds run.sqlite
    ");
    fs::write(
        &place.path,
        "not a database, but long enough to be looked at ".repeat(50),
    )
    .expect("writable");
    insta::assert_snapshot!(refusal(Store::open(&place.path), &place), @r"
    error[store::not-a-run]: not the store of a run: it is no SQLite file
      at: DIR/run.sqlite
      help: name the run.sqlite that `rookery run` wrote
    ");
    insta::assert_snapshot!(refusal(Store::create(&place.path, &header()), &place), @r"
    error[store::exists]: there is a run already
      at: DIR/run.sqlite
      help: choose another directory, or continue that run with `rookery run --resume`
    ");
}

#[test]
fn another_schema_is_refused() {
    let altered = |sql: &str| {
        let place = place();
        let store = partial_run(&place);
        store.connection.execute_batch(sql).expect("valid SQL");
        drop(store);
        refusal(Store::open_read_only(&place.path), &place)
    };
    let read = if OLDEST == VERSION {
        VERSION.to_string()
    } else {
        format!("{OLDEST} to {VERSION}")
    };
    for (version, age) in [
        (VERSION + 1, "a newer"),
        (OLDEST - 1, "an older"),
        (-1, "an older"),
    ] {
        assert_eq!(
            altered(&format!("PRAGMA user_version = {version}")),
            format!(
                "error[store::other-version]: written by {age} Rookery (schema {version}; this one \
                 reads {read})\n  at: DIR/run.sqlite\n  help: read it with that version of Rookery"
            )
        );
    }
    insta::assert_snapshot!(altered("PRAGMA application_id = 7"), @r"
    error[store::not-a-run]: not the store of a run: it does not carry our mark
      at: DIR/run.sqlite
      help: name the run.sqlite that `rookery run` wrote
    ");
    insta::assert_snapshot!(altered("CREATE VIEW endless AS SELECT 1"), @r"
    error[store::not-a-run]: not the store of a run: it holds a foreign view, endless
      at: DIR/run.sqlite
      help: name the run.sqlite that `rookery run` wrote
    ");
    insta::assert_snapshot!(altered("DROP TABLE notes"), @r"
    error[store::not-a-run]: not the store of a run: the table notes is missing or of another shape
      at: DIR/run.sqlite
      help: name the run.sqlite that `rookery run` wrote
    ");
}

#[test]
fn damaged_contents_are_named() {
    let damaged = |sql: &str| {
        let place = place();
        let store = partial_run(&place);
        store
            .connection
            .execute_batch(&format!("PRAGMA foreign_keys = OFF; {sql}"))
            .expect("valid SQL");
        let read = || {
            let store = Store::open_read_only(&place.path)?;
            store.trials()?;
            store.record(1)
        };
        refusal(read(), &place)
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    insta::assert_snapshot!(damaged("UPDATE operations SET started = -1"), @"error[store::damaged]: table \
        operations is damaged: started is out of range: -1");
    insta::assert_snapshot!(damaged("UPDATE operations SET service_hdr = x'00'"), @"error[store::damaged]: table operations is damaged: service_hdr: not a latency histogram: it is shorter than its head");
    insta::assert_snapshot!(damaged("UPDATE measurements SET pacing = 'slow'"), @"error[store::damaged]: \
        table measurements is damaged: pacing: unknown variant `slow`, expected one of `think`, \
        `cycle`, `arrivals`");
    insta::assert_snapshot!(damaged("UPDATE verdicts SET binding_rule = 99"), @"error[store::damaged]: \
        table verdicts is damaged: binding_rule names a rule that is not there");
    insta::assert_snapshot!(damaged("UPDATE trials SET status = 'gone' WHERE trial = 4"), @"error[store::damaged]: table trials is damaged: status: unknown variant `gone`, expected one of `planned`, `running`, `done`, `void`, `failed`, `skipped`");
    insta::assert_snapshot!(damaged("DELETE FROM trials WHERE trial = 4"), @"error[store::damaged]: table \
        trials is damaged: it does not hold the trials of the plan");
    insta::assert_snapshot!(damaged("UPDATE run SET plan_json = replace(plan_json, '\"point\":2', \
                                     '\"point\":7')"), @"error[store::damaged]: table run is damaged: \
                                         trial 2 is of point 7, which \
        is not in the plan");
    insta::assert_snapshot!(damaged("UPDATE run SET plan_json = json_set(plan_json, \
                                     '$.points[0].groups[0].pins', json('[]'))"), @"error[store::damaged]: table \
                                         run is damaged: point 1 has no layout, or not one number \
                                         of users and one list \
        of CPUs for each guest");
}

#[test]
fn damage_names_the_file_the_table_and_the_row_in_json() {
    let place = place();
    let store = partial_run(&place);
    let sql = "UPDATE guests SET users = -1 WHERE trial = 1";
    store.connection.execute_batch(sql).expect("valid SQL");
    let Err(error) = store.record(1) else {
        panic!("a damaged record was read")
    };
    let path = place.path.display();
    assert_eq!(
        serde_json::to_value(ErrorFields::new(&error)).expect("JSON"),
        serde_json::json!({
            "code": "store::damaged",
            "message": "table guests is damaged: users is out of range: -1",
            "place": format!("{path}, guests: trial 1, guest g1, position 0"),
            "help": "restore the file from a copy, or run the study again",
            "causes": [],
        })
    );
}

/// Reads everything a face may read.
fn read_all(path: &std::path::Path) -> Result<(), StoreError> {
    let store = Store::open_read_only(path)?;
    store.header()?;
    store.notes()?;
    store.attempts()?;
    for row in store.trials()? {
        store.record(row.trial.id)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn flipped_bits_never_panic(flips in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 1..20)) {
        static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
            let place = place();
            drop(partial_run(&place));
            fs::read(&place.path).expect("readable")
        });
        let place = place();
        let mut bytes = WHOLE.clone();
        for (index, bit) in flips {
            let at = index.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        fs::write(&place.path, bytes).expect("writable");
        if let Err(error) = read_all(&place.path) {
            prop_assert!(error.help().is_some(), "{}", error);
        }
    }
}

#[test]
fn a_plan_grows_and_nothing_else_changes() {
    let dir = TempDir::new().expect("a temporary directory");
    let path = dir.path().join("run.sqlite");
    let mut store = Store::create(&path, &crate::formula::header()).expect("a new store");
    let before = store.trials().expect("readable");
    let mut plan = crate::formula::header().plan;
    plan.add_repeats(1, 1);
    store.grow_plan(plan.clone()).expect("grows");
    drop(store);
    let mut store = Store::open(&path).expect("opens");
    let rows = store.trials().expect("readable");
    assert_eq!(
        (&rows[..before.len()], rows.len()),
        (&before[..], before.len() + 1)
    );
    assert_eq!(store.header().expect("readable").plan, plan);
    plan.trials.remove(0);
    let refused = store.grow_plan(plan).expect_err("a plan that lost a trial");
    assert!(
        refused.to_string().contains("not the old one with more"),
        "{refused}"
    );
}
/// A controller that was killed while it made a store has left a part, and no store.
#[test]
fn a_store_has_its_name_when_it_is_whole() {
    let place = place();
    let part = place.path.with_extension("sqlite.part");
    fs::write(&part, "half of a store").expect("written");
    assert!(Store::open(&place.path).is_err());
    Store::create(&place.path, &header()).expect("a new store");
    assert!(!part.exists());
    Store::open(&place.path).expect("a store");
}
