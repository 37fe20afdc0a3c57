//! All layouts side by side.

use rookery_analysis::{Analysis, Run, baselines::BaselineBasis};

use super::data::{
    Datum, ENDS, Figure, Mark, Place, Series, broken_words, one_panel, single_trials,
};
use crate::{
    prose::{format, loop_type::loop_type, words},
    tables::summary::is_one_big,
};

/// The share of the layout's baseline, at its best, or else of one big guest.
fn share(analysis: &Analysis, point: u32) -> Option<String> {
    let named = analysis
        .baselines
        .iter()
        .filter(|found| found.point == point);
    let best = named.max_by_key(|found| found.bases.contains(&BaselineBasis::Best));
    let ratio = match best {
        Some(found) => Some(found.ratio),
        None => {
            let summary = analysis.point(point)?;
            let of_itself = summary.point.baseline == Some(point);
            summary.efficiency.filter(|_| !of_itself)
        }
    };
    ratio.map(|ratio| format::percent(ratio.value))
}

/// Aggregate throughput of every point; beside each the share of its one-big baseline.
pub(crate) fn figure(run: &Run, analysis: &Analysis) -> Option<Figure> {
    let mut series: Vec<Series> = Vec::new();
    for summary in &analysis.points {
        let Some(orders) = &summary.per_minute else {
            continue;
        };
        let mut datum = Datum::new(Place::Name(summary.point.label.clone()), orders);
        datum.broken = summary.limits.failed > 0;
        datum.note = match is_one_big(analysis, summary.point.id) {
            true => Some("baseline".to_owned()),
            false => share(analysis, summary.point.id),
        };
        let name = summary.layouts();
        match series.iter_mut().find(|series| series.name == name) {
            Some(known) => known.data.push(datum),
            None => series.push(Series {
                name,
                mark: Mark::Columns,
                data: vec![datum],
            }),
        }
    }
    // A single bar shows nothing.
    if series.iter().map(|series| series.data.len()).sum::<usize>() < 2 {
        return None;
    }
    let compared = series.iter().flat_map(|series| &series.data);
    let compared = compared.filter(|datum| datum.note.is_some()).count() > 0;
    series.extend(single_trials(analysis.points.iter().map(|summary| {
        (Place::Name(summary.point.label.clone()), summary.rates())
    })));
    let (title, percentage) = match (compared, analysis.baselines.is_empty()) {
        (false, _) => ("", String::new()),
        (true, true) => (", and its share of one big guest", efficiency(run, "")),
        (true, false) => (
            ", and its share of its baseline",
            efficiency(run, "the baseline that the layout names, or else of "),
        ),
    };
    Some(Figure {
        id: "consolidation".to_owned(),
        title: format!("Aggregate throughput of every layout{title}"),
        caption: format!(
            "{}. All guests of a point together. {percentage}{ENDS}{}",
            loop_type(run),
            broken_words(&series)
        ),
        panels: one_panel("point", words::rate(run), series),
        ..Figure::default()
    })
}

/// What the percentage beside a bar is.
fn efficiency(run: &Run, named: &str) -> String {
    let load = match run.header.study.load.open() {
        Some(_) => "arrivals",
        None => words::people(run),
    };
    format!(
        "The percentage is the consolidation efficiency: throughput over that of {named}the \
         one-big point of equal capacity and equal {load}. "
    )
}
