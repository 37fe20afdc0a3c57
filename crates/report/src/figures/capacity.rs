//! Equal capacity in different splits: one big guest, two halves, four quarters.

use rookery_analysis::{
    Analysis, Run,
    capacity::CapacityGroup,
    label::levels_after,
    points::{PlannedPoint, PointSummary},
};

use super::data::{
    Datum, ENDS, Figure, Mark, Panel, Place, Series, broken_words, one_panel, single_trials,
};
use crate::prose::{format, loop_type::loop_type, words};

/// Capacities that differ by less are equal, CPUs.
const EQUAL: f64 = 1e-6;

/// Bars of every variant at every split, one panel for each capacity; `None` in a study without
/// factors, where the figure of all layouts says the same, and where no capacity is split in two
/// ways.
pub(crate) fn figure(run: &Run, analysis: &Analysis) -> Option<Figure> {
    if run.header.plan.factors.is_empty() {
        return None;
    }
    let panels: Vec<Panel> = analysis
        .capacity
        .iter()
        .rev()
        .filter_map(|group| panel(run, analysis, group))
        .collect();
    let series = panels
        .iter()
        .flat_map(|panel| &panel.rows)
        .flat_map(|row| row.series.clone());
    let what = if run.header.study.load.open().is_some() {
        "arrivals"
    } else {
        words::people(run)
    };
    let broken = broken_words(&series.collect::<Vec<_>>());
    (!panels.is_empty()).then(|| Figure {
        id: "capacity".to_owned(),
        title: "Same capacity, different splits".to_owned(),
        caption: format!(
            "{}. Throughput of all guests together, for layouts of equal vCPUs and {what} in all. \
             The percentage is the share of one big \
             guest of the same variant. {ENDS}{broken}",
            loop_type(run)
        ),
        panels,
        ..Figure::default()
    })
}

fn panel(run: &Run, analysis: &Analysis, group: &CapacityGroup) -> Option<Panel> {
    let points: Vec<&PointSummary> = group
        .points
        .iter()
        .filter_map(|id| analysis.point(*id))
        .collect();
    let mut series: Vec<Series> = Vec::new();
    for variant in &run.header.plan.variants {
        let data: Vec<Datum> = group
            .splits
            .iter()
            .filter_map(|split| {
                let own = points.iter().find(|summary| {
                    let point = &summary.point;
                    point.variant == variant.id
                        && (point.guests, point.vcpus) == (split.guests, split.vcpus)
                })?;
                datum(own)
            })
            .collect();
        if !data.is_empty() {
            series.push(Series {
                name: levels_after("", &variant.levels)
                    .trim_start_matches(", ")
                    .to_owned(),
                mark: Mark::Bars,
                data,
            });
        }
    }
    // Bars of one variant stand where their names are; of several, beside them.
    if series.len() == 1 {
        series.extend(single_trials(points.iter().map(|summary| {
            let point = &summary.point;
            (place(point), summary.rates())
        })));
    }
    let mut panel = one_panel("guests x vCPUs of each", words::rate(run), series).pop()?;
    panel.label = format!(
        "{} vCPU, {} in all",
        format::trimmed(group.vcpus),
        group.load_label
    );
    (!panel.rows[0].series.is_empty()).then_some(panel)
}

fn place(point: &PlannedPoint) -> Place {
    Place::Name(format!(
        "{} x {}",
        point.guests,
        format::trimmed(point.vcpus)
    ))
}

fn datum(summary: &PointSummary) -> Option<Datum> {
    let point = &summary.point;
    let mut datum = Datum::new(place(point), summary.per_minute.as_ref()?);
    datum.broken = summary.limits.failed > 0;
    // A layout of equal vCPUs may be pinned to fewer CPUs: then its capacity is another, and so is
    // its share.
    let comparable = (point.capacity_cpus - f64::from(point.guests) * point.vcpus).abs() < EQUAL;
    datum.note = match point.baseline {
        Some(baseline) if baseline == point.id => Some("one big".to_owned()),
        _ => summary
            .efficiency
            .filter(|_| comparable)
            .map(|ratio| format::percent(ratio.value)),
    };
    Some(datum)
}
