//! Heat: one square for each pair of names, its value in it.

use plotly::{
    Layout, Plot, Scatter,
    common::{Anchor, Font, HoverInfo, Marker, Mode},
    layout::{
        Annotation, Axis, AxisType, CategoryOrder, HoverMode, Margin, Shape, ShapeLayer, ShapeLine,
        ShapeType,
    },
};

use super::{colours, text};
use crate::{
    figures::data::{Datum, Mark, Panel, Place, Row, Series},
    prose::format,
};

/// Height of one line, pixels.
const LINE: usize = 64;
/// The page leaves a figure at least so much room, pixels.
const LEAST: usize = 380;
/// From little to much.
const COLOURS: [&str; 2] = ["#e6eef6", "#5d97cb"];

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
    let top = panel.top.unwrap_or_else(|| values_top(&series));
    let squares: Vec<Square<'_>> = series
        .iter()
        .enumerate()
        .flat_map(|(line, series)| {
            series.data.iter().map(move |datum| Square {
                line,
                series,
                datum,
            })
        })
        .collect();
    let column = |square: &Square<'_>| {
        let name = name(&square.datum.x);
        columns.iter().position(|known| *known == name).unwrap_or(0)
    };
    let layout = Layout::new()
        .height(LEAST.max(LINE * lines.len() + 140))
        .auto_size(true)
        .margin(Margin::new().left(70).right(20).top(30).bottom(70))
        .hover_mode(HoverMode::Closest)
        .show_legend(false)
        .x_axis(axis(&columns).title(text(&panel.x_title)))
        .y_axis(axis(&lines))
        .shapes(
            squares
                .iter()
                .map(|square| square.shape(column(square), top))
                .collect(),
        )
        .annotations(squares.iter().map(|square| square.value(top)).collect());
    let mut plot = Plot::new();
    plot.add_trace(hover(&squares, panel));
    plot.set_layout(layout);
    plot
}

/// One value among lines.
struct Square<'a> {
    line: usize,
    series: &'a Series,
    datum: &'a Datum,
}

impl Square<'_> {
    fn fill(&self, top: f64) -> String {
        let share = if top > 0.0 { self.datum.y / top } else { 0.0 };
        colours::mixed(COLOURS[0], COLOURS[1], share)
    }

    /// Categories lie at whole numbers, in their order.
    fn shape(&self, column: usize, top: f64) -> Shape {
        let (x, y) = (column as f64, self.line as f64);
        Shape::new()
            .shape_type(ShapeType::Rect)
            .layer(ShapeLayer::Below)
            .x_ref("x")
            .y_ref("y")
            .x0(x - 0.49)
            .x1(x + 0.49)
            .y0(y - 0.48)
            .y1(y + 0.48)
            .fill_color(self.fill(top))
            .line(ShapeLine::new().width(0.0))
    }

    fn value(&self, top: f64) -> Annotation {
        let missed = if self.datum.broken {
            "<br>limits missed"
        } else {
            ""
        };
        Annotation::new()
            .x(name(&self.datum.x))
            .y(text(&self.series.name))
            .text(format!("{}{missed}", format::number(self.datum.y)))
            .show_arrow(false)
            .x_anchor(Anchor::Center)
            .font(
                Font::new()
                    .size(13)
                    .color(colours::text_on(&self.fill(top))),
            )
    }
}

/// What is said of a square under the pointer; the squares themselves are shapes.
fn hover(squares: &[Square<'_>], panel: &Panel) -> Box<Scatter<String, String>> {
    let unit = panel.rows.first().map_or("", |row| row.y_title.as_str());
    let said = squares
        .iter()
        .map(|square| {
            format!(
                "{}, {}: {} {}",
                name(&square.datum.x),
                text(&square.series.name),
                format::number(square.datum.y),
                text(unit)
            )
        })
        .collect();
    Scatter::new(
        squares.iter().map(|square| name(&square.datum.x)).collect(),
        squares
            .iter()
            .map(|square| text(&square.series.name))
            .collect(),
    )
    .mode(Mode::Markers)
    .marker(Marker::new().size(24).opacity(0.0))
    .hover_info(HoverInfo::Text)
    .hover_text_array(said)
}

fn axis(names: &[String]) -> Axis {
    Axis::new()
        .type_(AxisType::Category)
        .category_array(names.to_vec())
        .category_order(CategoryOrder::Array)
        .range(vec![-0.5, names.len() as f64 - 0.5])
        .show_grid(false)
        .zero_line(false)
        .auto_margin(true)
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
