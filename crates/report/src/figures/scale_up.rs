//! Throughput of a single guest as it grows.

use rookery_analysis::{
    Analysis, Run, estimate::Estimate, label::levels_after, points::PointSummary,
};

use super::data::{
    Datum, ENDS, Figure, Mark, Place, Series, broken_words, one_panel, single_trials,
};
use crate::prose::{format, loop_type::loop_type, scaling::of_clients, words};

/// Throughput of single guests against their vCPUs, or against users when only these vary.
pub(crate) fn figure(run: &Run, analysis: &Analysis) -> Option<Figure> {
    let single: Vec<&PointSummary> = analysis
        .points
        .iter()
        .filter(|summary| summary.point.guests == 1)
        .collect();
    let varied = |value: &dyn Fn(&PointSummary) -> f64| {
        let mut values: Vec<f64> = single.iter().map(|summary| value(summary)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values.len() > 1
    };
    let by_vcpus = varied(&|summary| summary.point.vcpus);
    // Where laws are fitted over users, their figure shows the same trials and more.
    let fitted = analysis.scaling.iter().any(of_clients);
    if !by_vcpus && fitted {
        return None;
    }
    if !by_vcpus && !varied(&|summary| summary.point.load()) {
        return None;
    }
    let place = |summary: &PointSummary| {
        if by_vcpus {
            summary.point.vcpus
        } else {
            summary.point.load()
        }
    };
    let mut series: Vec<Series> = Vec::new();
    let variants = &run.header.plan.variants;
    let lines = run
        .header
        .study
        .layouts
        .iter()
        .flat_map(|layout| variants.iter().map(move |variant| (layout, variant)));
    for (layout, variant) in lines {
        let of_line = |summary: &&PointSummary| {
            summary.point.layouts.contains(&layout.name) && summary.point.variant == variant.id
        };
        let own: Vec<&PointSummary> = single.iter().copied().filter(of_line).collect();
        let line = levels_after(&layout.name, &variant.levels);
        for (name, summaries) in densities(&line, own, by_vcpus) {
            let measured = summaries.iter().filter_map(|summary| {
                Some((
                    place(summary),
                    summary.per_minute?,
                    summary.limits.failed > 0,
                ))
            });
            let mut measured: Vec<(f64, Estimate, bool)> = measured.collect();
            measured.sort_by(|a, b| a.0.total_cmp(&b.0));
            let datum = |(x, orders, broken): &(f64, Estimate, bool)| Datum {
                broken: *broken,
                ..Datum::new(Place::Number(*x), orders)
            };
            let data: Vec<Datum> = measured.iter().map(datum).collect();
            if !data.is_empty() {
                let mark = Mark::Dots;
                series.push(Series { name, mark, data });
            }
        }
    }
    let trials = single_trials(
        single
            .iter()
            .map(|summary| (Place::Number(place(summary)), summary.rates())),
    );
    let longest = series.iter().max_by_key(|series| series.data.len())?;
    let ideal = proportional(longest);
    series.extend(trials);
    series.extend(ideal);
    let (x_title, what) = if by_vcpus {
        ("vCPUs of the guest", "vCPUs")
    } else if run.header.study.load.open().is_some() {
        ("arrivals/s", "arrivals")
    } else {
        (words::people(run), words::people(run))
    };
    Some(Figure {
        id: "scale-up".to_owned(),
        title: format!("Scale-up: throughput of one guest against its {what}"),
        caption: format!(
            "{}. {ENDS} Dashed: in proportion to the first point, for comparison.{}",
            loop_type(run),
            broken_words(&series)
        ),
        panels: one_panel(x_title, words::rate(run), series),
        ..Figure::default()
    })
}

/// The points of a layout as one series, or, where several loads stand at the same vCPUs, one
/// series per load.
fn densities<'a>(
    layout: &str,
    own: Vec<&'a PointSummary>,
    by_vcpus: bool,
) -> Vec<(String, Vec<&'a PointSummary>)> {
    let mut sizes: Vec<f64> = own.iter().map(|summary| summary.point.vcpus).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    if !by_vcpus || sizes.len() == own.len() {
        return vec![(layout.to_owned(), own)];
    }
    let mut groups: Vec<(String, Vec<&PointSummary>)> = Vec::new();
    for summary in own {
        let density = summary.point.load() / summary.point.vcpus;
        let what = if summary.point.rate_per_s.is_some() {
            "arrivals/s"
        } else {
            summary.point.clients
        };
        let name = format!("{layout}, {} {what} per vCPU", format::trimmed(density));
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, group)) => group.push(summary),
            None => groups.push((name, vec![summary])),
        }
    }
    groups
}

/// The line through the origin and the first point of a series of several.
fn proportional(series: &Series) -> Option<Series> {
    let first = series.data.first().filter(|_| series.data.len() > 1)?;
    let Place::Number(x0) = first.x else {
        return None;
    };
    let along = series.data.iter().filter_map(|datum| match datum.x {
        Place::Number(x) if x0 > 0.0 => Some(Datum::at(x, first.y * x / x0)),
        _ => None,
    });
    Some(Series {
        name: "in proportion".to_owned(),
        mark: Mark::Reference,
        data: along.collect(),
    })
}
