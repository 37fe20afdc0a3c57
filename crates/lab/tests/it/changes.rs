//! Changes of the plan while a run is under way.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use rookery_lab::{Conductor, Event, PlanChange, PlanChanges, Summary};
use rookery_store::{Store, TrialStatus};
use rookery_study::Document;

use crate::simulated::{ONE_BIG, SPLIT, plan, study};

/// Four points in the order of the file: each layout with two numbers of users, twice each.
fn document() -> Document {
    let layouts = format!("{ONE_BIG}{SPLIT}");
    study(
        "cpu_demand = \"8ms\"",
        "[\"4 per host\", \"8 per host\"]\norder = \"interleaved\"\nrepeats = 2",
        &layouts,
    )
}

/// How a run goes that is told of its events and may be stopped by them.
struct Watched<'a> {
    runs: &'a Path,
    stop: AtomicBool,
    changes: PlanChanges,
    refused: Mutex<Vec<String>>,
}

impl<'a> Watched<'a> {
    fn new(runs: &'a Path) -> Self {
        Self {
            runs,
            stop: AtomicBool::new(false),
            changes: PlanChanges::default(),
            refused: Mutex::default(),
        }
    }

    /// `after` is called with each trial that ended.
    fn conduct(
        &self,
        after: impl Fn(u32) + Sync,
        work: impl FnOnce(&Conductor<'_>) -> Summary,
    ) -> Summary {
        let listener = |event: &Event| match event {
            Event::TrialEnded { trial, .. } => after(*trial),
            Event::ChangeRefused { text } => {
                self.refused.lock().expect("no panic").push(text.clone());
            }
            _ => {}
        };
        work(&Conductor {
            confirmed: Vec::new(),
            runs: self.runs.to_owned(),
            templates: self.runs.join("templates"),
            program: PathBuf::from("/bin/true"),
            stop: &self.stop,
            listener: &listener,
            changes: self.changes.clone(),
            labs: rookery_lab::Labs::Here,
        })
    }
}

fn start(document: &Document) -> impl FnOnce(&Conductor<'_>) -> Summary + '_ {
    move |conductor| {
        let file = Path::new("changed.toml");
        conductor
            .start(
                file,
                document.text(),
                &[],
                document.study(),
                &plan(document),
            )
            .expect("a run")
    }
}

/// How many trials of each point stand how.
fn standing(store: &Store) -> BTreeMap<(u32, String), u32> {
    let mut all = BTreeMap::new();
    for row in store.trials().expect("trials") {
        *all.entry((row.trial.point, format!("{:?}", row.status)))
            .or_insert(0) += 1;
    }
    all
}

#[test]
fn what_the_user_changes_is_done_noted_and_kept_over_a_resumption() {
    let runs = tempfile::tempdir().expect("a directory");
    let document = document();
    let first = Watched::new(runs.path());
    let ask = |change| first.changes.ask(change).expect("there is room");
    let summary = first.conduct(
        |trial| match trial {
            1 => {
                ask(PlanChange::Skip { point: 4 });
                ask(PlanChange::Repeat { point: 1, count: 2 });
                ask(PlanChange::AddPoint { like: 3, load: 6.0 });
                // None of these can be done.
                ask(PlanChange::Skip { point: 99 });
                ask(PlanChange::Skip { point: 4 });
                ask(PlanChange::Repeat { point: 4, count: 1 });
                ask(PlanChange::AddPoint { like: 1, load: 8.0 });
            }
            2 => first.stop.store(true, Ordering::SeqCst),
            _ => {}
        },
        start(&document),
    );
    assert_eq!(summary.done, 2);
    let refused = first.refused.lock().expect("no panic").clone();
    assert_eq!(
        refused,
        [
            "there is no point 99 in the plan",
            "no trial of point 4 is left to skip",
            "point 4 was skipped",
            "point 2 has that load already",
        ]
    );
    let second = Watched::new(runs.path());
    let summary = second.conduct(
        |_| {},
        |conductor| {
            conductor
                .resume(&summary.directory, None)
                .expect("it goes on")
        },
    );
    assert!(!summary.unfinished && summary.left == 0, "{summary:?}");
    let store = Store::open_read_only(summary.directory.join("run.sqlite")).expect("a store");
    let counts: Vec<(u32, String, u32)> = standing(&store)
        .into_iter()
        .map(|((point, status), count)| (point, status, count))
        .collect();
    let expected = [
        (1, "Done", 4),
        (2, "Done", 2),
        (3, "Done", 2),
        (4, "Skipped", 2),
        (5, "Done", 2),
    ];
    assert_eq!(
        counts,
        expected.map(|(point, status, count)| (point, status.to_owned(), count))
    );
    let point = &store.header().expect("a header").plan.points[4];
    assert_eq!((point.guests(), point.total_users()), (2, 6));
    let notes: Vec<String> = store
        .notes()
        .expect("notes")
        .into_iter()
        .map(|note| note.text)
        .collect();
    for part in [
        "skipped point 4",
        "added 2 repeats of point 1",
        "added point 5",
    ] {
        assert!(
            notes.iter().any(|note| note.contains(part)),
            "{part}: {notes:?}"
        );
    }
}

#[test]
fn a_search_that_is_skipped_ends_and_others_go_on() {
    let runs = tempfile::tempdir().expect("a directory");
    let layouts = format!("{ONE_BIG}{SPLIT}");
    let users = "[\"4 per host\"]\nrepeats = 1\nsearch = { to = \"60 per host\", probes = 6 }";
    let document = study("cpu_demand = \"8ms\"", users, &layouts);
    let watched = Watched::new(runs.path());
    let points = plan(&document).points.len();
    // The first probe is the first trial beyond the ladder.
    let probe = u32::try_from(points).expect("few") + 1;
    let summary = watched.conduct(
        |trial| {
            if trial == probe {
                let change = PlanChange::Skip { point: probe };
                watched.changes.ask(change).expect("there is room");
            }
        },
        start(&document),
    );
    assert_eq!(*watched.refused.lock().expect("no panic"), [""; 0]);
    assert!(!summary.unfinished, "{summary:?}");
    let store = Store::open_read_only(summary.directory.join("run.sqlite")).expect("a store");
    let plan = store.header().expect("a header").plan;
    let probes = |search: u32| {
        plan.points
            .iter()
            .filter(|point| point.search == Some(search))
            .count()
    };
    assert_eq!(
        plan.searches[0].stuck.as_deref(),
        Some("the user skipped it")
    );
    assert!(
        probes(1) == 1 && probes(2) > 1,
        "{} and {}",
        probes(1),
        probes(2)
    );
    let rows = store.trials().expect("trials");
    assert!(rows.iter().all(|row| row.status != TrialStatus::Planned));
}

#[test]
fn senseless_changes_are_refused_at_once() {
    let changes = PlanChanges::default();
    for change in [
        PlanChange::Repeat { point: 1, count: 0 },
        PlanChange::Repeat {
            point: 1,
            count: 101,
        },
        PlanChange::AddPoint {
            like: 1,
            load: f64::NAN,
        },
        PlanChange::AddPoint { like: 1, load: 0.0 },
    ] {
        assert!(changes.ask(change).is_err(), "{change:?}");
    }
    for _ in 0..32 {
        changes
            .ask(PlanChange::Skip { point: 1 })
            .expect("there is room");
    }
    assert!(
        changes.ask(PlanChange::Skip { point: 1 }).is_err(),
        "the queue is bounded"
    );
}
