//! What the page is told of runs: all of them, once each, while they run and afterwards.

use std::path::Path;

use rookery_lab::{Event, RunDir};
use rookery_live::Journal;
use rookery_store::{Outcome, Store};
use serde_json::Value;

use crate::common::{PATIENCE, Place, header, name_of, record, with_trials};

const AT: &str = "2026-01-02T03:04:05Z";

fn load(second: u32) -> Event {
    Event::Load {
        trial: 1,
        phase: "steady".to_owned(),
        elapsed_s: f64::from(second),
        total_s: 60.0,
        requests_per_s: 100.0,
        errors_per_s: 0.0,
        offered_per_s: None,
        active_users: 12,
        detail: None,
    }
}

#[test]
fn a_thousand_runs_are_listed_newest_first() {
    let place = Place::new();
    let (first, store) = place.run("run-0", |_| {});
    drop(store);
    let file = std::fs::read(first.join("run.sqlite")).expect("a store");
    for number in 1..1_000 {
        let directory = place.path().join(format!("run-{number}"));
        std::fs::create_dir(&directory).expect("a directory");
        std::fs::write(directory.join("run.sqlite"), &file).expect("written");
    }
    place.run("newest", |header| {
        header.created_at = "2027-01-01T00:00:00Z".to_owned()
    });
    std::fs::create_dir(place.path().join("broken")).expect("a directory");
    std::fs::write(place.path().join("broken/run.sqlite"), "no store").expect("written");
    let (_server, client) = place.serve();
    let runs = client.runs();
    assert_eq!(runs.len(), 1_002);
    assert_eq!(runs[0]["name"], "newest");
    let broken: Vec<&Value> = runs
        .iter()
        .filter(|run| run["state"] == "unreadable")
        .collect();
    assert_eq!(broken.len(), 1);
    assert!(
        broken[0]["error"]
            .as_str()
            .is_some_and(|error| !error.is_empty()),
        "{broken:?}"
    );
    assert_eq!(runs[0]["trials"]["left"], 3);
}

#[test]
fn a_run_of_ten_thousand_trials_opens() {
    let place = Place::new();
    let (_, store) = place.run("long", |header| with_trials(header, 10_000));
    for trial in 1..=20 {
        store.begin_trial(trial, AT).expect("begun");
        store
            .end_trial(trial, AT, &record(Outcome::Failed, "why not"))
            .expect("ended");
    }
    let (_server, client) = place.serve();
    let run = client
        .get(&format!("/api/runs/{}", client.key("long")))
        .json();
    let trials = run["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 10_000);
    assert_eq!(trials[19]["status"], "failed");
    assert_eq!(trials[19]["reasons"][0], "why not");
    assert_eq!(trials[20]["status"], "planned");
}

#[test]
fn measured_runs_show_their_numbers_reports_and_comparison() {
    let place = Place::new();
    let names: Vec<String> = stores();
    let first = names.first().expect("a store");
    place.measured("base", first);
    place.measured("new", first);
    let (_server, client) = place.serve();
    let (base, new) = (client.key("base"), client.key("new"));
    let run = client.get(&format!("/api/runs/{base}")).json();
    let done: Vec<&Value> = run["trials"]
        .as_array()
        .expect("trials")
        .iter()
        .filter(|trial| trial["status"] == "done")
        .collect();
    assert!(!done.is_empty(), "{run}");
    for trial in done {
        assert!(
            trial["throughput"]
                .as_f64()
                .is_some_and(|value| value > 0.0),
            "{trial}"
        );
        assert!(
            trial["p95_ms"].as_f64().is_some_and(|value| value > 0.0),
            "{trial}"
        );
    }
    let report = client.get(&format!("/runs/{base}/report"));
    assert_eq!(report.status, 200, "{}", report.body);
    let store = Store::open_read_only(place.path().join("base/run.sqlite")).expect("a store");
    let answer = rookery_report::answer(&store).expect("an answer");
    let words = answer
        .split(|c: char| c.is_ascii_digit())
        .next()
        .expect("words");
    assert!(report.body.contains(words), "{answer}");
    let compared = client.get(&format!("/compare?base={base}&new={new}"));
    assert_eq!(compared.status, 200, "{}", compared.body);
    assert!(compared.body.contains("Comparison of runs"));
    // The answer of the list is computed beside; it comes.
    let began = std::time::Instant::now();
    loop {
        let runs = client.runs();
        let ended: Vec<&Value> = runs.iter().filter(|run| run["state"] == "ended").collect();
        if ended.iter().all(|run| run["answer"].is_string()) {
            break;
        }
        assert!(began.elapsed() < PATIENCE, "{runs:?}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

fn stores() -> Vec<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/data/v5");
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .expect("the test data")
        .filter_map(|entry| {
            let path = entry.expect("readable").path();
            let is_store = path.extension().is_some_and(|ending| ending == "sqlite");
            is_store.then(|| {
                path.file_stem()
                    .expect("a name")
                    .to_string_lossy()
                    .into_owned()
            })
        })
        .collect();
    names.sort();
    names
}

#[test]
fn a_page_misses_nothing_and_gets_nothing_twice() {
    let place = Place::new();
    let dir = RunDir::create(place.path(), "watched").expect("a run directory");
    let mut header = header();
    with_trials(&mut header, 2);
    let store = Store::create(dir.store(), &header).expect("a store");
    let journal = Journal::open(dir.path()).expect("a journal");
    store.begin_trial(1, AT).expect("begun");
    for second in 1..=5 {
        journal.write(&load(second), AT).expect("written");
    }
    let (_server, client) = place.serve();
    let key = client.key(&name_of(dir.path()));
    let mut early = client.follow(&key, None);
    let text = early.until(|text| text.contains("id: 5\n"));
    assert!(text.contains("\"state\":\"running\""), "{text}");
    for second in 6..=10 {
        journal.write(&load(second), AT).expect("written");
    }
    early.until(|text| text.contains("id: 10\n"));
    assert_eq!(early.ids(), (1..=10).collect::<Vec<u64>>());
    // One that was away since event 7 goes on from there, with the run as it stands now.
    store
        .end_trial(1, AT, &record(Outcome::Void, "late"))
        .expect("ended");
    let mut back = client.follow(&key, Some(7));
    let text = back.until(|text| text.contains("id: 10\n"));
    assert!(
        text.contains("event: overview") && text.contains("\"void\""),
        "{text}"
    );
    assert_eq!(back.ids(), [8, 9, 10]);
    let mut seen = client.stream(&format!("/api/runs/{key}/events?after=9"), "");
    seen.until(|text| text.contains("id: 10\n"));
    assert_eq!(seen.ids(), [10]);
    // The one that stayed is told of the trial alone.
    let change = |text: &str| {
        Some(
            text.split("event: trials\n")
                .nth(1)?
                .split_once("\n\n")?
                .0
                .to_owned(),
        )
    };
    let text = early.until(|text| change(text).is_some());
    let changed = change(text).expect("the change");
    assert!(
        changed.contains("\"late\"") && !changed.contains("\"id\":2"),
        "{changed}"
    );
    // The controller ends with a trial left.
    drop((journal, store, dir));
    let text = early.until(|text| text.contains("event: end"));
    assert!(text.contains("\"state\":\"interrupted\""), "{text}");
    assert_eq!(early.ids(), (1..=10).collect::<Vec<u64>>());
}

#[test]
fn a_server_that_ends_says_so() {
    let place = Place::new();
    let (dir, _store) = place.running();
    let journal = Journal::open(dir.path()).expect("a journal");
    let (server, client) = place.serve();
    server.conducts(dir.path());
    let key = client.key(&name_of(dir.path()));
    assert_eq!(client.get("/api/session").json()["own"], key.as_str());
    let mut events = client.follow(&key, None);
    events.until(|text| text.contains("event: overview"));
    journal.write(&load(1), AT).expect("written");
    drop(server);
    let text = events.until(|text| text.contains("event: closing"));
    assert!(
        text.contains("id: 1\n"),
        "what happened before is told: {text}"
    );
}
