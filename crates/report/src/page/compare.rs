//! The comparison as one self-contained page: sentences, forest figures of the changes, tables.

use rookery_analysis::compare::{Comparison, Finding, Scale};
use rookery_stats::Goal;
use rookery_text::Zone;

use super::sheet::{self, Section};
use crate::{
    ReportError,
    figures::{
        data::{Datum, Figure, Mark, Panel, Row, Series},
        layers as layer_figures,
    },
    prose::{
        compare::{answer, caveats, runs, title, verdict},
        layers as layer_prose,
    },
    tables::{
        compare::{difference_table, full_table, overall_table},
        layers as layer_tables,
    },
};

/// The page: nothing in it is loaded from elsewhere.
///
/// # Errors
/// When the page cannot be put together: a fault of ours.
pub fn html(comparison: &Comparison, zone: &Zone) -> Result<String, ReportError> {
    let mut sections: Vec<Section> = Vec::new();
    sections.extend(Section::said(
        "answer",
        "The answer",
        "answer",
        answer(comparison),
    ));
    sections.extend(Section::said(
        "runs",
        "The runs",
        "said",
        runs(comparison, zone),
    ));
    sections.extend(Section::table(
        "differing",
        "Not the same on both sides",
        difference_table(&comparison.differences),
    ));
    for (index, panel) in panels(comparison).into_iter().enumerate() {
        sections.push(Section::figure(&Figure {
            id: format!("figure-{index}"),
            title: panel.label.clone(),
            caption: CAPTION.to_owned(),
            panels: vec![Panel {
                label: String::new(),
                ..panel
            }],
            ..Figure::default()
        }));
    }
    for (index, layers) in layer_tables::tables(&comparison.layers)
        .into_iter()
        .enumerate()
    {
        let heading = layers.label.clone();
        sections.extend(Section::table(&format!("layers-{index}"), &heading, layers));
    }
    for (id, table) in [
        ("overall", overall_table(comparison)),
        ("points", full_table(comparison)),
    ] {
        let heading = table.label.clone();
        sections.extend(Section::table(id, &heading, table));
    }
    let mut known = layer_prose::caveats(&comparison.layers);
    known.extend(caveats(comparison));
    sections.extend(Section::said("caveats", "Caveats", "caveats", known));
    sheet::render("Comparison of runs", &title(comparison), sections)
}

/// What the figures show.
const CAPTION: &str = "Change from the old to the new side. Whiskers: 95 % intervals.";

/// All metrics over all points; then every primary metric point by point.
fn panels(comparison: &Comparison) -> Vec<Panel> {
    let overall = [
        (Goal::Higher, "more is better"),
        (Goal::Lower, "less is better"),
    ]
    .map(|(goal, name)| {
        let own = comparison
            .overall
            .iter()
            .filter(|finding| finding.metric.goal() == goal);
        series(
            name,
            own.filter_map(|finding| datum(&comparison.name_of(finding.metric), finding))
                .collect(),
        )
    });
    let mut all = vec![panel("Change over all points together", overall.into())];
    if comparison.points.len() > 1 {
        let primary = comparison.primary().map(|finding| finding.metric);
        for metric in primary {
            let of_point = |point: &rookery_analysis::compare::PointComparison| {
                let finding = point
                    .findings
                    .iter()
                    .find(|finding| finding.metric == metric)?;
                datum(&point.label, finding)
            };
            let data = comparison.points.iter().filter_map(of_point).collect();
            all.push(panel(
                &format!("Change of {}", comparison.name_of(metric)),
                vec![series(&comparison.name_of(metric), data)],
            ));
        }
    }
    all.retain(|panel| !panel.rows[0].series.is_empty());
    let mut layers = layer_figures::panels(&comparison.layers);
    for panel in &mut layers {
        panel.label = format!("What each layer costs at {}", panel.label);
    }
    layers.extend(all);
    layers
}

fn panel(label: &str, series: Vec<Series>) -> Panel {
    Panel {
        label: label.to_owned(),
        x_title: "comparison".to_owned(),
        rows: vec![Row {
            y_title: "change, %".to_owned(),
            series: series
                .into_iter()
                .filter(|series| !series.data.is_empty())
                .collect(),
            ..Row::default()
        }],
        ..Panel::default()
    }
}

fn series(name: &str, data: Vec<Datum>) -> Series {
    Series {
        name: name.to_owned(),
        mark: Mark::Forest,
        data,
    }
}

/// A change in per cent; differences of shares have no place among ratios.
fn datum(name: &str, finding: &Finding) -> Option<Datum> {
    if finding.metric.scale() != Scale::Ratio {
        return None;
    }
    Some(Datum {
        ends: finding
            .interval
            .map(|(low, high)| (100.0 * low, 100.0 * high)),
        note: Some(verdict(finding)),
        ..Datum::named(name, 100.0 * finding.change?)
    })
}
