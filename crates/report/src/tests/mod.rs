//! Tests of the report against fixture runs.

mod arrivals;
mod compare;
pub(crate) mod fixture;
mod layers;
mod orderentry;
mod property;
mod searched;
mod trust;
mod width;
mod wished;

use std::ops::Deref;

use rookery_analysis::{Analysis, Run, compare::Comparison};
use rookery_store::Store;
use rookery_text::Zone;

use self::fixture::{Fixture, HOSTILE, end, failed, header, hostile, planned, void};
use crate::{
    ReportError, draw,
    figures::{self, data::Figure},
    prose::{
        caveats,
        effects::{basis, verdict},
    },
    tables,
};

/// Wide enough that no line is broken: tests look for whole sentences.
const WIDE: usize = 10_000;

/// The terminal's text in lines as long as they are.
fn terminal(store: &Store) -> Result<String, ReportError> {
    crate::terminal(store, WIDE, &Zone::utc())
}

/// The page, without ceilings.
fn html(store: &Store) -> Result<String, ReportError> {
    crate::html(store, &[], &Zone::utc())
}

/// The page of a comparison.
fn compare_html(comparison: &Comparison) -> Result<String, ReportError> {
    crate::compare_html(comparison, &Zone::utc())
}

/// The terminal's comparison in lines as long as they are.
fn compare_terminal(comparison: &Comparison) -> String {
    crate::compare_terminal(comparison, WIDE, &Zone::utc())
}

/// An analysis, with what is said of it.
struct Analysed {
    analysis: Analysis,
    answer: Vec<String>,
    caveats: Vec<String>,
}

impl Deref for Analysed {
    type Target = Analysis;

    fn deref(&self) -> &Analysis {
        &self.analysis
    }
}

fn analysed(fixture: &Fixture) -> (Run, Analysed) {
    let run = Run::read(&fixture.store).expect("a whole store");
    let analysis = Analysis::from_run(&run);
    let (answer, caveats) = (
        crate::answer::answer(&run, &analysis),
        caveats::caveats(&run, &analysis, &Zone::utc()),
    );
    let analysed = Analysed {
        analysis,
        answer,
        caveats,
    };
    (run, analysed)
}

/// Let the users of all variants pause so long.
fn pause(header: &mut rookery_store::RunHeader, ms: u64) {
    let variants = header
        .plan
        .variants
        .iter_mut()
        .map(|variant| &mut variant.study);
    for study in std::iter::once(&mut header.study).chain(variants) {
        if let rookery_study::Workload::Dvdstore(shop) = &mut study.workload {
            shop.think_time = std::time::Duration::from_millis(ms);
        }
    }
}

/// A figure's data as text.
fn data(figure: Option<&Figure>) -> String {
    let Some(figure) = figure else {
        return "no figure".to_owned();
    };
    let mut text = format!("{}\n{}\n", figure.title, figure.caption);
    for panel in &figure.panels {
        let table = panel.table();
        text += &format!("\n{}\n{}\n", table.label, table.heads.join(" | "));
        for row in &table.rows {
            text += &format!("{}\n", row.join(" | "));
        }
    }
    text
}

#[test]
fn the_terminal_shows_every_point_and_the_answer() {
    let text = terminal(&fixture::complete().store).expect("a report");
    insta::assert_snapshot!(text);
}

#[test]
fn the_data_of_the_figures_follow_from_the_store() {
    let (run, analysis) = analysed(&fixture::complete());
    insta::assert_snapshot!(
        "scale_up",
        data(figures::scale_up::figure(&run, &analysis).as_ref())
    );
    insta::assert_snapshot!(
        "consolidation",
        data(figures::consolidation::figure(&run, &analysis).as_ref())
    );
    insta::assert_snapshot!(
        "percentiles",
        data(figures::response_times::figure(&run, &analysis).as_ref())
    );
    insta::assert_snapshot!(
        "fairness",
        data(figures::fairness::figure(&run, &analysis).as_ref())
    );
    let mut timeline = figures::timeline::figure(&run).expect("measured trials");
    assert_eq!(timeline.panels.len(), 15);
    timeline.panels = timeline.panels.split_off(14);
    insta::assert_snapshot!("timeline", data(Some(&timeline)));
}

#[test]
fn what_each_tuning_is_worth_is_told_with_its_interval() {
    let fixture = fixture::lamp::complete(false);
    insta::assert_snapshot!("lamp_terminal", terminal(&fixture.store).expect("a report"));
    let (run, analysis) = analysed(&fixture);
    insta::assert_snapshot!(
        "forest",
        data(figures::effects::figure(&run, &analysis).as_ref())
    );
    insta::assert_snapshot!(
        "capacity",
        data(figures::capacity::figure(&run, &analysis).as_ref())
    );
    let tuning = &analysis.effects.overall[0];
    let effect = tuning.compared[0].effect.expect("an effect");
    assert!(
        (1.2..1.3).contains(&effect.ratio) && effect.excludes_one(),
        "{effect:?}"
    );
    assert_eq!(
        (effect.count, analysis.effects.by_layout.len()),
        (9, 3),
        "three layouts of three blocks"
    );
    let tuned =
        |sentence: &String| sentence.starts_with("`stack.tuning = pureflex` against `stock`: +2");
    assert!(analysis.answer.iter().any(tuned), "{:?}", analysis.answer);
}

#[test]
fn a_placebo_is_no_effect_beside_a_tuning_that_helps() {
    let (run, analysis) = analysed(&fixture::lamp::complete(true));
    let [tuning, placebo] = &analysis.effects.overall[..] else {
        panic!("two comparisons: {:?}", analysis.effects.overall);
    };
    assert_eq!(verdict(&tuning.compared[0]), "better");
    assert_eq!(
        verdict(&tuning.compared[1]),
        "better",
        "a shorter time is better"
    );
    assert!(
        verdict(&placebo.compared[0]).starts_with("no effect seen (less than "),
        "{:?}",
        placebo.compared[0]
    );
    let nothing = |sentence: &String| sentence.contains("no effect on throughput seen (less than");
    assert!(analysis.answer.iter().any(nothing), "{:?}", analysis.answer);
    assert!(analysis.effects.interactions_examined > 0);
    let names: Vec<String> = figures::all(&run, &analysis, &[])
        .iter()
        .map(|figure| figure.id.to_owned())
        .collect();
    assert_eq!(
        names,
        [
            "effects",
            "capacity",
            "response-times",
            "distribution",
            "time-series",
            "fairness"
        ]
    );
}

#[test]
fn one_repeat_has_effects_without_intervals() {
    let header = fixture::lamp::header(1, false);
    let fixture = planned(&header);
    // One layout alone: a single block.
    (1..=2).for_each(|trial| end(&fixture, trial, |_| {}));
    let (_, analysis) = analysed(&fixture);
    let compared = &analysis.effects.overall[0].compared[0];
    assert!(
        compared
            .effect
            .is_some_and(|effect| effect.interval.is_none()),
        "{compared:?}"
    );
    assert!(
        analysis.answer[0].contains("a single pair: no interval"),
        "{}",
        analysis.answer[0]
    );
}

#[test]
fn pairs_that_void_trials_broke_are_compared_by_means_and_it_is_said() {
    let header = fixture::lamp::header(3, false);
    let fixture = planned(&header);
    for trial in &header.plan.trials {
        // Every block loses one of its two trials, now this and now that.
        let lost = trial.id % 2 == trial.block / 3 % 2;
        end(&fixture, trial.id, |record| {
            if lost {
                void(record)
            }
        });
    }
    let (_, analysis) = analysed(&fixture);
    let compared = &analysis.effects.overall[0].compared[0];
    assert_eq!(
        basis(compared),
        "unpaired: trials are missing",
        "{compared:?}"
    );
    assert!(
        compared
            .effect
            .is_some_and(|effect| (1.2..1.3).contains(&effect.ratio)),
        "{compared:?}"
    );
}

#[test]
fn without_both_levels_nothing_is_compared() {
    let header = fixture::lamp::header(1, false);
    let fixture = planned(&header);
    end(&fixture, 1, |_| {});
    let (_, analysis) = analysed(&fixture);
    assert!(
        analysis.answer[0].ends_with("no good trials are left that could be compared."),
        "{}",
        analysis.answer[0]
    );
    assert!(
        html(&fixture.store)
            .expect("a page")
            .contains("could be compared")
    );
}

#[test]
fn settings_that_did_not_take_are_told_apart() {
    let fixture = fixture::lamp::complete(false);
    let (run, _) = analysed(&fixture);
    let settings = tables::settings::settings(&run);
    assert_eq!(
        settings.differing.rows,
        [[
            "mariadb.table_open_cache",
            "1536",
            "1024",
            "1024",
            "not as asked",
            "2, 4, 6",
            "4 guests"
        ]]
    );
    assert_eq!(
        settings.kept.rows.len(),
        7,
        "three quotas, two pools, two numbers of workers: {:?}",
        settings.kept.rows
    );
    let text = terminal(&fixture.store).expect("a report");
    assert!(text.contains("1 setting was not as asked for"), "{text}");
    let page = html(&fixture.store).expect("a page");
    assert!(page.contains("Settings in force") && page.contains("7 as asked for"));
}

#[test]
fn no_winner_is_named_where_the_repeats_do_not_tell() {
    let (_, analysis) = analysed(&fixture::complete());
    assert!(
        analysis.answer.iter().any(|sentence| sentence
            .contains("; not distinguishable from 2 x 0.5 vCPU, 200 users (18\u{a0}460 ± 440)")),
        "{:?}",
        analysis.answer
    );
    let mut header = header(3);
    // The quarter alone against the whole: that is told.
    header
        .plan
        .points
        .retain(|point| [1, 3].contains(&point.id));
    header
        .plan
        .points
        .iter_mut()
        .for_each(|point| point.baseline = None);
    header
        .plan
        .trials
        .retain(|trial| [1, 3].contains(&trial.point));
    let fixture = planned(&header);
    header
        .plan
        .trials
        .iter()
        .for_each(|trial| end(&fixture, trial.id, |_| {}));
    let (_, analysis) = analysed(&fixture);
    assert!(
        !analysis.answer[0].contains("not distinguishable"),
        "{}",
        analysis.answer[0]
    );
}

#[test]
fn a_partial_run_says_what_it_lacks() {
    let fixture = planned(&header(2));
    for trial in 1..=3 {
        end(&fixture, trial, |_| {});
    }
    end(&fixture, 4, void);
    end(&fixture, 5, failed);
    fixture
        .store
        .begin_trial(6, "2026-01-02T04:00:00Z")
        .expect("planned");
    fixture.store.reset_running().expect("a reset");
    fixture
        .store
        .begin_trial(6, "2026-01-02T05:00:00Z")
        .expect("planned");
    fixture
        .store
        .note("2026-01-02T05:00:00Z", "resumed")
        .expect("a note");
    insta::assert_snapshot!(terminal(&fixture.store).expect("a report"));
    let page = html(&fixture.store).expect("a page");
    for text in [
        "the driver used 84 % of its CPU",
        "guest g1 died: killed by signal 9",
        "NOT CONSISTENT",
        "2026-01-02T05:00:00Z: resumed",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn a_void_trial_is_in_no_average() {
    let mean = |spoil: bool| {
        let fixture = planned(&header(2));
        end(&fixture, 1, |_| {});
        end(&fixture, 6, |record| {
            if spoil {
                void(record);
                let guests = record
                    .measurement
                    .iter_mut()
                    .flat_map(|measured| &mut measured.guests);
                guests.for_each(|guest| {
                    guest
                        .operations
                        .iter_mut()
                        .for_each(|operation| operation.completed *= 10)
                });
            }
        });
        analysed(&fixture).1.points[0].clone()
    };
    let (whole, spoiled) = (mean(false), mean(true));
    assert_eq!((whole.done, spoiled.done, spoiled.void), (2, 1, 1));
    assert_eq!(
        spoiled.per_minute.map(|rate| rate.mean),
        Some(whole.trials[0].per_minute)
    );
}

#[test]
fn without_a_good_trial_there_is_no_answer() {
    for spoil in [
        None,
        Some(void as fn(&mut rookery_store::TrialRecord)),
        Some(failed),
    ] {
        let fixture = planned(&header(1));
        if let Some(spoil) = spoil {
            (1..=5).for_each(|trial| end(&fixture, trial, spoil));
        }
        let text = terminal(&fixture.store).expect("a report");
        assert!(
            text.contains("This run gives no answer: no trial ended well."),
            "{text}"
        );
        assert!(
            html(&fixture.store)
                .expect("a page")
                .contains("This run gives no answer")
        );
    }
}

#[test]
fn hostile_text_stays_text() {
    let mut header = header(1);
    header.title = HOSTILE.to_owned();
    header.study.question = Some(HOSTILE.to_owned());
    header.study_text = HOSTILE.to_owned();
    header.host.hostname = HOSTILE.to_owned();
    header.study.layouts[0].name = HOSTILE.to_owned();
    header
        .plan
        .points
        .iter_mut()
        .for_each(|point| point.layouts = vec![HOSTILE.to_owned()]);
    let fixture = planned(&header);
    end(&fixture, 1, hostile);
    end(&fixture, 4, hostile);
    end(&fixture, 5, |record| {
        hostile(record);
        record.outcome = rookery_store::Outcome::Done;
    });
    let page = html(&fixture.store).expect("a page");
    let library = draw::LIBRARY;
    let (before, after) = page.split_once(library).expect("one copy of the library");
    for part in [before, after] {
        assert!(
            !part.contains("alert(1)</script>") && !part.contains("<img"),
            "markup came through"
        );
    }
    assert!(
        !page.contains("{{ 7*7 }}") || !page.contains("49&"),
        "a template ran"
    );
    assert_eq!(
        before.matches("<script").count(),
        before.matches("</script>").count() + 1,
        "the library stands in one of its own"
    );
    assert!(
        !terminal(&fixture.store)
            .expect("a report")
            .contains(['\u{1b}', '\u{202e}'])
    );
}

#[test]
fn the_page_needs_nothing_else() {
    let page = html(&fixture::complete().store).expect("a page");
    let library = draw::LIBRARY;
    let ours = page.replace(library, "");
    assert_eq!(page.matches(library).count(), 1, "one copy of the library");
    for fixture in [
        fixture::complete(),
        fixture::searched::complete(fixture::searched::LADDER, &[2]),
    ] {
        let page = html(&fixture.store).expect("a page");
        assert!(page.len() <= 1_500_000, "{} bytes", page.len());
    }
    for reference in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!ours.contains(reference), "{reference}");
    }
}

#[test]
fn the_same_store_gives_the_same_page() {
    let fixture = fixture::complete();
    assert_eq!(
        html(&fixture.store).expect("a page"),
        html(&fixture.store).expect("a page")
    );
}

#[test]
fn several_loads_at_the_same_size_are_several_lines() {
    let mut header = header(1);
    // Point 2 becomes a second load of the size of point 1.
    let vcpus = header.plan.points[0].only_group().vcpus;
    let group = header.plan.points[1].only_group_mut();
    (group.vcpus, group.users) = (vcpus, vec![100]);
    let fixture = planned(&header);
    (1..=5).for_each(|trial| end(&fixture, trial, |_| {}));
    let (run, analysis) = analysed(&fixture);
    let figure = figures::scale_up::figure(&run, &analysis).expect("sizes vary");
    let names: Vec<&str> = figure.panels[0].rows[0]
        .series
        .iter()
        .map(|series| series.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "scale-up, 200 users per vCPU",
            "scale-up, 400 users per vCPU",
            "in proportion"
        ]
    );
}

#[test]
fn an_unsaturated_comparison_is_called_one() {
    let mut header = header(1);
    pause(&mut header, 630);
    let fixture = planned(&header);
    (1..=5).for_each(|trial| end(&fixture, trial, |_| {}));
    let text = terminal(&fixture.store).expect("a report");
    assert!(
        text.contains("All of them kept up with that load"),
        "{text}"
    );
    assert!(
        !terminal(&fixture::complete().store)
            .expect("a report")
            .contains("All of them kept up with that load")
    );
}

#[test]
fn the_answer_names_the_best_point_and_what_limited_it() {
    let first = |change: &dyn Fn(&mut rookery_store::RunHeader),
                 spoil: &dyn Fn(&mut rookery_store::TrialRecord)| {
        let mut header = header(1);
        change(&mut header);
        let fixture = planned(&header);
        (1..=5).for_each(|trial| end(&fixture, trial, spoil));
        analysed(&fixture).1.answer[1..].join(" ")
    };
    let busy = first(&|_| (), &|_| ());
    assert!(
        busy.starts_with("Highest throughput within the limits: ")
            && busy.contains("1 x 1 vCPU, 200 users"),
        "{busy}"
    );
    assert!(
        busy.contains("the CPU of the guests, which used 0.95 of 1 core."),
        "{busy}"
    );
    let idle = |record: &mut rookery_store::TrialRecord| {
        record
            .resources
            .iter_mut()
            .for_each(|sample| sample.cpu_cores /= 2.0)
    };
    let waiting = first(&|_| (), &idle);
    assert!(
        waiting.contains("neither the CPU of the guests"),
        "{waiting}"
    );
    let patient = first(&|header| pause(header, 630), &idle);
    assert!(patient.contains("What limited it: its users"), "{patient}");
    let free = first(
        &|header| header.study.qos = rookery_stats::qos::Qos::default(),
        &|_| (),
    );
    assert!(free.starts_with("Highest throughput: "), "{free}");
}

#[test]
fn a_point_with_too_few_operations_is_not_said_to_break_the_limits() {
    let mut header = header(1);
    header.study.qos.min_operations = u64::MAX;
    let fixture = planned(&header);
    (1..=5).for_each(|trial| end(&fixture, trial, |_| {}));
    let text = terminal(&fixture.store).expect("a report");
    assert!(
        text.contains("No point could be judged") && !text.contains("kept the limits"),
        "{text}"
    );
    assert!(!text.contains("so near its limit"), "{text}");
}

#[test]
fn an_interrupted_run_is_not_said_to_be_resumed() {
    let fixture = planned(&header(1));
    end(&fixture, 1, |_| {});
    fixture
        .store
        .begin_trial(2, "2026-01-02T04:00:00Z")
        .expect("planned");
    fixture.store.reset_running().expect("a reset");
    let note = "run other was under way on this host at the same time";
    fixture
        .store
        .note("2026-01-02T04:00:00Z", note)
        .expect("a note");
    let text = terminal(&fixture.store).expect("a report");
    assert!(
        text.contains("interrupted: 1 attempt broken off") && !text.contains("resumed"),
        "{text}"
    );
    assert!(
        text.contains(note),
        "whoever reads the numbers must know: {text}"
    );
}

#[test]
fn a_wide_study_is_summed_up() {
    let mut header = header(1);
    let (one, two) = (header.plan.points[2].clone(), header.plan.points[3].clone());
    let copy = |base: &rookery_study::Point, id: u32| {
        let mut point = base.clone();
        (point.id, point.baseline) = (id, Some(1));
        point
            .only_group_mut()
            .users
            .iter_mut()
            .for_each(|users| *users += id);
        point
    };
    header.plan.points = std::iter::once(copy(&one, 1))
        .chain((2..=40).map(|id| copy(&two, id)))
        .collect();
    let trial = |id| rookery_study::Trial {
        id,
        point: id,
        repeat: 1,
        block: id,
        seed: 5,
        purpose: rookery_study::Purpose::Study,
    };
    header.plan.trials = (1..=40).map(trial).collect();
    let fixture = planned(&header);
    (1..=40).for_each(|trial| end(&fixture, trial, |_| {}));
    let (_, analysis) = analysed(&fixture);
    assert!(
        analysis
            .answer
            .iter()
            .any(|sentence| sentence.contains("lowest and the highest of 39")),
        "{:?}",
        analysis.answer
    );
    assert!(
        analysis.answer.len() < 8 && analysis.caveats.len() < 20,
        "{:?}",
        analysis.caveats
    );
    assert_eq!(
        analysis
            .points
            .iter()
            .filter(|point| point.efficiency.is_some())
            .count(),
        39,
        "the table has all"
    );
}

#[test]
fn every_variant_scales_up_on_a_line_of_its_own() {
    let mut header = fixture::lamp::header(1, false);
    // The halves become single guests of half the size.
    for point in header
        .plan
        .points
        .iter_mut()
        .filter(|point| point.guests() == 2)
    {
        let group = point.only_group_mut();
        (group.guests, group.users, group.pins) = (1, vec![100], vec![vec![0]]);
        point.layouts = vec!["scale-up".to_owned()];
    }
    let fixture = planned(&header);
    header
        .plan
        .trials
        .iter()
        .for_each(|trial| end(&fixture, trial.id, |_| {}));
    let (run, analysis) = analysed(&fixture);
    let figure = figures::scale_up::figure(&run, &analysis).expect("sizes vary");
    let names: Vec<&str> = figure.panels[0].rows[0]
        .series
        .iter()
        .map(|series| series.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "scale-up, tuning=stock",
            "scale-up, tuning=pureflex",
            "in proportion"
        ]
    );
}

#[test]
fn points_that_broke_limits_are_marked_in_the_figures() {
    let mut header = header(1);
    header.study.qos.percentiles[0].limit_us = 50_000;
    let fixture = planned(&header);
    (1..=5).for_each(|trial| end(&fixture, trial, |_| {}));
    let (run, analysis) = analysed(&fixture);
    let text = data(figures::consolidation::figure(&run, &analysis).as_ref());
    assert!(text.contains("Pale: limits missed."), "{text}");
    let marked: Vec<&str> = text
        .lines()
        .filter(|line| line.contains(", limits missed"))
        .collect();
    assert!(
        marked.len() == 2 && marked[1].starts_with("4 x 0.25"),
        "{text}"
    );
}

#[test]
fn interrupts_that_may_have_moved_are_a_caveat() {
    let told = |state: &str| {
        let mut header = header(1);
        let balance = ("irqbalance".to_owned(), state.to_owned());
        header.host.versions.push(balance);
        analysed(&planned(&header)).1.caveats.join("\n")
    };
    assert!(told("runs").contains("irqbalance ran on the host"));
    assert!(!told("does not run").contains("irqbalance"));
}

#[test]
fn a_big_guest_that_nothing_is_compared_with_is_no_baseline() {
    let told = |alone: bool| {
        let mut header = header(2);
        for point in header.plan.points.iter_mut().filter(|_| alone) {
            point.baseline = point.baseline.filter(|baseline| *baseline == point.id);
        }
        let fixture = planned(&header);
        for trial in &header.plan.trials {
            end(&fixture, trial.id, |_| ());
        }
        let (run, analysis) = analysed(&fixture);
        let heads = tables::summary::throughput(&analysis).heads;
        let figure = figures::consolidation::figure(&run, &analysis).expect("several bars");
        (
            heads.iter().any(|head| head == "share of one big"),
            figure.caption.contains("consolidation efficiency"),
        )
    };
    assert_eq!(told(false), (true, true));
    assert_eq!(told(true), (false, false));
}
