//! Percentiles of response times.

use rookery_analysis::{Analysis, Run, distribution::distribution, points::PERCENTILES};

use super::data::{Datum, Figure, Mark, Panel, Series, nines, one_panel};
use crate::prose::{format, loop_type::loop_type, trust, words};

/// How the ends of a percentile are to be read.
const QUANTILE_ENDS: &str = "Whiskers: 95 % interval over the percentiles of three or more trials, \
                             range of two, rank bounds within a single one.";

/// Response-time percentiles of each point; one panel per operation, the whole order first.
pub(crate) fn figure(run: &Run, analysis: &Analysis) -> Option<Figure> {
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
    let main = analysis
        .points
        .first()
        .map(|summary| summary.main_operation);
    names.sort_by_key(|name| Some(*name) != main);
    let panels: Vec<Panel> = names
        .iter()
        .filter_map(|name| percentile_panel(run, analysis, name))
        .collect();
    (!panels.is_empty()).then(|| Figure {
        id: "response-times".to_owned(),
        title: "Response-time percentiles by point".to_owned(),
        caption: format!(
            "{}. Nearest ranks in the merged histograms of all guests and good repeats; successful \
             operations started in the window. p99.9 only \
             with ten values beyond it. {} {QUANTILE_ENDS}",
            loop_type(run),
            words::workload(run).times
        ),
        remarks: vec![trust::loop_sentence(run, &analysis.trust.checks)],
        panels,
        ..Figure::default()
    })
}

fn percentile_panel(run: &Run, analysis: &Analysis, operation: &str) -> Option<Panel> {
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
                    ..Datum::named(&summary.point.label, value)
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
    panel.rows[0].levels = limits(run, analysis, operation);
    (!panel.rows[0].series.is_empty()).then_some(panel)
}

/// The limits that hold for an operation, ms: those that name it, and for every single request
/// those that name none.
fn limits(run: &Run, analysis: &Analysis, operation: &str) -> Vec<(f64, String)> {
    let is_whole = analysis
        .points
        .iter()
        .any(|summary| summary.main_operation == operation && summary.operations.len() > 1);
    let holds = |named: Option<&str>| named.map_or(!is_whole, |name| name == operation);
    run.header
        .study
        .qos
        .percentiles
        .iter()
        .filter(|limit| holds(limit.operation.as_deref()))
        .map(|limit| {
            let ms = limit.limit_us as f64 / 1000.0;
            let name = format!("limit: p{} {} ms", limit.percentile, format::trimmed(ms));
            (ms, name)
        })
        .collect()
}

/// Points of one drawing; further ones stand in the next.
const MOST_POINTS: usize = 6;

/// The distribution of response times of each point: percentiles to p99.99, both axes logarithmic.
pub(crate) fn distributions(run: &Run, analysis: &Analysis) -> Option<Figure> {
    let main = analysis.points.first()?.main_operation;
    let all: Vec<Series> = analysis
        .points
        .iter()
        .map(|summary| Series {
            name: summary.point.label.clone(),
            mark: Mark::Line,
            data: distribution(run, summary.point.id, main)
                .into_iter()
                .map(|(percentile, us)| Datum::at(nines(percentile), us as f64 / 1000.0))
                .collect(),
        })
        .filter(|series| series.data.len() > 1)
        .collect();
    let drawings = all.chunks(MOST_POINTS).count();
    let panels: Vec<Panel> = all
        .chunks(MOST_POINTS)
        .enumerate()
        .filter_map(|(index, lot)| {
            let mut panel = one_panel(
                "percentile",
                &format!("{main}: response time, ms"),
                lot.to_vec(),
            )
            .pop()?;
            if drawings > 1 {
                panel.label = format!("points, part {} of {drawings}", index + 1);
            }
            panel.nines = true;
            panel.log = (false, true);
            panel.rows[0].levels = limits(run, analysis, main);
            Some(panel)
        })
        .collect();
    (!panels.is_empty()).then(|| Figure {
        id: "distribution".to_owned(),
        title: format!("Distribution of response times: {main}"),
        caption: format!(
            "{}. Percentiles of the merged histograms of all guests and good trials, as far as the \
             number of operations supports them (ten values beyond each). Both axes are \
             logarithmic: each further nine takes as much room as the one before. {}",
            loop_type(run),
            words::workload(run).times
        ),
        panels,
        ..Figure::default()
    })
}
