//! All layouts side by side.

use rookery_analysis::{Analysis, Run, baselines::BaselineBasis};

use super::data::{
    Datum, ENDS, Figure, Mark, Place, Series, broken_words, one_panel, single_trials,
};
use crate::prose::{format, loop_type::loop_type, words};

/// The share of the layout's baseline, at its best, or else of one big guest.
fn share(analysis: &Analysis, point: u32) -> Option<String> {
    let named = analysis
        .baselines
        .iter()
        .filter(|found| found.point == point);
    let best = named.max_by_key(|found| found.bases.contains(&BaselineBasis::Best));
    let ratio = match best {
        Some(found) => Some(found.ratio),
        None => analysis.point(point).and_then(|summary| summary.efficiency),
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
        datum.note = match summary.point.baseline {
            Some(baseline) if baseline == summary.point.id => Some("baseline".to_owned()),
            _ => share(analysis, summary.point.id),
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
    let named = !analysis.baselines.is_empty();
    series.extend(single_trials(analysis.points.iter().map(|summary| {
        (Place::Name(summary.point.label.clone()), summary.rates())
    })));
    Some(Figure {
        id: "consolidation".to_owned(),
        title: if named {
            "Aggregate throughput of every layout, and its share of its baseline".to_owned()
        } else {
            "Aggregate throughput of every layout, and its share of one big guest".to_owned()
        },
        caption: format!(
            "{}. All guests of a point together. The percentage is the consolidation efficiency: \
             throughput over that of {}the one-big \
             point of equal capacity and equal {}. {ENDS}{}",
            loop_type(run),
            if named {
                "the baseline that the layout names, or else of "
            } else {
                ""
            },
            if run.header.study.load.open().is_some() {
                "arrivals"
            } else {
                words::people(run)
            },
            broken_words(&series)
        ),
        panels: one_panel("point", words::rate(run), series),
        ..Figure::default()
    })
}
