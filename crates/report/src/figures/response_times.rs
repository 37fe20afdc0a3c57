//! Percentiles of response times.

use rookery_analysis::{Analysis, Run, points::PERCENTILES};

use super::data::{Datum, Figure, Mark, Panel, Series, one_panel};
use crate::prose::{loop_type::loop_type, trust, words};

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
        .filter_map(|name| percentile_panel(analysis, name))
        .collect();
    (!panels.is_empty()).then(|| Figure {
        id: "response-times",
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
    (!panel.rows[0].series.is_empty()).then_some(panel)
}
