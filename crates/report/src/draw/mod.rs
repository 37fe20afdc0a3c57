//! Figures drawn by plotly: data in, one JSON object per panel out. Colours of text and grid come
//! from the page, which knows whether it is light or dark.

mod colours;
mod heat;
mod picture;
mod scale;
mod traces;

use plotly::{
    Configuration, Layout, Plot,
    common::{Anchor, DashType, Font, Orientation},
    layout::{
        Annotation, Axis, AxisType, BarMode, CategoryOrder, HoverMode, Legend, Margin, RangeMode,
        Shape, ShapeLayer, ShapeLine, ShapeType,
    },
};
use serde::Serialize;

use colours::SERIES;
pub(crate) use picture::svg;

use crate::{
    figures::data::{Mark, Panel, Place, Row, Series, nines},
    prose::plain::harmless,
};

/// The library that draws: the bundle of plotly.js with scatter and bar charts alone, of which the
/// licence stands at its top.
pub(crate) const LIBRARY: &str =
    include_str!("../../vendor/plotly-basic-3.0.1/plotly-basic.min.js");
/// What is no measurement.
const GREY: &str = "#8a94a0";
/// Ends of intervals: seen on bars of every colour, and on light and dark pages.
const WHISKER: &str = "#6b7681";
/// A limit.
const LIMIT: &str = "#c2331f";
/// Height of a figure with one row, pixels.
const HEIGHT: usize = 380;
/// Height of each row where there are several, pixels.
const ROW_HEIGHT: usize = 190;

/// One panel as the JSON that `Plotly.newPlot` takes, fit to stand inside a script element.
pub(crate) fn json(panel: &Panel) -> String {
    for_script(&plot(panel).to_json())
}

/// JSON that cannot end the element it stands in, nor open a comment.
pub(crate) fn for_script(json: &str) -> String {
    harmless(json)
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

fn plot(panel: &Panel) -> Plot {
    let configuration = || Configuration::new().responsive(true).display_logo(false);
    if heat::is_heat(panel) {
        let mut plot = heat::plot(panel);
        plot.set_configuration(configuration());
        return plot;
    }
    let mut plot = Plot::new();
    let mut number = 0;
    for (index, row) in panel.rows.iter().enumerate() {
        for series in &row.series {
            // What goes on beyond the trials has the colour of what leads there.
            let own = if matches!(series.mark, Mark::Beyond | Mark::Trials) {
                usize::saturating_sub(number, 1)
            } else {
                number
            };
            for trace in traces::of(series, &axis_name("y", index), SERIES[own % SERIES.len()]) {
                plot.add_trace(trace);
            }
            let own = !matches!(
                series.mark,
                Mark::Beyond | Mark::Floor | Mark::Trials | Mark::Reference
            );
            number += usize::from(own);
        }
    }
    plot.set_layout(layout(panel));
    plot.set_configuration(configuration());
    plot
}

/// Plotly's names of axes: `y`, `y2`, `y3`.
fn axis_name(letter: &str, index: usize) -> String {
    if index == 0 {
        letter.to_owned()
    } else {
        format!("{letter}{}", index + 1)
    }
}

/// Longest name in a figure, characters; the tables have the whole.
const LONGEST_NAME: usize = 60;

/// A tag that plotly would take for markup is text here, and an endless name leaves room for the
/// figure.
fn text(name: &str) -> String {
    let mut short: String = name.chars().take(LONGEST_NAME).collect();
    if short.len() < name.len() {
        short.push('…');
    }
    short
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

fn place(place: &Place) -> Coordinate {
    match place {
        Place::Number(number) => Coordinate::Number(*number),
        Place::Name(name) => Coordinate::Name(text(name).replace(", ", "<br>")),
    }
}

/// A coordinate: a number, or the name of a category.
#[derive(Clone, Serialize)]
#[serde(untagged)]
enum Coordinate {
    Number(f64),
    Name(String),
}

/// What a legend of more than two lines needs above the figure, pixels, as far as it can be told
/// from the lengths of the names.
fn legend_height(panel: &Panel) -> usize {
    let seen = panel
        .rows
        .iter()
        .flat_map(|row| &row.series)
        .filter(|series| series.mark != Mark::Floor);
    let names = seen.map(|series| text(&series.name));
    let width: usize = names.map(|name| 50 + 7 * name.chars().count()).sum();
    (width / 1000).saturating_sub(1).min(40) * 19
}

/// Height of one line of a forest plot, pixels.
const FOREST_LINE: usize = 46;

/// The layout of a forest plot, its first comparison on top.
fn forest_layout(panel: &Panel) -> Layout {
    let series = panel.rows.iter().flat_map(|row| &row.series);
    let lines: usize = series.map(|series| series.data.len()).sum();
    let across = panel.rows.first().map_or("", |row| row.y_title.as_str());
    let values = Axis::new()
        .title(text(across))
        .zero_line(false)
        .auto_margin(true);
    let zero = Shape::new()
        .shape_type(ShapeType::Line)
        .layer(ShapeLayer::Below)
        .x_ref("x")
        .y_ref("paper")
        .x0(0.0)
        .x1(0.0)
        .y0(0.0)
        .y1(1.0)
        .line(ShapeLine::new().color(GREY).width(1.4));
    Layout::new()
        .height(FOREST_LINE * lines + 130)
        .auto_size(true)
        .margin(Margin::new().left(70).right(20).top(50).bottom(60))
        .hover_mode(HoverMode::Closest)
        .show_legend(true)
        .legend(
            Legend::new()
                .orientation(Orientation::Horizontal)
                .x(0.0)
                .y(1.0)
                .y_anchor(Anchor::Bottom),
        )
        .x_axis(match panel.across {
            Some((from, to)) => values.range(vec![from, to]),
            None => values,
        })
        .y_axis(
            Axis::new()
                .type_(AxisType::Category)
                .category_array(forest_names(panel))
                .category_order(CategoryOrder::Array)
                // Room for the whiskers of the first and the last line.
                .range(vec![-0.6, lines as f64 - 0.4])
                .zero_line(false)
                .auto_margin(true),
        )
        .shapes(vec![zero])
}

/// The names of the lines from the bottom up: comparison by comparison, all metrics of each
/// together.
fn forest_names(panel: &Panel) -> Vec<String> {
    let series: Vec<&Series> = panel.rows.iter().flat_map(|row| &row.series).collect();
    let mut places: Vec<&Place> = Vec::new();
    for datum in series.iter().flat_map(|series| &series.data) {
        if !places.contains(&&datum.x) {
            places.push(&datum.x);
        }
    }
    let of_place = |place: &&Place| {
        let own = series
            .iter()
            .rev()
            .filter(|series| series.data.iter().any(|datum| datum.x == **place));
        own.map(|series| match self::place(place) {
            Coordinate::Name(name) => format!("{name}<br>{}", text(&series.name)),
            Coordinate::Number(number) => number.to_string(),
        })
        .collect::<Vec<String>>()
    };
    places.iter().rev().flat_map(of_place).collect()
}

/// Percentiles that are named on an axis of nines.
pub(super) const NINES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 99.99];

fn layout(panel: &Panel) -> Layout {
    let is_forest = |row: &Row| row.series.iter().any(|series| series.mark == Mark::Forest);
    if panel.rows.iter().any(is_forest) {
        return forest_layout(panel);
    }
    let rows = panel.rows.len().max(1);
    let named = |row: &Row| {
        row.series.iter().any(|series| {
            series
                .data
                .iter()
                .any(|datum| matches!(datum.x, Place::Name(_)))
        })
    };
    let has = |mark: Mark| {
        panel
            .rows
            .iter()
            .any(|row| row.series.iter().any(|series| series.mark == mark))
    };
    let bars = match (has(Mark::Columns), has(Mark::Stack)) {
        (true, _) => BarMode::Overlay,
        (false, true) => BarMode::Stack,
        (false, false) => BarMode::Group,
    };
    let mut x_axis = Axis::new()
        .title(text(&panel.x_title))
        .anchor(axis_name("y", rows - 1))
        .zero_line(false)
        .auto_margin(true);
    x_axis = if panel.rows.iter().any(named) {
        x_axis.type_(AxisType::Category)
    } else if panel.nines {
        x_axis
            .type_(AxisType::Log)
            .tick_values(NINES.map(nines).to_vec())
            .tick_text(NINES.map(|p| format!("p{p}")).to_vec())
    } else if panel.log.0 {
        x_axis.type_(AxisType::Log)
    } else {
        x_axis.range_mode(if panel.window.is_some() {
            RangeMode::Normal
        } else {
            RangeMode::ToZero
        })
    };
    let mut layout = Layout::new()
        .height(height(panel, rows) + legend_height(panel))
        .auto_size(true)
        .margin(Margin::new().left(70).right(20).top(50).bottom(70))
        .bar_mode(bars)
        .hover_mode(HoverMode::Closest)
        .show_legend(true)
        .legend(
            Legend::new()
                .orientation(Orientation::Horizontal)
                .x(0.0)
                .y(1.0)
                .y_anchor(Anchor::Bottom),
        )
        .x_axis(x_axis);
    let axes = panel
        .rows
        .iter()
        .enumerate()
        .map(|(index, row)| y_axis(row, index, rows, panel));
    for (index, axis) in axes.enumerate() {
        layout = match index {
            0 => layout.y_axis(axis),
            1 => layout.y_axis2(axis),
            2 => layout.y_axis3(axis),
            _ => layout,
        };
    }
    let shapes: Vec<Shape> = panel
        .window
        .map(shade)
        .into_iter()
        .chain(panel.lines.iter().map(upright))
        .collect();
    let names = panel.lines.iter().map(|line| name_of(line, panel.log.0));
    let levels = || {
        panel
            .rows
            .iter()
            .enumerate()
            .flat_map(|(index, row)| row.levels.iter().map(move |level| (index, level)))
    };
    layout
        .shapes(shapes.into_iter().chain(levels().map(across)).collect())
        .annotations(
            names
                .chain(levels().map(|level| name_across(level, panel.log.1)))
                .collect(),
        )
}

fn height(panel: &Panel, rows: usize) -> usize {
    let by_rows = if rows == 1 {
        HEIGHT
    } else {
        ROW_HEIGHT * rows + 90
    };
    panel.height.unwrap_or(by_rows)
}

/// A line across all rows.
fn upright((x, _): &(f64, String)) -> Shape {
    Shape::new()
        .shape_type(ShapeType::Line)
        .x_ref("x")
        .y_ref("paper")
        .x0(*x)
        .x1(*x)
        .y0(0.0)
        .y1(1.0)
        .line(ShapeLine::new().color(GREY).width(1.6))
}

/// The name of an upright line, beside its top. The place of a text is a logarithm where the axis
/// is, that of a shape is not.
fn name_of((x, name): &(f64, String), log: bool) -> Annotation {
    Annotation::new()
        .text(text(name))
        .x(if log { x.log10() } else { *x })
        .y(0.99)
        .x_ref("x")
        .y_ref("paper")
        .x_anchor(Anchor::Left)
        .y_anchor(Anchor::Top)
        .x_shift(5.0)
        .show_arrow(false)
        .font(Font::new().size(12).color("#7a8490"))
}

/// A limit: a line across a row.
fn across((row, (y, _)): (usize, &(f64, String))) -> Shape {
    Shape::new()
        .shape_type(ShapeType::Line)
        .x_ref("paper")
        .y_ref(axis_name("y", row))
        .x0(0.0)
        .x1(1.0)
        .y0(*y)
        .y1(*y)
        .line(
            ShapeLine::new()
                .color(LIMIT)
                .width(1.6)
                .dash(DashType::Dash),
        )
}

/// The name of a limit, above the right end of its line.
fn name_across((row, (y, name)): (usize, &(f64, String)), log: bool) -> Annotation {
    Annotation::new()
        .text(text(name))
        .x(1.0)
        .y(if log { y.log10() } else { *y })
        .x_ref("paper")
        .y_ref(axis_name("y", row))
        .x_anchor(Anchor::Right)
        .y_anchor(Anchor::Bottom)
        .show_arrow(false)
        .font(Font::new().size(12).color(LIMIT))
}

/// Rows share the height, top first, with a gap between them.
fn y_axis(row: &Row, index: usize, rows: usize, panel: &Panel) -> Axis {
    let (share, gap) = (1.0 / rows as f64, if rows > 1 { 0.05 } else { 0.0 });
    let top = 1.0 - share * index as f64;
    let axis = match panel.top {
        _ if panel.log.1 => Axis::new().type_(AxisType::Log),
        Some(top) => Axis::new().range(vec![0.0, top]),
        None => Axis::new().range_mode(RangeMode::ToZero),
    };
    axis.title(text(&row.y_title))
        .domain(&[f64::max(top - share + gap, 0.0), top])
        .zero_line(false)
        .anchor("x")
        .auto_margin(true)
}

/// The measured window, behind the lines.
fn shade((start, end): (f64, f64)) -> Shape {
    Shape::new()
        .shape_type(ShapeType::Rect)
        .layer(ShapeLayer::Below)
        .x_ref("x")
        .y_ref("paper")
        .x0(start)
        .x1(end)
        .y0(0.0)
        .y1(1.0)
        .fill_color("rgba(90,140,190,0.13)")
        .line(ShapeLine::new().width(0.0))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use sha2::{Digest as _, Sha256};

    use super::LIBRARY;

    #[test]
    fn the_library_is_the_one_that_its_readme_names() {
        let digest = Sha256::digest(LIBRARY.as_bytes());
        let hex = digest.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        let readme = include_str!("../../vendor/plotly-basic-3.0.1/README.md");
        assert!(readme.contains(&hex), "{hex}");
    }
}
