//! The page in a browser: Chromium, driven over the DevTools protocol. Pictures of what it showed
//! are in `target/tmp/live`.

mod common;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use common::{Place, browser::Browser, header, name_of, record, with_trials};
use rookery_lab::{Event, RunDir};
use rookery_live::{Control, Journal};
use rookery_store::{Outcome, Store};

fn pictures() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("live")
}

fn everywhere(browser: &mut Browser, name: &str) {
    for width in [400, 800, 1300] {
        for dark in [true, false] {
            browser.picture(&pictures(), name, width, dark);
        }
    }
}

#[test]
fn runs_are_searched_compared_and_reported() {
    let place = Place::new();
    for (name, of) in [
        ("first", "container"),
        ("second", "container"),
        ("other", "lamp"),
    ] {
        place.measured(name, of);
    }
    place.run("evil", |header| {
        header.title = "<img src=x onerror=\"document.title='owned'\">".to_owned();
    });
    let (server, client) = place.serve();
    let (first, other) = (client.key("first"), client.key("other"));
    let mut browser = Browser::start();
    browser.open(&server.url());
    browser.until("document.querySelectorAll('tbody tr').length === 4");
    assert_eq!(
        browser.value("location.search"),
        "",
        "the token leaves the address"
    );
    assert_eq!(
        browser.value("document.querySelectorAll('main img').length"),
        0
    );
    browser.until("document.querySelectorAll('.said').length >= 2");
    everywhere(&mut browser, "runs");
    browser.value(
        "{ const search = document.querySelector('input[type=search]'); search.value = 'first'; \
         search.dispatchEvent(new Event('input')); }",
    );
    browser.until("document.querySelectorAll('tbody tr').length === 1");
    browser.value(
        "{ const search = document.querySelector('input[type=search]'); search.value = ''; \
         search.dispatchEvent(new Event('input')); }",
    );
    for name in ["first", "second"] {
        let key = client.key(name);
        browser.value(&format!(
            "document.querySelector('tr[data-key=\"{key}\"] input').click()"
        ));
    }
    browser.until("!document.getElementById('compare').disabled");
    browser.value("document.getElementById('compare').click()");
    let compared = browser.document("/compare?");
    let title = browser.value_in(&compared, "document.title");
    assert!(
        title
            .as_str()
            .is_some_and(|title| title.contains("against")),
        "{title}"
    );
    everywhere(&mut browser, "compare");

    browser.value(&format!("location.hash = '#/run/{first}'"));
    let report = browser.document(&format!("/runs/{first}/report"));
    let heading = browser.value_in(&report, "document.querySelector('h1').textContent");
    let run = client.get(&format!("/api/runs/{first}")).json();
    assert_eq!(heading, run["title"]);
    // Its figures are drawn, and it reaches nothing of ours.
    assert_ne!(
        browser.value_in(&report, "document.querySelectorAll('.plot svg').length"),
        0
    );
    assert_eq!(browser.value_in(&report, "self.origin"), "null");
    everywhere(&mut browser, "report");

    let study = client.get(&format!("/api/runs/{other}")).json()["study"].clone();
    let study = study.as_str().expect("a study file").to_owned();
    browser.value(&format!("location.hash = '#/trend/{study}'"));
    browser.until("document.querySelectorAll('main .chart').length >= 1");
    everywhere(&mut browser, "trend");
    assert_eq!(
        browser
            .value("document.title")
            .as_str()
            .map(|title| title.contains("owned")),
        Some(false)
    );
    assert_eq!(browser.errors, [""; 0]);
}

#[test]
fn a_run_is_watched_and_stopped() {
    const AT: [&str; 2] = ["2026-01-02T03:04:05Z", "2026-01-02T03:05:05Z"];
    let place = Place::new();
    let dir = RunDir::create(place.path(), "watched").expect("a run directory");
    let mut header = header();
    with_trials(&mut header, 6);
    let store = Store::create(dir.store(), &header).expect("a store");
    let journal = Journal::open(dir.path()).expect("a journal");
    let tell = |event: &Event| journal.write(event, AT[0]).expect("written");
    let load = |second: u32| Event::Load {
        trial: 2,
        phase: if second < 4 { "ramp-up" } else { "steady" }.to_owned(),
        elapsed_s: f64::from(second),
        total_s: 20.0,
        requests_per_s: 100.0 + f64::from(second),
        errors_per_s: 0.0,
        active_users: 12,
    };
    store.begin_trial(1, AT[0]).expect("begun");
    store
        .end_trial(1, AT[1], &record(Outcome::Void, "the driver was late"))
        .expect("ended");
    store.begin_trial(2, AT[0]).expect("begun");
    tell(&Event::TrialStarted {
        trial: 2,
        point: "a point".to_owned(),
        repeat: 2,
    });
    for second in 1..=8 {
        tell(&load(second));
    }
    let stop = Arc::new(AtomicBool::new(false));
    let control = Control::new(Arc::clone(&stop));
    let (server, client) = place.serve_with(|options| options.control = Some(control.clone()));
    server.conducts(dir.path());
    // The page opens the run that its server conducts, once that is listed.
    client.key(&name_of(dir.path()));
    let mut browser = Browser::start();
    browser.open(&server.url());
    browser.until("document.querySelectorAll('.cell.planned').length === 5");
    browser.until("document.querySelectorAll('.plan .cell.void').length === 1");
    browser.until("document.getElementById('present')?.textContent.includes('steady, 8')");
    let drawn = "document.querySelector('#now .line-0').getAttribute('points').split(' ').length";
    assert_eq!(
        browser.value(drawn),
        8,
        "a page that is opened late has all of the trial"
    );
    tell(&load(9));
    browser.until("document.getElementById('present').textContent.includes('steady, 9')");
    assert_eq!(browser.value(drawn), 9);
    everywhere(&mut browser, "running");
    let shown = browser.value("document.body.innerText");
    assert!(
        shown
            .as_str()
            .is_some_and(|text| !text.contains("undefined")),
        "{shown}"
    );
    store
        .end_trial(2, AT[1], &record(Outcome::Failed, "<b>why</b>"))
        .expect("ended");
    browser.until("document.querySelectorAll('.plan .cell.failed').length === 1");
    browser.value("document.querySelector('[data-trial=\"2\"]').click()");
    browser.until("document.body.textContent.includes('<b>why</b>')");
    browser.value("setTimeout(() => document.getElementById('stop-after-trial').click(), 0)");
    browser.until("document.body.textContent.includes('The run was asked to stop.')");
    assert!(control.stops_after_trial() && !stop.load(Ordering::SeqCst));
    assert!(
        browser
            .asked
            .as_deref()
            .is_some_and(|asked| asked.contains("present trial"))
    );
    drop((journal, store, dir));
    browser.until("document.querySelector('.state').textContent === 'interrupted'");
    assert_eq!(browser.errors, [""; 0]);
    drop(server);
    browser.until("document.getElementById('connection').classList.contains('lost')");
}
