//! What a comparison of stored runs reads like, from stores made by formula.

use rookery_analysis::{
    Run,
    compare::{Comparison, Options, compare},
};
use rookery_stats::Latencies;
use rookery_store::TrialRecord;

use super::fixture::{HOSTILE, end, failed, header, planned};
use super::{compare_html, compare_terminal};

/// A run of three repeats in which each trial is spoilt by its own number.
fn run(id: &str, change: impl Fn(u32, &mut TrialRecord)) -> Run {
    let mut header = header(3);
    header.run_id = id.to_owned();
    let fixture = planned(&header);
    for trial in &header.plan.trials {
        end(&fixture, trial.id, |record| change(trial.id, record));
    }
    Run::read(&fixture.store).expect("a whole store")
}

/// Orders take so many times longer, and so many times fewer are done; the trial's number decides a
/// scatter of a percent.
fn slower(times: f64) -> impl Fn(u32, &mut TrialRecord) {
    move |trial, record| {
        let times = times * (1.0 + 0.01 * (f64::from(trial * 37 % 11) / 11.0 - 0.5));
        for guest in record
            .measurement
            .iter_mut()
            .flat_map(|measured| &mut measured.guests)
        {
            for operation in &mut guest.operations {
                operation.completed = (operation.completed as f64 / times) as u64;
                let mut service = Latencies::new();
                for k in 1..100 {
                    let us = operation
                        .service
                        .percentile_us(f64::from(k))
                        .expect("measured");
                    service.record_us((us as f64 * times) as u64);
                }
                operation.service = service;
            }
        }
    }
}

fn compared(base: &Run, new: &Run) -> Comparison {
    compare(
        std::slice::from_ref(base),
        std::slice::from_ref(new),
        &Options::default(),
    )
    .expect("two runs")
}

#[test]
fn a_slow_down_is_told_first_and_in_numbers() {
    let base = run("r1", slower(1.0));
    let mut new = run("r2", slower(1.12));
    new.header.host.kernel = "6.2.0".to_owned();
    insta::assert_snapshot!("slower", compare_terminal(&compared(&base, &new)));
}

#[test]
fn runs_of_one_study_show_no_difference() {
    let base = run("r1", slower(1.0));
    let new = run("r2", |trial, record| slower(1.0)(trial + 5, record));
    let text = compare_terminal(&compared(&base, &new));
    let sentences: Vec<&str> = text.lines().filter(|line| line.starts_with("* ")).collect();
    assert!(
        sentences
            .iter()
            .all(|line| line.starts_with("* No difference")),
        "{text}"
    );
    assert!(!text.contains("Not the same on both sides"), "{text}");
}

#[test]
fn what_cannot_be_said_is_said() {
    let base = run("r1", slower(1.0));
    let mut new = run("r2", slower(1.0));
    new.trials.retain(|trial| trial.row.trial.repeat == 1);
    for variant in &mut new.header.plan.variants {
        if let rookery_study::Workload::Dvdstore(shop) = &mut variant.study.workload {
            shop.think_time *= 2;
        }
    }
    let nothing = compare_terminal(&compared(&base, &new));
    assert!(
        nothing.contains("* Nothing can be said: the runs have no point in common"),
        "{nothing}"
    );
    assert!(
        nothing.contains(
            "not compared, because the think time is not the same: 0.25 s (think) \
                          against 0.5 s (think)."
        ),
        "{nothing}"
    );

    let searched = |mut run: Run| {
        run.header
            .plan
            .points
            .iter_mut()
            .for_each(|point| point.search = Some(1));
        run
    };
    let count = base.header.plan.points.len();
    let text = compare_terminal(&compared(&searched(base.clone()), &searched(new.clone())));
    for words in [
        "* Nothing can be said",
        "* Add loads to the study",
        &format!("- {} points that searches tried", 2 * count),
    ] {
        assert!(text.contains(words), "`{words}` is missing in:\n{text}");
    }
    assert!(
        !text.contains("two runs of a single point"),
        "nothing was compared:\n{text}"
    );

    let lost = run("r3", |trial, record| {
        if trial % 5 == 1 {
            failed(record);
        }
    });
    let text = compare_terminal(&compared(&base, &lost));
    assert!(
        text.contains("* Worse: guests failed in every new trial of 1 x 0.25 vCPU, 50 users."),
        "{text}"
    );
    assert!(
        text.contains("1 point without a good trial in every run"),
        "{text}"
    );
}

#[test]
fn the_page_holds_the_figures_and_the_numbers_and_commands_nobody() {
    let mut base = run("r1", slower(1.0));
    base.header.title = HOSTILE.to_owned();
    base.header.host.kernel = HOSTILE.to_owned();
    let comparison = compared(&base, &run("r2", slower(1.12)));
    let page = compare_html(&comparison).expect("a page");
    let page = page.replace("&#x2f;", "/");
    assert!(
        page.contains("<h1>r2 against r1</h1>") && page.contains("id=\"figure-3\""),
        "one figure overall, three by point"
    );
    assert!(!page.contains("id=\"figure-4\""));
    assert!(
        !page.contains("<script>alert") && !page.contains("<img"),
        "text stays text"
    );
    assert!(
        !page.contains("<script src") && !page.contains("<link rel=\"stylesheet"),
        "nothing is loaded from elsewhere"
    );
    for line in compare_terminal(&comparison)
        .lines()
        .filter_map(|line| line.strip_prefix("* "))
    {
        assert!(
            page.contains(&line.replace('\u{fffd}', "")),
            "the page says the same: {line}"
        );
    }
    assert!(!compare_terminal(&comparison).contains('\u{1b}'));
}

#[test]
fn a_slower_machine_is_told_of_only_beyond_chance() {
    let driver = |times: f64, scatter: f64| {
        run("r", move |trial, record| {
            let measured = record.measurement.as_mut().expect("measured");
            measured.driver.cpu_us_per_request *= times * (1.0 + scatter * f64::from(trial % 3));
        })
    };
    let told = |scatter| {
        compare_terminal(&compared(&driver(1.0, scatter), &driver(1.06, scatter)))
            .contains("The driver itself took +6.0 %")
    };
    assert!(told(0.005) && !told(0.2));
}
