//! The data of every figure, computed apart from any drawing, so that tests can pin them. Pure.

use rookery_study::Level;

pub(crate) use crate::figure::{
    Datum, ENDS, Figure, Mark, Panel, Place, Row, Series, Table, one_panel,
};
use crate::{
    Analysis, Ceiling, PERCENTILES, PointSummary, Run, capacity, ceiling, forest, format,
    interval::Estimate, layers, orderentry, scaling_figure, search_figures, sweep, timeline, words,
};

/// Every figure that the run can carry, in the order of the page.
pub(crate) fn all(run: &Run, analysis: &Analysis, ceilings: &[Ceiling]) -> Vec<Figure> {
    let figures = [
        search_figures::capacity(run, analysis),
        search_figures::probes(run, analysis),
        layers::figure(run, analysis),
        forest::figure(run, analysis),
        scale_up(run, analysis),
        scaling_figure::figure(run, analysis),
        capacity::figure(run, analysis).or_else(|| consolidation(run, analysis)),
        orderentry::matrix(run, analysis),
        ceiling::figure(run, ceilings),
        sweep::figure(ceilings),
        percentiles(run, analysis),
        timeline::figure(run),
        fairness(run, analysis),
    ];
    figures.into_iter().flatten().collect()
}

/// Throughput of single guests against their vCPUs, or against users when only these vary.
pub(crate) fn scale_up(run: &Run, analysis: &Analysis) -> Option<Figure> {
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
    let by_vcpus = varied(&|summary| summary.point.vcpus.cpus());
    // Where laws are fitted over users, their figure shows the same trials and more.
    let fitted = analysis.scaling.iter().any(|line| line.grows.are_people());
    if !by_vcpus && fitted {
        return None;
    }
    if !by_vcpus && !varied(&|summary| summary.point.load()) {
        return None;
    }
    let place = |summary: &PointSummary| {
        if by_vcpus {
            summary.point.vcpus.cpus()
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
                    summary.orders_per_minute?,
                    summary.qos.failed > 0,
                ))
            });
            let mut measured: Vec<(f64, Estimate, bool)> = measured.collect();
            measured.sort_by(|a, b| a.0.total_cmp(&b.0));
            let datum = |(x, orders, broken): &(f64, Estimate, bool)| Datum {
                broken: *broken,
                ..Datum::of(Place::Number(*x), orders)
            };
            let data: Vec<Datum> = measured.iter().map(datum).collect();
            if !data.is_empty() {
                let mark = Mark::Dots;
                series.push(Series { name, mark, data });
            }
        }
    }
    let longest = series.iter().max_by_key(|series| series.data.len())?;
    series.extend(proportional(longest));
    let (x_title, what) = if by_vcpus {
        ("vCPUs of the guest", "vCPUs")
    } else if run.header.study.load.open.is_some() {
        ("arrivals/s", "arrivals")
    } else {
        (words::people(run), words::people(run))
    };
    Some(Figure {
        id: "scale-up",
        title: format!("Scale-up: throughput of one guest against its {what}"),
        caption: format!(
            "{}. {ENDS} Dashed: in proportion to the first point, for comparison.{}",
            crate::loop_type::loop_type(run),
            broken_words(&series)
        ),
        panels: one_panel(x_title, "orders/min", series),
        ..Figure::default()
    })
}

/// A name, and the levels of a variant behind it.
pub(crate) fn levels_after(name: &str, levels: &[Level]) -> String {
    let levels = levels
        .iter()
        .map(|level| format!(", {}={}", level.short_key(), level.value));
    std::iter::once(name.to_owned()).chain(levels).collect()
}

/// What the caption says of points that broke limits.
pub(crate) fn broken_words(series: &[Series]) -> &'static str {
    if series
        .iter()
        .flat_map(|series| &series.data)
        .any(|datum| datum.broken)
    {
        " Pale: limits broken."
    } else {
        ""
    }
}

/// The points of a layout as one series, or, where several loads stand at the same vCPUs, one series per load.
fn densities<'a>(
    layout: &str,
    own: Vec<&'a PointSummary>,
    by_vcpus: bool,
) -> Vec<(String, Vec<&'a PointSummary>)> {
    let mut sizes: Vec<u32> = own.iter().map(|summary| summary.point.vcpus.0).collect();
    sizes.sort_unstable();
    sizes.dedup();
    if !by_vcpus || sizes.len() == own.len() {
        return vec![(layout.to_owned(), own)];
    }
    let mut groups: Vec<(String, Vec<&PointSummary>)> = Vec::new();
    for summary in own {
        let density = summary.point.load() / summary.point.vcpus.cpus();
        let what = if summary.point.rate_per_s.is_some() {
            "arrivals/s"
        } else {
            summary.point.people()
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

/// The name of a point on an axis, distinct for every point.
fn point_name(summary: &PointSummary) -> String {
    summary.point.label()
}

/// Aggregate throughput of every point; beside each the share of its one-big baseline.
pub(crate) fn consolidation(run: &Run, analysis: &Analysis) -> Option<Figure> {
    let mut series: Vec<Series> = Vec::new();
    for summary in &analysis.points {
        let Some(orders) = &summary.orders_per_minute else {
            continue;
        };
        let mut datum = Datum::of(Place::Name(point_name(summary)), orders);
        datum.broken = summary.qos.failed > 0;
        datum.note = match summary.point.baseline {
            Some(baseline) if baseline == summary.point.id => Some("baseline".to_owned()),
            _ => summary.efficiency.map(|ratio| format::percent(ratio.value)),
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
    (!series.is_empty()).then(|| Figure {
        id: "consolidation",
        title: "Aggregate throughput of every layout, and its share of one big guest".to_owned(),
        caption: format!(
            "{}. All guests of a point together. The percentage is the consolidation efficiency: throughput over that of the one-big \
             point of equal capacity and equal {}. {ENDS}{}",
            crate::loop_type::loop_type(run),
            if run.header.study.load.open.is_some() {
                "arrivals"
            } else {
                words::people(run)
            },
            broken_words(&series)
        ),
        panels: one_panel("point", "orders/min", series),
        ..Figure::default()
    })
}

/// How the ends of a percentile are to be read.
const QUANTILE_ENDS: &str = "Whiskers: 95 % interval over the percentiles of three or more trials, range of two, rank bounds within a single one.";

/// Response-time percentiles of each point; one panel per operation, the whole order first.
pub(crate) fn percentiles(run: &Run, analysis: &Analysis) -> Option<Figure> {
    let mut names: Vec<&str> = Vec::new();
    for operation in analysis
        .points
        .iter()
        .flat_map(|summary| &summary.operations)
    {
        if !names.contains(&operation.name.as_str()) {
            names.push(&operation.name);
        }
    }
    let main = rookery_stats::main_operation(names.iter().copied());
    names.sort_by_key(|name| *name != main);
    let panels: Vec<Panel> = names
        .iter()
        .filter_map(|name| percentile_panel(analysis, name))
        .collect();
    (!panels.is_empty()).then(|| Figure {
        id: "response-times",
        title: "Response-time percentiles by point".to_owned(),
        caption: format!(
            "{}. Nearest ranks in the merged histograms of all guests and good repeats; successful operations started in the window. p99.9 only \
             with ten values beyond it. {} {QUANTILE_ENDS}",
            crate::loop_type::loop_type(run),
            if words::order_entry(run) {
                "Retries are in the time of a transaction, pauses are not."
            } else {
                "An order is the sum of its requests, without think time."
            }
        ),
        remarks: vec![crate::trust::loop_sentence(run, &analysis.trust.checks)],
        panels,
..Figure::default()
})
}

fn percentile_panel(analysis: &Analysis, operation: &str) -> Option<Panel> {
    let series: Vec<Series> = PERCENTILES
        .iter()
        .map(|p| {
            let data = analysis.points.iter().filter_map(|summary| {
                let quantile = summary.quantile(operation, *p)?;
                let value = quantile.value_us as f64 / 1000.0;
                let (low, high) = quantile.ends_us;
                let ends = (low.is_some() || high.is_some()).then(|| {
                    (
                        low.map_or(value, |us| us / 1000.0),
                        high.map_or(value, |us| us / 1000.0),
                    )
                });
                Some(Datum {
                    ends,
                    ..Datum::named(&point_name(summary), value)
                })
            });
            Series {
                name: format!("p{p}"),
                mark: Mark::Bars,
                data: data.collect(),
            }
        })
        .filter(|series: &Series| !series.data.is_empty())
        .collect();
    let mut panel = one_panel("point", "response time, ms", series).pop()?;
    panel.label = operation.to_owned();
    (!panel.rows[0].series.is_empty()).then_some(panel)
}

/// Mean throughput per user of each guest, for points of several guests.
pub(crate) fn fairness(run: &Run, analysis: &Analysis) -> Option<Figure> {
    let shared = analysis
        .points
        .iter()
        .filter(|summary| summary.guests.len() > 1);
    let series: Vec<Series> = shared
        .map(|summary| {
            let data = summary
                .guests
                .iter()
                .map(|(guest, rate)| Datum::named(guest, *rate));
            let index = summary.fairness.map_or_else(String::new, fairness_words);
            Series {
                name: format!("{}{index}", point_name(summary)),
                mark: Mark::Scatter,
                data: data.collect(),
            }
        })
        .collect();
    (!series.is_empty()).then(|| Figure {
        id: "fairness",
        title: format!("Fairness: throughput of each guest per {}", words::person(run)),
        caption: format!(
            "{}. Mean over the good repeats. Jain's index is 1 when all guests are served alike and 1/n when one takes all.",
            crate::loop_type::loop_type(run)
        ),
        panels: one_panel("guest", &format!("orders/min per {}", words::person(run)), series),
        ..Figure::default()
    })
}

fn fairness_words(fairness: rookery_stats::Fairness) -> String {
    let ratio = fairness.max_over_min.map_or_else(
        || "one got nothing".to_owned(),
        |ratio| format!("max/min {ratio:.2}"),
    );
    format!(" (Jain {:.3}, {ratio})", fairness.jain)
}
