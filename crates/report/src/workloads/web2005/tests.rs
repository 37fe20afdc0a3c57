//! The section of runs whose guests counted pages.

use rookery_workload::{
    Counters,
    web2005::{Band, Chain, Delivered, ModernBrowser, PageOutcome},
};

use super::*;
use crate::tests::fixture;

/// What a guest counted: a hundred sessions of a workload, all as they should be.
fn counted(model: Model) -> Web2005Counters {
    let chain = Chain::new(model);
    let mut counters = Web2005Counters::new(model);
    counters.window_s = 100.0;
    counters.think_s = 1.0;
    counters.rules.min_requests = 1;
    for (place, page) in counters.pages.iter_mut().enumerate() {
        for _ in 0..rookery_cast::truncate_u64((20_000.0 * chain.share(place)).round()) {
            page.count(PageOutcome::Right {
                band: Band::Good,
                delivered: Delivered {
                    bytes: 30_000,
                    body_bytes: 100_000,
                    response_us: 250_000,
                    first_byte_us: 20_000,
                    objects: 10,
                    not_modified: 3,
                    fresh: 5,
                },
            });
        }
    }
    let cycle_s = chain.think_share * counters.think_s + 0.25;
    counters.users = rookery_cast::truncate_u64(200.0 * cycle_s);
    counters
}

/// The stored run of the tests, whose measured trials counted this instead.
fn run_with(counters: &[Web2005Counters]) -> Run {
    let mut run = Run::read(&fixture::complete().store).expect("a whole store");
    let mut points: Vec<u32> = run
        .trials
        .iter()
        .map(|trial| trial.row.trial.point)
        .collect();
    points.sort_unstable();
    points.dedup();
    for trial in &mut run.trials {
        let place = points
            .iter()
            .position(|point| *point == trial.row.trial.point);
        let counters = place.and_then(|place| counters.get(place));
        let measurement = trial
            .record
            .as_mut()
            .and_then(|record| record.measurement.as_mut());
        let (Some(counters), Some(measurement)) = (counters, measurement) else {
            continue;
        };
        measurement.guests.truncate(1);
        for guest in &mut measurement.guests {
            guest.counters = Counters::from(counters.clone());
        }
    }
    run
}

#[test]
fn the_per_page_table_adds_up_to_its_total() {
    let run = run_with(&[counted(Model::Banking), counted(Model::Banking)]);
    let section = section(&run).expect("windows");
    let pages = &section.parts[1].table;
    let points = windows::<Web2005Counters>(&run).len();
    assert_eq!(pages.rows.len(), 17 * points);
    let total = pages
        .rows
        .iter()
        .position(|row| row[1] == "total")
        .expect("a total");
    let requests = |row: &[String]| row[2].parse::<u64>().expect("a count");
    let sum: u64 = pages.rows[..total].iter().map(|row| requests(row)).sum();
    assert_eq!(sum, requests(&pages.rows[total]));
    assert_eq!(section.parts[0].table.rows.len(), points);
}

#[test]
fn the_index_stands_where_all_three_passed() {
    let index_of = |run: &Run| {
        let windows: Vec<WebWindow<'_>> = windows(run);
        index(&windows).rows
    };
    assert!(index_of(&run_with(&[counted(Model::Banking)])).is_empty());
    let all = Model::ALL.map(counted);
    let run = run_with(&all);
    if windows::<Web2005Counters>(&run).len() < 3 {
        panic!("the stored run has three measured points");
    }
    let rows = index_of(&run);
    let sessions = all
        .each_ref()
        .map(|one| u32::try_from(one.users).expect("few"));
    assert_eq!(rows[0].last(), Some(&web_index(sessions).to_string()));
    let mut late = all.clone();
    for page in &mut late[1].pages {
        page.fail += page.good;
        page.good = 0;
    }
    assert!(
        index_of(&run_with(&late)).is_empty(),
        "e-commerce does not pass"
    );
}

#[test]
fn browsers_of_today_have_a_table_of_their_own_and_no_index() {
    let modern = |model| {
        let mut counters = counted(model);
        counters.profile = Profile::Modern(ModernBrowser::default());
        (counters.tls_handshakes, counters.tls_resumed) = (20, 80);
        counters
    };
    let run = run_with(&Model::ALL.map(modern));
    let section = section(&run).expect("windows");
    let headings: Vec<&str> = section.parts.iter().map(|part| part.heading).collect();
    assert_eq!(
        headings,
        [
            "",
            "Browsers of today",
            "Pages by type",
            "Criteria of a passing window"
        ]
    );
    assert_eq!(
        section.parts[1].table.rows[0][1..],
        ["50 %", "33.3 %", "100000 bytes", "20.0 ms", "0 %", "80.0 %"]
    );
    let criteria = &section.parts[3].table;
    assert!(criteria.rows.iter().any(|row| row[1] == "first bytes"));
}

#[test]
fn the_terminal_says_which_windows_pass() {
    let good = brief(&run_with(&[counted(Model::Support)]));
    assert_eq!(good.remarks, ["Every window met all criteria."]);
    assert_eq!(good.tables.len(), 2);
    let mut invalid = counted(Model::Support);
    invalid.pages[0].invalid = invalid.pages[0].good;
    invalid.pages[0].good = 0;
    let bad = brief(&run_with(&[invalid]));
    assert!(
        bad.remarks[0].starts_with("Windows that did not meet"),
        "{:?}",
        bad.remarks
    );
}
