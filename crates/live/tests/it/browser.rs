//! The page in a browser: Chromium, driven over the DevTools protocol. Pictures of what it showed
//! are in `target/tmp/live`.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rookery_lab::{
    Event, GroupDetail, GuestDetail, LoadDetail, LoadLimit, LoadedGroup, LoadedGuest, RunDir,
};
use rookery_live::{Control, Journal};
use rookery_store::{Outcome, Store};

use crate::common::{Place, browser::Browser, header, name_of, record, with_trials};

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

fn load_started() -> Event {
    let guest = |number: u32| LoadedGuest {
        name: format!("g{number}"),
        users: 6,
    };
    Event::LoadStarted {
        trial: 2,
        window_start_s: 4.0,
        window_end_s: 18.0,
        total_s: 20.0,
        driver_cpus: 1,
        host_cpus: 4.0,
        detail_every_s: 1,
        groups: vec![LoadedGroup {
            name: String::new(),
            operation: "write".to_owned(),
            units: "writes".to_owned(),
            limits: vec![LoadLimit {
                percentile: 95.0,
                limit_ms: 80.0,
            }],
            guests: vec![guest(1), guest(2)],
            guests_in_all: 2,
        }],
    }
}

fn detail(second: u32) -> LoadDetail {
    let p95_ms = 30.0 + 5.0 * f64::from(second % 4);
    let guest = |cores: f64| GuestDetail(50 + second, 20, 1, Some(p95_ms), Some(cores));
    LoadDetail {
        second,
        groups: vec![GroupDetail {
            requests: 100 + 2 * second,
            units: 40,
            errors: 2,
            p50_ms: Some(12.5),
            p95_ms: Some(p95_ms),
            faults: vec![("Connect: <i>refused</i>".to_owned(), 2 + u64::from(second))],
            guests: vec![guest(0.5), guest(0.75)],
        }],
        lag_p99_us: 120,
        driver_cores: Some(0.25),
        host_cores: Some(1.5 + f64::from(second % 3)),
        host_mib: Some(2_048),
    }
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
        offered_per_s: None,
        active_users: 12,
        detail: Some(Box::new(detail(second - 1))),
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
    tell(&load_started());
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
    // Two guests, a limit and what it is compared with, errors by class, the driver's own health.
    browser.until("document.querySelectorAll('#now .guests tbody tr').length === 2");
    for (selector, count) in [("line.limit", 1), (".faults tr", 1), (".chart", 3)] {
        let found = format!("document.querySelectorAll('#now {selector}').length");
        assert_eq!(browser.value(&found), count, "{selector}");
    }
    for text in [
        "Connect: <i>refused</i>",
        "lag p99 0.12 ms",
        "limit on p95: 80 ms",
    ] {
        let found = format!("document.getElementById('now').textContent.includes('{text}')");
        assert_eq!(browser.value(&found), true, "{text}");
    }
    browser.value("document.querySelector('#now details').open = true");
    browser.until("document.querySelectorAll('#now details tbody tr').length === 8");
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
    browser.value("document.querySelector('.change .repeat').click()");
    browser.until("document.getElementById('asked').textContent.startsWith('Asked for')");
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
