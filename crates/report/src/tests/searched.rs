//! Reports of runs that search: the answer first, probes in no table of points, laws with their
//! bands, trust.

use rookery_analysis::scaling::BendKind;

use super::{
    analysed, data,
    fixture::{
        searched::{self, LADDER, VARIANTS},
        void,
    },
    html, terminal,
};
use crate::{
    figures::{
        self,
        data::{Mark, Place, Symbol},
    },
    tables,
};

#[test]
fn the_largest_load_opens_the_answer() {
    let fixture = searched::complete(LADDER, &[2]);
    insta::assert_snapshot!(
        "search_terminal",
        terminal(&fixture.store).expect("a report")
    );
    let (run, analysis) = analysed(&fixture);
    assert!(
        analysis.answer[0].starts_with("One big guest carries more than small ones")
            && analysis.answer[1].starts_with("One guest of 1 vCPU carries "),
        "{:?}",
        analysis.answer
    );
    assert!(
        analysis.answer[1].contains("(confirmed; edge between "),
        "{:?}",
        analysis.answer
    );
    assert!(
        analysis.answer[2].starts_with("2 guests of 0.5 vCPU carry "),
        "{:?}",
        analysis.answer
    );
    insta::assert_snapshot!(
        "search_capacity",
        data(figures::searches::capacity(&run, &analysis).as_ref())
    );
    insta::assert_snapshot!(
        "search_probes",
        data(figures::searches::probes(&run, &analysis).as_ref())
    );
    let table = tables::searches::tried(&run, &analysis.searches[0]);
    let void: Vec<&Vec<String>> = table.rows.iter().filter(|row| row[3] == "void").collect();
    assert!(
        matches!(void[..], [row] if row[6].starts_with("the driver used 84 %")),
        "{void:?}"
    );
}

#[test]
fn what_a_search_tried_is_no_point_of_the_study() {
    let fixture = searched::complete(LADDER, &[]);
    let (run, analysis) = analysed(&fixture);
    assert_eq!(analysis.points.len(), 10, "the ladder of two layouts");
    assert!(
        run.header.plan.points.len() > 12,
        "and what was tried beside it"
    );
    let places: usize = figures::consolidation::figure(&run, &analysis).map_or(0, |figure| {
        let rows = figure.panels.iter().flat_map(|panel| &panel.rows);
        rows.flat_map(|row| &row.series)
            .filter(|series| series.mark == Mark::Columns)
            .map(|series| series.data.len())
            .sum()
    });
    assert_eq!(places, 10);
    assert!(
        !analysis
            .caveats
            .iter()
            .any(|caveat| caveat.contains("single good trial")),
        "{:?}",
        analysis.caveats
    );
    let page = html(&fixture.store).expect("a page");
    let (largest, points) = (
        page.find("<section id=\"largest\">"),
        page.find("<section id=\"summary\">"),
    );
    assert!(
        largest.is_some() && largest < points,
        "the answer stands before the tables"
    );
}

#[test]
fn probes_are_drawn_by_outcome_with_the_edge_and_the_answer() {
    let (run, analysis) = analysed(&searched::complete(LADDER, &[2]));
    let figure = figures::searches::probes(&run, &analysis).expect("searches");
    let panel = &figure.panels[0];
    let answer = &analysis.searches[0];
    assert_eq!(panel.lines.first().map(|(load, _)| *load), answer.load);
    assert_eq!(panel.window, answer.edge.0.zip(answer.edge.1));
    let symbols: Vec<Symbol> = panel.rows[0]
        .series
        .iter()
        .flat_map(|series| &series.data)
        .map(|datum| datum.symbol)
        .collect();
    for wanted in [Symbol::Dot, Symbol::Cross, Symbol::Open] {
        assert!(symbols.contains(&wanted), "{wanted:?}");
    }
    let drawn = crate::draw::json(panel);
    assert!(
        drawn.contains("diamond-open") && drawn.contains("\"type\":\"log\""),
        "{drawn}"
    );
}

#[test]
fn searches_of_variants_are_compared() {
    let (run, analysis) = analysed(&searched::complete(VARIANTS, &[]));
    assert!(
        analysis.points.is_empty() && analysis.effects.by_layout.is_empty(),
        "no points, no effects of points"
    );
    let compared = &analysis.answer[2];
    assert!(
        compared.starts_with("1 x 1 vCPU, pages=faithful against 1 x 1 vCPU, pages=corrected: "),
        "{:?}",
        analysis.answer
    );
    assert!(compared.contains("of its largest load: "), "{compared}");
    let figure = figures::searches::capacity(&run, &analysis).expect("two searches");
    assert_eq!(
        figure.panels[0].rows[0].series.len(),
        2,
        "a line for each variant"
    );
    insta::assert_snapshot!("search_variants_answer", analysis.answer.join("\n"));
}

#[test]
fn a_search_that_is_not_at_its_end_says_so() {
    let mut header = searched::header(VARIANTS);
    let mut fixture = super::planned(&header);
    let (_, before) = analysed(&fixture);
    assert_eq!(
        before.answer,
        ["This run gives no answer: no trial ended well."]
    );
    for _ in 0..2 {
        let trial = searched::probe(&mut fixture, &mut header, 1).expect("a probe");
        searched::end(&fixture, &header.plan, &trial, |_| {});
    }
    let (_, analysis) = analysed(&fixture);
    let text = analysis.answer.join("\n");
    assert!(
        text.contains("The search: it is not at its end.")
            || text.contains(": it is not at its end."),
        "{text}"
    );
    assert!(
        text.contains("is known to be within the limits: it has not begun."),
        "{text}"
    );
    html(&fixture.store).expect("a page");
}

#[test]
fn void_trials_running_stop_a_search_and_are_told() {
    let mut header = searched::header(VARIANTS);
    let mut fixture = super::planned(&header);
    while let Some(trial) = searched::probe(&mut fixture, &mut header, 1) {
        searched::end(&fixture, &header.plan, &trial, void);
    }
    let trial = searched::probe(&mut fixture, &mut header, 2).expect("a probe");
    searched::end(&fixture, &header.plan, &trial, |_| {});
    let (_, analysis) = analysed(&fixture);
    assert!(
        analysis.answer[0].contains("where trials were void twice running: the driver used 84 %"),
        "{:?}",
        analysis.answer
    );
    assert!(
        tables::trust::checks(&analysis.trust)
            .rows
            .iter()
            .any(|row| row[0].starts_with("driver")),
        "checks are told"
    );
}

#[test]
fn a_law_in_doubt_is_drawn_with_its_band_and_not_beyond_the_loads() {
    let (run, analysis) = analysed(&searched::complete(LADDER, &[]));
    let figure = figures::scaling::figure(&run, &analysis).expect("five loads");
    assert_eq!(
        figure.panels.len(),
        2,
        "one for each layout: users alone grow"
    );
    let panel = &figure.panels[0];
    let series = &panel.rows[0].series;
    let fit = series
        .iter()
        .find(|series| series.mark == Mark::Fit)
        .expect("a law");
    assert!(series.iter().all(|series| series.mark != Mark::Beyond));
    let number = |place: &Place| match place {
        Place::Number(number) => *number,
        Place::Name(_) => f64::NAN,
    };
    let largest = analysis.scaling[0].largest();
    assert!(fit.data.iter().all(|datum| {
        number(&datum.x) <= largest
            && datum
                .ends
                .is_some_and(|(low, high)| low <= datum.y && datum.y <= high)
    }));
    assert!(
        analysis.scaling[0]
            .bend
            .is_some_and(|bend| bend.bend == BendKind::Knee && (75.0..100.0).contains(&bend.load)),
        "the truth is 81 users"
    );
    insta::assert_snapshot!("scaling_remarks", figure.remarks.join("\n"));
    insta::assert_snapshot!(
        "scaling_growth",
        figure.tables[0]
            .rows
            .iter()
            .map(|row| row.join(" | "))
            .collect::<Vec<_>>()
            .join("\n")
    );
}

fn simulated() -> rookery_study::StackUse {
    let second = std::time::Duration::from_secs(1);
    rookery_study::StackUse::Simulated(rookery_study::SimulatedUse {
        pages: rookery_study::Pages::Corrected,
        host_cpus: 9,
        cpu_demand: second / 125,
        disk_demand: std::time::Duration::ZERO,
        lock_demand: std::time::Duration::ZERO,
        guest_overhead: 0.0,
        noise: 0.02,
        freeze: std::time::Duration::ZERO,
        freeze_every: 10 * second,
    })
}

#[test]
fn a_simulated_run_says_so_and_measures_nothing() {
    let mut header = searched::header(LADDER);
    let studies = header
        .plan
        .variants
        .iter_mut()
        .map(|variant| &mut variant.study);
    for study in studies.chain([&mut header.study]) {
        study.stack = simulated();
    }
    let fixture = super::planned(&header);
    let trials = header.plan.trials.clone();
    trials
        .iter()
        .for_each(|trial| searched::end(&fixture, &header.plan, trial, |_| {}));
    let text = terminal(&fixture.store).expect("a report");
    assert!(
        text.contains("SIMULATED: no guest ran") && text.contains("SIMULATED: closed loop"),
        "{text}"
    );
    assert!(!text.contains("measured"), "{text}");
    let page = html(&fixture.store)
        .expect("a page")
        .replace(crate::draw::LIBRARY, "");
    assert!(page.contains("Report of a SIMULATED run"));
    let at = page.find("measured");
    assert!(
        at.is_none(),
        "{:?}",
        at.map(|at| &page[at.saturating_sub(200)..at + 40])
    );
}
