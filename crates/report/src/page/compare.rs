//! The comparison as one self-contained page: sentences, forest figures of the changes, tables.

use rookery_analysis::compare::{Comparison, Finding, Metric, Scale};
use rookery_stats::Goal;

use super::fit::escaped;
use crate::{
    draw,
    figures::{
        data::{Datum, Mark, Panel, Row, Series},
        layers as layer_figures,
    },
    prose::{
        compare::{answer, caveats, runs, title, verdict},
        layers as layer_prose,
    },
    tables::{
        Table,
        compare::{difference_table, full_table, overall_table},
        layers as layer_tables,
    },
};

const STYLE: &str = "body{font-family:sans-serif;margin:2rem auto;max-width:80rem;padding:0 \
                     1rem}table{border-collapse:collapse;\
                     font-variant-numeric:tabular-nums;margin:1rem 0}td,th{padding:.15rem \
                     .7rem;text-align:left;border-bottom:1px solid #ddd;\
                     vertical-align:top}.known{color:#444}";

/// The page: nothing in it is loaded from elsewhere.
#[must_use]
pub fn html(comparison: &Comparison) -> String {
    let heading = escaped(&title(comparison));
    let panels = panels(comparison);
    let mut body = format!("<h1>{heading}</h1>\n{}", list("runs", &runs(comparison)));
    body += &list("answer", &answer(comparison));
    body += &table(
        "Not the same on both sides",
        &difference_table(&comparison.differences),
    );
    for (index, panel) in panels.iter().enumerate() {
        body += &format!(
            "<h2>{}</h2>\n<div id=\"figure-{index}\"></div>\n",
            escaped(&panel.label)
        );
    }
    for layers in layer_tables::tables(&comparison.layers) {
        body += &table(&layers.label, &layers);
    }
    body += &list("known", &layer_prose::caveats(&comparison.layers));
    let overall = overall_table(comparison);
    body += &table(&overall.label, &overall);
    let full = full_table(comparison);
    body += &table(&full.label, &full);
    body += &list("known", &caveats(comparison));
    let drawings: Vec<String> = panels.iter().map(draw::json).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta \
         charset=\"utf-8\">\n<title>{heading}</title>\n<style>{STYLE}</style>\n{library}\n</head>\n<body>\n\
         {body}<script>const drawings = [{drawings}];\ndrawings.forEach((drawing, index) => \
         Plotly.newPlot('figure-' + index, drawing.data, drawing.layout, \
         drawing.config));</script>\n</body>\n</html>\n",
        library = draw::library(),
        drawings = drawings.join(",\n")
    )
}

fn list(class: &str, lines: &[String]) -> String {
    let items: String = lines
        .iter()
        .map(|line| format!("<li>{}</li>\n", escaped(line)))
        .collect();
    format!("<ul class=\"{class}\">\n{items}</ul>\n")
}

/// A table with its title; nothing without rows.
fn table(title: &str, table: &Table) -> String {
    if table.rows.is_empty() {
        return String::new();
    }
    let cells = |cells: &[String], tag: &str| -> String {
        cells
            .iter()
            .map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell)))
            .collect()
    };
    let rows: String = table
        .rows
        .iter()
        .map(|row| format!("<tr>{}</tr>\n", cells(row, "td")))
        .collect();
    format!(
        "<h2>{}</h2>\n<table>\n<tr>{}</tr>\n{rows}</table>\n",
        escaped(title),
        cells(&table.heads, "th")
    )
}

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
        for metric in Metric::ALL.into_iter().filter(|metric| metric.is_primary()) {
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
