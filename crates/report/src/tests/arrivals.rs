//! Reports of open loads.

use rookery_stats::{ArrivalCounts, Mode, Pacing};
use rookery_study::{Arrivals, LoopType, OpenLoad, Precision, Visit};

use super::fixture::{self, Fixture, end, header, planned};
use crate::tables::arrivals::table;

/// Every point of the example run with visitors in place of its users, two arrivals dropped in
/// each trial.
fn opened(visit: Visit) -> Fixture {
    let mut header = header(1);
    let open = OpenLoad {
        rate: Vec::new(),
        course: rookery_study::Course::Level,
        arrivals: Arrivals::Poisson,
        max_in_flight: 100,
        precision: Precision::Exact,
        visit,
    };
    let variants = header
        .plan
        .variants
        .iter_mut()
        .map(|variant| &mut variant.study);
    variants
        .chain([&mut header.study])
        .for_each(|study| study.load.loop_type = LoopType::Open(open.clone()));
    for point in &mut header.plan.points {
        point.only_group_mut().rate_per_s = Some(1.7 * f64::from(point.total_users()));
        point.only_group_mut().users.fill(0);
    }
    let fixture = planned(&header);
    (1..=5).for_each(|trial| {
        end(&fixture, trial, |record| {
            let measured = record.measurement.as_mut().expect("measured");
            (measured.mode, measured.pacing) = (Mode::Open, Pacing::Arrivals);
            measured.driver.arrivals = Some(ArrivalCounts {
                spacing: "poisson".to_owned(),
                precision: "exact".to_owned(),
                drawn: 6_400,
                started: 6_398,
                dropped: 2,
            });
        });
    });
    fixture
}

#[test]
fn a_report_of_an_open_load_speaks_of_arrivals() {
    let text = super::terminal(&opened(Visit::Single).store).expect("a report");
    insta::assert_snapshot!("open_terminal", text);
    assert!(!text.contains(" users"), "nobody stays");
    let page = super::html(&opened(Visit::Single).store).expect("a page");
    assert!(
        page.contains("6400 poisson") && page.contains("6398 (exact)"),
        "the table of arrivals stands in the page"
    );
}

#[test]
fn visitors_who_stay_are_told() {
    let text = super::terminal(&opened(Visit::GoOn(0.75)).store).expect("a report");
    let expected = "Partly open loop, Poisson arrivals at the rate of each point, 4 orders of \
                    each visitor on average, think time 250 ms \
                    between them, response times from the intended start";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_closed_load_has_no_arrivals() {
    let run = rookery_analysis::Run::read(&fixture::complete().store).expect("a whole store");
    assert!(table(&run).rows.is_empty());
}
