//! Heat: one square for each pair of names, its value in it.

use plotly::{
    HeatMap, Layout, Plot,
    common::{Anchor, ColorBar, ColorScale, ColorScaleElement, Font, Title},
    layout::{Annotation, Axis, AxisType, HoverMode, Margin},
};

use super::text;
use crate::{
    figures::data::{Mark, Panel, Place, Row, Series},
    prose::format,
};

/// Height of one line, pixels.
const LINE: usize = 64;
/// The page leaves a figure at least so much room, pixels.
const LEAST: usize = 380;
/// From little to much; the text of a square is readable on both.
const COLOURS: [&str; 2] = ["#e6eef6", "#5d97cb"];
const TEXT: &str = "#16222e";

/// Whether a panel is drawn as heat.
pub(super) fn is_heat(panel: &Panel) -> bool {
    let of_row = |row: &Row| row.series.iter().any(|series| series.mark == Mark::Heat);
    panel.rows.iter().any(of_row)
}

/// Series are lines from the bottom up, places are columns.
pub(super) fn plot(panel: &Panel) -> Plot {
    let series: Vec<&Series> = panel.rows.iter().flat_map(|row| &row.series).collect();
    let mut columns: Vec<String> = Vec::new();
    for datum in series.iter().flat_map(|series| &series.data) {
        let name = name(&datum.x);
        if !columns.contains(&name) {
            columns.push(name);
        }
    }
    let lines: Vec<String> = series.iter().map(|series| text(&series.name)).collect();
    let cell = |series: &Series, column: &String| {
        series
            .data
            .iter()
            .find(|datum| name(&datum.x) == *column)
            .map(|datum| datum.y)
    };
    let values: Vec<Vec<Option<f64>>> = series
        .iter()
        .map(|series| columns.iter().map(|column| cell(series, column)).collect())
        .collect();
    let unit = panel.rows.first().map_or("", |row| row.y_title.as_str());
    let scale = [0.0, 1.0].into_iter().zip(COLOURS);
    let trace = HeatMap::new(columns.clone(), lines.clone(), values)
        .color_scale(ColorScale::Vector(
            scale
                .map(|(at, colour)| ColorScaleElement(at, colour.to_owned()))
                .collect(),
        ))
        .zmin(0.0)
        .zmax(panel.top.unwrap_or_else(|| values_top(&series)))
        .color_bar(ColorBar::new().title(Title::with_text(text(unit))))
        .hover_on_gaps(false);
    let notes = series.iter().flat_map(|series| {
        series.data.iter().map(move |datum| {
            let broken = if datum.broken {
                "<br>limits broken"
            } else {
                ""
            };
            Annotation::new()
                .x(name(&datum.x))
                .y(text(&series.name))
                .text(format!("{}{broken}", format::number(datum.y)))
                .show_arrow(false)
                .x_anchor(Anchor::Center)
                .font(Font::new().size(13).color(TEXT))
        })
    });
    let layout = Layout::new()
        .height(LEAST.max(LINE * lines.len() + 140))
        .auto_size(true)
        .margin(Margin::new().left(70).right(20).top(30).bottom(70))
        .hover_mode(HoverMode::Closest)
        .x_axis(
            Axis::new()
                .title(text(&panel.x_title))
                .type_(AxisType::Category)
                .show_grid(false)
                .auto_margin(true),
        )
        .y_axis(
            Axis::new()
                .type_(AxisType::Category)
                .show_grid(false)
                .auto_margin(true),
        )
        .annotations(notes.collect());
    let mut plot = Plot::new();
    plot.add_trace(trace);
    plot.set_layout(layout);
    plot
}

fn values_top(series: &[&Series]) -> f64 {
    let data = series.iter().flat_map(|series| &series.data);
    data.map(|datum| datum.y).fold(0.0, f64::max)
}

fn name(place: &Place) -> String {
    match place {
        Place::Number(number) => format::trimmed(*number),
        Place::Name(name) => text(name),
    }
}
