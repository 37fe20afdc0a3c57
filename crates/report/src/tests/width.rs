//! What the terminal shows in 80 columns: no line is longer, unless one word is.

use rookery_text::Zone;

use super::fixture::{self, Fixture, failed, lamp, orderentry, searched};

const WIDTH: usize = 80;

/// A line that a terminal of this width would break has a single word.
fn assert_fits(text: &str) {
    for line in text.lines() {
        let words = line.split_whitespace().count();
        assert!(
            line.chars().count() <= WIDTH || words == 1,
            "{line}\n\n{text}"
        );
    }
}

/// A run of which half the trials failed.
fn broken() -> Fixture {
    let fixture = fixture::planned(&fixture::header(2));
    for trial in 1..=5 {
        fixture::end(&fixture, trial, |record| {
            if trial % 2 == 0 {
                failed(record);
            }
        });
    }
    fixture
}

#[test]
fn every_report_fits_80_columns() {
    let fixtures = [
        fixture::complete(),
        broken(),
        lamp::complete(false),
        searched::complete(searched::LADDER, &[2]),
        orderentry::complete(),
    ];
    for fixture in &fixtures {
        assert_fits(&crate::terminal(&fixture.store, WIDTH, &Zone::utc()).expect("a report"));
        assert_fits(&crate::brief(&fixture.store, WIDTH, &Zone::utc()).expect("a report"));
    }
}

#[test]
fn a_run_ends_with_a_few_lines() {
    let said =
        |fixture: &Fixture| crate::brief(&fixture.store, WIDTH, &Zone::utc()).expect("a report");
    insta::assert_snapshot!("brief", said(&fixture::complete()));
    insta::assert_snapshot!("brief_of_a_broken_run", said(&broken()));
}
